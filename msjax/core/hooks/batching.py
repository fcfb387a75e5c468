"""The two ways by which a traced program delivers the calls of its hooks: as outputs, and by host callbacks, as few as possible.

`hook_p` is the jax primitive by which events are part of a program. Where jax compiles it, a callback hands over the values.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import jax
import jax.core
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.state import STATE
from msjax.core.base.typing import JaxArray, PyTree
from msjax.core.hooks.delivery import NOW, TracedDelivery
from msjax.core.hooks.events import BoundEvent, Event, Standing, each_lane
from msjax.core.hooks.kinds import ValueKind
from msjax.core.hooks.worker import IN_HOOK, WORKER

# What callbacks have brought in programs whose events happen after the run: (event, its values). One for all programs, since they may
# share functions with a jit of their own.
COLLECTED: collections.deque[tuple[Event, list[np.ndarray]]] = collections.deque()

hook_p = jax.extend.core.Primitive("msjax_hook")


@hook_p.def_impl
def _now(*values, bound, kept):
    NOW.settle()  # hooks of a loop before this one
    standing = Standing([one.event for one in bound])
    for one in bound:
        one(values, standing)
    return jnp.zeros((), bool)


@hook_p.def_effectful_abstract_eval
def _abstract(*avals, bound, kept):
    return jax.core.ShapedArray((), np.dtype(bool)), jax_slots.debug_effects() if kept else jax_slots.NO_EFFECTS


_NO_TANGENT = ad.Zero(jax.core.ShapedArray((), jax.dtypes.float0))
ad.primitive_jvps[hook_p] = lambda primals, _, **params: (hook_p.bind(*primals, **params), _NO_TANGENT)


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
    return jax_slots.emit_callback(ctx, on_host, operands, _sharding(axes is not None) if sharded else None)


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


def _sharding(manual):
    """(attribute, its text) that say where the callback, whose result is one bool, runs."""
    if not jax_slots.settings()["jax_use_shardy_partitioner"]:
        return "mhlo.sharding", '"{manual}"' if manual else '"{maximal device=0}"'
    return "sdy.sharding", f"#sdy.sharding_per_value<[<{'mesh<[]>' if manual else 'mesh<[], device_ids=[0]>'}, []>]>"


def _collect(bound, *values):
    # XLA's memory is gone when the callback returns.
    values = [v if v.flags.owndata else np.array(v) for v in values]
    for one in bound:
        each_lane(lambda arrays: COLLECTED.append((one.event, [*arrays])), [values[i] for i in one.at], one.lanes)  # noqa: B023
    return (_DONE,)


mlir.register_lowering(hook_p, _lower, cacheable=False)

# What a callback returns.
_DONE = np.zeros((), bool)


def _batched(values, axes, *, bound, kept):
    size = next(v.shape[a] for v, a in zip(values, axes) if a is not None)
    values = [v if a is None else jnp.moveaxis(v, a, 0) for v, a in zip(values, axes)]
    broadcast = {}  # number of a value without the new axis: that of its copy for calls whose other values have the axis

    def with_axis(i):
        if axes[i] is not None:
            return i
        if i not in broadcast:
            broadcast[i] = len(values)
            values.append(jnp.broadcast_to(values[i], (size, *values[i].shape)))
        return broadcast[i]

    bound = tuple(
        BoundEvent(one.event, tuple(map(with_axis, one.at)), one.lanes + 1) if any(axes[i] is not None for i in one.at) else one
        for one in bound
    )
    return hook_p.bind(*values, bound=bound, kept=kept), None


batching.primitive_batchers[hook_p] = _batched


def _bind(values, bound, done, kept=False):
    """Put a callback into the program, after earlier ones, and the one that gave `done`: nothing else says that forward comes before backward.
    Its result is False, as an array that the compiler does not know."""
    before = [] if done is None else [done]
    last = None if STATE.latest_call is None else STATE.latest_call()
    if last is not None and last is not done:
        trace = jax_slots.trace_of(last)
        if any(jax_slots.trace_of(v) is trace for v in values) or (not values and _is_usable(last)):
            before.append(last)
    made = hook_p.bind(*values, *before, bound=bound, kept=kept)
    STATE.latest_call = weakref.ref(made) if is_tracer(made) else None
    return made


def _alone(event, arrays):
    """The events of an equation that holds this one alone."""
    return (BoundEvent(event, tuple(range(len(arrays)))),)


# ---- by host callbacks

# A program keeps the values of calls that share a callback until the last of them is there: so many bytes at most.
LARGE = 1 << 24


class Callbacks(TracedDelivery):
    """Each event is a host callback of its own."""

    def put(self, values: ValueKind, event: Event, arrays: Sequence[Any], carried: PyTree) -> PyTree:
        STATE.comes_to_callback()
        batch = self.batch
        if batch is not None and batch.add(event, arrays):
            return carried
        arrays = [jax.lax.stop_gradient(array) for array in arrays]
        leaves, _, at = values.find(carried)
        uses = any(is_tracer(values.raw(leaves[i])) for i in at)
        before = STATE.latest_call
        # jax drops what no result depends on, unless it has an effect; but programs with effects start more slowly.
        done = _bind(arrays, _alone(event, arrays), None if batch is None else batch.latest(), kept=not uses)
        if batch is not None and jax_slots.trace_of(done) is batch.trace:
            # Only what jax differentiates belongs to another trace: whatever depends on the batch depends on this call.
            batch.done = done
        if uses:
            return _depend(values, carried, done)
        if batch is not None:
            batch.kept = done
        else:
            STATE.latest_call = before  # nothing holds `done`: later calls come after the one before it
        return carried


CALLBACKS = NOW.traced = Callbacks()


class CallbackBatch(Callbacks):
    """Puts the hook calls made within it into as few callbacks as possible: a callback costs more than the values that it carries.

    The hook calls in a loop or a transformation within the region have a batch for each call of a module, after the calls before it. Where
    events are outputs, or nothing is traced, hooks are called as they are outside of it.
    """

    def __init__(self):
        self.world = jax_slots.trace_state()
        self.trace = jax_slots.current_trace()
        self.done: JaxArray | None = None
        self.kept: JaxArray | None = None  # keeps the latest result that nothing depends on, so that calls come after it
        self._clear()

    def _clear(self):
        self.values = []
        self.numbers = {}  # {id: (number, the value itself)}
        self.events = []
        self.bytes: int = 0

    @classmethod
    def of_call(cls, values: ValueKind, call: Callable[[], PyTree]) -> PyTree:
        """Call a module; where jax records it, collect the hook calls within in one batch, on whose callback the result depends.

        So a hook runs even if it saw a value that no result needs. Where values are known, hooks are called at once."""
        # In this order: to ask whether jax records is a step of the program.
        return cls.around(values, call) if STATE.delivery.begins_batch and staged() else call()

    @classmethod
    def around(cls, values: ValueKind, call: Callable[[], PyTree]) -> PyTree:
        """`of_call`, where it is known that a batch begins."""
        outer = STATE.delivery.batch
        with cls() as calls:
            calls.done = None if outer is None else outer.latest()
            result = calls.add_dependency(values, call())
        if outer is not None and calls.done is not None and jax_slots.trace_of(calls.done) is outer.trace:
            outer.done = calls.done
        return result

    def latest(self) -> JaxArray | None:
        """The result of the last callback, after which the next one is ordered; None in a rule of custom_jvp or custom_vjp, which can't use it."""
        self.flush()
        return None if self.done is None or jax_slots.outside_of_rule(self.done) else self.done

    def is_elsewhere(self) -> bool:
        """Whether jax traces a loop or transformation within the region now."""
        return jax_slots.trace_state() != self.world

    begins_batch = property(is_elsewhere)

    @property
    def batch(self) -> CallbackBatch:
        return self

    def __enter__(self) -> Self:
        self.around: Any = STATE.delivery
        self.before = STATE.latest_call
        if not self.around.outputs and self.world != jax_slots.NO_TRACE:
            STATE.delivery = self
        return self

    def __exit__(self, *exception: Any) -> None:
        STATE.delivery = self.around
        if exception[0] is not None:
            # The calls of an attempt that failed come before no other call, which would keep them in the program.
            STATE.latest_call = self.before

    def add(self, event: Event, values: list[JaxArray]) -> bool:
        """Take an event. False if it belongs to another trace than the batch; the calls taken so far then have their callback."""
        if self.is_elsewhere():
            self.flush()
            return False
        # The observers of one list stay together: the worker looks all of a callback up before it calls the first.
        if self.bytes > LARGE and not (event.slot is not None and event.slot.follows):
            self.flush()
        self.events.append(BoundEvent(event, tuple(map(self._number, values))))
        return True

    def _number(self, value):
        # The output of one cell is the input of the next, and several hooks get the same values.
        number, _ = self.numbers.setdefault(id(value), (len(self.values), value))
        if number == len(self.values):
            self.values.append(jax.lax.stop_gradient(value))
            self.bytes += value.size * value.dtype.itemsize
        return number

    def flush(self, kept: bool = False) -> None:
        """Put the callback of the calls that were taken into the program; if `kept`, also where no result depends on them."""
        if not self.events:
            return
        with jax_slots.within_trace(self.trace):
            self.done = _bind(self.values, tuple(self.events), self.done, kept)
        self._clear()

    def add_dependency(self, values: ValueKind, tree: PyTree) -> PyTree:
        """The nested containers, with values that depend on the calls of this batch."""
        self.flush(kept=not values.find(tree)[2])
        return tree if self.done is None else _depend(values, tree, self.done)

    def before_loop(self, values: ValueKind, tree: PyTree) -> PyTree:
        return tree if self.is_elsewhere() else self.add_dependency(values, tree)


@contextlib.contextmanager
def tie_calls_to(values: ValueKind, group: list[Any]) -> Iterator[None]:
    """A context around the hooks of a node in its backward pass: afterwards, the values in a list, beside None, depend on the hook calls within.

    They are replaced in the list by values that XLA can't compute without the calls.
    """
    around, calls = STATE.delivery, None
    if any(is_tracer(values.raw(value)) for value in group if value is not None) and not around.outputs:
        # Apart from the batch around: where jax transposes a loop, its body can't use values from outside.
        STATE.delivery = calls = CallbackBatch()
    elif not around.outputs:
        # Without a traced gradient, nothing else tells the hooks whether they are called when a program runs.
        STATE.delivery = CALLBACKS if staged() else NOW
    try:
        yield
    finally:
        STATE.delivery = around
    if calls is not None:
        group[:] = calls.add_dependency(values, group)
        batch = around.batch
        if batch is not None and calls.done is not None and jax_slots.trace_of(calls.done) is batch.trace:
            batch.done = calls.done  # a later hook may drop what the group becomes


def after_latest_call(values: ValueKind, tree: PyTree) -> PyTree:
    """The nested containers, with values that depend on the hook calls so far; for values that may not be computed from what hooks were given."""
    done = None if STATE.latest_call is None or STATE.delivery.outputs else STATE.latest_call()
    return tree if done is None or not _is_usable(done) else _depend(values, tree, done)


def _is_usable(value):
    """Whether code may use a tracer here."""
    return any(jax_slots.trace_of(value) is trace for trace in jax_slots.enclosing_traces())


def _depend(values, tree, done):
    """Nested containers whose traced values, and so their gradients, wait for the callback that gives `done`; if no value is traced, the
    constants do."""
    leaves, treedef, at = values.find(tree)
    arrays = [values.raw(leaves[i]) for i in at]
    constant = not any(map(is_tracer, arrays))
    for i, array in zip(at, arrays):
        if constant or is_tracer(array):
            # `done` is always False, which the compiler does not know.
            array = jax.lax.select(done, jnp.zeros_like(array), array)
            leaves[i] = values.depending(array, leaves[i])
    return jax.tree.unflatten(treedef, leaves)


# ---- as outputs


class CallsAsOutputs(TracedDelivery):
    """For tracing a program that hands out the values of its events, which happen after each run.

    No result of the program depends on them: each is an equation with an effect, which is taken out before the program is compiled.
    """

    outputs = True

    def __init__(self, dropped: bool = False):
        self.dropped = dropped

    def __enter__(self) -> Self:
        if self.dropped:
            STATE.comes_to_event()  # text that was printed before is no part of what is dropped
        self.key = _OUTPUTS("dropped" if self.dropped else "outputs")
        self.key.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        if self.dropped:
            STATE.comes_to_event()  # text that is printed anew is dropped, too
        super().__exit__(*exception)
        self.key.__exit__(*exception)

    @staticmethod
    def put_event(event: Event, arrays: Sequence[Any]) -> None:
        """Put an event into a program that is traced so, at this place; it is dropped if events are."""
        if STATE.delivery.dropped:
            return
        event.collected = True
        _bind(arrays, _alone(event, arrays), None, kept=True)

    def put(self, values: ValueKind, event: Event, arrays: Sequence[Any], carried: PyTree) -> PyTree:
        STATE.comes_to_event()  # the text that was printed so far comes before it
        self.put_event(event, arrays)
        return carried


# Part of the key of every cache of jax: a function with a jit of its own is traced apart for such programs. Made when msjax is
# imported, since jax forgets all that it has traced so far when a context is added.
_OUTPUTS = jax_slots.user_context(None)
