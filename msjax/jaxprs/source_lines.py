"""Names of single operations: the primitive and the source line that called it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import jax

from msjax.base import jax_slots

if TYPE_CHECKING:
    import jax.extend.core as jex


# The folders of jax and of msjax.
_OWN = (os.path.dirname(jax.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)


class SourceLines:
    """Names of equations, such as ``dot_general@model.py:42``."""

    def __init__(self):
        self._of_traceback = {}

    def name(self, eqn: jex.JaxprEqn, line: str | None = None) -> str:
        """The name of an equation.

        Args:
            line: the line that called the function of jax's own that the equation is in; jax traces such a function once,
                so that the equation itself knows only its first caller.
        """
        return f"{eqn.primitive.name}@{line or self._line(eqn)}"

    def of_library(self, eqn: jex.JaxprEqn, closed: jex.ClosedJaxpr) -> str | None:
        """The line of an equation that calls a function of jax's own; None if it calls one of the user's."""
        return self._line(eqn) if _own(jax_slots.file_of(closed)) else None

    def _line(self, eqn):
        traceback = jax_slots.traceback_of(eqn)
        if traceback is None:
            return "?"
        if traceback not in self._of_traceback:
            self._of_traceback[traceback] = next(
                (f"{os.path.basename(f.file_name)}:{f.line_num}" for f in traceback.frames if not _own(f.file_name)), "?"
            )
        return self._of_traceback[traceback]


def _own(file_name):
    return file_name.startswith(_OWN)
