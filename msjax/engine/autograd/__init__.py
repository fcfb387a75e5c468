"""Gradients: operators, the tape, the backward pass, and the gradient functions."""
