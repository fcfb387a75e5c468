"""Tools on top of hooks."""
