"""The processes that run one program together: who they are, and how a function of jax arrays runs over all of them."""
