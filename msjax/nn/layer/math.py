"""Mathematical layers."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_type, check_value
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer, OfX, of_type
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import rounded_once, widened
from msjax.ops.function.array_func import ordering
from msjax.ops.function.linalg_func import linear
from msjax.ops.function.math_func import special

__all__ = [
    "DiGamma", "IGamma", "LBeta", "LGamma", "MatDet", "MatInverse", "MatMul", "Moments", "Range", "ReduceLogSumExp",
]  # fmt: skip


def _check_float(x, name, who, types=(mstype.float16, mstype.float32)):
    if check_type(x, Tensor, name, who).dtype not in types:
        raise TypeError(f"For '{who}', '{name}' should be of {' or '.join(map(str, types))}, but its dtype is {x.dtype}.")


class MatMul(Layer, transpose_x1=check_bool, transpose_x2=check_bool):
    """The matrix product of two Tensors; of two vectors, their dot product.

    Args:
        transpose_x1, transpose_x2 (bool): whether the last two axes of an input are exchanged first. Default: False.

    Inputs:
        - **x1**, **x2** (Tensor) - of numbers, with at least one axis.

    Outputs:
        Tensor.

    Raises:
        TypeError: an argument is not a bool.
        ValueError: the shapes don't fit.

    Example:
        >>> print(nn.MatMul()(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """

    transpose_x1: bool = False
    transpose_x2: bool = False

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        # A vector is its own transpose.
        if self.transpose_x1 and x1.ndim > 1:
            x1 = ordering.swapaxes(x1, -1, -2)
        if self.transpose_x2 and x2.ndim > 1:
            x2 = ordering.swapaxes(x2, -1, -2)
        columns, rows = x1.shape[-1:], x2.shape[-2:][:1]
        if not columns or columns != rows:
            raise ValueError(
                f"For 'MatMul', the columns of 'x1' should be as many as the rows of 'x2', but their shapes are {x1.shape} and {x2.shape}."
            )
        return linear.matmul(x1, x2)


class Range(Cell):
    """Numbers from `start` to `limit`, without it, in steps of `delta`.

    Args:
        start (int or float): the first number; with no limit given, the limit, and the first number is 0.
        limit (int or float, optional): the end.
        delta (int or float): the step, not 0. Default: 1.

    Outputs:
        Tensor, of Int32 if all arguments are ints, of Float32 otherwise.

    Raises:
        ValueError: `delta` is 0.

    Example:
        >>> print(nn.Range(1, 8, 2)())
        [1 3 5 7]
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1):
        super().__init__()
        if limit is None:
            start, limit = 0, start
        for value, name in ((start, "start"), (limit, "limit"), (delta, "delta")):
            check_type(value, (int, float), name, "Range")
        check_value(delta, delta != 0, "not be 0", "delta", "Range")
        self.start, self.limit, self.delta = start, limit, delta
        floats = any(isinstance(v, float) for v in (start, limit, delta))
        self._numbers = np.arange(start, limit, delta).astype(np.float32 if floats else np.int32)

    def construct(self) -> Tensor:
        return Tensor(self._numbers)


@operator(name="ReduceLogSumExp")
def _logsumexp(x, axis, keep_dims):
    return jax.nn.logsumexp(x, None if axis == () else axis, keepdims=keep_dims)


class ReduceLogSumExp(OfX, of=_logsumexp, axis=of_type(int, tuple, list), keep_dims=check_bool):
    """log(sum(exp(x))) along axes, computed without overflow.

    Args:
        axis (int, tuple or list): the axes; () for all.
        keep_dims (bool): whether the axes stay, with size 1. Default: False.

    Inputs:
        - **x** (Tensor) - of floats.

    Outputs:
        Tensor.

    Raises:
        TypeError: a wrong type of an argument.

    Example:
        >>> print(nn.ReduceLogSumExp(0)(Tensor([0.0, 0.0])).asnumpy().round(4))
        0.6931
    """

    axis: int | Sequence[int]
    keep_dims: bool = False


@operator(name="Moments")
def _moments(x, axis, keep_dims):
    # Sums in float16 overflow soon; MindSpore, too, computes these in float32.
    wide = widened(x)
    mean = jnp.mean(wide, axis, keepdims=True)
    variance = jnp.mean(jnp.square(wide - mean), axis, keepdims=True)
    if not keep_dims:
        mean, variance = jnp.squeeze(mean, axis), jnp.squeeze(variance, axis)
    return mean.astype(x.dtype), variance.astype(x.dtype)


class Moments(Cell):
    """The mean and the variance along axes.

    Args:
        axis (int or tuple, optional): the axes; None or (), for all.
        keep_dims (bool, optional): whether the axes stay, with size 1. Default: None, for False.

    Inputs:
        - **x** (Tensor) - of Float16 or Float32.

    Outputs:
        Tuple of two Tensors: mean and variance.

    Raises:
        TypeError: a wrong type of an argument, or of another dtype.

    Example:
        >>> mean, variance = nn.Moments(axis=0)(Tensor([1.0, 3.0]))
        >>> print(mean, variance)
        2.0 1.0
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None, keep_dims: bool | None = None):
        super().__init__()
        self.axis = () if axis is None else check_type(axis, (int, tuple), "axis", "Moments")
        self.keep_dims: bool = False if keep_dims is None else check_bool(keep_dims, "keep_dims", "Moments")

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        _check_float(x, "x", "Moments")
        axes = (self.axis,) if isinstance(self.axis, int) else self.axis
        if any(not -x.ndim <= a < x.ndim for a in axes):
            raise ValueError(f"For 'Moments', 'axis' {self.axis} is out of range for an input of shape {x.shape}.")
        return _moments(x, axes or tuple(range(x.ndim)), self.keep_dims)


@operator(name="DiGamma")
def _digamma(x):
    at_zero = jnp.where(x == 0, -jnp.inf, jax.scipy.special.digamma(x))
    return jnp.where(x == -jnp.inf, jnp.nan, at_zero).astype(x.dtype)


@operator(2, name="LBeta")
def _lbeta(x, y):
    return jax.scipy.special.betaln(x, y).astype(x.dtype)


class LGamma(Cell):
    """The logarithm of the absolute value of the gamma function, elementwise.

    Inputs:
        - **x** (Tensor) - of Float16 or Float32.

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError: of another dtype.

    Example:
        >>> print(nn.LGamma()(Tensor([3.0, 4.0])).asnumpy().round(4))
        [0.6931 1.7918]
    """

    def construct(self, x: Tensor) -> Tensor:
        _check_float(x, "x", "LGamma")
        return special.lgamma(x)


class DiGamma(Cell):
    """The derivative of the logarithm of the gamma function, elementwise.

    Inputs, Outputs, Raises:
        As in `LGamma`.

    Example:
        >>> print(nn.DiGamma()(Tensor([1.0])).asnumpy().round(4))
        [-0.5772]
    """

    def construct(self, x: Tensor) -> Tensor:
        _check_float(x, "x", "DiGamma")
        return _digamma(x)


class IGamma(Cell):
    """The lower regularized incomplete gamma function P(a, x), elementwise.

    Inputs:
        - **a** (Tensor) - of Float32; the parameter, positive.
        - **x** (Tensor) - of Float32, not negative.

    Outputs:
        Tensor, of their common shape.

    Raises:
        TypeError: of another dtype.

    Example:
        >>> print(nn.IGamma()(Tensor([2.0]), Tensor([1.0])).asnumpy().round(4))
        [0.2642]
    """

    def __init__(self):
        super().__init__()
        self.lgamma = LGamma()

    def construct(self, a: Tensor, x: Tensor) -> Tensor:
        _check_float(a, "a", "IGamma", (mstype.float32,))
        _check_float(x, "x", "IGamma", (mstype.float32,))
        return special.igamma(a, x)


class LBeta(Cell):
    """The logarithm of the beta function, elementwise.

    Inputs:
        - **x**, **y** (Tensor) - of Float16 or Float32, positive.

    Outputs, Raises:
        As in `IGamma`.

    Example:
        >>> print(nn.LBeta()(Tensor([2.0]), Tensor([1.0])).asnumpy().round(4))
        [-0.6931]
    """

    def __init__(self):
        super().__init__()
        self.lgamma = LGamma()

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        _check_float(x, "x", "LBeta")
        _check_float(y, "y", "LBeta")
        return _lbeta(x, y)


@operator(name="MatInverse")
def _inverse(a):
    return rounded_once(jnp.linalg.inv, a)


@operator(name="MatDet")
def _determinant(a):
    return rounded_once(jnp.linalg.det, a)


class MatInverse(Cell):
    """The inverse of symmetric positive definite matrices.

    Inputs:
        - **a** (Tensor) - of Float16 or Float32, of shape (*, N, N).

    Outputs:
        Tensor, of the same shape.

    Raises:
        TypeError: of another dtype.

    Example:
        >>> print(nn.MatInverse()(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """

    def construct(self, a: Tensor) -> Tensor:
        _check_float(a, "a", "MatInverse")
        return _inverse(a)


class MatDet(Cell):
    """The determinant of symmetric positive definite matrices.

    Inputs, Raises:
        As in `MatInverse`.

    Outputs:
        Tensor, of shape (*).

    Example:
        >>> print(nn.MatDet()(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        8.0
    """

    def construct(self, a: Tensor) -> Tensor:
        _check_float(a, "a", "MatDet")
        return _determinant(a)
