"""The statistics of `watch`, as rows of one array."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import on_auto_axes
from msjax.core.tools.watching.sinks import SCALARS, STATISTICS, Histogram, WatchRow

# Arrays of up to so many values are laid side by side, in rows of so many, and looked at together.
_SMALL, _ROW = 16384, 256


def statistics(values: Sequence[jax.Array], bins: int, wanted: Sequence[str] = STATISTICS) -> jax.Array:
    """Some of mean, deviation, norm, share of zeros, min and max of the finite values, the numbers of NaN and infinite values, and the counts
    of a histogram between min and max, of each of some arrays.

    Small arrays are looked at together: if each had kernels of its own, these would take longer to start than to run.

    Args:
        values: arrays of floating-point or complex numbers; of the latter, the absolute values are looked at.
        bins: of the histograms.
        wanted: some of `STATISTICS`, in their order.

    Returns:
        Float32, shape (number of arrays, number of scalars, and `bins` if a histogram is wanted); zeros for an empty array.
    """
    return on_auto_axes(lambda values: _statistics(values, bins, wanted), values)


def _statistics(values, bins, wanted):
    # In a program, XLA would compute what makes the values once more in each sum.
    values = jax.lax.optimization_barrier(list(values))
    small = [i for i, value in enumerate(values) if 0 < value.size <= _SMALL]
    found: list[Any] = [jnp.zeros(_width(wanted, bins), jnp.float32)] * len(values)
    for i, value in enumerate(values):
        if value.size > _SMALL:
            found[i] = _wanted(_of_one(_real(value), bins), wanted, 0)
    if small:
        of_rows = _of_rows(*_side_by_side([_real(values[i]).ravel() for i in small]), bins, wanted)
        for i, row in zip(small, _wanted(of_rows, wanted, 1)):
            found[i] = row
    return jnp.stack(found)


def _width(wanted, bins):
    return len(wanted) + (bins - 1 if "histogram" in wanted else 0)


def _wanted(found, wanted, axis):
    """The statistics that are wanted side by side; what the others alone need is no part of the program."""
    columns = [found[name] if name == "histogram" else jnp.expand_dims(found[name], axis) for name in wanted]
    return jnp.concatenate(columns, axis)


def _real(value):
    return (jnp.abs(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value).astype(jnp.float32)


def _of_one(value, bins):
    """The statistics of one array. It keeps its shape: in a program it may lie in memory in another order than that of its axes."""

    def plain():
        return value.min(), value.max(), jnp.float32(0), jnp.float32(0)

    def careful():
        finite, nan = jnp.isfinite(value), jnp.isnan(value)
        ends = jnp.where(finite, value, jnp.inf).min(), jnp.where(finite, value, -jnp.inf).max()
        return *ends, nan.sum(dtype=jnp.float32), (~finite & ~nan).sum(dtype=jnp.float32)

    mean, squares = value.mean(), (value * value).sum()
    low, high, nan, inf = jax.lax.cond(jnp.isfinite(squares), plain, careful)
    place = jnp.clip(((value - low) * (bins / jnp.where(high > low, high - low, 1))).astype(jnp.int32), 0, bins - 1)
    place = jnp.where(jnp.isfinite(value), place, bins)
    counts = jnp.zeros(bins + 1, jnp.int32).at[place].add(1, mode="promise_in_bounds")[:-1]
    return {
        "mean": mean,
        "std": jnp.sqrt(((value - mean) ** 2).mean()),
        "norm": jnp.sqrt(squares),
        "zeros": (value == 0).mean(dtype=jnp.float32),
        "min": _or_nan(low),
        "max": _or_nan(high),
        "nan": nan,
        "inf": inf,
        "histogram": counts.astype(jnp.float32),
    }


def _or_nan(end):
    """The smallest or largest finite value; NaN where there is none."""
    return jnp.where(jnp.isfinite(end), end, jnp.nan)


def _side_by_side(values):
    """(rows of the values of some arrays, the number of the array that each row is a part of, how many values each row has)."""
    parts, owner, lengths = [], [], []
    for i, value in enumerate(values):
        missing = -value.size % _ROW
        parts += [value, jnp.zeros(missing, jnp.float32)]
        lengths += [_ROW] * (value.size // _ROW) + [_ROW - missing] * bool(missing)
        owner += [i] * (len(lengths) - len(owner))
    return jax.lax.optimization_barrier(jnp.concatenate(parts)).reshape(-1, _ROW), np.array(owner), np.array(lengths)


def _of_rows(rows, owner, lengths, bins, wanted):
    """Those statistics that are wanted of arrays whose values `_side_by_side` has brought together."""
    count, size = int(owner[-1]) + 1, np.bincount(owner, lengths).astype(np.float32)
    there = jnp.arange(rows.shape[1]) < lengths[:, None]

    def per_row(of_arrays):
        return of_arrays[owner][:, None]

    sums = {"mean": rows, "norm": rows * rows, "zeros": there & (rows == 0)}
    # What isn't finite makes a sum of squares infinite or NaN: only then is it looked for.
    needed = {*wanted, "norm", *(["mean"] if "std" in wanted else [])}
    found = _sums({name: of for name, of in sums.items() if name in needed}, owner)
    all_finite = jnp.isfinite(found["norm"]).all()
    if "mean" in found:
        found["mean"] /= size
        if "std" in wanted:
            squares = jnp.where(there, rows - per_row(found["mean"]), 0) ** 2
            found["std"] = jnp.sqrt(_sums({"std": squares}, owner)["std"] / size)
    found["norm"] = jnp.sqrt(found["norm"])
    if "zeros" in found:
        found["zeros"] /= size

    def ends(there):
        return [
            _joined(end(jnp.where(there, rows, sign * jnp.inf), 1), owner, end) for sign, end in ((1, jnp.min), (-1, jnp.max))
        ]

    def careful():
        nan = jnp.isnan(rows)
        numbers = _sums({"nan": nan, "inf": there & ~jnp.isfinite(rows) & ~nan}, owner)
        return *ends(there & jnp.isfinite(rows)), numbers["nan"], numbers["inf"]

    none = jnp.zeros(count, jnp.float32)
    low, high, nan, inf = jax.lax.cond(all_finite, lambda: (*ends(there), none, none), careful)
    scale = bins / jnp.where(high > low, high - low, 1)
    place = jnp.clip(((rows - per_row(low)) * per_row(scale)).astype(jnp.int32), 0, bins - 1) + bins * owner[:, None]
    place = jnp.where(there & jnp.isfinite(rows), place, count * bins)  # the last is for all that isn't counted
    counts = jnp.zeros(count * bins + 1, jnp.int32).at[place.ravel()].add(1, mode="promise_in_bounds")
    histogram = counts[:-1].reshape(count, bins).astype(jnp.float32)
    return {**found, "min": _or_nan(low), "max": _or_nan(high), "nan": nan, "inf": inf, "histogram": histogram}


def _sums(of_rows, owner):
    """{name: the sum over the rows of each array} of {name: numbers or truth values in rows}.

    By products of matrices: XLA's additions at indices take several times as long on CPUs, and by a product a row is summed up once.
    """
    product = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    columns = []
    for values in of_rows.values():
        sums = product(values.astype(jnp.float32), jnp.ones(values.shape[1], jnp.float32))
        if values.dtype == bool:
            columns.append([sums])
            continue
        # What isn't finite is counted apart: it would get into the sums of all arrays.
        columns.append([jnp.where(jnp.isfinite(sums), sums, 0), jnp.isnan(sums), sums == jnp.inf, sums == -jnp.inf])
    of_array = np.eye(int(owner[-1]) + 1, dtype=np.float32)[owner].T
    totals, found = iter(product(of_array, jnp.stack([c.astype(jnp.float32) for group in columns for c in group], 1)).T), {}
    for name, group in zip(of_rows, columns):
        found[name] = next(totals)
        if len(group) > 1:
            nan, more, less = next(totals), next(totals), next(totals)
            infinite = jnp.where(more > 0, jnp.inf, 0) - jnp.where(less > 0, jnp.inf, 0)
            found[name] += jnp.where(nan > 0, jnp.nan, infinite)
    return found


def _joined(of_rows, owner, end):
    """The smallest or largest of the numbers of each array's rows, which lie side by side."""
    first, after = (np.searchsorted(owner, np.arange(owner[-1] + 1), side) for side in ("left", "right"))
    at = first[:, None] + np.arange((after - first).max())
    return end(of_rows[np.minimum(at, after[:, None] - 1)], 1)


def rows_of(step: int, names: Sequence[tuple[str, str]], table: np.ndarray, wanted: Sequence[str] = STATISTICS) -> list[WatchRow]:
    """The rows of (kind, name) pairs, from an array of what `statistics` computed of each; NaN where it has not."""
    scalars = [name for name in wanted if name != "histogram"]
    every = np.full((len(table), len(SCALARS)), np.nan)
    every[:, [SCALARS.index(name) for name in scalars]] = table[:, : len(scalars)]
    low, high, counts = every[:, 4], every[:, 5], table[:, len(scalars) :]
    with np.errstate(invalid="ignore"):  # infinite values have no edges
        edges = np.linspace(low, np.where(high > low, high, low + 1), counts.shape[1] + 1, axis=-1)
    there = tuple(wanted)
    return [
        WatchRow(step, *name, *numbers, Histogram(*pair), there)
        for name, numbers, *pair in zip(names, every.tolist(), counts, edges)
    ]
