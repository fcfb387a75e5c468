"""The rows of the differential run, by topic."""

from tests.kernels.tables import elementwise, linear, losses, mints, moving, of_layers, reductions, windows

ROWS = [
    *elementwise.ROWS, *moving.ROWS, *reductions.ROWS, *linear.ROWS, *windows.ROWS, *losses.ROWS, *of_layers.ROWS, *mints.ROWS
]  # fmt: skip
