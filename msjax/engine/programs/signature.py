"""The signature of a call, for which jax compiles a function, as the key of its program."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax

# The classes of Python numbers that are operands of programs.
NUMBERS = frozenset((bool, int, float))


class OtherCall(TypeError):
    """A program was called with other operands, or under other settings of jax, than it was compiled for."""


class SignatureKey(tuple):
    """The signature of a call: (shape, dtype, weak type) of each operand, and None for each None.

    Its class tells it from the keys of the caches that have a key for each combination of settings.
    """

    __slots__ = ()


def signature_of(values: Sequence[Any]) -> SignatureKey:
    """The signature of a call with operands: arrays, Python numbers, None, or containers of them, which count leaf by leaf."""
    try:
        return SignatureKey([
            None if v is None else _of_number(v.__class__) if v.__class__ in NUMBERS else (v.shape, v.dtype, v.weak_type)
            for v in values
        ])  # fmt: skip
    except AttributeError:
        leaves = jax.tree.leaves(values, is_leaf=lambda v: v is None)
        return SignatureKey([None if v is None else _of_aval(jax.typeof(v)) for v in leaves])


def shape_of(value: Any) -> jax.ShapeDtypeStruct | None:
    """The shape, dtype and weak type of an operand, for which a function can be traced or compiled ahead; None for None."""
    if value is None:
        return None
    aval = jax.typeof(value)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def _of_number(cls):
    return _of_number_under(cls, jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]


@functools.cache
def _of_number_under(cls, x64):
    """For the class of a number, and whether jax has 64-bit types."""
    return _of_aval(jax.typeof(cls(0)))


def _of_aval(aval):
    return aval.shape, aval.dtype, aval.weak_type
