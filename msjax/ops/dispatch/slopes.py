"""Elementwise functions with derivatives of their own, where jax's are not MindSpore's."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax


def with_slopes(function: Callable[..., Any], *slopes: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays with its derivative by each, given as slope(arrays..., result)."""
    fn = jax.custom_jvp(function)

    def jvp(primals, tangents):
        out = fn(*primals)
        return out, functools.reduce(operator.add, [slope(*primals, out) * t for slope, t in zip(slopes, tangents)])

    fn.defjvp(jvp)
    return fn
