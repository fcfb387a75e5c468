"""What happens after each run of a program: its events, in program order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from msjax.core.base.typing import JaxArray
from msjax.core.hooks.events import Event, HookCall, each_lane
from msjax.core.hooks.primitive import COLLECTED
from msjax.core.hooks.returns import check_observer_result
from msjax.core.hooks.template import Template


class Happens(NamedTuple):
    """One event.

    Attributes:
        values: the numbers of its values among those of all events.
        count: the number of the value that says how often the program passed the place; None if it always passes it once.
        lanes: how many vmaps are around it.
    """

    event: Event
    values: tuple[int, ...]
    count: int | None
    lanes: int


class Loop(NamedTuple):
    """What happens in each step of a scan, or on each device of a shard_map."""

    steps: range
    events: list[Any]


class FromCallbacks(NamedTuple):
    """Here some events happen, with the values that callbacks brought."""

    events: set[Event]


class AfterRun:
    """The function that runs after each run of a program.

    It runs after every training step, so it is Python code written for the program: an event of which the program passes the place
    once, as nearly all do, is a line or two of it.

    Args:
        events: Happens, Loop and FromCallbacks objects, in program order.
        result (Template, optional): what the function returns.
        holes: the numbers of the outputs for the result.
        numbers (optional): of each of the events' values, which output it is. Default: they are the outputs, in their order.

    Attributes:
        observes: whether user code is called, which may change what programs are compiled for.
        call: the function; the same as calling the object, but faster where no callback brings values.
    """

    def __init__(
        self,
        events: Sequence[Any],
        result: Template | None = None,
        holes: Sequence[int] = (),
        numbers: Sequence[int] | None = None,
    ):
        everything = _events_of(events)
        self.observes = True in {event.observes for event in everything}
        waits = FromCallbacks in map(type, _leaves(events))
        self._function = _Code(events, everything, waits, result, holes, numbers).function()
        self.call: Callable[[Sequence[JaxArray]], Any] = self if waits else self._function
        self._waits = waits

    def __call__(self, outputs: Sequence[JaxArray]) -> Any:
        if not self._waits:
            return self._function(outputs)
        jax.block_until_ready(outputs)
        jax.effects_barrier()
        try:
            return self._function(outputs)
        finally:
            COLLECTED.clear()  # of an event that failed


class _Code:
    """The code of the function."""

    def __init__(self, events, everything, waits, result, holes, numbers):
        self._lines: list[str] = []
        self._names: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self._present: dict[Any, str] = {}
        self._begin: list[str] = []
        # Those in loops and conds, and those whose values come by callbacks, stand in a dict.
        others = [e for e in events if not isinstance(e, Happens) or e.count is not None or e.lanes]
        inside = [*dict.fromkeys(_events_of(others))]
        if changing := [e for e in inside if e.slot is not None]:
            self._begin.append(f"p = {{e: e.present() for e in {self.name(changing)}}}")
        elif others:
            self._begin.append("p = {}")
        for event in sorted(events, key=lambda e: -e.event.first if isinstance(e, Happens) else 0):
            if event not in others:
                self._write(event.event, [f"o[{n if numbers is None else numbers[n]}]" for n in event.values])
            elif isinstance(event, FromCallbacks):
                self.line(f"{self.name(_from_callbacks)}({self.name(event.events)}, p)")
            else:
                values = "o" if numbers is None else f"[o[n] for n in {self.name(numbers)}]"
                self.line(f"{self.name(_happen)}([{self.name(event)}], {self.name(_Rows)}({values}), (), p)")
        if waits:
            self.line(f"{self.name(_rest_from_callbacks)}({self.name(frozenset(everything))}, p)")
        self._result = "None" if result is None else result.source(self.name, [f"o[{n}]" for n in holes])

    def _write(self, event, outputs):
        """Write the lines that run an event; `outputs` is the code of its values."""
        if not isinstance(event, HookCall):
            self.line(f"{self.name(event)}([{', '.join(outputs)}])")
            return
        fn = self.name(event.fn()) if event.slot is None else self.present(event.slot.fn)
        head = "".join(f"{self.name(get)}(), " for get in event.head)
        self.line(f"r = {fn}({head}*{event.args.source(self.name, outputs)})")
        self.line(f"if r is not None: {self.name(check_observer_result)}(r, {self.name(event.place)}, {fn})")

    def name(self, value: Any) -> str:
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = f"k{len(self._names)}"
            self._names[name] = value
        return name

    def line(self, text: str) -> None:
        self._lines.append(text)

    def present(self, get: Callable[[], Any]) -> str:
        name = self._present.get(get)
        if name is None:
            name = self._present[get] = f"n{len(self._present)}"
            self._begin.append(f"{name} = {self.name(get)}()")
        return name

    def function(self) -> Callable[[Sequence[JaxArray]], Any]:
        source = "\n    ".join(["def after_run(o):", *self._begin, *self._lines, f"return {self._result}"])
        exec(compile(source, "<after a compiled program>", "exec"), self._names)
        return self._names["after_run"]


def _leaves(entries):
    """The Happens and FromCallbacks objects, those in loops, too."""
    found = []
    for entry in entries:
        found += _leaves(entry.events) if isinstance(entry, Loop) else [entry]
    return found


def _events_of(entries):
    return [e for leaf in _leaves(entries) for e in ((leaf.event,) if isinstance(leaf, Happens) else leaf.events)]


def _happen(events, outputs, index, present):
    for event in events:
        if isinstance(event, Loop):
            for i in event.steps:
                _happen(event.events, outputs, (*index, i), present)
        elif isinstance(event, FromCallbacks):
            _from_callbacks(event.events, present)
        elif event.count is None or outputs.count(event.count, index):
            each_lane(present.get(event.event, event.event), [outputs.at(n, index) for n in event.values], event.lanes)


def _from_callbacks(events, present):
    # An event that comes again later, in another loop, waits for its turn.
    while COLLECTED and COLLECTED[0][0] in events:
        event, values = COLLECTED.popleft()
        present.get(event, event)(values)


def _rest_from_callbacks(own, present):
    # What a run of another program has left that was given up is dropped.
    while COLLECTED:
        event, values = COLLECTED.popleft()
        if event in own:
            present.get(event, event)(values)


class _Rows:
    """The outputs of one run. The steps of a loop are taken out of an array all at once: to index an array of jax costs more than most
    hooks do."""

    def __init__(self, outputs):
        self.outputs = outputs
        self.rows = {}

    def count(self, n, index):
        """Output number `n`, which says how often a place in a cond was passed; loops within the cond have no axis in it."""
        return self.at(n, index[: self.outputs[n].ndim])

    def at(self, n, index):
        """Output number `n`, in these steps of the loops around it."""
        if not index:
            return self.outputs[n]
        rows = self.rows.get(n)
        if rows is None:
            rows = self.rows[n] = _rows(self.outputs[n], len(index))
        for i in index:
            rows = rows[i]
        return rows


def _rows(value, depth):
    return value if depth == 0 else [_rows(row, depth - 1) for row in value]
