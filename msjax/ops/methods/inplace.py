"""In-place Tensor methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec

import jax.numpy as jnp
import numpy as np

from msjax.common.bases import attached_to
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind, check_value
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.inplace import replace, written
from msjax.ops.dispatch.operator import operator, require_tensors
from msjax.ops.dispatch.promotion import with_number
from msjax.ops.function.array_func import arrange, casting, diagonals, gathering, indexing, scattering, selecting

_P = ParamSpec("_P")


def inplace(function: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    """The method that gives a Tensor the result of a function of it, in the Tensor's own data type.

    Raises:
        TypeError: the result is of another kind, such as floats for a Tensor of integers, which would be cut off.
    """

    @functools.wraps(function)
    def method(self, *args, **kwargs):
        new = function(self, *args, **kwargs)
        if new.dtype is not self.dtype:
            fits = with_number(self.dtype.np, new.dtype.kind) == self.dtype.np
            who = f"Tensor.{function.__name__.rstrip('_')}_"
            check_kind(str(new.dtype), fits, f"fit into the Tensor's {self.dtype}", "the result's dtype", who)
            new = casting.cast(new, self.dtype)
        return written(self, new)

    method.__doc__ = f"In place: {(function.__doc__ or '').strip()}"
    return method


def _everywhere(method: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    """The method that writes one value, 0 by default: as PyTorch's, also to a view in which several elements are one."""

    @functools.wraps(method)
    def fill(self, *args, **kwargs):
        view = self.__dict__.get("_view")
        if view is None or not view.repeats():
            return method(self, *args, **kwargs)
        view.fill(next(iter((*args, *kwargs.values())), 0))
        return self

    return fill


@operator(2, int_grad=(1,))
def _filled(x: TensorLike, value: TensorLike) -> JaxArray:
    return jnp.broadcast_to(jnp.asarray(value), x.shape).astype(x.dtype)


_HOW = {None: "update", "add": "add", "multiply": "mul", "none": "update"}


@attached_to(Tensor)
class InplaceMethods:
    """Methods that give a Tensor new data."""

    @_everywhere
    @inplace
    def fill_(self: Tensor, value: TensorLike) -> Tensor:
        """One value everywhere."""
        return _filled(self, value)

    @_everywhere
    @inplace
    def zero_(self: Tensor) -> Tensor:
        """Zeros everywhere."""
        return _filled(self, 0)

    @inplace
    def copy_(self: Tensor, src: TensorLike, non_blocking: bool = False) -> Tensor:
        """The elements of another Tensor, whose shape is broadcast."""
        require_tensors("Tensor.copy_", src=src)
        return _filled(self, src)

    masked_fill_: Final = inplace(selecting.masked_fill)
    masked_scatter_: Final = inplace(selecting.masked_scatter)
    index_fill_: Final = inplace(scattering.index_fill)
    index_put_: Final = inplace(indexing.index_put)

    @inplace
    def scatter_(
        self: Tensor,
        dim: int,
        index: TensorLike,
        src: TensorLike | None = None,
        *,
        value: TensorLike | None = None,
        reduce: Any = None,
    ) -> Tensor:
        """Values put in, added (reduce="add") or multiplied (reduce="multiply") along an axis, at an index for each."""
        check_value(reduce, reduce in _HOW, "be 'add' or 'multiply'", "reduce", "Tensor.scatter_")
        src = value if src is None else src
        return scattering.scatter_along(self, index, src if isinstance(src, Tensor) else Tensor(src), dim, _HOW[reduce])

    @inplace
    def scatter_add_(self: Tensor, dim: int, index: TensorLike, src: TensorLike) -> Tensor:
        """Values added along an axis, at an index for each."""
        return scattering.scatter_along(self, index, src, dim, "add")

    @inplace
    def index_add_(self: Tensor, dim: int, index: TensorLike, source: Any, *, alpha: int = 1) -> Tensor:
        """Slices, times `alpha`, added to those that an index names along an axis."""
        return scattering.index_combine(self, index, source * alpha if alpha != 1 else source, dim, "add")

    @inplace
    def index_copy_(self: Tensor, dim: int, index: TensorLike, tensor: TensorLike) -> Tensor:
        """Slices written at an index along an axis."""
        return scattering.index_combine(self, index, tensor, dim, "update")

    @inplace
    def put_(self: Tensor, index: TensorLike, source: Any, accumulate: bool = False) -> Tensor:
        """Elements put in, or added, at indices of the flattened Tensor."""
        index = gathering.integers(index, "put_")
        flat = indexing.index_put(arrange.ravel(self), (arrange.ravel(index),), arrange.ravel(source), accumulate)
        return arrange.reshape(flat, self.shape)

    @inplace
    def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
        """One value on the main diagonal."""
        return diagonals.fill_diagonal(self, fill_value, wrap)

    def assign_value(self: Tensor, value: TensorLike) -> Tensor:
        """Replaces the data by that of another Tensor, of any shape and type."""
        replace(self, value if isinstance(value, Tensor) else Tensor(value))
        return self

    def set_(
        self: Tensor,
        source: Any = None,
        storage_offset: int = 0,
        size: int | Sequence[int] | None = None,
        stride: int | tuple[int, ...] | None = None,
    ) -> Tensor:
        """The data of another Tensor."""
        if size is not None or stride is not None or storage_offset:
            raise NotImplementedError("For 'Tensor.set_', views with an offset, size or stride are not offered.")
        return self.assign_value(Tensor(np.zeros(0, self.dtype.np)) if source is None else source)
