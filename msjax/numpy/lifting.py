"""Turns functions of jax arrays into functions of `msjax.numpy`: converts operands and results."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, BinaryOperator, DTypeLike, KernelDecorator
from msjax.core.base.checks import check_kind
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote
from msjax.ops.function.array_func.casting import cast
from msjax.ops.function.math_func.tables import renamed


def tensor(value: ArrayLike) -> Tensor:
    """A Tensor of anything that numpy calls array-like; Python ints are Int32 here, if they fit."""
    if isinstance(value, Tensor):
        return value
    made = Tensor(value)
    return cast(made, mstype.int32) if made.dtype is mstype.int64 and _plain(value) else made


def _plain(value) -> bool:
    """True for Python numbers that are an Int32, also in lists."""
    if isinstance(value, (list, tuple)):
        return all(map(_plain, value))
    return isinstance(value, int) and -(2**31) <= value < 2**31


def tensors(values: ArrayLike) -> list[Tensor]:
    """Tensors of a tuple or list of array-likes, or of the rows of one."""
    check_kind(values, hasattr(values, "__iter__"), "be a list or tuple, or a Tensor", "arrays")
    return [tensor(v) for v in values]


def promoted(x1: ArrayLike, x2: ArrayLike, convert: Callable[[ArrayLike], Tensor] = tensor) -> tuple[Tensor, Tensor]:
    """Two array-likes as Tensors of one data type, the smallest to which both can be converted."""
    x1, x2 = convert(x1), convert(x2)
    dtype = x1.dtype if x1.dtype is x2.dtype else mstype.from_np(jnp.promote_types(x1.dtype.np, x2.dtype.np))
    return cast(x1, dtype), cast(x2, dtype)


# The floats of most of MindSpore's functions of numpy, where Float64, too, becomes a Float32, and those of others.
SHORT, WIDE = (mstype.float16, mstype.float32), (mstype.float32, mstype.float64)


def floating(value: ArrayLike, kept: tuple[mstype.Type, ...] | None = None) -> Tensor:
    """The Tensor in floating numbers: a Float32, but of a type in `kept`, by default any of floats, and of complex numbers."""
    value = tensor(value)
    stays = value.dtype.kind == "c" or (value.dtype.kind == "f" if kept is None else value.dtype in kept)
    return value if stays else cast(value, mstype.float32)


def single(value: ArrayLike) -> Tensor:
    """The Tensor in Float32, or in complex numbers."""
    return floating(value, (mstype.float32,))


def short(value: ArrayLike) -> Tensor:
    """The same, but a Float16 stays."""
    return floating(value, SHORT)


def wide(value: ArrayLike) -> Tensor:
    """The same as `single`, but a Float64 stays."""
    return floating(value, WIDE)


def as_type(value: ArrayLike, dtype: DTypeLike | None) -> Any:
    """The Tensor, or each of a tuple, in a data type, if one is asked for."""
    if dtype is None:
        return value
    if isinstance(value, tuple):
        return tuple(as_type(v, dtype) for v in value)
    return cast(value, dtype)


def number(value: Any) -> Any:
    """The Python number of a 0-d Tensor or array; a Python number itself."""
    return value.item() if hasattr(value, "item") else value


def lifted(operands: int = 1, *, convert: Callable[[ArrayLike], Tensor] = tensor, **settings: Any) -> KernelDecorator:
    """Decorator: make a kernel of jax arrays a function of array-likes.

    Args:
        operands (int): how many of the kernel's first parameters are arrays; None for one of them stays None.
        convert (callable): what makes Tensors of them.
        settings: those of `operator`.
    """

    def decorate(kernel):
        function = operator(operands, **settings)(kernel)
        names = kernel.__code__.co_varnames[:operands]

        @functools.wraps(function)
        def call(*args, **kwargs):
            arrays = [None if a is None else convert(a) for a in args[:operands]]
            named = {name: convert(kwargs[name]) for name in names if kwargs.get(name) is not None}
            return function(*arrays, *args[operands:], **kwargs | named)

        return call

    return typing.cast(KernelDecorator, decorate)


def of_numbers(function: Callable[..., JaxArray]) -> Callable[..., JaxArray]:
    """A function of two arrays of one type, which takes Bools as the numbers 0 and 1 and gives Bools for them."""

    def call(x1, x2, *settings):
        x1, x2 = promote(x1, x2)
        if x1.dtype == jnp.bool_:
            return function(x1.astype(jnp.int32), x2.astype(jnp.int32), *settings).astype(jnp.bool_)
        return function(x1, x2, *settings)

    return call


def lifted_pair(name: str, doc: str) -> BinaryOperator:
    """The function of jax.numpy called `name`, on two array-likes promoted to one type."""
    kernel = operator(2, name=name, int_grad=True)(of_numbers(getattr(jnp, name)))
    call = renamed(lambda a, b: kernel(tensor(a), tensor(b)), name)
    call.__doc__ = doc
    return call
