"""run_same_program: runs a function that was made anew, with the executable of an earlier one that computes the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import jax

from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.recent import Recent

# So many executables are kept, those that were used last.
_MOST = 32
_KEPT: Recent[Any, Callable[..., Any]] = Recent()


def run_same_program(fn: Callable[[Any, Sequence[Any]], Any], consts: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """``fn(consts, inputs)``, compiled once for all functions that compute the same.

    The function is traced at each call. The program's text, in which all that it computes stands, tells whether it is compiled already:
    other values that it closes over make another program, or come in as `consts`.

    Args:
        fn (callable): from jax arrays to a pytree of them.
        consts, inputs: its arguments, sequences of arrays.
    """
    given = list(consts), list(inputs)
    if any(map(is_tracer, (*given[0], *given[1]))) or staged():
        return fn(*given)
    lowered = jax.jit(fn, keep_unused=True).lower(*given)
    places = tuple([getattr(value, "sharding", None) for values in given for value in values])
    key = hashlib.sha256(lowered.as_text().encode()).digest(), places, lowered.out_tree
    return _KEPT.of(key, lowered.compile, _MOST)(*given)
