"""Operator classes of reductions, cumulative operators and norms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax.base.checks import check_bool
from msjax.base.typing import Axes, JaxArray, TensorLike
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.function.array_func import casting
from msjax.ops.function.math_func import cumulative, extremes, norms, reduction, statistics
from msjax.ops.primitive import REQUIRED, class_form, given_as, name_classes, operator_class

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


_KEEP = "keep_dims (bool): whether reduced axes stay, with size 1. Default: False."


def _over_axes(function, what):
    def call(self, x: TensorLike, axis: Axes | None = ()) -> Tensor:
        return function(x, () if axis is None else axis, check_bool(self.keep_dims, "keep_dims", self.name))

    call.__doc__ = f"{what} over axes, by default all: called with (x, axis).\n\n    Args:\n        {_KEEP}"
    return operator_class(keep_dims=False)(call)


ReduceMean = _over_axes(reduction.mean, "The mean")
ReduceMax = _over_axes(extremes.amax, "The largest values")
ReduceMin = _over_axes(extremes.amin, "The smallest values")
ReduceProd = _over_axes(reduction.prod_kept, "The product")
ReduceAll = _over_axes(reduction.all, "Whether all elements are true,")
ReduceAny = _over_axes(reduction.any, "Whether any element is true,")


@operator_class(keep_dims=False, skip_mode=False)
def ReduceSum(self: PrimitiveSelf, x: TensorLike, axis: Axes | None = ()) -> Tensor:
    """The sum over axes (all by default): ``ops.ReduceSum()(x, axis)``.

    Args:
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        skip_mode (bool): whether nothing is summed where no axes are given. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.ReduceSum(keep_dims=True)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [[3.]
         [7.]]
    """
    axis = () if axis is None else freeze(axis)
    if self.skip_mode and axis == ():
        return x
    return reduction.sum_kept(x, axis, check_bool(self.keep_dims, "keep_dims", self.name))


@operator_class(axis=(), unbiased=True, keep_dims=False)
def ReduceStd(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean.

    Args:
        axis (int, tuple or list): the axes. Default: (), for all.
        unbiased (bool): whether the divisor is N - 1. Default: True.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
    """
    axis = freeze(self.axis)
    return reduction.std_mean(x, None if axis == () else axis, int(self.unbiased), self.keep_dims)


def _index_of(function, what):
    def call(self, x: TensorLike) -> Tensor:
        kind = mstype.as_dtype(self.output_type)
        if kind not in (mstype.int32, mstype.int64):
            raise TypeError(f"For '{self.name}', 'output_type' should be Int32 or Int64, but got {kind}.")
        return casting.cast(function(x, self.axis, False), kind)

    call.__doc__ = f"""The index of the {what} value along an axis.

    Args:
        axis (int): Default: -1.
        output_type (ms.dtype): Int32 or Int64. Default: Int32.
    """
    return operator_class(axis=-1, output_type=mstype.int32)(call)


Argmax = _index_of(extremes.argmax, "largest")
Argmin = _index_of(extremes.argmin, "smallest")


def _with_index(function, what):
    def call(self, input: TensorLike) -> tuple[Tensor, Tensor]:
        values, index = function(input, self.axis, self.keep_dims)
        return index, values

    call.__doc__ = f"""The {what} values along an axis, as (index, values).

    Args:
        axis (int): Default: 0.
        {_KEEP}
    """
    return operator_class(axis=0, keep_dims=False)(call)


ArgMaxWithValue = _with_index(extremes.max, "largest")
ArgMinWithValue = _with_index(extremes.min, "smallest")


@operator_class(dims=None)
def CountNonZero(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """How many values are not 0, as Int64.

    Args:
        dims (int, tuple or list, optional): the axes. Default: None, for all.
    """
    return casting.cast(reduction.count_nonzero(x, () if self.dims is None else self.dims), mstype.int64)


@operator_class(global_median=False, axis=0, keep_dims=False, ignore_nan=False)
def Median(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, Tensor]:
    """The median along an axis and its index, as (values, indices).

    Args:
        global_median (bool): whether all elements count; the index is 0 then. Default: False.
        axis (int): Default: 0.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        ignore_nan (bool): whether NaN are left out. Default: False.
    """
    if self.global_median:
        return statistics.global_median(x, self.ignore_nan)
    return (statistics.nanmedian if self.ignore_nan else statistics.median)(x, self.axis, self.keep_dims)


@operator_class(dim=None, keep_dims=False, ignore_nan=False)
def Quantile(self: PrimitiveSelf, x: TensorLike, q: TensorLike) -> Tensor:
    """The q-th quantiles: ``ops.Quantile(dim)(x, q)``.

    Args:
        dim (int, optional): the axis. Default: None, for all elements.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        ignore_nan (bool): whether NaN are left out. Default: False.
    """
    return (statistics.nanquantile if self.ignore_nan else statistics.quantile)(x, q, self.dim, self.keep_dims)


# ---- cumulative

CumSum = class_form(cumulative.cumsum_shifted, exclusive=False, reverse=False)
CumProd = class_form(cumulative.cumprod_shifted, exclusive=False, reverse=False)
CumulativeLogsumexp = class_form(cumulative.logcumsumexp_shifted, exclusive=False, reverse=False)
Cummax = class_form(cumulative.cummax, axis=REQUIRED)
Cummin = class_form(cumulative.cummin, axis=REQUIRED)

# ---- norms


@operator(name="L2Loss")
def _l2_loss(x: JaxArray) -> JaxArray:
    """Half of the sum of squares."""
    x = to_float(x)
    return (x * x).sum() / 2


@operator(2, name="SquareSumAll")
def _square_sum_all(x: JaxArray, y: JaxArray) -> tuple[JaxArray, JaxArray]:
    """The sums of squares of two Tensors."""
    return (x * x).sum(), (y * y).sum()


L2Loss = class_form(_l2_loss)
SquareSumAll = class_form(_square_sum_all)
LpNorm = class_form(norms.lp_norm, axis=REQUIRED, p=2, keep_dims=False, epsilon=1e-12)
Renorm = class_form(norms.renorm, p=REQUIRED, dim=given_as("axis"), maxnorm=REQUIRED)


@operator_class(axis=0, epsilon=1e-4)
def L2Normalize(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """x / sqrt(max(sum(x**2), epsilon)) along an axis.

    Args:
        axis (int): Default: 0.
        epsilon (float): Default: 1e-4.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.L2Normalize()(ms.Tensor([3.0, 4.0])))
        [0.6 0.8]
    """
    axis = freeze(self.axis)
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise TypeError(f"For 'L2Normalize', 'axis' should be one axis, but got {axis}.")
        axis = axis[0]
    return norms.l2_normalize(x, axis, float(self.epsilon))


@operator_class(keep_dims=False)
def EuclideanNorm(self: PrimitiveSelf, x: TensorLike, axes: Axes) -> Tensor:
    """The 2-norm over axes: ``ops.EuclideanNorm()(x, axes)``.

    Args:
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
    """
    return norms.vector_norm(x, 2, axes, self.keep_dims)


@operator_class(dim=None, keepdim=False)
def NuclearNorm(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """The sum of the singular values of matrices.

    Args:
        dim (tuple, optional): the axes of rows and columns. Default: None, for the first two.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
    """
    return norms.matrix_norm(x, "nuc", (0, 1) if self.dim is None else self.dim, self.keepdim)


name_classes(globals())
