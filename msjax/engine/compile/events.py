"""Printed text as an event of programs that msjax compiles."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from msjax.common._format import value_text
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor
from msjax.core.door import Event

# In a text that is printed while a program is traced: the place of a Tensor's text, and how it is written.
MARK = re.compile("\x02(\\d+):(str|repr|format):([^\x03]*)\x03")


TEXT_IS_USED = "it uses the text of a Tensor for something else than printing it at once"


class Placeholder(str):
    """The text of a Tensor whose value is not known yet; nothing can fit it to a width."""

    __slots__ = ()

    def __format__(self, spec):
        if spec and STATE.trace is not None:
            STATE.trace.refuse(TEXT_IS_USED)
        return str.__format__(self, spec)


class Text(Event):
    """Text that is written at each run.

    Args:
        text: the text, with marks.
        marked: the Tensors that the marks name by their numbers.
    """

    what = "print"

    def __init__(self, text: str, marked: Sequence[Tensor]):
        # Strings, and (number of the value, kind, format) where the text of a Tensor belongs.
        self._parts: list[Any] = []
        self._arrays, end = [], 0
        for found in MARK.finditer(text):
            self._parts += [text[end : found.start()], (len(self._arrays), found[2], found[3])]
            self._arrays.append(marked[int(found[1])]._value)
            end = found.end()
        self._parts.append(text[end:])

    def taken(self) -> list[Any]:
        """The values of the Tensors, while the program is traced; they are no longer kept."""
        arrays, self._arrays = self._arrays, []
        return arrays

    def __call__(self, arrays: Sequence[Any]) -> None:
        sys.stdout.write("".join(p if isinstance(p, str) else value_text(arrays[p[0]], p[1], p[2]) for p in self._parts))

    def write(self, code: Any, outputs: Sequence[str]) -> None:
        texts = [
            repr(p) if isinstance(p, str) else f"{code.name(value_text)}({outputs[p[0]]}, {p[1]!r}, {p[2]!r})"
            for p in self._parts
            if p != ""
        ]
        code.line(f"{code.name(sys)}.stdout.write({' + '.join(texts)})")
