"""Boundaries: where the calls of owners begin and end in a program, if they have hooks that run even if the call fails.

A program has been run to its end when an event fails. The calls that were under way at the event's place are the boundaries that had begun,
and had not ended.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from msjax.core.hooks.events import Event
from msjax.core.hooks.template import Template

if TYPE_CHECKING:
    from msjax.core.hooks.kinds import ValueKind


class Boundary:
    """The forward hooks with always_call=True of one call, in a program whose events happen after the run.

    Args:
        values (Values): says what a value is.
        put: puts an event into the program, see `CallsAsOutputs.put_event`.
    """

    def __init__(self, values: ValueKind, put: Callable[..., None]):
        self._values = values
        self._put_event = put

    def pending(
        self, fns: Sequence[Callable[..., Any]], head: tuple[Callable[[], Any], ...], args: Sequence[Any], who: Sequence[str]
    ) -> None:
        """From here on, these functions are called if an event fails.

        Args:
            fns: hooks.
            head: functions whose results are their first arguments.
            args: for each hook, its other arguments.
            who: for each hook, its name in messages.
        """
        template = Template(list(args), self._values)
        self._put(_Pending(self, fns, head, template, who), template.taken())

    def end(self) -> None:
        """The call is over."""
        self._put(_End(self), ())

    def _put(self, event, arrays):
        self._put_event(event, [jax.lax.stop_gradient(array) for array in arrays], after_text=True)


class _BoundaryEvent(Event):
    bounds = True

    def __init__(self, boundary: Boundary):
        self.boundary = boundary

    def happen(self, failed: dict[Any, Callable[[], None]], arrays: Sequence[Any]) -> None:
        """Run the event; `failed` has what is called if a later event fails."""
        raise NotImplementedError

    def write(self, code: Any, outputs: Sequence[str]) -> None:
        code.line(f"{code.name(self)}.happen(failed, [{', '.join(outputs)}])")


class _Pending(_BoundaryEvent):
    """From here on, other functions are called if an event fails."""

    def __init__(
        self,
        boundary: Boundary,
        fns: Sequence[Callable[..., Any]],
        head: tuple[Callable[[], Any], ...],
        args: Template,
        who: Sequence[str],
    ):
        super().__init__(boundary)
        self.fns, self.head, self.args, self.who = fns, head, args, who

    def happen(self, failed: dict[Any, Callable[[], None]], arrays: Sequence[Any]) -> None:
        def run():
            for fn, args, who in zip(self.fns, self.args.fill(arrays), self.who):
                call_after_failure(fn, (*[get() for get in self.head], *args), who)

        failed[self.boundary] = run


class _End(_BoundaryEvent):
    """The call is over."""

    def happen(self, failed: dict[Any, Callable[[], None]], arrays: Sequence[Any]) -> None:
        failed.pop(self.boundary, None)


def call_after_failure(fn: Callable[..., Any], args: tuple[Any, ...], who: str) -> None:
    """Run a forward hook that was registered with always_call=True after the call failed; its own failure is a warning."""
    try:
        fn(*args)
    except Exception as error:
        warnings.warn(f"{who} raised {error!r}, after the call had failed already.", stacklevel=4)
