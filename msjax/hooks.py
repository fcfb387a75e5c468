"""Hooks for models of flax, equinox and haiku, for Cells, and for plain functions of jax arrays.

`register_forward_hook` and the like put hooks on modules by path; `capture` returns and edits what is inside of a model; `jit` compiles
a function and calls its observers after each run; `barrier` waits for hooks under jax's own transformations. `hook_gradient`,
`with_hooks`, `probe` and `site` are for plain functions.
"""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

# The contexts that these make are part of the keys of jax's caches, and jax forgets what it has traced when one is made: so now.
from msjax.core.hooks.hook import RemovableHandle as RemovableHandle
from msjax.core.hooks.places import site as site

if TYPE_CHECKING:
    from msjax.core.hooks.worker import barrier as barrier
    from msjax.core.models.capture import Captured as Captured, capture as capture
    from msjax.core.models.functions import hook_gradient as hook_gradient, probe as probe, with_hooks as with_hooks
    from msjax.core.models.hooked import hooked as hooked, paths as paths
    from msjax.core.models.inputs import Inputs as Inputs
    from msjax.core.models.jit import jit as jit
    from msjax.core.models.kept_programs import compile as compile, run_with_cache as run_with_cache
    from msjax.core.models.module_hooks import (
        path as path,
        register_backward_hook as register_backward_hook,
        register_backward_pre_hook as register_backward_pre_hook,
        register_forward_hook as register_forward_hook,
        register_forward_pre_hook as register_forward_pre_hook,
    )
    from msjax.core.models.operations import ops as ops
    from msjax.core.models.registered import (
        Registered as Registered,
        check as check,
        registered as registered,
        remove_all as remove_all,
        without as without,
    )
    from msjax.core.study.attributions import (
        conductance as conductance,
        gradient_shap as gradient_shap,
        integrated_gradients as integrated_gradients,
        noise_tunnel as noise_tunnel,
        occlusion as occlusion,
    )
    from msjax.core.study.circuit import Circuit as Circuit
    from msjax.core.study.collect import Shards as Shards, collect as collect
    from msjax.core.study.patching import PatchSweep as PatchSweep, attribute as attribute, patch_sweep as patch_sweep
    from msjax.core.study.probes import linear_probe as linear_probe
    from msjax.core.study.splice import splice as splice, transplant as transplant
    from msjax.core.study.stream import stream as stream
    from msjax.core.study.verbs import ablate as ablate, steer as steer
    from msjax.core.tools.monitor import Monitored as Monitored, monitor as monitor, rms as rms
else:
    __getattr__, __dir__ = on_first_use(__name__, None)
