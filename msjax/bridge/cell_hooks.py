"""Hooks of cells and Parameters that are put on and taken off together, again and again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

from msjax.common.tensor_hooks import HookList
from msjax.core.base.weak import identity
from msjax.core.door import VERSION, Hook
from msjax.core.tools.hook_set import ModuleHookSet


class CellHookSet(ModuleHookSet):
    """Hooks of the cells of a network and of its Parameters' gradients. If nothing else has changed when they are put on again or taken off,
    no program has to check its guards."""

    def __init__(self):
        super().__init__()
        self._of_parameter: tuple[Callable[..., Any], tuple[str, ...]] = lambda name, gradient: gradient, ()
        self._of_parameters: dict[str, Hook] = {}
        self._put: list[tuple[Any, Hook]] = []
        # The versions (see `msjax.core.base.state.Version`) without and with the hooks.
        self._off_at = self._on_at = -1

    def add_of_parameters(self, fn: Callable[[str, Any], Any], under: tuple[str, ...] = ("",)) -> None:
        """A hook of the gradients of all Parameters that are trained, whose names begin so: ``fn(name, gradient)`` has to return the
        gradient, so that it is part of the program."""
        self._of_parameter = fn, under

    def on(self, model: Any) -> None:
        before = VERSION.n
        super().on(model)
        fn, under = self._of_parameter
        for name, parameter in model.parameters_and_names() if under else ():
            if not parameter.requires_grad or not name.startswith(under):
                continue
            if name not in self._of_parameters:
                self._of_parameters[name] = Hook(functools.partial(fn, name), traced=True)
            if parameter._hooks is None:
                parameter._hooks = HookList(parameter)
            parameter._hooks.put(self._of_parameters[name])
            self._put.append((parameter, self._of_parameters[name]))
        self._changed(before, "_off_at", "_on_at")

    def off(self) -> None:
        before = VERSION.n
        super().off()
        for parameter, hook in self._put:
            if parameter._hooks is not None:
                parameter._hooks.take(hook.id)
        self._put = []
        self._changed(before, "_on_at", "_off_at")

    def _changed(self, before, source, target):
        """Count a change; the one from `source` to `target` that was made before is undone exactly."""
        if before == getattr(self, source):
            VERSION.n = getattr(self, target)
        else:
            VERSION.changed()
            setattr(self, source, before)
            setattr(self, target, VERSION.n)


def structure_of(model: Any) -> Hashable:
    """What hooks on all cells and Parameters of a network depend on: which these are."""
    cells = [(path, identity(cell)) for path, cell in model.cells_and_names()]
    return (*cells, *((path, identity(p), p.requires_grad) for path, p in model.parameters_and_names()))
