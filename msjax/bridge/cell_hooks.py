"""Hooks of cells and Parameters that are put on and taken off together, again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.tensor_hooks import HookList
from msjax.core.base.state import VERSION
from msjax.core.hooks.hook import Hook


class HookSet:
    """Hooks that are part of compiled programs. Each time they are put on they are the same hooks, so that the program that was
    compiled with them is used again; and if nothing else has changed meanwhile, no program has to check its guards."""

    def __init__(self):
        self._of_cells: dict[int, _CellHooks] = {}
        self._of_parameters = []
        # The versions (see `msjax.core.base.state.Version`) without and with the hooks.
        self._off_at = self._on_at = -1

    def add(self, cell: Any, kind: str, fn: Callable[..., Any], always_call: bool = False) -> None:
        """A hook of a cell; `kind` is "forward", "backward_pre" and so on."""
        hook = Hook.new(fn, traced=True, always_call=always_call)
        self._of_cells.setdefault(id(cell), _CellHooks(cell)).hooks.append((kind, hook))

    def add_of_parameter(self, parameter: Any, fn: Callable[[Any], Any]) -> None:
        """A hook of a Parameter's gradient; it has to return the gradient, so that it is part of the program."""
        self._of_parameters.append((parameter, Hook.new(fn, traced=True)))

    def on(self) -> None:
        """Put the hooks on."""
        before = VERSION.n
        for of_cell in self._of_cells.values():
            of_cell.on()
        for parameter, hook in self._of_parameters:
            if parameter._hooks is None:
                parameter._hooks = HookList(parameter)
            parameter._hooks.put(hook)
        if before == self._off_at:
            VERSION.n = self._on_at
        else:
            VERSION.changed()
            self._off_at, self._on_at = before, VERSION.n

    def off(self) -> None:
        """Take the hooks off."""
        before = VERSION.n
        for of_cell in self._of_cells.values():
            of_cell.off()
        for parameter, hook in self._of_parameters:
            if parameter._hooks is not None:
                parameter._hooks.take(hook.id)
        if before == self._on_at:
            VERSION.n = self._off_at
        else:
            VERSION.changed()


class _CellHooks:
    """The hooks of one cell, and the tables that it had without and with them."""

    def __init__(self, cell):
        self.cell, self.hooks, self.without, self.table = cell, [], None, None

    def on(self):
        if self.cell._hooks is not self.without:
            self.without = self.table = self.cell._hooks
            for kind, hook in self.hooks:
                self.table = self.table.add(kind, hook)
            self.table = self.table.owned_by(self.cell)
        self.cell._set_hooks(self.table)

    def off(self):
        if self.cell._hooks is self.table:
            self.cell._set_hooks(self.without)
        else:
            for _, hook in self.hooks:
                self.cell._set_hooks(self.cell._hooks.without(hook.id))
