"""The statistics of `watch`, as rows of one array."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import on_auto_axes
from msjax.core.page.run import SCALARS
from msjax.core.tools.watching.sinks import STATISTICS, Histogram, WatchRow

# Arrays of up to so many values are laid side by side, in rows of so many, and looked at together.
_SMALL, _ROW = 8192, 256


def statistics(values: Sequence[jax.Array], bins: int, wanted: Sequence[str] = STATISTICS) -> jax.Array:
    """Some of mean, deviation, norm, share of zeros, min and max of the finite values, the numbers of NaN and infinite values, and the counts
    of a histogram between min and max, of each of some arrays.

    Small arrays are looked at together: if each had kernels of its own, these would take longer to start than to run.

    Args:
        values: arrays of floating-point or complex numbers; of the latter, the absolute values are looked at.
        wanted: some of `STATISTICS`, in their order.

    Returns:
        Float32, shape (number of arrays, number of scalars, and `bins` if a histogram is wanted); zeros for an empty array.
    """
    # The output of a cell is often that of the last cell in it, too.
    distinct = {id(value): value for value in values}
    numbers = {key: i for i, key in enumerate(distinct)}
    rows = [numbers[id(value)] for value in values]
    return on_auto_axes(lambda values: _statistics(values, bins, wanted, rows), [*distinct.values()])


def _statistics(values, bins, wanted, rows):
    # In a program, XLA would compute what makes the values once more in each sum.
    values = jax.lax.optimization_barrier(list(values))
    small = [i for i, value in enumerate(values) if 0 < value.size <= _SMALL]
    if len(small) == 1:
        small = []  # there is nothing to lay it beside
    others = [i for i, value in enumerate(values) if value.size and i not in small]
    empty = [i for i, value in enumerate(values) if not value.size]
    found = [_wanted(_of_one(_real(values[i]), bins), wanted, 0)[None] for i in others]
    if small:
        side_by_side = _side_by_side([_real(values[i]).ravel() for i in small])
        found.append(_wanted(_of_rows(*side_by_side, bins, wanted), wanted, 1))
    if empty:
        found.append(jnp.zeros((len(empty), len(wanted) + (bins - 1 if "histogram" in wanted else 0)), jnp.float32))
    table, order = jnp.concatenate(found), np.argsort([*others, *small, *empty])[rows]
    return table if np.array_equal(order, np.arange(len(table))) else _at(table, order)


def _at(values, numbers):
    """Rows of an array by their numbers, which are known while the program is traced."""
    return values.at[numbers].get(mode="promise_in_bounds")


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

    mean, squares = _total(value) / value.size, _total(value * value)
    low, high, nan, inf = jax.lax.cond(jnp.isfinite(squares), plain, careful)
    place = jnp.clip(((value - low) * (bins / jnp.where(high > low, high - low, 1))).astype(jnp.int32), 0, bins - 1)
    place = jnp.where(jnp.isfinite(value), place, bins)
    counts = jnp.zeros(bins + 1, jnp.int32).at[place].add(1, mode="promise_in_bounds")[:-1]
    return {
        "mean": mean,
        "std": jnp.sqrt(_total((value - mean) ** 2) / value.size),
        "norm": jnp.sqrt(squares),
        "zeros": _total((value == 0).astype(jnp.float32)) / value.size,
        "min": _or_nan(low),
        "max": _or_nan(high),
        "nan": nan,
        "inf": inf,
        "histogram": counts.astype(jnp.float32),
    }


def _total(value):
    """The sum of all values: first over all axes but the last, by which XLA:CPU adds several at once. Of one sum over all it makes a chain."""
    return value.sum(range(value.ndim - 1)).sum()


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
    """{name: one number for each array} of the wanted statistics; `rows`, `owner` and `lengths` are what `_side_by_side` returns."""
    count, size = int(owner[-1]) + 1, np.bincount(owner, lengths).astype(np.float32)
    there = jnp.arange(rows.shape[1]) < lengths[:, None]

    def per_row(of_arrays):
        return _at(of_arrays, owner)[:, None]

    sums = {"norm": _squares(rows)}
    if not {"mean", "std"}.isdisjoint(wanted):
        sums["mean"] = _sum(rows)
    if "zeros" in wanted:
        sums["zeros"] = _sum(there & (rows == 0))
    found = _of_arrays(sums, owner)
    # What isn't finite makes a sum of squares infinite or NaN: only then is it looked for.
    all_finite = jnp.isfinite(found["norm"]).all()
    found["norm"] = jnp.sqrt(found["norm"])
    for name in found.keys() & {"mean", "zeros"}:
        found[name] /= size
    if "std" in wanted:
        squares = _squares(jnp.where(there, rows - per_row(found["mean"]), 0))
        found["std"] = jnp.sqrt(_of_arrays({"std": squares}, owner)["std"] / size)

    def ends(there):
        return [
            _joined(end(jnp.where(there, rows, without), 1), owner, end, without)
            for without, end in ((jnp.inf, jnp.min), (-jnp.inf, jnp.max))
        ]

    def careful():
        nan = jnp.isnan(rows)
        numbers = _of_arrays({"nan": _sum(nan), "inf": _sum(there & ~jnp.isfinite(rows) & ~nan)}, owner)
        return *ends(there & jnp.isfinite(rows)), numbers["nan"], numbers["inf"]

    none = jnp.zeros(count, jnp.float32)
    low, high, nan, inf = jax.lax.cond(all_finite, lambda: (*ends(there), none, none), careful)
    scale = bins / jnp.where(high > low, high - low, 1)
    place = jnp.clip(((rows - per_row(low)) * per_row(scale)).astype(jnp.int32), 0, bins - 1) + bins * owner[:, None]
    place = jnp.where(there & jnp.isfinite(rows), place, count * bins)  # the last is for all that isn't counted
    counts = jnp.zeros(count * bins + 1, jnp.int32).at[place.ravel()].add(1, mode="promise_in_bounds")
    histogram = counts[:-1].reshape(count, bins).astype(jnp.float32)
    return {**found, "min": _or_nan(low), "max": _or_nan(high), "nan": nan, "inf": inf, "histogram": histogram}


# By products of matrices, which take less than half the time of XLA's other ways to sum up rows on CPUs.


def _sum(rows):
    """The sum of each row of numbers or truth values."""
    return jnp.matmul(rows.astype(jnp.float32), jnp.ones(rows.shape[1], jnp.float32), precision=jax.lax.Precision.HIGHEST)


def _squares(rows):
    """The sum of the squares of each row."""
    return jax.lax.dot_general(rows, rows, (((1,), (1,)), ((0,), (0,))), precision=jax.lax.Precision.HIGHEST)


def _of_arrays(of_rows, owner):
    """{name: the sum over the rows of each array} of {name: a number of each row}."""
    return dict(zip(of_rows, _joined(jnp.stack([*of_rows.values()], 1), owner, jnp.sum, 0).T))


def _joined(of_rows, owner, end, without):
    """The sums, smallest or largest of the numbers of each array's rows, which lie side by side; `without` changes none."""
    first, after = (np.searchsorted(owner, np.arange(owner[-1] + 1), side) for side in ("left", "right"))
    at = first[:, None] + np.arange((after - first).max())
    there = (at < after[:, None]).reshape(*at.shape, *[1] * (of_rows.ndim - 1))
    return end(jnp.where(there, _at(of_rows, np.minimum(at, len(owner) - 1)), without), 1)


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
