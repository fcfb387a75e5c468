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
    """Emit a callback. In a program for several devices, the first one calls it, once, with whole values; under jax.shard_map, each device
    does, with its own part."""
    # A platform that this machine lacks is lowered for to be looked at, or exported.
    ctx, here = jax_slots.lowering_here(ctx)
    platform, axes = jax_slots.platform_of(ctx), jax_slots.manual_axes(ctx)
    if axes is not None and set(axes[0]) != set(axes[1]):
        raise NotImplementedError(
            f"Hooks under jax.shard_map need all axes of the mesh to be manual: {axes[1]}, but only {axes[0]} are."
        )
    sharded = axes is not None or jax_slots.device_count(ctx) > 1
    if bound[0].event.collected:
        on_host = functools.partial(_collect, bound)
    else:
        on_host = _queueing(bound, sharded)
        if here:
            WORKER.sharded = WORKER.sharded or sharded
            WORKER.platforms.add(platform)
    if sharded and platform == "tpu":
        # There, a callback is several operations, to which only jax can give a sharding.
        shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_out]

        def through_jax(*values):
            return jax.pure_callback(lambda *v: list(on_host(*map(np.asarray, v))), shapes, *values)

        # A context takes the tokens of one rule; the caller's is for its own.
        return mlir.lower_fun(through_jax, multiple_results=True)(ctx.replace(avals_in=ctx.avals_in), *operands)
    return jax_slots.emit_callback(ctx, on_host, operands, _sharding(ctx, axes is not None) if sharded else None)


def _queueing(bound, sharded):
    from_hook = IN_HOOK.value
    WORKER.nested = WORKER.nested or from_hook
    WORKER.look_for_other_threads()

    def on_host(*values):
        try:
            WORKER.put(bound, values, from_hook, sharded)
        except KeyboardInterrupt:
            WORKER.interrupted_in_callback(sys._getframe(1))
        return (_DONE,)

    return on_host


def _sharding(ctx, manual):
    """(attribute, its text) that say where the callback runs."""
    if not jax_slots.settings()["jax_use_shardy_partitioner"]:
        return "mhlo.sharding", '"{manual}"' if manual else '"{maximal device=0}"'
    if manual:
        shardings = [f"<mesh<[]>, [{', '.join(['{}'] * aval.ndim)}]>" for aval in ctx.avals_out]
    else:
        shardings = ["<mesh<[], device_ids=[0]>, []>"] * len(ctx.avals_out)
    return "sdy.sharding", f"#sdy.sharding_per_value<[{', '.join(shardings)}]>"


def _collect(bound, *values):
    # XLA's memory is gone when the callback returns.
    values = [v if v.flags.owndata else np.array(v) for v in values]
    for one in bound:
        each_lane(lambda arrays: COLLECTED.append((one.event, [*arrays])), [values[i] for i in one.at], one.lanes)  # noqa: B023
    return (_DONE,)


mlir.register_lowering(hook_p, _lower, cacheable=False)

# What a callback returns.
_DONE = np.zeros((), bool)
