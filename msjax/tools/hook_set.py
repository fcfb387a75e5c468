"""HookSet: hooks on cells and Parameters that are put on and taken off together, again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.hooks.handle import new_hook_id
from msjax.hooks.table import Hook
from msjax.hooks.tensor_hooks import HookList
from msjax.state import programs_changed


class HookSet:
    """Hooks that are part of compiled programs. Each time they are put on they are the same hooks, so that the program that was
    compiled with them is used again."""

    def __init__(self):
        self._of_cells, self._of_parameters = [], []

    def add(self, cell: Any, kind: str, fn: Callable[..., Any]) -> None:
        """A hook of a cell; `kind` is "forward", "backward_pre" and so on."""
        self._of_cells.append((cell, kind, Hook(new_hook_id(), fn, traced=True)))

    def add_of_parameter(self, parameter: Any, fn: Callable[[Any], Any]) -> None:
        """A hook of a Parameter's gradient; it has to return the gradient, so that it is part of the program."""
        self._of_parameters.append((parameter, new_hook_id(), fn))

    def on(self) -> None:
        """Put the hooks on."""
        for cell, kind, hook in self._of_cells:
            cell._set_hooks(cell._hooks.add(kind, hook))
        for parameter, number, fn in self._of_parameters:
            if parameter._hooks is None:
                parameter._hooks = HookList()
            parameter._hooks.hooks[number] = fn
        programs_changed()

    def off(self) -> None:
        """Take the hooks off."""
        for cell, _, hook in self._of_cells:
            cell._set_hooks(cell._hooks.without(hook.id))
        for parameter, number, _ in self._of_parameters:
            if parameter._hooks is not None:
                parameter._hooks.hooks.pop(number, None)
        programs_changed()
