"""Operators as functions, one folder for each topic; ``msjax.ops`` has all of them."""
