"""Turns a function of jax arrays into a function of Tensors; checks of operands that have to be Tensors, and Tensors in containers.

`operator` turns a kernel into an operator with the kernel's own signature: its first parameters are
operands (Tensors, numbers, arrays), the others static values that programs are compiled for.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from msjax.common.dtype import Type, as_dtype
from msjax.common.tensor import Tensor
from msjax.common.typing import KernelDecorator
from msjax.core.base.checks import check_int, check_kind, check_type
from msjax.core.base.errors import describe, where
from msjax.engine.autograd.op import Op, apply
from msjax.engine.autograd.op_errors import raise_op_error
from msjax.engine.autograd.views import Rule, view_of
from msjax.ops.dispatch.docs import with_imports

_PLAIN = (type(None), bool, int, str, Type)
_ARRAYS = (Tensor, np.ndarray, np.generic)


class _WholeFloat(float):
    """A float such as 1.0 in a cache key: unlike a plain float, it is not equal to the int 1."""

    def __eq__(self, other: Any) -> bool:
        return type(other) is _WholeFloat and float.__eq__(self, other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((_WholeFloat, float(self)))


def freeze(value: Any) -> Any:
    """A hashable form of a static argument: lists become tuples, Tensors and arrays become numbers."""
    if value.__class__ in _PLAIN or value.__class__ is _WholeFloat:  # the latter has been frozen before
        return value
    if isinstance(value, float):
        if value != value:
            return math.nan  # one object: as a key, a NaN is equal to itself only
        return _WholeFloat(value) if value == int(value if abs(value) < 2**53 else 0) else float(value)
    if isinstance(value, (tuple, list)):
        return tuple([freeze(v) for v in value])
    if isinstance(value, _ARRAYS):
        return freeze(value.tolist())
    if isinstance(value, (np.dtype, type)):
        return as_dtype(value)
    return value


def _number(value):
    """A setting that the kernel calculates with: a Tensor or array as a number; anything else as it is."""
    return freeze(value) if isinstance(value, _ARRAYS) else value


def operator(
    operands: int = 1,
    *,
    numbers: Sequence[str] = (),
    check: Callable[..., Any] | None = None,
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    name: str | None = None,
    int_grad: bool | tuple[int, ...] = False,
    differentiable: bool = True,
    shape_error: type[Exception] = ValueError,
    tensors: bool = False,
    view: Rule | None = None,
) -> KernelDecorator:
    """Decorator: make a kernel an operator.

    Args:
        operands: how many of the kernel's first parameters are operands.
        numbers: the names of further parameters that are numbers, or None: the kernel calculates with them, but takes no decision
            from their values. Other values need no other program: the kernel gets weakly typed scalars.
        check: called with the values of all parameters before the kernel is; raises for wrong ones.
        prepare: takes these values and returns them checked and converted; for rules of the operands, too, in messages of its own.
        name: as messages show it; by default the kernel's name, without underscores around it.
        int_grad, differentiable, shape_error: see `msjax.engine.autograd.op.Op`.
        view: of an operator whose results share the memory of its first operand, how they are written; see `msjax.engine.autograd.views`.
        tensors: whether the first operand has to be a Tensor or an array; a number or a list is a TypeError then.

    Returns:
        A function with the kernel's signature, on Tensors. Its attribute `op` is the `Op`.
    """

    def decorate(kernel):
        names, defaults, positional = _parameters(kernel)
        index = {n: i for i, n in enumerate(names)}
        total = len(names)
        required = sum(1 for d in defaults if d is inspect.Parameter.empty)
        # The places of the operands, the numbers and the static values among the parameters.
        given = [*range(operands), *map(index.__getitem__, numbers)]
        rest = [i for i in range(total) if i not in given]
        fn = kernel if positional == total else _positional(kernel, positional, names)
        fn = fn if given == list(range(len(given))) else _reordered(fn, [*given, *rest])
        op = Op(name or kernel.__name__.strip("_"), fn, int_grad=int_grad, differentiable=differentiable, shape_error=shape_error)
        run = apply if view is None else _viewing(dataclasses.replace(view, read=fn))
        default_numbers = tuple([defaults[i] for i in given[operands:]])
        frozen_defaults = tuple([None if defaults[i] is inspect.Parameter.empty else freeze(defaults[i]) for i in rest])

        def bind(args, kwargs):
            if len(args) > positional:
                raise TypeError(f"{op.name}() takes {positional} positional arguments but {len(args)} were given.")
            values = [*args, *defaults[len(args) :]]
            for key, value in kwargs.items():
                i = index.get(key)
                if i is None:
                    raise TypeError(f"{op.name}() got an unexpected keyword argument {key!r}; it takes {', '.join(names)}.")
                if i < len(args):
                    raise TypeError(f"{op.name}() got two values for argument {key!r}.")
                values[i] = value
            for i in range(len(args), total):
                if values[i] is inspect.Parameter.empty:
                    raise TypeError(f"{op.name}() misses its argument {names[i]!r}.")
            return values

        def checked_call(args, kwargs):
            values = bind(args, kwargs) if kwargs or len(args) != total else args
            if prepare is not None:
                values = prepare(values)
            if tensors and not hasattr(values[0], "dtype"):
                raise TypeError(f"For '{op.name}'{where()}, {names[0]!r} should be a Tensor, but got {describe(values[0])}.")
            if numbers:
                values = list(values)
                for i in given[operands:]:
                    values[i] = _number(values[i])
            if check is not None:
                try:
                    check(*values)
                except Exception as error:
                    raise_op_error(error, op, values[:operands])
            return run(op, [values[i] for i in given], tuple([freeze(values[i]) for i in rest]))

        if required == operands and prepare is None:

            def call(*args, **kwargs):
                if not kwargs and len(args) == operands and (not tensors or isinstance(args[0], Tensor)):
                    return run(op, args + default_numbers if numbers else args, frozen_defaults)
                return checked_call(args, kwargs)

        else:

            def call(*args, **kwargs):
                return checked_call(args, kwargs)

        call.__name__ = kernel.__name__
        call.__qualname__ = kernel.__qualname__
        call.__module__ = kernel.__module__
        call.__doc__ = with_imports(kernel.__doc__)
        # inspect.signature follows this. Building hundreds of signatures here would slow the import.
        call.__wrapped__ = kernel
        call.op = op
        return call

    return cast(KernelDecorator, decorate)


def _viewing(rule):
    """`apply` for an operator whose results are views."""

    def run(op, operands, static):
        return view_of(operands[0], apply(op, operands, static), rule, tuple(operands[1:]), static)

    return run


def _parameters(kernel):
    """(names, defaults, number of positional ones) of a function's parameters."""
    code = getattr(kernel, "__code__", None)
    if code is None or hasattr(kernel, "__wrapped__") or hasattr(kernel, "__signature__"):
        parameters = list(inspect.signature(kernel).parameters.values())
        positional = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
        return [p.name for p in parameters], [p.default for p in parameters], positional
    positional = code.co_argcount
    names = list(code.co_varnames[: positional + code.co_kwonlyargcount])
    given = kernel.__defaults__ or ()
    defaults = [inspect.Parameter.empty] * (positional - len(given)) + list(given)
    defaults += [(kernel.__kwdefaults__ or {}).get(n, inspect.Parameter.empty) for n in names[positional:]]
    return names, defaults, positional


def _positional(kernel, positional, names):
    """The kernel with its keyword-only parameters made positional."""

    def fn(*args):
        return kernel(*args[:positional], **dict(zip(names[positional:], args[positional:])))

    fn.__name__ = kernel.__name__
    return fn


def _reordered(kernel, places):
    """The kernel with its parameters in another order: argument n is that of place `places[n]`."""

    order = [places.index(i) for i in range(len(places))]

    def fn(*args):
        return kernel(*[args[n] for n in order])

    fn.__name__ = kernel.__name__
    return fn


# ---- operands


def map_tensors(fn: Callable[[Tensor], Any], value: Any) -> Any:
    """What a function gives for a Tensor, or for each one in nested tuples, lists and dicts; other values as they are."""
    if isinstance(value, Tensor):
        return fn(value)
    if isinstance(value, (tuple, list)):
        mapped = [map_tensors(fn, v) for v in value]
        return value._make(mapped) if hasattr(value, "_fields") else type(value)(mapped)
    if isinstance(value, dict):
        return {k: map_tensors(fn, v) for k, v in value.items()}
    return value


def axis_of(tensor: Tensor, axis: int | Tensor, who: str) -> int:
    """The number of an axis, counted from 0."""
    axis = axis.item() if isinstance(axis, Tensor) else axis
    if not -tensor.ndim <= check_int(axis, "axis", who) < tensor.ndim:
        raise ValueError(f"For '{who}', there is no axis {axis} in a Tensor of shape {tensor.shape}.")
    return axis % tensor.ndim


def require_tensors(who: str, /, **values: Any) -> None:
    """Raise unless all values are Tensors."""
    for name, value in values.items():
        check_type(value, Tensor, name, who)


def require_integers(who: str, /, **values: Any) -> None:
    """Raise TypeError unless all values are Tensors of integers; the arguments are those of `require_tensors`."""
    for name, value in values.items():
        check_kind(value, isinstance(value, Tensor) and value.dtype.kind in "iu", "be a Tensor of integers", name, who)
