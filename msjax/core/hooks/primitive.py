"""hook_p: the jax primitive by which events are part of a program. Where jax compiles it, a callback hands over the values."""

from __future__ import annotations

import collections
import functools
import sys
from typing import TYPE_CHECKING

import jax
import jax.core
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, mlir

from msjax.core.base import jax_slots
from msjax.core.base.state import ACTIVITY
from msjax.core.hooks.emit import CallbackSite
from msjax.core.hooks.events import each_lane
from msjax.core.hooks.worker import IN_HOOK, WORKER, barrier

if TYPE_CHECKING:
    from msjax.core.hooks.events import Event

# What callbacks have brought in programs whose events happen after the run: (event, its values). One for all programs, since they may
# share functions with a jit of their own.
COLLECTED: collections.deque[tuple[Event, list[np.ndarray]]] = collections.deque()

hook_p = jax.extend.core.Primitive("msjax_hook")


@hook_p.def_impl
def _now(*values, bound, kept):
    if ACTIVITY.callbacks:
        barrier()  # hooks of a loop before this one
    for one in bound:
        one(values)
    return jnp.zeros((), bool)


@hook_p.def_effectful_abstract_eval
def _abstract(*avals, bound, kept):
    return jax.core.ShapedArray((), np.dtype(bool)), jax_slots.debug_effects() if kept else jax_slots.NO_EFFECTS


def _jvp(primals, tangents, **params):
    out = hook_p.bind(*primals, **params)
    return out, ad.Zero(jax.core.ShapedArray((), jax.dtypes.float0))


ad.primitive_jvps[hook_p] = _jvp


def _lower(ctx, *operands, bound, kept):
    if bound[0].event.collected:
        return CallbackSite(ctx).emit(functools.partial(_collect, bound), operands)
    from_hook = IN_HOOK.value
    WORKER.nested = WORKER.nested or from_hook
    WORKER.look_for_other_threads()
    site = CallbackSite(ctx)
    sharded = site.sharded

    def on_host(*values):
        try:
            WORKER.put(bound, values, from_hook, sharded)
        except KeyboardInterrupt:
            WORKER.interrupted_in_callback(sys._getframe(1))
        return (_DONE,)

    if site.here:
        WORKER.sharded = WORKER.sharded or sharded
        WORKER.platforms.add(site.platform)
    return site.emit(on_host, operands)


def _collect(bound, *values):
    # XLA's memory is gone when the callback returns.
    values = [v if v.flags.owndata else np.array(v) for v in values]
    for one in bound:
        each_lane(lambda arrays: COLLECTED.append((one.event, [*arrays])), [values[i] for i in one.at], one.lanes)  # noqa: B023
    return (_DONE,)


mlir.register_lowering(hook_p, _lower, cacheable=False)

# What a callback returns.
_DONE = np.zeros((), bool)
