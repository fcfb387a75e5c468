"""Operator classes of reductions, cumulative operators and norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_bool, check_kind
from msjax.core.base.typing import Axes, JaxArray
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.function.array_func import casting
from msjax.ops.function.math_func import cumulative, extremes, norms, reduction
from msjax.ops.primitive import Form, OfInput, OfX

__all__ = [
    "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceAll", "ReduceAny", "ReduceSum", "ReduceStd", "Argmax",
    "Argmin", "ArgMaxWithValue", "ArgMinWithValue", "CountNonZero", "Median", "Quantile", "CumSum", "CumProd",
    "CumulativeLogsumexp", "Cummax", "Cummin", "L2Loss", "SquareSumAll", "LpNorm", "Renorm", "L2Normalize", "EuclideanNorm",
    "NuclearNorm",
]  # fmt: skip


class _OverAxes(Form):
    """The base of reductions.

    Args:
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
    """

    keep_dims: bool = False

    def __call__(self, x: TensorLike, axis: Axes | None = ()) -> Tensor:
        return self._function(x, () if axis is None else axis, check_bool(self.keep_dims, "keep_dims", self.name))


# fmt: off
class ReduceMean(_OverAxes, of=reduction.mean): """The mean over axes, by default all: called with (x, axis)."""
class ReduceMax(_OverAxes, of=extremes.amax): """The largest values over axes, by default all: called with (x, axis)."""
class ReduceMin(_OverAxes, of=extremes.amin): """The smallest values over axes, by default all: called with (x, axis)."""
class ReduceProd(_OverAxes, of=reduction.prod_kept): """The product over axes, by default all: called with (x, axis)."""
class ReduceAll(_OverAxes, of=reduction.all):
    """Whether all elements are true, over axes, by default all: called with (x, axis)."""
class ReduceAny(_OverAxes, of=reduction.any): """Whether any element is true, over axes, by default all: called with (x, axis)."""
# fmt: on


class ReduceSum(Form):
    """The sum over axes (all by default): ``ops.ReduceSum()(x, axis)``.

    Args:
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        skip_mode (bool): whether nothing is summed where no axes are given. Default: False.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.ReduceSum(keep_dims=True)(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [[3.]
         [7.]]
    """

    keep_dims: bool = False
    skip_mode: bool = False

    def __call__(self, x: TensorLike, axis: Axes | None = ()) -> Tensor:
        axis = () if axis is None else freeze(axis)
        if self.skip_mode and axis == ():
            return x
        return reduction.sum_kept(x, axis, check_bool(self.keep_dims, "keep_dims", self.name))


class ReduceStd(Form):
    """The standard deviation and the mean.

    Args:
        axis (int, tuple or list): the axes. Default: (), for all.
        unbiased (bool): whether the divisor is N - 1. Default: True.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
    """

    axis: Axes = ()
    unbiased: bool = True
    keep_dims: bool = False

    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        axis = freeze(self.axis)
        return reduction.std_mean(x, None if axis == () else axis, int(self.unbiased), self.keep_dims)


class _IndexOf(Form):
    """The base of indices of extremes.

    Args:
        axis (int): Default: -1.
        output_type (ms.dtype): Int32 or Int64. Default: Int32.
    """

    axis: int = -1
    output_type: DTypeLike = mstype.int32

    def __call__(self, x: TensorLike) -> Tensor:
        kind = mstype.as_dtype(self.output_type)
        check_kind(kind, kind in (mstype.int32, mstype.int64), "be Int32 or Int64", "output_type", self.name)
        return casting.cast(self._function(x, self.axis, False), kind)


# fmt: off
class Argmax(_IndexOf, of=extremes.argmax): """The index of the largest value along an axis."""
class Argmin(_IndexOf, of=extremes.argmin): """The index of the smallest value along an axis."""
# fmt: on


class _WithValue(Form):
    """The base of extremes with their indices.

    Args:
        axis (int): Default: 0.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
    """

    axis: int = 0
    keep_dims: bool = False

    def __call__(self, input: TensorLike) -> tuple[Tensor, Tensor]:
        return self._function(input, self.axis, self.keep_dims)[::-1]


# fmt: off
class ArgMaxWithValue(_WithValue, of=extremes.max): """The largest values along an axis, as (index, values)."""
class ArgMinWithValue(_WithValue, of=extremes.min): """The smallest values along an axis, as (index, values)."""
# fmt: on


class CountNonZero(Form):
    """How many values are not 0, as Int64.

    Args:
        dims (int, tuple or list, optional): the axes. Default: None, for all.
    """

    dims: Axes | None = None

    def __call__(self, x: TensorLike) -> Tensor:
        return casting.cast(reduction.count_nonzero(x, () if self.dims is None else self.dims), mstype.int64)


class Median(Form):
    """The median along an axis and its index, as (values, indices).

    Args:
        global_median (bool): whether all elements count; the index is 0 then. Default: False.
        axis (int): Default: 0.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        ignore_nan (bool): whether NaN are left out. Default: False.
    """

    global_median: bool = False
    axis: int = 0
    keep_dims: bool = False
    ignore_nan: bool = False

    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        if self.global_median:
            return extremes.global_median(x, self.ignore_nan)
        return (extremes.nanmedian if self.ignore_nan else extremes.median)(x, self.axis, self.keep_dims)


class Quantile(Form):
    """The q-th quantiles: ``ops.Quantile(dim)(x, q)``.

    Args:
        dim (int, optional): the axis. Default: None, for all elements.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        ignore_nan (bool): whether NaN are left out. Default: False.
    """

    dim: int | None = None
    keep_dims: bool = False
    ignore_nan: bool = False

    def __call__(self, x: TensorLike, q: TensorLike) -> Tensor:
        return (extremes.nanquantile if self.ignore_nan else extremes.quantile)(x, q, self.dim, self.keep_dims)


# ---- cumulative


class _Shifted(Form):
    exclusive: bool = False
    reverse: bool = False

    def __call__(self, x: TensorLike, axis: int | Sequence[int]) -> Tensor:
        return self._function(x, axis, self.exclusive, self.reverse)


class _Running(Form):
    axis: int

    def __call__(self, input: TensorLike) -> tuple[Tensor, Tensor]:
        return self._function(input, self.axis)


# fmt: off
class CumSum(_Shifted, of=cumulative.cumsum_shifted): ...
class CumProd(_Shifted, of=cumulative.cumprod_shifted): ...
class CumulativeLogsumexp(_Shifted, of=cumulative.logcumsumexp_shifted): ...
class Cummax(_Running, of=cumulative.cummax): ...
class Cummin(_Running, of=cumulative.cummin): ...
# fmt: on


# ---- norms


@operator(name="L2Loss")
def _l2_loss(x: TensorLike) -> JaxArray:
    """Half of the sum of squares."""
    x = to_float(x)
    return (x * x).sum() / 2


@operator(2, name="SquareSumAll")
def _square_sum_all(x: TensorLike, y: TensorLike) -> tuple[JaxArray, JaxArray]:
    """The sums of squares of two Tensors."""
    return (x * x).sum(), (y * y).sum()


# fmt: off
class L2Loss(Form): __call__ = staticmethod(_l2_loss)
class SquareSumAll(Form): __call__ = staticmethod(_square_sum_all)
# fmt: on


class LpNorm(OfX, of=norms.lp_norm):
    axis: int | Sequence[int]
    p: float = 2
    keep_dims: bool = False
    epsilon: TensorLike = 1e-12


class Renorm(OfInput, of=norms.renorm, dim="axis"):
    p: float
    dim: int
    maxnorm: float


class L2Normalize(Form):
    """x / sqrt(max(sum(x**2), epsilon)) along an axis.

    Args:
        axis (int): Default: 0.
        epsilon (float): Default: 1e-4.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.L2Normalize()(Tensor([3.0, 4.0])))
        [0.6 0.8]
    """

    axis: int = 0
    epsilon: float = 1e-4

    def __call__(self, x: TensorLike) -> Tensor:
        axis = freeze(self.axis)
        if isinstance(axis, tuple):
            check_kind(axis, len(axis) == 1, "be one axis", "axis", "L2Normalize")
            axis = axis[0]
        return norms.l2_normalize(x, axis, float(self.epsilon))


class EuclideanNorm(Form):
    """The 2-norm over axes: ``ops.EuclideanNorm()(x, axes)``.

    Args:
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
    """

    keep_dims: bool = False

    def __call__(self, x: TensorLike, axes: Axes) -> Tensor:
        return norms.vector_norm(x, 2, axes, self.keep_dims)


class NuclearNorm(Form):
    """The sum of the singular values of matrices.

    Args:
        dim (tuple, optional): the axes of rows and columns. Default: None, for the first two.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
    """

    dim: Sequence[Any] | None = None
    keepdim: bool = False

    def __call__(self, x: TensorLike) -> Tensor:
        return norms.matrix_norm(x, "nuc", (0, 1) if self.dim is None else self.dim, self.keepdim)
