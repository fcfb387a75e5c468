"""The lines of the user's code that are under way, for messages and reports."""

from __future__ import annotations

import linecache
import os
import sys
from typing import NamedTuple

import jax

from msjax.core.base.libraries import FOLDER

_OWN = (os.path.dirname(jax.__file__) + os.sep, FOLDER)


def is_own(file: str) -> bool:
    """Whether a file is one of jax's or msjax's."""
    return file.startswith(_OWN)


class Line(NamedTuple):
    """A line of the user's code: where it is, and the name of the function that it is in."""

    file: str
    number: int
    function: str

    @property
    def code(self) -> str:
        """Its text; empty if the file can't be read."""
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.number}"


def user_lines() -> tuple[Line, ...]:
    """The lines of the user's code that are under way, innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None and len(found) < 8:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and not file.startswith("<"):
            found.append(Line(file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(found)
