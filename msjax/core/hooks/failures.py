"""What hooks of programs that jax compiled have raised, until it is raised anew."""

from __future__ import annotations

import sys
from types import TracebackType

from msjax.core.base.errors import raised_by

# How many failures are reported on stderr, and kept as text, until the first one is raised.
_REPORTED = 10


class Failures:
    """What hooks raised, until it is raised anew: the first exception, and of the others a few lines of text.

    Attributes:
        stopped: True once a hook raised KeyboardInterrupt, or the debugger was left in it: no hook is called before that has
            been raised anew.
    """

    def __init__(self):
        self.first: BaseException | None = None
        self.stopped: bool = False
        self._count = 0
        self._lines: dict[str, int] = {}

    def add(self, error: BaseException, what: str, report: bool) -> None:
        """Keep an exception of a hook, whose name is `what`; `report` also prints the first ones."""
        raised_by(error, f"{what}, run by a compiled program")
        line = f"{what} raised {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        self.stopped = self.stopped or _is_interrupt(error)
        self._count += 1
        if line not in self._lines and len(self._lines) < _REPORTED:
            if report:
                print(f"msjax: {line} (raised anew by the next call of msjax, or by ms.hooks.barrier())", file=sys.stderr)
            self._lines[line] = 0
        if line in self._lines:
            self._lines[line] += 1
        if self.first is None or (self.stopped and not _is_interrupt(self.first)):
            # The frames of msjax hold the values of all calls that arrived together.
            self.first = error.with_traceback(_outside_msjax(error.__traceback__))

    def raise_first(self) -> None:
        """Raise the first exception, and forget all; nothing without one."""
        error, count, lines = self.first, self._count, self._lines
        if error is None:
            return
        self.first, self._count, self._lines, self.stopped = None, 0, {}, False
        if count > 1:
            error.add_note(f"{count} calls of hooks failed:")
            for line, times in lines.items():
                error.add_note(f"  {times} times: {line}" if times > 1 else f"  {line}")
        raise error


def _is_interrupt(error):
    debugger = sys.modules.get("bdb")
    return isinstance(error, KeyboardInterrupt) or (debugger is not None and isinstance(error, debugger.BdbQuit))


def _outside_msjax(tb: TracebackType | None) -> TracebackType | None:
    """A traceback from the hook's own frame on."""
    first = tb
    while tb is not None and tb.tb_frame.f_globals.get("__name__", "").startswith("msjax.core.hooks."):
        tb = tb.tb_next
    return tb if tb is not None else first
