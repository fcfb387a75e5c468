"""run_same_program: runs a function that was made anew, with the executable of an earlier one that computes the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import jax

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.weak import Recent

# So many executables are kept, those that were used last.
_MOST = 32
_KEPT: Recent[Any, Callable[..., Any]] = Recent()


def run_same_program(fn: Callable[..., Any], *given: Sequence[Any]) -> Any:
    """``fn(*given)``, compiled once for all functions that compute the same.

    The function is traced at each call. The program's text, in which all that it computes stands, tells whether it is compiled already:
    other values that it closes over make another program, or are arguments, which are sequences of arrays.
    """
    arguments, arrays = list(map(list, given)), [value for values in given for value in values]
    if any(map(is_tracer, arrays)) or staged() or jax_slots.settings()["jax_disable_jit"]:
        return fn(*arguments)
    lowered = jax.jit(fn, keep_unused=True).lower(*arguments)
    places = tuple([getattr(value, "sharding", None) for value in arrays])
    key = hashlib.sha256(lowered.as_text().encode()).digest(), places, lowered.out_tree
    return _KEPT.of(key, lowered.compile, _MOST)(*arguments)
