"""mint's reductions and sorts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import BinaryOperator, DTypeLike, TensorLike
from msjax.core.base.checks import check_bool, check_in_range, check_type
from msjax.core.base.typing import Axes, Number
from msjax.ops.dispatch.docs import titled
from msjax.ops.function.array_func.sorting import argsort_as, distinct as unique, sort_with_indices, top_along
from msjax.ops.function.math_func import extremes

__all__ = [
    "all", "amax", "amin", "any", "argmin", "argsort", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum",
    "kthvalue", "logsumexp", "max", "mean", "median", "min", "nansum", "norm", "prod", "softmax", "sort", "std", "std_mean",
    "topk", "unique", "var", "var_mean",
]  # fmt: skip


def _int64(pair):
    values, indices = pair
    return values, ops.cast(indices, mstype.int64)


def _typed(input, dtype):
    return input if dtype is None else ops.cast(input, dtype)


# ---- values


def mean(input: TensorLike, dim: Axes | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The mean over axes; the arguments are those of `sum`."""
    return ops.mean(_typed(input, dtype), dim, keepdim)


def prod(input: TensorLike, dim: Axes | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The product over an axis, or of all elements; the arguments are those of `sum`."""
    return ops.prod(input, dim, keepdim, dtype)


def nansum(input: TensorLike, dim: Axes | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum over axes, NaN left out; the arguments are those of `sum`."""
    return ops.nansum(input, dim, keepdim, dtype=dtype)


def all(input: TensorLike, dim: Axes | None = None, keepdim: bool = False) -> Tensor:
    """True where all elements over axes are true."""
    return ops.all(input, dim, keepdim)


def any(input: TensorLike, dim: Axes | None = None, keepdim: bool = False) -> Tensor:
    """True where any element over axes is true."""
    return ops.any(input, dim, keepdim)


def amax(input: TensorLike, dim: Axes = (), keepdim: bool = False) -> Tensor:
    """The largest values over axes; equal ones share the gradient."""
    return ops.amax(input, dim, keepdim)


def amin(input: TensorLike, dim: Axes = (), keepdim: bool = False) -> Tensor:
    """The smallest values over axes; equal ones share the gradient."""
    return ops.amin(input, dim, keepdim)


def count_nonzero(input: TensorLike, dim: Axes | None = None) -> Tensor:
    """How many elements over axes are not zero, as Int64."""
    return ops.count_nonzero(input, () if dim is None else dim, dtype=mstype.int64)


def logsumexp(input: TensorLike, dim: int, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over axes, without overflow."""
    return ops.logsumexp(input, dim, keepdim)


def softmax(input: TensorLike, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along an axis."""
    return ops.softmax(input, dim, dtype=dtype)


_R = TypeVar("_R", covariant=True)


class _Moment(Protocol[_R]):
    def __call__(self, input: TensorLike, dim: Axes | None = None, *, correction: int = 1, keepdim: bool = False) -> _R: ...


def _moment(name: str, doc: str) -> Any:
    function = getattr(ops, name)

    def call(input: TensorLike, dim: Axes | None = None, *, correction: int = 1, keepdim: bool = False) -> Any:
        return function(input, dim, correction, keepdim)

    doc = f"""{doc} over axes, with the divisor N - correction.

    Args:
        input (Tensor): of any shape.
        dim (int or tuple, optional): the axes; all by default.
        correction (int): Default: 1.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
    """
    return titled(call, name, doc)


std: _Moment[Tensor] = _moment("std", "The standard deviation")
var: _Moment[Tensor] = _moment("var", "The variance")
std_mean: _Moment[tuple[Tensor, Tensor]] = _moment("std_mean", "The standard deviation and the mean")
var_mean: _Moment[tuple[Tensor, Tensor]] = _moment("var_mean", "The variance and the mean")


def norm(
    input: Tensor,
    p: Number | str = "fro",
    dim: Axes | None = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The p-norm of all elements, or over axes.

    Args:
        input (Tensor): of any shape.
        p (number or str): "fro" for the 2-norm. Default: "fro".
        dim (int or tuple, optional): the axes; all by default.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first.
    """
    input = _typed(input, dtype)
    if p == "nuc":
        return ops.norm(input, "nuc", dim, keepdim)
    return ops.vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)  # pyright: ignore[reportArgumentType]


# ---- values and indices


class _Extreme(Protocol):
    @overload
    def __call__(self, input: TensorLike) -> Tensor: ...
    @overload
    def __call__(self, input: TensorLike, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, input: TensorLike, other: Tensor) -> Tensor: ...


def _extreme(name: str, elementwise: BinaryOperator, whole: Callable[..., Tensor], doc: str) -> _Extreme:
    function = getattr(ops, name)

    def call(input: TensorLike, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        check_type(input, Tensor, "input", name)
        check_bool(keepdim, "keepdim", name)
        if dim is None and keepdim:
            raise TypeError(f"For '{name}', 'keepdim' needs an axis, 'dim'.")
        if isinstance(dim, Tensor):
            dim, other = None, dim
        if other is not None:
            return elementwise(input, other)
        if dim is None:
            return whole(input)
        return _int64(function(input, dim, keepdim))

    return titled(call, name, doc)


max: _Extreme = _extreme(
    "max", ops.maximum, ops.amax,
    "The largest of all elements; with an axis, the largest along it and their Int64 indices; of two Tensors, the larger.",
)  # fmt: skip
min: _Extreme = _extreme(
    "min", ops.minimum, ops.amin,
    "The smallest of all elements; with an axis, the smallest along it and their Int64 indices; of two Tensors, the smaller.",
)  # fmt: skip


def argmin(input: TensorLike, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest value along an axis, of the flattened Tensor by default, as Int64."""
    return ops.cast(ops.argmin(input, dim, keepdim), mstype.int64)


@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: int, keepdim: bool = ...) -> tuple[Tensor, Tensor]: ...
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements; with an axis, those along it and their Int64 indices. Of NaN among them it is NaN."""
    return extremes.global_median(input, False)[0] if dim is None else ops.median(input, dim, keepdim)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along an axis, and its Int64 index.

    Raises:
        ValueError: the axis has fewer than k elements, or k is not positive.
    """
    check_in_range(k, "k", "kthvalue", low=1, high=input.shape[dim])
    return extremes.kthvalue(input, k, dim, keepdim)


def sort(input: TensorLike, *, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
    """The elements sorted along an axis, and Int64 indices that say where each came from.

    Example:
        >>> from msjax import Tensor, mint
        >>> values, indices = mint.sort(Tensor([3.0, 1.0, 2.0]))
        >>> print(values, indices)
        [1. 2. 3.] [1 2 0]
    """
    return sort_with_indices(input, dim, descending, mstype.int64)


def argsort(input: TensorLike, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where each element of the Tensor sorted along an axis comes from, as Int64."""
    return argsort_as(input, dim, descending, mstype.int64)


def topk(input: TensorLike, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) elements along an axis, in order, and their Int64 indices."""
    return top_along(input, k, -1 if dim is None else dim, largest, mstype.int64)


# ---- along an axis


def cumsum(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """The cumulative sum along an axis; of Bools and integers as Int64."""
    if dtype is None and input.dtype.kind in "biu":
        dtype = mstype.int64
    return ops.cumsum(_typed(input, dtype), dim)


def cumprod(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """The cumulative product along an axis; of Bools and integers as Int64."""
    if dtype is None and input.dtype.kind in "biu":
        dtype = mstype.int64
    return ops.cumprod(_typed(input, dtype), dim)


def cummax(input: TensorLike, dim: int) -> tuple[Tensor, Tensor]:
    """The cumulative maximum along an axis, and Int64 indices."""
    return _int64(ops.cummax(input, dim))


def cummin(input: TensorLike, dim: int) -> tuple[Tensor, Tensor]:
    """The cumulative minimum along an axis, and Int64 indices."""
    return _int64(ops.cummin(input, dim))
