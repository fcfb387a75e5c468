"""Comparing arrays: where they differ, by how much, and what was allowed."""

import numpy as np

SHOWN = 5


def assert_close(got, want, rtol, atol, name="result"):
    """Two arrays have one type, one shape, and elements as close as ``atol + rtol * abs(want)``; NaN is equal to NaN.

    The error lists the elements that differ most: index, expected, got, difference, tolerance.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{name}: expected dtype {want.dtype}, got {got.dtype}"
    assert got.shape == want.shape, f"{name}: expected shape {want.shape}, got {got.shape}"
    with np.errstate(invalid="ignore"):
        same = (got == want) | ((got != got) & (want != want))
        if got.dtype.kind in "fc":
            off, allowed = np.abs(got - want), atol + rtol * np.abs(want)
        else:
            off, allowed = np.ones(got.shape), np.zeros(got.shape)
    off, allowed = np.where(same, 0, off), np.where(np.isfinite(allowed), allowed, 0)
    wrong = np.argwhere(~(off <= allowed))
    if len(wrong):
        worst = sorted(map(tuple, wrong), key=lambda index: -off[index])
        lines = [
            f"  {tuple(map(int, i))}: expected {want[i]!s}, got {got[i]!s}, off by {off[i]:.3g}, allowed {allowed[i]:.3g}"
            for i in worst[:SHOWN]
        ]
        more = f"\n  and {len(worst) - SHOWN} more" if len(worst) > SHOWN else ""
        raise AssertionError(f"{name}: {len(worst)} of {got.size} elements differ\n" + "\n".join(lines) + more)
