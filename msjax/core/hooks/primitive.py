"""hook_p: the jax primitive by which events are part of a program. Where jax compiles it, a callback hands over the values."""

from __future__ import annotations

import collections
import functools
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

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
    from msjax.core.hooks.events import BoundEvent, Event

# A program keeps the values of calls that share a callback until the last of them is there: so many bytes at most.
LARGE = 1 << 24

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
        return CallbackSite(ctx).emit(functools.partial(_collect, bound), operands, ctx.avals_in)
    from_hook = IN_HOOK.value
    WORKER.nested = WORKER.nested or from_hook
    WORKER.look_for_other_threads()
    site = CallbackSite(ctx)
    # There, a callback is several operations.
    merges = site.platform != "tpu"
    notes, avals, results = jax_slots.lowering_notes(site.ctx), ctx.avals_in, []
    earlier = _take_over(notes, operands, avals) if merges else None
    if earlier is not None:
        operands, avals, bound = earlier.with_events(operands, avals, bound)
        results = earlier.results
    elif merges:
        operands, results = _after_latest(notes, operands)
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
    (call,) = site.emit(on_host, operands, avals)
    # The callback may move to a later place; its result, which later operations use, is an operation of its own.
    done = mlir.lower_fun(lambda d: [jax.lax.bitwise_not(jax.lax.bitwise_not(d))], multiple_results=True)(
        site.ctx.replace(avals_in=ctx.avals_out), call
    )
    if merges:
        latest, block = notes.get(_EMITTED), jax_slots.current_block()
        alone = latest is None or (latest.alone and latest.block == block)
        emitted = _Emitted(call, [done[0], *results], list(operands), list(avals), bound, block, alone)
        notes[_EMITTED] = emitted
    return done


def _collect(bound, *values):
    # XLA's memory is gone when the callback returns.
    values = [v if v.flags.owndata else np.array(v) for v in values]
    for one in bound:
        each_lane(lambda arrays: COLLECTED.append((one.event, [*arrays])), [values[i] for i in one.at], one.lanes)  # noqa: B023
    return (_DONE,)


# The key of the latest callback among the notes of a lowering.
_EMITTED = "msjax hook callback"


class _Emitted(NamedTuple):
    """The callback that was lowered last in a module.

    Attributes:
        call: the result of the callback's operation.
        results: the values that other operations use in its place, and those of the callbacks that were merged into this one.
        operands, avals, bound: the values that it passes to Python, their types, and the events that get them.
        block: the block of operations that it is in.
        alone: whether all callbacks of the module are in that block. If not, any function of the module may contain some.
    """

    call: Any
    results: list[Any]
    operands: list[Any]
    avals: list[Any]
    bound: tuple[BoundEvent, ...]
    block: Any
    alone: bool

    def with_events(self, operands, avals, bound):
        """(operands, avals, bound) of a callback with these events after its own."""
        operands_, avals_, numbers = list(self.operands), list(self.avals), []
        for operand, aval in zip(operands, avals):
            if any(operand == result for result in self.results):
                numbers.append(-1)  # a dependency on a callback that is part of this one
                continue
            if operand not in operands_:
                operands_.append(operand)
                avals_.append(aval)
            numbers.append(operands_.index(operand))
        return operands_, avals_, (*self.bound, *[one.renumbered(numbers) for one in bound])


def _take_over(notes, operands, avals):
    """The module's latest callback, removed from it, if a callback with these operands can make its calls as well.

    That is so if nothing but Tensors depends on it: then only callbacks could come between the two, and this one comes next.
    """
    emitted = notes.get(_EMITTED)
    if emitted is None or not emitted.alone or emitted.block != jax_slots.current_block():
        return None
    if not any(o in emitted.results for o in operands):
        return None
    if sum(a.size * a.dtype.itemsize for a in (*emitted.avals, *avals)) > LARGE:
        return None
    if any(name not in _TIES for name in jax_slots.users_of(emitted.results[0])):
        return None
    jax_slots.replace_by_constant(emitted.call, _DONE)
    return emitted


def _after_latest(notes, operands):
    """(operands, results) of a callback that comes after the module's latest one, if it depends on it, or on one that it has taken over: the
    results of those are constants."""
    emitted = notes.get(_EMITTED)
    if emitted is None or emitted.block != jax_slots.current_block() or not any(o in emitted.results for o in operands):
        return operands, []
    return [emitted.results[0] if o in emitted.results else o for o in operands], emitted.results


# The operations by which a Tensor depends on a callback: see msjax.core.hooks.batching.
_TIES = ("stablehlo.broadcast_in_dim", "stablehlo.select")


mlir.register_lowering(hook_p, _lower, cacheable=False)

# What a callback returns.
_DONE = np.zeros((), bool)
