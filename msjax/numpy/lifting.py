"""Turns functions of jax arrays into functions of `msjax.numpy`: converts operands and results."""

from __future__ import annotations

import functools
import typing
from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, BinaryOperator, DTypeLike, KernelDecorator
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote
from msjax.ops.function.array_func.casting import cast
from msjax.ops.function.math_func.tables import renamed


def tensor(value: ArrayLike) -> Tensor:
    """A Tensor of anything that numpy calls array-like; Python ints are Int32 here."""
    if isinstance(value, Tensor):
        return value
    made = Tensor(value)
    return cast(made, mstype.int32) if made.dtype is mstype.int64 and _plain(value) else made


def _plain(value) -> bool:
    """True for Python numbers, also in lists."""
    return all(map(_plain, value)) if isinstance(value, (list, tuple)) else isinstance(value, int)


def tensors(values: ArrayLike) -> list[Tensor]:
    """Tensors of a tuple or list of array-likes, or of the rows of one."""
    return [tensor(v) for v in values]


def floating(value: ArrayLike) -> Tensor:
    """The Tensor in floating numbers: Float32 for Bools and integers."""
    value = tensor(value)
    return value if value.dtype.kind in "fc" else cast(value, mstype.float32)


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


def lifted(operands: int = 1, *, floats: bool = False, **settings: Any) -> KernelDecorator:
    """Decorator: make a kernel of jax arrays a function of array-likes.

    Args:
        operands (int): how many of the kernel's first parameters are arrays; None for one of them stays None.
        floats (bool): whether Bools and integers become Float32 first.
        settings: those of `operator`.
    """
    convert = floating if floats else tensor

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


def lifted_pair(name: str, parameters: str, doc: str) -> BinaryOperator:
    """The function of jax.numpy called `name`, on two array-likes promoted to one type."""
    function = getattr(jnp, name)
    kernel = operator(2, name=name, int_grad=True)(lambda a, b: function(*promote(a, b)))
    call = renamed(lambda a, b: kernel(tensor(a), tensor(b)), name, **dict(zip(parameters.split(), "ab")))
    call.__doc__ = doc
    return call
