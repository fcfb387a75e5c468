"""Hooks, and hooks for code that knows no Cell.

`barrier` waits for hooks under someone else's jax.jit. `hook_gradient`, `with_hooks`, `probe`, `capture`
and `site` are for plain functions of jax arrays.
"""

import importlib

from msjax.hooks.handle import RemovableHandle

_LATER = {
    "barrier": "callback",
    "capture": "capturing",
    "site": "capturing",
    "Captured": "capturing",
    "hook_gradient": "functional",
    "with_hooks": "functional",
    "probe": "functional",
}

__all__ = ["RemovableHandle", *_LATER]


def __getattr__(name):
    if name in _LATER:
        value = getattr(importlib.import_module(f"msjax.hooks.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"msjax.hooks has no {name!r}.")
