"""Runs for the tests, made of hand-written numbers."""

import numpy as np

from msjax.core.page.run import Run
from msjax.core.tools.watching.sinks import STATISTICS, Histogram, WatchRow


def row(step, kind, name, norm, *, zeros=0.0, nan=0.0, counts=(1, 2, 1)):
    edges = np.linspace(-norm, norm, len(counts) + 1)
    return WatchRow(
        step, kind, name, norm / 10, norm / 2, norm, zeros, -norm, norm, nan, 0.0, Histogram(np.array(counts), edges), STATISTICS
    )


def run_of(names, steps, kinds=("activation",), norm=lambda name, step: step + 1.0, run=None):
    """A run in which the norm of each name is a function of the step."""
    run = run or Run("made")
    for step in range(1, steps + 1):
        run.add(step, [row(step, kind, name, norm(name, step)) for kind in kinds for name in names])
    return run
