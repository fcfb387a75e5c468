"""The statistics of `watch`, as rows of one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from msjax.core.tools.watching.sinks import SCALARS, Histogram, WatchRow

# Arrays of up to so many values are laid side by side, in rows of so many, and looked at together.
_SMALL, _ROW = 16384, 256


def statistics(values: Sequence[jax.Array], bins: int) -> jax.Array:
    """mean, deviation, norm, share of zeros, min and max of the finite values, the numbers of NaN and infinite values, and the counts of
    a histogram between min and max, of each of some arrays.

    Small arrays are looked at together: if each had kernels of its own, these would take longer to start than to run.

    Args:
        values: arrays of floating-point or complex numbers; of the latter, the absolute values are looked at.
        bins: of the histograms.

    Returns:
        Float32, shape (number of arrays, 8 + bins); zeros for an empty array.
    """
    meshes = [mesh for mesh in (jax.typeof(value).sharding.mesh for value in values) if _is_explicit(mesh)]
    if not meshes:
        return _statistics(values, bins)
    # A histogram of values along explicit axes is a sum over devices, which jax asks for by name: here, it may guess.
    whole = NamedSharding(meshes[0], PartitionSpec())
    return jax.sharding.auto_axes(lambda values: _statistics(values, bins), out_sharding=whole)(list(values))


def _is_explicit(mesh):
    return any(kind == AxisType.Explicit for kind in mesh.axis_types)


def _statistics(values, bins):
    small = [i for i, value in enumerate(values) if 0 < value.size <= _SMALL]
    found: list[Any] = [jnp.zeros(len(SCALARS) + bins, jnp.float32)] * len(values)
    for i, value in enumerate(values):
        if value.size > _SMALL:
            found[i] = _of_one(_real(value), bins)
    if small:
        for i, row in zip(small, _of_rows(*_side_by_side([_real(values[i]).ravel() for i in small]), bins)):
            found[i] = row
    return jnp.stack(found)


def _real(value):
    return (jnp.abs(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value).astype(jnp.float32)


def _of_one(value, bins):
    """The statistics of one array. It keeps its shape: in a program it may lie in memory in another order than that of its axes."""
    finite, nan = jnp.isfinite(value), jnp.isnan(value)
    low, high = jnp.where(finite, value, jnp.inf).min(), jnp.where(finite, value, -jnp.inf).max()
    mean = value.mean()
    deviation = jnp.sqrt(((value - mean) ** 2).mean())
    place = jnp.clip(((value - low) * (bins / jnp.where(high > low, high - low, 1))).astype(jnp.int32), 0, bins - 1)
    place = jnp.where(finite, place, bins)
    counts = jnp.zeros(bins + 1, jnp.int32).at[place].add(1, mode="promise_in_bounds")[:-1]
    scalars = [mean, deviation, jnp.sqrt((value * value).sum()), (value == 0).mean(dtype=jnp.float32)]
    wrong = nan.sum(dtype=jnp.float32), (~finite & ~nan).sum(dtype=jnp.float32)
    scalars += [_or_nan(low), _or_nan(high), *wrong]
    return jnp.concatenate([jnp.stack(scalars), counts.astype(jnp.float32)])


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
    return jnp.concatenate(parts).reshape(-1, _ROW), np.array(owner), np.array(lengths)


def _of_rows(rows, owner, lengths, bins):
    """The statistics of arrays whose values `_side_by_side` has brought together."""
    count, size = int(owner[-1]) + 1, np.bincount(owner, lengths).astype(np.float32)
    there = jnp.arange(rows.shape[1]) < lengths[:, None]

    def per_array(of_rows):
        return jnp.zeros((count, *of_rows.shape[1:]), jnp.float32).at[owner].add(of_rows)

    def per_row(of_arrays):
        return of_arrays[owner][:, None]

    infinite = jnp.full(count, jnp.inf, jnp.float32)
    finite, nan = there & jnp.isfinite(rows), jnp.isnan(rows)
    low = infinite.at[owner].min(jnp.where(finite, rows, jnp.inf).min(1))
    high = (-infinite).at[owner].max(jnp.where(finite, rows, -jnp.inf).max(1))
    found = [there & (rows == 0), nan, there & ~finite & ~nan]
    sums = [rows.sum(1), (rows * rows).sum(1), *(mask.sum(1, dtype=jnp.float32) for mask in found)]
    total, squares, zeros, nan, infinite = per_array(jnp.stack(sums, 1)).T
    mean = total / size
    deviation = jnp.sqrt(per_array((jnp.where(there, rows - per_row(mean), 0) ** 2).sum(1)) / size)
    scale = bins / jnp.where(high > low, high - low, 1)
    place = jnp.clip(((rows - per_row(low)) * per_row(scale)).astype(jnp.int32), 0, bins - 1) + bins * owner[:, None]
    place = jnp.where(finite, place, count * bins)  # the last is for all that isn't counted
    counts = jnp.zeros(count * bins + 1, jnp.int32).at[place.ravel()].add(1, mode="promise_in_bounds")
    scalars = [mean, deviation, jnp.sqrt(squares), zeros / size, _or_nan(low), _or_nan(high), nan, infinite]
    return jnp.concatenate([jnp.stack(scalars, 1), counts[:-1].reshape(count, bins).astype(jnp.float32)], 1)


def rows_of(step: int, names: Sequence[tuple[str, str]], table: np.ndarray) -> list[WatchRow]:
    """The rows of (kind, name) pairs, from an array of what `statistics` computed of each."""
    low, high = table[:, 4], table[:, 5]
    scalars, counts = table[:, : len(SCALARS)].tolist(), table[:, len(SCALARS) :]
    with np.errstate(invalid="ignore"):  # infinite values have no edges
        edges = np.linspace(low, np.where(high > low, high, low + 1), counts.shape[1] + 1, axis=-1)
    return [WatchRow(step, *name, *numbers, Histogram(*pair)) for name, numbers, *pair in zip(names, scalars, counts, edges)]
