"""Names of single operations: the primitive and the source line that called it."""

from __future__ import annotations

import itertools
import os

import jax.extend.core as jex

from msjax.core.base import jax_slots
from msjax.core.base.libraries import is_own

# The parts of jax whose functions are places by their names, such as jax.nn.softmax.
_FUNCTIONS = tuple(os.path.join("_src", room) + os.sep for room in ("nn", "numpy", "scipy"))


class SourceLines:
    """Names of equations, such as ``dot_general@model.py:42``."""

    def __init__(self):
        self._of_traceback = {}
        self._calls = {}

    def ending(self, eqns: list[jex.JaxprEqn]) -> list[list[str]]:
        """For each equation of a jaxpr, the functions of jax's own of which it is the last operation, inner ones first."""
        calls = [self._calls_of(eqn) for eqn in eqns]
        return [[name for name, _ in here if (name, _) not in after] for here, after in zip(calls, [*calls[1:], ()])]

    def _calls_of(self, eqn):
        """(name, line of the caller) of the public functions of jax.nn, jax.numpy and the like whose call an equation is part of."""
        traceback = jax_slots.traceback_of(eqn)
        if traceback is None:
            return ()
        if traceback not in self._calls:
            frames, found = list(traceback.frames), []
            for frame, caller in itertools.pairwise(frames):
                if not is_own(frame.file_name):
                    break
                name = frame.function_name.rpartition(".")[2]
                # The methods of arrays are made by functions with other names.
                offers = any(room in frame.file_name for room in _FUNCTIONS) and not frame.file_name.endswith("array_methods.py")
                if offers and name.isidentifier() and not name.startswith("_"):
                    found.append((name, f"{caller.file_name}:{caller.line_num}"))
            self._calls[traceback] = tuple(dict.fromkeys(found))
        return self._calls[traceback]

    def name(self, eqn: jex.JaxprEqn, line: str | None = None) -> str:
        """The name of an equation.

        Args:
            line: the line that called the function of jax's own that the equation is in; jax traces such a function once,
                so that the equation itself knows only its first caller.
        """
        return f"{eqn.primitive.name}@{line or self._line(eqn)}"

    def of_library(self, eqn: jex.JaxprEqn, closed: jex.ClosedJaxpr) -> str | None:
        """The source line of an equation that calls the function `closed`, if that is one of jax's own; None if it is the user's."""
        return self._line(eqn) if is_own(jax_slots.file_of(closed)) else None

    def _line(self, eqn):
        traceback = jax_slots.traceback_of(eqn)
        if traceback is None:
            return "?"
        if traceback not in self._of_traceback:
            self._of_traceback[traceback] = next(
                (f"{os.path.basename(f.file_name)}:{f.line_num}" for f in traceback.frames if not is_own(f.file_name)), "?"
            )
        return self._of_traceback[traceback]
