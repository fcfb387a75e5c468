"""Products, diagonals and signals under numpy's names."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from msjax import ops
from msjax.checks import check_one_of
from msjax.common import dtype as mstype
from msjax.numpy.lifting import as_type, floating, tensor, tensors
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import promote
from msjax.typing import ArrayLike, JaxArray

if TYPE_CHECKING:
    from msjax.common.dtype import Type
    from msjax.common.tensor import Tensor


__all__ = [
    "convolve", "correlate", "cross", "diag", "diagflat", "diagonal", "dot", "inner", "kron", "matmul", "multi_dot", "outer",
    "tensordot", "trace", "tril", "triu",
]  # fmt: skip


def _product(name, doc):
    function = getattr(jnp, name)
    kernel = operator(2, name=name, int_grad=True)(lambda a, b: function(*promote(a, b)))

    def call(a, b):
        return kernel(tensor(a), tensor(b))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


dot = _product("dot", "The product over the last axis of `a` and the last but one of `b`; of vectors, their dot product.")
inner = _product("inner", "The product over the last axes of both.")
outer = _product("outer", "All products of an element of each, both flattened.")
kron = _product("kron", "The Kronecker product.")


def matmul(x1: ArrayLike, x2: ArrayLike, dtype: Type | None = None) -> Tensor:
    """The matrix product, batched over leading axes.

    Example:
        >>> import msjax as ms
        >>> import msjax.numpy as mnp
        >>> print(mnp.matmul(ms.Tensor([[1, 2]]), ms.Tensor([[3], [4]])))
        [[11]]
    """
    return as_type(ops.matmul(tensor(x1), tensor(x2)), dtype)


@operator(2, int_grad=True)
def _tensordot(a, b, axes):
    return jnp.tensordot(*promote(a, b), axes)


def tensordot(a: ArrayLike, b: ArrayLike, axes: int = 2) -> Tensor:
    """The product over axes: that many last ones of `a` and first ones of `b`, or those given as a pair of tuples."""
    return _tensordot(tensor(a), tensor(b), freeze(axes))


def multi_dot(arrays: Any) -> Tensor:
    """The product of two or more matrices (the first and last may be vectors).

    Raises:
        ValueError: there are fewer than two.
    """
    arrays = tensors(arrays)
    if len(arrays) < 2:
        raise ValueError(f"For 'multi_dot', there should be at least two arrays, but there are {len(arrays)}.")
    return functools.reduce(ops.matmul, arrays)


@operator(2, int_grad=True)
def _cross(a, b, axisa, axisb, axisc, axis):
    return jnp.cross(*promote(a, b), axisa, axisb, axisc, axis)


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | Sequence[int] | None = None
) -> JaxArray:
    """The cross product of vectors of two or three elements along an axis of each."""
    return _cross(tensor(a), tensor(b), axisa, axisb, axisc, axis)


# ---- diagonals


@operator(int_grad=True)
def _diag(v, k):
    return jnp.diag(v, k)


def diag(v: Any, k: int = 0) -> JaxArray:
    """A matrix with a vector on its diagonal number `k`, or that diagonal of a matrix."""
    return _diag(tensor(v), k)


def diagflat(v: Any, k: int = 0) -> Tensor:
    """A matrix with the flattened array on its diagonal number `k`."""
    return ops.diagflat(tensor(v), k)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal number `offset` of the matrices in two axes, as the last axis."""
    return ops.diagonal(tensor(a), offset, axis1, axis2)


@operator(int_grad=True)
def _trace(a, offset, axis1, axis2):
    return jnp.trace(a, offset, axis1, axis2, a.dtype)


def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Type | None = None) -> Tensor:
    """The sum along the diagonal number `offset` of the matrices in two axes."""
    a = tensor(a)
    dtype = mstype.int64 if dtype is None and a.dtype.kind in "biu" else dtype
    return _trace(as_type(a, dtype), offset, axis1, axis2)


def tril(m: Any, k: int = 0) -> JaxArray:
    """The lower triangle of matrices, zeros elsewhere."""
    return ops.tril(tensor(m), k)


def triu(m: Any, k: int = 0) -> JaxArray:
    """The upper triangle of matrices, zeros elsewhere."""
    return ops.triu(tensor(m), k)


# ---- signals


@operator(2)
def _convolve(a, v, mode):
    return jnp.convolve(*promote(a, v), mode)


@operator(2)
def _correlate(a, v, mode):
    return jnp.correlate(*promote(a, v), mode)


def _checked_mode(mode, who):
    check_one_of(mode, ("full", "same", "valid"), "mode", who)
    return mode


def convolve(a: ArrayLike, v: Any, mode: str = "full") -> JaxArray:
    """The convolution of two vectors."""
    return _convolve(floating(a), floating(v), _checked_mode(mode, "convolve"))


def correlate(a: ArrayLike, v: Any, mode: str = "valid") -> Tensor:
    """The correlation of two vectors."""
    return _correlate(floating(a), floating(v), _checked_mode(mode, "correlate"))
