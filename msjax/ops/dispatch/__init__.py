"""Turns functions of jax arrays into operators on Tensors: dispatch, type promotion, random keys."""
