"""Tools that show networks and find faults; `msjax.tools` offers their names."""
