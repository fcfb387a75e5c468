"""Histograms and counts under numpy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.arrays import as_array, concrete
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import ArrayLike
from msjax.numpy.lifting import floating, tensor
from msjax.ops.dispatch.operator import operator

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights of its occurrences, as Float32.

    Args:
        x (array-like): a vector of integers of 0 or more.
        weights (array-like, optional): of the shape of `x`.
        minlength (int): the least size of the result. Default: 0.
        length (int, optional): the size of the result; larger numbers are not counted.
    """
    x = tensor(x)
    if length is None:
        known = np.asarray(concrete(x, "numpy.bincount without 'length'"))
        length = max(int(known.max(initial=-1)) + 1, minlength)
    return _bincount(x, None if weights is None else floating(weights), length)


@operator(2, name="bincount")
def _bincount(x, weights, length):
    return jnp.bincount(x, weights, length=length).astype(jnp.float32)


def _bins(bins):
    return bins if isinstance(bins, int) else floating(bins).asnumpy()


def _float32(array):
    return wrap(as_array(np.asarray(array), mstype.float32))


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Sequence[Any] | None = None, weights: ArrayLike | None = None
) -> Tensor:
    """The edges of the intervals of a histogram.

    Args:
        a (array-like): the data.
        bins (int or array-like): the number of equal intervals, or their edges. Default: 10.
        range (tuple, optional): the outer edges; by default the smallest and largest element.
        weights (array-like, optional): without effect on the edges.
    """
    if not isinstance(bins, int):
        return tensor(bins)
    known = np.asarray(concrete(floating(a), "numpy.histogram_bin_edges"), np.float64)
    return _float32(np.histogram_bin_edges(known, bins, range))


@operator(3, name="histogram")
def _histogram(a, edges, weights, density):
    at = jnp.searchsorted(edges, a.ravel(), side="right") - 1
    last = edges.shape[0] - 1
    at = jnp.where(a.ravel() == edges[-1], last - 1, at)
    at = jnp.where((at < 0) | (at >= last), last, at)
    counted = jnp.ones(a.size, jnp.float32) if weights is None else weights.ravel()
    counts = jnp.zeros(last, counted.dtype).at[at].add(counted, mode="drop")
    return counts / jnp.diff(edges) / jnp.sum(counts) if density else counts


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements fall into each of a row of intervals.

    Args:
        a (array-like): the data.
        bins (int or array-like): the number of equal intervals, or their edges. Default: 10.
        range (tuple, optional): the outer edges; by default the smallest and largest element.
        weights (array-like, optional): what each element counts for.
        density (bool): whether the result is a density, whose integral is 1. Default: False.

    Returns:
        (counts as Float32, edges).
    """
    edges = histogram_bin_edges(a, bins, range)
    return _histogram(floating(a), floating(edges), None if weights is None else floating(weights), bool(density)), edges


def histogramdd(
    sample: ArrayLike,
    bins: int | Sequence[int] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """How many points of several coordinates fall into each cell of a grid.

    Args:
        sample (array-like): of shape (points, coordinates), or a list of one vector for each coordinate.
        bins (int, tuple or list): the number of intervals along each axis, or their edges. Default: 10.
        range (tuple, optional): the outer edges along each axis.
        weights (array-like, optional): what each point counts for.
        density (bool): whether the result is a density. Default: False.

    Returns:
        (counts as Float32, list of the edges along each axis).
    """
    if isinstance(sample, (list, tuple)):
        sample = ops.stack([tensor(s) for s in sample], -1)
    points = np.asarray(concrete(floating(sample), "numpy.histogramdd"))
    known = None if weights is None else np.asarray(concrete(floating(weights), "numpy.histogramdd"))
    bins = [_bins(b) for b in bins] if isinstance(bins, (list, tuple)) else _bins(bins)  # pyright: ignore[reportAssignmentType]
    if isinstance(bins, np.ndarray):
        bins = list(bins) if bins.ndim == 2 else [bins] * points.shape[1]
    counts, edges = np.histogramdd(points, bins, range, density=density, weights=known)
    return _float32(counts), [_float32(e) for e in edges]


def histogram2d(
    x: ArrayLike, y: ArrayLike, bins: int = 10, range: Any = None, weights: ArrayLike | None = None, density: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points (x, y) fall into each cell of a grid: (counts as Float32, edges of x, edges of y)."""
    if isinstance(bins, (Tensor, np.ndarray)):
        bins = [bins, bins]  # pyright: ignore[reportAssignmentType]
    counts, edges = histogramdd([x, y], bins, range, weights, density)
    return counts, *edges
