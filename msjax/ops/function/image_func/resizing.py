"""Operators that resize images."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_kind, check_one_given, check_value, is_number
from msjax.core.base.typing import Axes, JaxArray
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.operator import freeze, operator, require_tensors
from msjax.ops.dispatch.promotion import rounded_once
from msjax.ops.function.nn_func.pooling import adaptive_avg_pool1d
from msjax.ops.function.nn_func.pooling_kernels import ADAPTIVE_AVG_POOL

__all__ = ["interpolate", "upsample"]

# Up to this size of an axis, the gradient is a product with a weight matrix, which is faster than the sums of what was gathered.
_MATRIX_LIMIT = 512


def _sources(size, out, how, step=None):
    """Where each output element lies on the input's axis.

    Args:
        how: "corners" (the outermost elements' centres coincide), "half" (the outermost edges do) or "plain" (the
            first elements' edges do).
        step: the distance of neighbours; by default that of the sizes.
    """
    i = np.arange(out, dtype=np.float64)
    if how == "corners":
        return i * ((size - 1) / (out - 1) if out > 1 else 0.0)
    step = size / out if step is None else step
    return (i + 0.5) * step - 0.5 if how == "half" else i * step


def _taps_linear(size, out, how, step):
    at = np.maximum(_sources(size, out, how, step), 0)
    low = np.minimum(np.floor(at).astype(int), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = at - low
    return [(low, 1 - share), (high, share)]


def _taps_cubic(size, out, how, step):
    at = _sources(size, out, how, step)
    # As in MindSpore: another cubic where the edges coincide, and no elements from outside of the image.
    a = -0.5 if how == "half" else -0.75
    base = np.floor(at).astype(int)
    t = at - base
    # From a table of 1024 steps.
    t = np.rint(t * 1024) / 1024

    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    weights = [far(t + 1), near(t), near(1 - t), far(2 - t)]
    places = [base + k - 1 for k in range(4)]
    if how == "half":
        weights = [np.where((p >= 0) & (p < size), w, 0) for p, w in zip(places, weights)]
        total = sum(weights)
        weights = [w / total for w in weights]
    return [(np.clip(p, 0, size - 1), w) for p, w in zip(places, weights)]


def _apply_taps(x, axis, taps, size):
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]

    # No product with a matrix: in each element, it would have the NaN and infinities of its whole row.
    def gathered(x):
        return sum(jnp.take(x, index, axis) * jnp.asarray(share, x.dtype).reshape(shape) for index, share in taps)

    if size > _MATRIX_LIMIT:
        return gathered(x)
    weights = np.zeros((len(taps[0][0]), size))
    for index, share in taps:
        np.add.at(weights, (np.arange(len(index)), index), share)

    @jax.custom_jvp
    def resized(x):
        return gathered(x)

    @resized.defjvp
    def resized_jvp(primals, tangents):
        along = jnp.tensordot(tangents[0], jnp.asarray(weights, tangents[0].dtype), (axis, 1))
        return resized(*primals), jnp.moveaxis(along, -1, axis)

    return resized(x)


def _nearest(x, axis, index):
    size, out = x.shape[axis], len(index)
    if out % size == 0 and np.array_equal(index, np.arange(out) // (out // size)):
        return jnp.repeat(x, out // size, axis)
    return jnp.take(x, index, axis)


@operator(name="Resize")
def resize(x: TensorLike, sizes: tuple[int, ...], mode: str, how: str, steps: Sequence[float | None] | None = None) -> JaxArray:
    """x with its last axes brought to `sizes`.

    Args:
        mode: "nearest", "linear" or "cubic".
        how: see `_sources`.
        steps: for each axis, the distance of neighbouring output elements on the input, or None.
    """
    first = x.ndim - len(sizes)
    for axis, out, step in zip(range(first, x.ndim), sizes, steps or (None,) * len(sizes)):
        size = x.shape[axis]
        if out == size and step in (None, 1.0):
            continue
        if mode == "nearest":
            at = _sources(size, out, how, step)
            # With the centres of elements, the nearest is the one that the centre lies in.
            at = np.floor(at + 0.5) if how in ("half", "corners") else np.floor(at)
            x = _nearest(x, axis, np.clip(at, 0, size - 1).astype(int))
        else:
            taps = (_taps_linear if mode == "linear" else _taps_cubic)(size, out, how, step)
            x = rounded_once(_apply_taps, x, axis, taps, size)
    return x


_MODES = {"nearest": (3, 4, 5), "nearest-exact": (3, 4), "linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,), "area": (3, 4, 5)}  # fmt: skip


def _target_sizes(input, size, scale_factor, recompute, who):
    """The output's sizes, and the steps that a scale factor asks for, or None."""
    n = input.ndim - 2
    check_one_given(("size", "scale_factor"), (size, scale_factor), who)
    if size is not None:
        values = freeze(size)
        values = values if isinstance(values, tuple) else (values,) * n
        check_kind(size, all(type(v) is int for v in values), f"be an int or {n} ints", "size", who)
        check_value(size, len(values) == n and all(v > 0 for v in values), f"be a positive int or {n} of them", "size", who)
        if recompute:
            raise ValueError(f"For '{who}', 'recompute_scale_factor' needs a 'scale_factor'.")
        return values, None
    factors = freeze(scale_factor)
    factors = factors if isinstance(factors, tuple) else (factors,) * n
    check_kind(scale_factor, all(map(is_number, factors)), f"be a float or {n} floats", "scale_factor", who)
    if len(factors) != n or any(f <= 0 for f in factors):
        raise ValueError(f"For '{who}', 'scale_factor' should be a positive float or {n} of them, but got {scale_factor}.")
    sizes = tuple([int(np.floor(s * f)) for s, f in zip(input.shape[2:], factors)])
    return sizes, None if recompute else tuple([float(1 / f) for f in factors])


def interpolate(
    input: Tensor,
    size: Axes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """An image brought to another size.

    Args:
        input (Tensor): of shape (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size (int or tuple, optional): the output's spatial sizes.
        scale_factor (float or tuple, optional): in its place, the factors of the sizes, rounded down.
        mode (str): "nearest" (the default), "nearest-exact", "linear" (3 axes), "bilinear", "bicubic" (4 axes),
            "trilinear" (5 axes) or "area" (the mean of what an element covers).
        align_corners (bool, optional): for the linear and cubic modes, whether the centres of the corner elements stay
            where they are; by default their outer edges do.
        recompute_scale_factor (bool, optional): whether coordinates follow from the sizes, also with a `scale_factor`.

    Returns:
        Tensor, of shape (N, C, *sizes).

    Raises:
        TypeError, ValueError: an argument of a wrong type or value, or one that the mode doesn't take.

    Example:
        >>> print(ops.interpolate(Tensor([[[1.0, 2.0]]]), size=4))
        [[[1. 1. 2. 2.]]]
    """
    who = "interpolate"
    require_tensors(who, input=input)
    if not isinstance(mode, str) or mode not in _MODES or input.ndim not in _MODES[mode]:
        fitting = [m for m, ndims in _MODES.items() if input.ndim in ndims]
        raise ValueError(f"For '{who}', an input of shape {input.shape} can have the modes {fitting}, but got {mode!r}.")
    sizes, steps = _target_sizes(input, size, scale_factor, recompute_scale_factor, who)
    if align_corners is not None:
        check_bool(align_corners, "align_corners", who)
        if mode == "area" or mode.startswith("nearest"):
            raise ValueError(f"For '{who}', the mode {mode!r} takes no 'align_corners'.")
    if mode == "area":
        return adaptive_avg_pool1d(input, sizes[0]) if input.ndim == 3 else apply(ADAPTIVE_AVG_POOL, (input,), (sizes,))
    if mode.startswith("nearest"):
        return resize(input, sizes, "nearest", "plain" if mode == "nearest" else "half", steps)
    kind = "cubic" if mode == "bicubic" else "linear"
    return resize(input, sizes, kind, "corners" if align_corners else "half", None if align_corners else steps)


upsample = interpolate
