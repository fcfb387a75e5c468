"""Hooks of cells and Parameters that are put on and taken off together, again and again."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any

from msjax.common.tensor_hooks import HookList
from msjax.core.base.state import VERSION
from msjax.core.base.weak import identity
from msjax.core.hooks.hook import Hook


class HookSet:
    """Hooks that are part of compiled programs. Each time they are put on they are the same hooks, so that the program that was
    compiled with them is used again; and if nothing else has changed meanwhile, no program has to check its guards. It keeps no cell alive."""

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

    def on(self, _model: Any = None) -> None:
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
        self._cell, self.hooks, self._without, self._table = weakref.ref(cell), [], None, None

    def on(self):
        cell: Any = self._cell()
        if cell._hooks is not self._without:
            self._without = self._table = cell._hooks
            for kind, hook in self.hooks:
                self._table = self._table.add(kind, hook)
            self._table = self._table.owned_by(cell)
        cell._set_hooks(self._table)

    def off(self):
        cell: Any = self._cell()
        if cell._hooks is self._table:
            cell._set_hooks(self._without)
        else:
            for _, hook in self.hooks:
                cell._set_hooks(cell._hooks.without(hook.id))


def structure_of(net: Any) -> Hashable:
    """What hooks on all cells and Parameters of a network depend on: which these are."""
    cells = [(path, identity(cell)) for path, cell in net.cells_and_names()]
    return (*cells, *((path, identity(p), p.requires_grad) for path, p in net.parameters_and_names()))
