"""From functions of jax arrays to operators on Tensors: dispatch, dtypes of results, random keys."""
