"""Hooks of Cells, and hooks for code without Cells.

`barrier` waits for hooks under jax's transformations. `hook_gradient`, `with_hooks`, `probe`, `capture`
and `site` are for plain functions of jax arrays.
"""

from typing import TYPE_CHECKING

from msjax.base.lazy import on_first_use
from msjax.hooks.handle import RemovableHandle as RemovableHandle
from msjax.hooks.places import site as site

if TYPE_CHECKING:
    from msjax.functional.capture import Captured as Captured, capture as capture
    from msjax.functional.functions import hook_gradient as hook_gradient, probe as probe, with_hooks as with_hooks
    from msjax.functional.hooked import hooked as hooked
    from msjax.functional.jit import jit as jit
    from msjax.functional.module_hooks import (
        path as path,
        register_backward_hook as register_backward_hook,
        register_backward_pre_hook as register_backward_pre_hook,
        register_forward_hook as register_forward_hook,
        register_forward_pre_hook as register_forward_pre_hook,
    )
    from msjax.functional.module_paths import paths as paths
    from msjax.functional.operations import ops as ops
    from msjax.functional.run_with_cache import run_with_cache as run_with_cache
    from msjax.hooks.worker import barrier as barrier
else:
    __getattr__, __dir__ = on_first_use(__name__, None)
