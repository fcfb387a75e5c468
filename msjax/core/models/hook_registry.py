"""The hooks of one nnx module, or of a whole model of another framework, by the names of the calls that they run around."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msjax.core.base.state import VERSION
from msjax.core.hooks.hook import CALL_KINDS, EMPTY, Hook, HookTable, RemovableHandle
from msjax.core.hooks.worker import CHANGING, before_change
from msjax.core.models.where import Where


@dataclass(eq=False)
class Registration:
    """One hook in one registry.

    Attributes:
        kind, hook, prepend, where: as it was registered.
        calls: the names of the calls that it is on.
        registries: references to all that have the hook, from which its handle takes it.
    """

    kind: str
    hook: Hook
    prepend: bool
    where: Where
    registries: list[Callable[[], HookRegistry | None]]
    calls: set[str] = field(default_factory=set)


class HookRegistry:
    """Hooks by call.

    An nnx module has one, whose calls are those of its methods. So has a model of another framework, whose modules are made anew for each
    run or with each change: its calls are named by the paths of the modules.
    """

    def __init__(self):
        self._rows: tuple[Registration, ...] = ()
        # {name of a call: its hooks} of those that were asked for since hooks came or went.
        self._tables: dict[str, HookTable] = {}

    def changed(self) -> None:
        """Called when hooks have come or gone."""
        raise NotImplementedError

    @property
    def hooks(self) -> list[Hook]:
        """All of them, in the order of registration. Compiled programs of Cells depend on those that aren't observers."""
        return [row.hook for row in self._rows]

    def table(self, call: str) -> HookTable:
        """The present hooks of a call."""
        tables = self._tables  # those of the rows now, or of earlier ones: another thread may change them
        table = tables.get(call)
        if table is None:
            hooks: dict[str, Any] = {}
            for row in self._in_order():
                if call in row.calls:
                    hooks[row.kind] = (*hooks.get(row.kind, ()), row.hook)
            table = tables[call] = HookTable(**hooks) if hooks else EMPTY
        return table

    def present(self) -> dict[str, HookTable]:
        """{name of a call: its hooks} of those with hooks; hooks for modules that have not run yet are at what they were registered for."""
        calls = dict.fromkeys(call for row in self._rows for call in sorted(row.calls))
        waiting = {str(row.where): EMPTY.add(row.kind, row.hook) for row in self._rows if not row.calls}
        return {call: self.table(call) for call in calls} | waiting

    def _in_order(self):
        """The rows as their hooks run, kind by kind."""
        if len(self._rows) < 2:
            return self._rows
        ordered: list[Registration] = []
        for kind in CALL_KINDS:
            rows = [row for row in self._rows if row.kind == kind]
            ordered += [row for row in reversed(rows) if row.prepend] + [row for row in rows if not row.prepend]
        return ordered

    def add(self, row: Registration) -> None:
        """Add a hook."""
        row.registries.append(weakref.ref(self))
        with self._changing():
            self._rows = (*self._rows, row)

    def remove(self, hook: Hook) -> None:
        """Take a hook off; nothing happens if it is gone already."""
        if hook in self.hooks:
            with self._changing():
                self._rows = tuple(row for row in self._rows if row.hook is not hook)

    def taken_off(self) -> tuple[Registration, ...]:
        """Take all hooks off; returns their rows."""
        with self._changing():
            rows, self._rows = self._rows, ()
        return rows

    def put_back(self, rows: Iterable[Registration]) -> None:
        """Put hooks on again that were taken off, but for those that were removed meanwhile, before those that came meanwhile."""
        with self._changing():
            self._rows = (*[row for row in rows if not row.hook.removed], *self._rows)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        before_change()
        with CHANGING:
            yield
            self._tables = {}
            VERSION.changed()
            self.changed()


def handle_of(hook: Hook, registries: list[Callable[[], HookRegistry | None]]) -> RemovableHandle:
    """The handle of a registered hook. It keeps neither the hook nor what that refers to alive."""

    def remove(hook, _id):
        take_off(hook, [registry for there in registries if (registry := there()) is not None])

    return RemovableHandle(hook, remove, hook.id)


def take_off(hook: Hook, registries: Iterable[HookRegistry]) -> None:
    """Remove a hook from registries."""
    hook.removed = True
    for registry in registries:
        registry.remove(hook)
