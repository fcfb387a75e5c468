"""Operators as functions, a folder a topic; ``msjax.ops`` offers them all."""
