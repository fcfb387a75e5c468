"""Functions of functions, control flow, and operators about gradients."""
