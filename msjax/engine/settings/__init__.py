"""Settings of a MindSpore program. `msjax.context` has the functions that set them."""
