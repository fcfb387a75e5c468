"""Hooks of Cells, and hooks for code without Cells.

`barrier` waits for hooks under jax's transformations. `hook_gradient`, `with_hooks`, `probe`, `capture`
and `site` are for plain functions of jax arrays.
"""

from typing import TYPE_CHECKING

from msjax.hooks.handle import RemovableHandle
from msjax.hooks.places import site
from msjax.lazy import lazy_names

_LATER = {
    "barrier": "msjax.hooks.worker",
    "capture": "msjax.functional.capture",
    "jit": "msjax.functional.jit",
    "ops": "msjax.functional.operations",
    "run_with_cache": "msjax.functional.run_with_cache",
    "Captured": "msjax.functional.capture",
    "hook_gradient": "msjax.functional.functions",
    "hooked": "msjax.functional.hooked",
    "with_hooks": "msjax.functional.functions",
    "probe": "msjax.functional.functions",
    **dict.fromkeys(
        (
            "path",
            "paths",
            "register_backward_hook",
            "register_backward_pre_hook",
            "register_forward_hook",
            "register_forward_pre_hook",
        ),
        "msjax.functional.module_hooks",
    ),
    "paths": "msjax.functional.module_paths",
}

__all__ = ["RemovableHandle", "site", *_LATER]
if TYPE_CHECKING:
    from msjax.functional.capture import Captured, capture
    from msjax.functional.functions import hook_gradient, probe, with_hooks
    from msjax.functional.hooked import hooked
    from msjax.functional.jit import jit
    from msjax.functional.module_hooks import (
        path,
        register_backward_hook,
        register_backward_pre_hook,
        register_forward_hook,
        register_forward_pre_hook,
    )
    from msjax.functional.module_paths import paths
    from msjax.functional.operations import ops
    from msjax.functional.run_with_cache import run_with_cache
    from msjax.hooks.worker import barrier
else:
    __getattr__ = lazy_names(__name__, _LATER)
