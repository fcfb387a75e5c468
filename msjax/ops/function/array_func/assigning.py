"""Operators that write to Parameters."""

from __future__ import annotations

from typing import Protocol

import jax.numpy as jnp

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind, check_value
from msjax.engine.autograd.inplace import rebind, written
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator, require_integers
from msjax.ops.function.array_func.scattering import index_combine, scatter_rows

__all__ = [
    "assign", "assign_add", "assign_sub", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul",
    "scatter_nd_add", "scatter_nd_div", "scatter_nd_max", "scatter_nd_min", "scatter_nd_mul", "scatter_nd_sub",
    "scatter_nd_update", "scatter_update",
]  # fmt: skip


def _target(value, who):
    return check_kind(value, isinstance(value, Tensor), "be a Parameter or Tensor", "the first argument", who)


@operator(2, int_grad=(1,))
def _assign(variable, value):
    return jnp.broadcast_to(jnp.asarray(value), variable.shape).astype(variable.dtype)


def assign(variable: Parameter, value: TensorLike) -> Parameter:
    """Give a Parameter another value.

    Args:
        variable (Parameter): the Parameter to write to.
        value (Tensor): of the Parameter's shape; its elements are converted to the Parameter's type.

    Returns:
        The Parameter.

    Raises:
        TypeError: `variable` is not a Parameter or Tensor, or `value` not a Tensor.
        ValueError: the shapes differ.

    Example:
        >>> w = Parameter(Tensor([1.0]), name="w")
        >>> _ = ops.assign(w, Tensor([2.0]))
        >>> print(w.value())
        [2.]
    """
    shape = getattr(value, "shape", ())
    if _target(variable, "assign").shape != shape and not (variable.size == 1 and shape in ((), (1,))):
        raise ValueError(f"For 'assign', 'value' should have shape {variable.shape}, but has {shape}.")
    # As in MindSpore, the result is the Parameter for gradients, too: none flows to the value.
    rebind(variable, _assign(variable, value))
    return variable


@operator(2, int_grad=True)
def _add(variable, value):
    return variable + jnp.asarray(value).astype(variable.dtype)


@operator(2, int_grad=True)
def _sub(variable, value):
    return variable - jnp.asarray(value).astype(variable.dtype)


def assign_add(variable: Parameter, value: TensorLike) -> Tensor:
    """Add `value`, a Tensor or number, to a Parameter; returns its new value."""
    return written(_target(variable, "assign_add"), _add(variable, value))


def assign_sub(variable: Parameter, value: TensorLike) -> Tensor:
    """Subtract `value`, a Tensor or number, from a Parameter; returns its new value."""
    return written(_target(variable, "assign_sub"), _sub(variable, value))


class _ScatterRows(Protocol):
    def __call__(self, input_x: Parameter, indices: Tensor, updates: TensorLike) -> Tensor: ...


class _ScatterPlaces(Protocol):
    def __call__(self, input_x: Parameter, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor: ...


def _rows(how: str, doc: str) -> _ScatterRows:
    name = f"scatter_{how}"

    def function(input_x: Parameter, indices: Tensor, updates: TensorLike) -> Tensor:
        require_integers(name, indices=indices)
        want = indices.shape + _target(input_x, name).shape[1:]
        check_value(updates, getattr(updates, "shape", want) == want, f"have shape {want}", "updates", name)
        return written(input_x, index_combine(input_x, indices, updates, 0, how))

    doc = f"""{doc} of a Parameter, in place.

    Args:
        input_x (Parameter): the Parameter to write to.
        indices (Tensor): of integers: the rows.
        updates (Tensor): of shape ``indices.shape + input_x.shape[1:]``.

    Returns:
        The Parameter.
    """
    return titled(function, name, doc)


scatter_update: _ScatterRows = _rows("update", "Replace rows")
scatter_add: _ScatterRows = _rows("add", "Add to rows")
scatter_sub: _ScatterRows = _rows("sub", "Subtract from rows")
scatter_mul: _ScatterRows = _rows("mul", "Multiply rows")
scatter_div: _ScatterRows = _rows("div", "Divide rows")
scatter_max: _ScatterRows = _rows("max", "Take the larger of rows and updates, in the rows")
scatter_min: _ScatterRows = _rows("min", "Take the smaller of rows and updates, in the rows")


def _places(how: str, doc: str) -> _ScatterPlaces:
    name = f"scatter_nd_{how}"

    def function(input_x: Parameter, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
        require_integers(name, indices=indices)
        return written(_target(input_x, name), scatter_rows(input_x, indices, updates, how))

    doc = f"""{doc} of a Parameter that rows of indices name, in place.

    Args:
        input_x (Parameter): the Parameter to write to.
        indices (Tensor): of integers, of shape (*, n): each row names the first n axes.
        updates (Tensor): of shape ``indices.shape[:-1] + input_x.shape[n:]``.
        use_locking (bool): accepted for compatibility with MindSpore, without effect.

    Returns:
        The Parameter.
    """
    return titled(function, name, doc)


scatter_nd_update: _ScatterPlaces = _places("update", "Replace the elements")
scatter_nd_add: _ScatterPlaces = _places("add", "Add to the elements")
scatter_nd_sub: _ScatterPlaces = _places("sub", "Subtract from the elements")
scatter_nd_mul: _ScatterPlaces = _places("mul", "Multiply the elements")
scatter_nd_div: _ScatterPlaces = _places("div", "Divide the elements")
scatter_nd_max: _ScatterPlaces = _places("max", "Take the larger of the updates and the elements")
scatter_nd_min: _ScatterPlaces = _places("min", "Take the smaller of the updates and the elements")
