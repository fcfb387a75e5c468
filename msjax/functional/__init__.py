"""Pure functions of networks of cells."""
