"""Hooks, and hooks for code that knows no Cell.

`barrier` waits for hooks under someone else's jax.jit. `hook_gradient`, `with_hooks`, `probe`, `capture`
and `site` are for plain functions of jax arrays.
"""

from msjax.hooks.handle import RemovableHandle
from msjax.offers import later

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
__getattr__ = later(__name__, _LATER)
