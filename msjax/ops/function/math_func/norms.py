"""Norms and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_in_range, check_kind, check_value
from msjax.core.base.typing import Axes, JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import kind_of, promote, rounded_once, to_float, typed, widened
from msjax.ops.function.array_func.joining import stack
from msjax.ops.function.math_func.elementary import magnitude

__all__ = [
    "cdist", "clip_by_global_norm", "clip_by_norm", "cond", "dist", "matrix_norm", "norm", "pdist", "renorm",
    "vector_norm",
]  # fmt: skip


def root(x: JaxArray, p: float = 2) -> JaxArray:
    """x ** (1 / p) of a sum of powers or a variance; where it is 0, the gradient is 0 instead of NaN."""
    zero = x == (math.inf if p < 0 else 0)
    safe = jnp.where(zero, 1, x)
    return jnp.where(zero, 0, jnp.sqrt(safe) if p == 2 else safe ** (1 / p)).astype(x.dtype)


def p_norm(x: TensorLike, p: float, axis: Axes | None, keepdims: bool) -> JaxArray:
    """The p-norm over axes (None: all); inf, -inf and 0 are the limits of p."""
    return rounded_once(_p_norm, x, p, axis, keepdims)


def _p_norm(x, p, axis, keepdims):
    if x.ndim == 0 and (axis in (0, -1, (0,), (-1,))):
        axis = None  # as of one element
    size = magnitude(x)
    if p == math.inf:
        return jnp.max(size, axis, keepdims=keepdims)
    if p == -math.inf:
        return jnp.min(size, axis, keepdims=keepdims)
    if p == 0:
        return jnp.sum((size != 0).astype(size.dtype), axis, keepdims=keepdims)
    if p == 1:
        return jnp.sum(size, axis, keepdims=keepdims)
    if p == 2:
        squares = jnp.square(x) if kind_of(x.dtype) == "f" else jnp.square(size)
        return root(jnp.sum(squares, axis, keepdims=keepdims))
    # The power's own gradient at 0 is NaN below p = 1. Below p = 0, an element that is 0 makes the norm 0, with the slope 0.
    powers = jnp.where(size == 0, math.inf if p < 0 else 0, jnp.where(size == 0, 1, size) ** p)
    return root(jnp.sum(powers, axis, keepdims=keepdims), p)


def _matrix(x, ord, axis, keepdims):
    if ord in (None, "fro"):
        return p_norm(x, 2, axis, keepdims)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ValueError(f"'ord' of a matrix norm should be 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, but got {ord!r}.")
    return jnp.linalg.norm(x, ord, axis, keepdims)


@operator()
def norm(
    A: TensorLike,
    ord: float | str | None = None,
    dim: Axes | None = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> JaxArray:
    """A vector or matrix norm.

    Args:
        A (Tensor): any shape, of floats or complex numbers.
        ord (int, float, inf, -inf, 'fro', 'nuc', optional): the order. Default: None, for the 2-norm of all elements
            over `dim`.
        dim (int or tuple, optional): one axis for a vector norm, two for a matrix norm. Default: None, for all axes.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None.

    Raises:
        ValueError: `ord` does not go with the axes, or `A` has more than two axes and `ord` but no `dim` is given.

    Example:
        >>> print(ops.norm(Tensor([3.0, 4.0])), ops.norm(Tensor([[3.0, 4.0]]), 1, 1))
        5.0 [7.]
    """
    A = to_float(typed(A, dtype))
    if ord is None:
        return p_norm(A, 2, dim, keepdim)
    fits = dim is not None or A.ndim in (1, 2)
    check_value(A, fits, "have one or two axes", "with 'ord' but without 'dim', the Tensor")
    axes = tuple(range(A.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    if len(axes) == 2:
        return _matrix(A, ord, axes, keepdim)
    if isinstance(ord, str):
        raise ValueError(f"the order {ord!r} needs two axes, but got {axes}.")
    return p_norm(A, ord, axes, keepdim)


@operator()
def vector_norm(
    x: TensorLike, ord: float = 2, axis: Axes | None = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
) -> JaxArray:
    """The vector norm over axes.

    Args:
        x (Tensor): any shape, of floats or complex numbers.
        ord (int, float, inf, -inf): the order. Default: 2.
        axis (int or tuple, optional): the axes. Default: None, for all.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None.

    Example:
        >>> print(ops.vector_norm(Tensor([3.0, -4.0]), 1))
        7.0
    """
    return p_norm(to_float(typed(x, dtype)), ord, axis, keepdims)


@operator()
def matrix_norm(
    A: TensorLike,
    ord: float | str = "fro",
    axis: Sequence[int] = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> JaxArray:
    """The matrix norm over two axes.

    Args:
        A (Tensor): at least two axes, of floats or complex numbers.
        ord (int, inf, -inf, 'fro', 'nuc'): the order. Default: 'fro'.
        axis (tuple of int): the axes of rows and columns. Default: (-2, -1).
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None.

    Example:
        >>> print(ops.matrix_norm(Tensor([[3.0, 0.0], [0.0, 4.0]])))
        5.0
    """
    return _matrix(to_float(typed(A, dtype)), ord, axis, keepdims)


@operator()
def cond(A: TensorLike, p: float | str | None = None) -> JaxArray:
    """The condition number of matrices in the norm `p`: the product of the norms of the matrix and its inverse.

    Example:
        >>> print(ops.cond(Tensor([[2.0, 0.0], [0.0, 1.0]])))
        2.0
    """
    A = to_float(A)
    if p in (None, 2, -2):
        values = jnp.linalg.svd(A, compute_uv=False)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return _matrix(A, p, (-2, -1), False) * _matrix(jnp.linalg.inv(A), p, (-2, -1), False)


@operator(numbers=("epsilon",))
def lp_norm(x: TensorLike, axis: int | Sequence[int], p: float, keep_dims: bool, epsilon: TensorLike) -> JaxArray:
    """The p-norm over axes, but not below epsilon.

    Args:
        x (Tensor): of floats.
        axis (int, tuple or list): the axes.
        p (int): the order.
        keep_dims (bool): whether reduced axes stay, with size 1.
        epsilon (float): the smallest result.
    """
    return jnp.maximum(p_norm(x, p, axis, keep_dims), jnp.asarray(epsilon, x.dtype))


@operator(2)
def dist(input: TensorLike, other: TensorLike, p: float = 2) -> JaxArray:
    """The p-norm of input - other, over all elements.

    Example:
        >>> print(ops.dist(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), 1))
        4.0
    """
    x, y = promote(input, other)
    return p_norm(to_float(x - y), p, None, False)


@operator(2)
def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0) -> JaxArray:
    """The p-norm distance of each row of `x1` to each row of `x2`.

    Args:
        x1 (Tensor): shape (..., P, M).
        x2 (Tensor): shape (..., R, M).
        p (float): the order, 0 or more, or inf. Default: 2.0.

    Returns:
        Tensor of shape (..., P, R).

    Example:
        >>> print(ops.cdist(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0], [0.0, 1.0]])))
        [[5. 1.]]
    """
    check_in_range(p, "p", low=0)
    x, y = promote(x1, x2)
    return p_norm(x[..., :, None, :] - y[..., None, :, :], p, -1, False)


@operator()
def pdist(input: Tensor, p: float = 2.0) -> JaxArray:
    """The p-norm distance of each row to each later row, of shape (..., N * (N - 1) / 2).

    Example:
        >>> print(ops.pdist(Tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])))
        [5.        1.        4.2426405]
    """
    rows, columns = jnp.triu_indices(input.shape[-2], 1)
    return p_norm(input[..., rows, :] - input[..., columns, :], p, -1, False)


@operator(numbers=("maxnorm",))
def renorm(input: Tensor, p: float, axis: int, maxnorm: float) -> JaxArray:
    """Sub-Tensors along an axis scaled down where their p-norm is above `maxnorm`.

    Args:
        input (Tensor): any shape, of floats.
        p (float): the order of the norm, positive.
        axis (int): the axis along which sub-Tensors lie.
        maxnorm (float): the largest norm.

    Example:
        >>> print(ops.renorm(Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0))
        [[0.6 0.8]
         [0.  1. ]]
    """
    check_in_range(p, "p", above=0)
    others = tuple(i for i in range(input.ndim) if i != axis % input.ndim)

    def scaled(x):
        size = p_norm(x, p, others, True)
        return x * jnp.where(size > maxnorm, maxnorm / (size + 1e-7), 1).astype(x.dtype)

    return rounded_once(scaled, input)


@operator(numbers=("epsilon",))
def l2_normalize(x: TensorLike, axis: int, epsilon: float) -> JaxArray:
    """x / sqrt(max(sum(x**2), epsilon)) along `axis`."""
    squares = jnp.sum(jnp.square(x), axis, keepdims=True)
    return x * jax.lax.rsqrt(jnp.maximum(squares, jnp.asarray(epsilon, x.dtype)))


# ---- limits on norms


def _several(x, name):
    single = isinstance(x, Tensor)
    tensors = [x] if single else list(x) if isinstance(x, (tuple, list)) else []
    check_kind(x, tensors and all(isinstance(t, Tensor) for t in tensors), "be a Tensor or a tuple or list of Tensors", "x", name)
    return tensors, (lambda out: out[0]) if single else type(x)


def _total_norm(tensors, p):
    return norm(stack([vector_norm(t, p) for t in tensors]), p)


@overload
def clip_by_norm(x: Tensor, max_norm: float, norm_type: float = ..., error_if_nonfinite: bool = ...) -> Tensor: ...
@overload
def clip_by_norm(
    x: Sequence[Tensor], max_norm: float, norm_type: float = ..., error_if_nonfinite: bool = ...
) -> Sequence[Tensor]: ...
def clip_by_norm(x: Tensor | Sequence[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Tensors scaled down where the norm of all of them together is above `max_norm`.

    Args:
        x (Tensor, or tuple or list of Tensor): what to scale.
        max_norm (float): the largest norm.
        norm_type (float): the order of the norm. Default: 2.0.
        error_if_nonfinite (bool): whether a norm that is NaN or infinite is an error. Default: False.

    Returns:
        As `x`; of integers as Float32.

    Raises:
        RuntimeError: the norm is not finite, with `error_if_nonfinite`.

    Example:
        >>> print(ops.clip_by_norm(Tensor([3.0, 4.0]), 1.0))
        [0.6 0.8]
    """
    tensors, rebuild = _several(x, "clip_by_norm")
    total = _total_norm(tensors, norm_type)
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(f"For 'clip_by_norm', the norm of the Tensors is {float(total)}, which is not finite.")
    return rebuild([_scaled(t, total, max_norm) for t in tensors])


@operator(2, numbers=("max_norm",), name="clip_by_norm")
def _scaled(x, total, max_norm):
    x = to_float(x)
    return (x * jnp.minimum(max_norm / (widened(total) + 1e-6), 1).astype(x.dtype)).astype(x.dtype)


@operator(2, numbers=("clip_norm",), name="clip_by_global_norm")
def _scaled_global(x, total, clip_norm):
    return x * (clip_norm / jnp.maximum(widened(total), clip_norm)).astype(x.dtype)


def clip_by_global_norm(x: Sequence[Tensor], clip_norm: float = 1.0, use_norm: None = None) -> tuple[Tensor, ...]:
    """Tensors scaled by clip_norm / max(global norm, clip_norm), the global norm being that of all of them together.

    Args:
        x (tuple or list of Tensor): what to scale.
        clip_norm (float or int): the largest norm, positive. Default: 1.0.
        use_norm (None): only None is taken.

    Returns:
        A tuple of Tensors.

    Raises:
        ValueError: `use_norm` is given, or `clip_norm` is not positive.

    Example:
        >>> print(ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 1.0)[1])
        [0.8]
    """
    if use_norm is not None:
        raise ValueError("For 'clip_by_global_norm', 'use_norm' should be None.")
    check_in_range(clip_norm, "clip_norm", "clip_by_global_norm", above=0)
    tensors, _ = _several(x, "clip_by_global_norm")
    total = _total_norm(tensors, 2)
    scaled = tuple(_scaled_global(t, total, float(clip_norm)) for t in tensors)
    return scaled[0] if isinstance(x, Tensor) else scaled
