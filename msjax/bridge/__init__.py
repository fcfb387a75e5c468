"""Cells between the two wings: as models of `msjax.hooks`, and what `msjax.tools` does with them."""
