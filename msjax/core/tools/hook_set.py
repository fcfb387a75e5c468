"""Hooks of a model's modules that are put on and taken off together, again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.core.hooks.hook import Hook
from msjax.core.models.hooked import paths
from msjax.core.models.module_hooks import path, put_hook
from msjax.core.models.where import Where


class ModuleHookSet:
    """Hooks of the modules of a model that takes hooks. Each time they are put on they are the same hooks, so that the program that was
    compiled with them is used again."""

    def __init__(self):
        self._hooks, self._handles = [], []

    def add(self, kind: str, fn: Callable[..., Any], where: Where = "*", always_call: bool = False) -> None:
        """A hook of all modules that `where` selects, see `hooks.register_forward_hook`; `kind` is "forward" and so on."""
        self._hooks.append((kind, Hook(fn, observe=False, traced=True, always_call=always_call), where))

    def on(self, model: Any) -> None:
        """Put the hooks on a model."""
        self._handles = [put_hook(model, kind, hook, where) for kind, hook, where in self._hooks]

    def off(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def names_in(model: Any) -> Callable[[Any], str]:
    """A function from a module, as hooks get it, to its path in a model."""
    names = {id(module): name for name, module in paths(model).items()}
    # Some modules are copies, or made anew for each run.
    return lambda module: names[id(module)] if id(module) in names else path(module)
