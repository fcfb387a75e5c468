"""Gradients: operators, the tape and the functions that take gradients."""
