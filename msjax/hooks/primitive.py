"""The jax primitive that hands a program's values to the thread that calls hooks."""

from __future__ import annotations

import copy
import sys
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, mlir

from msjax.hooks.worker import IN_HOOK, WORKER

hook_p = jax.extend.core.Primitive("msjax_hook")


@hook_p.def_impl
def _now(*values, calls):
    for call in calls:
        call(values)
    return jnp.zeros((), bool)


@hook_p.def_abstract_eval
def _abstract(*avals, calls):
    return jax.core.ShapedArray((), np.dtype(bool))


def _jvp(primals, tangents, **params):
    out = hook_p.bind(*primals, **params)
    return out, ad.Zero.from_primal_value(out)


ad.primitive_jvps[hook_p] = _jvp


def _lower(ctx, *operands, calls):
    from_hook = IN_HOOK.value
    WORKER.nested = WORKER.nested or from_hook
    WORKER.look_for_other_threads()

    def on_host(*values):
        try:
            WORKER.put(calls, values, from_hook)
        except KeyboardInterrupt:
            WORKER.interrupted_in_callback(sys._getframe(1))
        return (_DONE,)

    axes = ctx.module_context.axis_context
    if getattr(axes, "num_devices", 1) > 1 or hasattr(axes, "manual_axes"):
        # On several devices, jax's own callback knows where to run: once, on the whole value; under shard_map once a device.
        def through_jax(*values):
            return [jax.pure_callback(lambda *v: on_host(*v)[0], jax.ShapeDtypeStruct((), bool), *values)]

        return mlir.lower_fun(through_jax, multiple_results=True)(ctx, *operands)
    results, _, _ = mlir.emit_python_callback(
        _for_platform(ctx), on_host, None, list(operands), ctx.avals_in, ctx.avals_out, has_side_effect=True, returns_token=False
    )
    return results


def _for_platform(ctx):
    """The context, also where a program is lowered for a platform that this machine lacks, to be looked at or exported."""
    module = ctx.module_context
    try:
        module.get_backend()
        WORKER.platforms.add(module.platforms[0])
    except (ValueError, RuntimeError):
        module = copy.copy(module)
        module.backend = _Absent(module.platforms[0])
        return ctx.replace(module_context=module)
    return ctx


class _Absent:
    """Stands for the client of a platform that is not there: enough to lower for it, not to run."""

    def __init__(self, platform: Any):
        self.platform = platform

    def make_python_callback_from_host_send_and_recv(self, callback, *_):
        return callback


mlir.register_lowering(hook_p, _lower, cacheable=False)

# What a callback returns.
_DONE = np.zeros((), bool)
