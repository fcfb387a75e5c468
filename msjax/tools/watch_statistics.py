"""The statistics of `watch`, as rows of one array."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.tools.sinks import SCALARS, Histogram, WatchRow


def statistics(value: jax.Array, bins: int) -> jax.Array:
    """mean, deviation, norm, share of zeros, min, max, and the counts of a histogram between the last two: Float32, shape (6 + bins,)."""
    if not value.size:
        return jnp.zeros(6 + bins, jnp.float32)
    value = (jnp.abs(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value).astype(jnp.float32).ravel()
    low, high = value.min(), value.max()
    width = jnp.where(high > low, high - low, 1)
    finite = jnp.isfinite(value)
    place = jnp.clip(jnp.where(finite, (value - low) / width * bins, 0).astype(jnp.int32), 0, bins - 1)
    counts = jnp.zeros(bins, jnp.float32).at[place].add(finite.astype(jnp.float32))
    scalars = [value.mean(), value.std(), jnp.sqrt((value * value).sum()), (value == 0).mean(dtype=jnp.float32), low, high]
    return jnp.concatenate([jnp.stack(scalars), counts])


@functools.partial(jax.jit, static_argnums=1)
def statistics_of_all(values: Sequence[jax.Array], bins: int) -> jax.Array:
    """The `statistics` of several arrays, as one array of shape (number of arrays, 6 + bins)."""
    return jnp.stack([statistics(value, bins) for value in values])


def rows_of(step: int, names: Sequence[tuple[str, str]], table: np.ndarray) -> list[WatchRow]:
    """The rows of (kind, name) pairs, from an array of what `statistics` computed of each."""
    low, high = table[:, 4], table[:, 5]
    edges = np.linspace(low, np.where(high > low, high, low + 1), table.shape[1] - len(SCALARS) + 1, axis=-1)
    return [
        WatchRow(step, kind, name, *row[: len(SCALARS)].tolist(), Histogram(row[len(SCALARS) :], at))
        for (kind, name), row, at in zip(names, table, edges)
    ]
