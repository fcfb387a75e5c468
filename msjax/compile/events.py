"""Events of programs that msjax compiles, beside calls of hooks: printed text, and what is called if a cell fails."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msjax.common._format import value_text
from msjax.common.tensor import Tensor
from msjax.common.tensor_values import TENSORS
from msjax.hooks.events import Event
from msjax.hooks.protocol import call_after_failure
from msjax.hooks.template import Template

if TYPE_CHECKING:
    from msjax.compile.trace import Trace

# In a text that is printed while a program is traced: the place of a Tensor's text, and how it is written.
MARK = re.compile("\x02(\\d+):(str|repr|format):([^\x03]*)\x03")


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


class Boundary:
    """The hooks of one call of a cell that run even if the call fails (always_call=True); see `Tracing.guard`."""

    def __init__(self, trace: Trace):
        self._trace = trace

    def pending(self, calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...], str]]) -> None:
        """From here on, (function, arguments, who it is) of what is called if an event fails."""
        pending = _Pending(
            self, [fn for fn, _, _ in calls], Template([a for _, a, _ in calls], TENSORS), [w for _, _, w in calls]
        )
        self._trace.put(pending, pending.args.taken())

    def end(self) -> None:
        """The call is over."""
        self._trace.put(_End(self))


class _Pending(Event):
    """From here on, other functions are called if an event fails."""

    def __init__(self, boundary: Boundary, fns: list[Callable[..., Any]], args: Template, who: list[str]):
        self.boundary, self.fns, self.args, self.who = boundary, fns, args, who

    def write(self, code: Any, outputs: Sequence[str]) -> None:
        number = code.boundaries.setdefault(self.boundary, len(code.boundaries))
        calls = f"zip({code.name(self.fns)}, {self.args.source(code.name, outputs)}, {code.name(self.who)})"
        code.line(f"failed[{number}] = {code.name(_failing)}({calls})")


class _End(Event):
    """The call of a cell is over."""

    def __init__(self, boundary: Boundary):
        self.boundary = boundary

    def write(self, code: Any, outputs: Sequence[str]) -> None:
        code.line(f"del failed[{code.boundaries[self.boundary]}]")


def _failing(calls):
    """What is called if an event fails now."""
    calls = list(calls)

    def run():
        for fn, args, who in calls:
            call_after_failure(fn, args, who)

    return run
