"""Tensor methods of reductions and cumulative operators.

MindSpore's methods accept two sets of argument names: the older axis, keepdims (or keep_dims) and ddof, and the newer
dim, keepdim and correction. So do these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, overload

from msjax.common import dtype as mstype
from msjax.common.bases import attached_to
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import Attribute, Axes, Number
from msjax.core.door import STATE
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import casting
from msjax.ops.function.math_func import cumulative, extremes, reduction
from msjax.ops.primitive import method_of


def _settled(name: str, kwargs: dict[str, Any], axis: Any = None, keep: Any = False) -> tuple[Any, Any]:
    """The axis and whether it stays, by all names that the method `name` knows; a TypeError for other names."""
    axis = kwargs.pop("dim", kwargs.pop("axis", axis))
    for each in ("keepdim", "keepdims", "keep_dims"):
        keep = kwargs.pop(each, keep)
    if kwargs:
        raise TypeError(f"Tensor.{name}() got an unexpected keyword argument {next(iter(kwargs))!r}.")
    return axis, keep


_NEW = frozenset(("dim", "keepdim"))
_OLD = frozenset(("axis", "keepdims", "initial", "where", "return_indices"))


def _positions_are_axes(kwargs):
    """Whether what is given by position is the axis, as in MindSpore's compiled code; in PyNative mode it is the dimension."""
    return STATE.in_program() and _NEW.isdisjoint(kwargs)


class _Extreme(Protocol):
    @overload
    def __call__(self, *, initial: Number | None = ..., where: TensorLike = ...) -> Tensor: ...
    @overload
    def __call__(self, dim: int, keepdim: bool = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, axis: Any = ..., keepdims: bool = ..., **kwargs: Any) -> Any: ...


def _extreme(name: str, whole: Callable[..., Any], with_index: Callable[..., Any]) -> Attribute[_Extreme]:
    def method(self, *args, **kwargs):
        old = not _OLD.isdisjoint(kwargs) or (args and (not isinstance(args[0], int) or _positions_are_axes(kwargs)))
        names = ("axis", "keepdims") if old else ("dim", "keepdim")
        if len(args) > 2:
            raise TypeError(f"Tensor.{name}() takes at most 2 positional arguments, but got {len(args)}.")
        given = {**dict(zip(names, args)), **kwargs}
        initial, where, indices = given.pop("initial", None), given.pop("where", None), given.pop("return_indices", False)
        axis, keep = _settled(name, given)
        axis = freeze(axis)
        if any(not isinstance(a, int) for a in (axis if isinstance(axis, tuple) else (axis or 0,))):
            raise TypeError(f"For 'Tensor.{name}', the axis should be an int or several, but got {axis!r}.")
        if isinstance(axis, int) and (indices or not old):
            return with_index(self, axis, keep, initial=initial, where=where)
        return whole(self, axis, keep, initial=initial, where=where)

    what = "largest" if name == "max" else "smallest"
    method.__name__ = name
    method.__doc__ = f"""The {what} value of all; or those along an axis.

    ``x.{name}(dim, keepdim=False)`` gives (values, indices) along an axis; ``x.{name}(axis=axis, keepdims=False, *,
    initial=None, where=None, return_indices=False)`` the values alone, over one axis or several.
    """
    return method


class _Moment(Protocol):
    def __call__(self, axis: Axes | None = None, ddof: float = 0, keepdims: bool = False, **kwargs: Any) -> Tensor: ...


def _moment(name: str, function: Callable[..., Any]) -> Attribute[_Moment]:
    def method(
        self: Tensor, axis: int | Sequence[int] | None = None, ddof: float | bool = 0, keepdims: bool = False, **kwargs: Any
    ) -> Tensor:
        ddof = kwargs.pop("correction", ddof)
        axis, keep = _settled(name, kwargs, axis, keepdims)
        return function(self, axis, ddof, keep)

    method.__name__ = name
    method.__doc__ = f"""{(function.__doc__ or "").strip()}

    Args:
        axis (int, tuple or list, optional): also called `dim`. Default: None, for all.
        ddof (int): also called `correction`. Default: 0.
        keepdims (bool): whether reduced axes stay, with size 1; also called `keepdim`. Default: False.
    """
    return method


class _WithValue(Protocol):
    def __call__(self, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]: ...


def _with_value(function: Callable[..., Any]) -> Attribute[_WithValue]:
    def method(self: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        return function(self, axis, keep_dims)

    first = (function.__doc__ or "").partition("\n")[0]  # there is none under python -OO
    method.__doc__ = f"{first}\n\n    Returns:\n        (values, indices).\n    "
    return method


def _cumsum(self: Tensor, axis: int | None = None, dtype: Type | None = None) -> Tensor:
    """The cumulative sum along an axis, by default of all elements in their order; of Bool, Int8, Int16 and UInt8 as Int32, unless `dtype` is given."""
    small = dtype is None and self.dtype in (mstype.int8, mstype.int16, mstype.uint8)
    rows, axis = (self, axis) if axis is not None else (self.reshape(-1), 0)
    return cumulative.cumsum(rows, axis, mstype.int32 if small else dtype)


@attached_to(Tensor)
class ReductionMethods:
    """Methods of reductions and cumulative operators."""

    def sum(
        self: Tensor,
        axis: int | Sequence[int] | None = None,
        dtype: Type | None = None,
        keepdims: bool = False,
        initial: Number | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """The sum over axes (all by default); of Bools and integers as Int64.

        Args:
            axis (int, tuple or list, optional): also called `dim`. Default: None, for all.
            dtype (ms.dtype, optional): the dtype to convert to first. Default: None.
            keepdims (bool): whether reduced axes stay, with size 1; also called `keepdim`, then second. Default: False.
            initial (number, optional): added to the sum. Default: None.
        """
        if isinstance(dtype, bool):
            dtype, keepdims = None, dtype
        axis, keepdims = _settled("sum", kwargs, axis, keepdims)
        out = reduction.sum(self, axis, keepdims, dtype=dtype)
        return out if initial is None else out + initial

    def mean(
        self: Tensor,
        axis: int | Sequence[int] | None = None,
        keep_dims: bool = False,
        *,
        dtype: Type | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """The mean over axes (all by default); of integers an integer, rounded towards zero.

        Args:
            axis (int, tuple or list, optional): also called `dim`. Default: None, for all.
            keep_dims (bool): whether reduced axes stay, with size 1; also called `keepdim`. Default: False.
            dtype (ms.dtype, optional): the dtype to convert to first. Default: None.
        """
        axis, keep = _settled("mean", kwargs, axis, keep_dims)
        return reduction.mean(self if dtype is None else casting.cast(self, dtype), axis, keep)

    def prod(
        self: Tensor, axis: int | Sequence[int] | None = None, keep_dims: bool = False, dtype: Type | None = None, **kwargs: Any
    ) -> Tensor:
        """The product over axes (all by default); of Bools and integers as Int64.

        Args:
            axis, keep_dims, dtype: as in `mean`.
        """
        axis, keep = _settled("prod", kwargs, axis, keep_dims)
        if isinstance(keep, Type):
            keep, dtype = False, keep
        return reduction.prod(self, axis, keep, dtype)

    max: Final = _extreme("max", extremes.amax, extremes.max)
    min: Final = _extreme("min", extremes.amin, extremes.min)
    amax: Final = method_of(extremes.amax, dim="axis", keepdim="keepdims")
    amin: Final = method_of(extremes.amin, dim="axis", keepdim="keepdims")

    def ptp(self: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """The largest value minus the smallest, over axes (all by default)."""
        return extremes.amax(self, axis, keepdims) - extremes.amin(self, axis, keepdims)

    argmax: Final = method_of(extremes.argmax, axis="dim", keepdims="keepdim")
    argmin: Final = method_of(extremes.argmin, dim="axis", keepdim="keepdims")
    argmax_with_value: Final = _with_value(extremes.max)
    argmin_with_value: Final = _with_value(extremes.min)
    any: Final = method_of(reduction.any, keepdims="keep_dims", keepdim="keep_dims", dim="axis")
    all: Final = method_of(reduction.all, keepdims="keep_dims", keepdim="keep_dims", dim="axis")
    std: Final = _moment("std", reduction.std)
    var: Final = _moment("var", reduction.var)

    def count_nonzero(
        self: Tensor, axis: tuple[Any, ...] | int = (), keep_dims: bool = False, dtype: Type | None = None, **kwargs: Any
    ) -> Tensor:
        """How many values over axes (all by default) are not 0, as Int32 by default."""
        axis, keep = _settled("count_nonzero", kwargs, axis, keep_dims)
        return reduction.count_nonzero(self, () if axis is None else axis, keep, **({} if dtype is None else {"dtype": dtype}))

    logsumexp: Final = method_of(reduction.logsumexp, axis="dim", keepdims="keepdim")
    nansum: Final = method_of(reduction.nansum, dim="axis", keepdim="keepdims")
    nanmean: Final = method_of(reduction.nanmean, dim="axis", keepdim="keepdims")
    median: Final = method_of(extremes.median, dim="axis", keepdim="keepdims")
    nanmedian: Final = method_of(extremes.nanmedian, dim="axis", keepdim="keepdims")

    def sum_to_size(self: Tensor, *size: Any) -> Tensor:
        """The sum over the axes along which a Tensor of the shape `size` would be repeated to this one's shape; of integers an Int64."""
        size = freeze(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
        lead = self.ndim - len(size)
        if lead < 0 or any(n not in (1, m) for n, m in zip(size, self.shape[lead:])):
            raise ValueError(f"For 'Tensor.sum_to_size', the shape {self.shape} can't be summed to {size}.")
        axes = [lead + i for i, n in enumerate(size) if n == 1 and self.shape[lead + i] != 1]
        out = reduction.sum(self, tuple(axes), keepdim=True) if axes else self
        return reduction.sum(out, tuple(range(lead))) if lead else out

    from msjax.ops.function.math_func.extremes import aminmax, cov, kthvalue, nanquantile, quantile
    from msjax.ops.function.math_func.norms import norm, renorm

    # cumulative
    cumsum: Final = method_of(_cumsum, dim="axis")
    cumprod: Final = method_of(cumulative.cumprod, axis="dim")
    cummax: Final = method_of(cumulative.cummax, dim="axis")
    cummin: Final = method_of(cumulative.cummin, dim="axis")
    logcumsumexp: Final = method_of(cumulative.logcumsumexp, dim="axis")
    diff: Final = method_of(cumulative.diff, dim="axis")
