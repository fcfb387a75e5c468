"""Builds elementwise operators from a function of jax.numpy and a sentence each, and functions with derivatives of their own."""

from __future__ import annotations

import functools
import inspect
import operator as py
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax

from msjax.common.typing import BinaryOperator, TensorLike
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import (
    as_operand,
    float_tensors,
    kind_of,
    need_floats,
    of_dtypes,
    promote,
    promote_for_comparison,
    require_same_dtype,
    rounded_once,
    spread,
    to_float,
)

_R = TypeVar("_R")


def named(kernel: Callable[..., Any], name: str, doc: str, shown: tuple[str, str]) -> Callable[..., Any]:
    kernel.__module__ = sys._getframe(2).f_globals["__name__"]
    arguments, printed = shown
    return titled(kernel, name, f"{doc}\n\n    Example:\n        >>> print(ops.{name}({arguments}))\n        {printed}")


def unary(
    name: str,
    fn: Callable[..., Any],
    doc: str,
    shown: tuple[str, str],
    *,
    floats: bool = False,
    only_floats: bool = False,
    wide: bool = False,
    parameter: str = "input",
    int_grad: bool | tuple[int, ...] = False,
    differentiable: bool = True,
) -> Any:
    """An elementwise operator of one Tensor.

    Args:
        shown: (arguments, what a call with them prints), an example for the documentation.
        floats: whether Bools and integers are taken as Float32.
        only_floats: whether Bools and integers are refused, as a TypeError.
        wide: whether half-precision numbers are computed in Float32 and rounded once, as by MindSpore's kernel.
        parameter: what MindSpore calls the operand.
        int_grad, differentiable: see `msjax.engine.autograd.op.Op`.
    """
    prepare = need_floats if only_floats else to_float if floats else as_operand

    def kernel(input: TensorLike) -> JaxArray:
        x = prepare(input)
        return rounded_once(fn, x) if wide else fn(x)

    if parameter != "input":
        kernel.__signature__ = _with_names(kernel, {"input": parameter})
    decorate = operator(1, int_grad=int_grad, differentiable=differentiable, tensors=True)
    return decorate(named(kernel, name, doc, shown))


of_floats = functools.partial(unary, floats=True)
only_of_floats = functools.partial(unary, only_floats=True)


def _with_names(function, names):
    """The signature of a function with {its own name of a parameter: another one}."""
    signature = inspect.signature(function)
    return signature.replace(parameters=[p.replace(name=names.get(p.name, p.name)) for p in signature.parameters.values()])


def binary(
    name: str,
    fn: Callable[..., Any],
    doc: str,
    shown: tuple[str, str],
    *,
    floats: Callable[..., JaxArray] | None = None,
    same: bool = False,
    only_floats: bool = False,
    dtypes: Sequence[Any] | None = None,
    int_grad: bool | tuple[int, ...] = False,
    differentiable: bool = True,
) -> BinaryOperator:
    """An elementwise operator of two Tensors or numbers, with the parameters `input` and `other`.

    Args:
        same: whether both have to be Tensors of one dtype.
        only_floats: whether both have to be Tensors of floats.
        dtypes: those that are computed in; of another, a TypeError. None for all.
        floats: makes floats of integers and Bools. None if they are computed as they are.
        name, fn, doc, shown, int_grad, differentiable: as for `unary`.
    """

    def kernel(input: TensorLike, other: TensorLike) -> JaxArray:
        if only_floats:
            input, other = float_tensors(input, other)
        x, y = require_same_dtype(input, other, dtypes) if same else of_dtypes(*promote(input, other), dtypes)
        if floats and kind_of(x.dtype) in "biu":
            x, y = floats(input), floats(other)  # their common dtype may not hold a number, as 300 beside Int8
        return fn(*spread(x, y))

    return operator(2, int_grad=int_grad, differentiable=differentiable)(named(kernel, name, doc, shown))


def renamed(function: Callable[..., _R], name: str, **names: str) -> Callable[..., _R]:
    """The function under another name, with keywords {new name: its own}; its own are taken, too."""

    def call(*args, **kwargs):
        return function(*args, **{names.get(key, key): value for key, value in kwargs.items()})

    call.__signature__ = _with_names(function, {own: key for key, own in names.items()})
    call.__module__ = sys._getframe(1).f_globals["__name__"]
    if hasattr(function, "op"):
        call.op = function.op
    return titled(call, name, function.__doc__)


def comparison(name: str, fn: Callable[..., Any], sign: str, printed: str) -> BinaryOperator:
    """An operator of two Tensors or numbers that gives Bools."""

    def kernel(input: TensorLike, other: TensorLike) -> JaxArray:
        return fn(*promote_for_comparison(input, other))

    shown = ("Tensor([1.0, 2.0]), Tensor([3.0, 0.5])", printed)
    return operator(2, differentiable=False)(named(kernel, name, f"input {sign} other, elementwise, as Bool.", shown))


def with_slopes(function: Callable[..., Any], *slopes: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays with its derivative by each, where jax's is not MindSpore's, given as slope(arrays..., result)."""
    fn = jax.custom_jvp(function)

    def jvp(primals, tangents):
        out = fn(*primals)
        return out, functools.reduce(py.add, [slope(*primals, out) * t for slope, t in zip(slopes, tangents)])

    fn.defjvp(jvp)
    return fn
