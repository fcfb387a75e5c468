"""The lines of a traced program's operations, and which of them derivatives are made of."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from msjax.core.base import jax_slots
from msjax.core.base.libraries import Line, is_library_file, is_own
from msjax.core.jaxprs.plan import close


def lines_of(traceback: Any) -> tuple[Line | None, Line | None]:
    """(the line that called an operation of jax, the user's line that led there if that one is in a library)."""
    frames = [f for f in (() if traceback is None else traceback.frames) if not is_own(f.file_name)]
    return innermost([Line(f.file_name, f.line_num, f.function_name) for f in frames if not f.file_name.startswith("<")])


def innermost(frames: Sequence[Line]) -> tuple[Line | None, Line | None]:
    """(the first of some lines, which are the innermost first; the user's line that led there if that one is in a library)."""
    users = [line for line in frames if not is_library_file(line.file)]
    if not frames:
        return None, None
    return frames[0], users[0] if users and users[0] != frames[0] else None


# What jax puts in front of an operation to fit its operands together, or behind it as jnp.einsum does.
_FITTING = {"broadcast_in_dim", "convert_element_type", "copy", "reshape", "squeeze", "expand_dims", "transpose"}

# The scope of what a backward rule of the user's computes.
_RULE = "msjax_backward_rule"


class Derivatives:
    """Tells which operations of a traced program belong to the derivative of another operation.

    jax gives the operations of a derivative the source location of the operation that is differentiated. That is the first one of the
    location that does more than to bring operands into shape or dtype.
    """

    def __init__(self, closed: Any):
        self._first: dict[Any, str] = {}
        self._same_name: dict[int, Any] = {}
        self._note(closed, "")

    def _note(self, closed, around):
        made = {}
        for eqn in close(closed).jaxpr.eqns:
            inner = jax_slots.inner_jaxprs(eqn)
            stack = f"{around}/{jax_slots.name_stack_of(eqn)}"
            for jaxpr in inner:
                self._note(jaxpr, stack)
            if inner:
                continue
            name, at = eqn.primitive.name, jax_slots.place_of(eqn)
            if self._first.setdefault(at, name) in _FITTING and not is_transposed(stack):
                self._first[at] = name
            # The derivative of a power is another power, of an exponent that was computed for it at the same place.
            of_place = {made[v][1] for v in eqn.invars if not hasattr(v, "val") and made.get(v, (None,))[0] == at}
            if self._first[at] == name and of_place - {name}:
                self._same_name[id(eqn)] = eqn
            made.update({v: (at, name) for v in eqn.outvars if name not in _FITTING})

    def of(self, eqn: Any, stack: str) -> tuple[str, str | None]:
        """("forward" or "backward", the operation that is differentiated there: None if it is none, "" in a backward rule of the user's own)."""
        if _RULE in stack:
            return "backward", ""
        name = eqn.primitive.name
        first = self._first.get(jax_slots.place_of(eqn), name)
        if is_transposed(stack):
            return "backward", first
        if "jvp(" in stack and name not in _FITTING and (first != name or id(eqn) in self._same_name):
            return "backward", first
        return "forward", None


def is_transposed(stack: str) -> bool:
    """Whether a name stack is one of a backward pass, and not of what checkpoint computes once more for it."""
    return "transpose(" in stack.split("rematted_computation")[-1]


@contextlib.contextmanager
def lines_of_backward_rules() -> Iterator[None]:
    """A context in which the operations of a `jax.custom_vjp`'s own backward rule keep their lines.

    jax gives all of them the line of the call that is differentiated.
    """
    before = jax.custom_vjp.__call__

    @functools.wraps(before)
    def call(self, *args, **kwargs):
        rule = self.bwd
        code = getattr(rule, "__code__", None)
        if rule is None or code is None or is_own(code.co_filename):
            return before(self, *args, **kwargs)

        @functools.wraps(rule)
        def with_own_lines(*args, **kwargs):
            with jax_slots.own_lines(), jax.named_scope(_RULE):
                return rule(*args, **kwargs)

        self.bwd = with_own_lines
        try:
            return before(self, *args, **kwargs)
        finally:
            self.bwd = rule

    jax.custom_vjp.__call__ = call
    try:
        yield
    finally:
        jax.custom_vjp.__call__ = before
