"""Function transformations, control flow, and operators that act on gradients."""
