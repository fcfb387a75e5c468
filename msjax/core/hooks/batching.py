"""Batches the hook calls of one traced region into as few host callbacks as possible."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import jax
import jax.numpy as jnp
from jax.interpreters import batching

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.state import STATE
from msjax.core.base.typing import JaxArray, PyTree
from msjax.core.hooks import primitive
from msjax.core.hooks.events import Bound, Event
from msjax.core.hooks.primitive import hook_p

if TYPE_CHECKING:
    from msjax.core.hooks.values import Values


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
        Bound(one.event, tuple(map(with_axis, one.at)), one.lanes + 1) if any(axes[i] is not None for i in one.at) else one
        for one in bound
    )
    return hook_p.bind(*values, bound=bound, kept=kept), None


batching.primitive_batchers[hook_p] = _batched


class _Untied:
    """The calls in one trace on which nothing depends yet.

    Attributes:
        done: the result of the latest one, which comes after the others.
    """

    def __init__(self):
        self.trace = jax_slots.current_trace()
        self.done: JaxArray | None = None


class _Calls(threading.local):
    """What this thread knows of the hook calls of the program that it traces.

    Attributes:
        last: a weak reference to the result of the latest call. The tracer itself belongs to its trace: the operations that
            use it keep it, and it goes when they do.
        batch: the CallbackBatch under way.
        apart: that around `no_batch`.
        untied: while `tie_calls_to` runs, the calls within.
        outputs: whether a `CallsAsOutputs` is under way.
        dropped: whether it drops the calls.
    """

    def __init__(self):
        self.last: weakref.ref[JaxArray] | None = None
        self.batch: CallbackBatch | None = None
        self.apart: CallbackBatch | None = None
        self.untied: _Untied | None = None
        self.outputs: bool = False
        self.dropped: bool = False


_CALLS = _Calls()


def observe_traced(values: Values, event: Event, arrays: Sequence[Any], carried: PyTree) -> PyTree:
    """Let an event happen with the values that arrays get when the program runs.

    Args:
        values (Values): says what of `carried` is a value.
        event: the event.
        arrays: tracers.
        carried: what goes on through the network.

    Returns:
        `carried`, whose values depend on the event: a program that uses them has it.
    """
    arrays = [jax.lax.stop_gradient(array) for array in arrays]
    if _CALLS.outputs:
        put_event(event, arrays)
        return carried
    if STATE.trace is not None:
        STATE.trace.uses_callbacks = True
    batch = _CALLS.batch
    if batch is not None and batch.add(event, arrays):
        return carried
    leaves, _, at = values.find(carried)
    untied = _CALLS.untied
    if untied is not None and untied.trace is not jax_slots.current_trace():
        untied = None
    tied = untied is None and any(is_tracer(values.raw(leaves[i])) for i in at)
    # jax drops what no result depends on, unless it has an effect; but programs with effects start more slowly.
    kept = not tied and untied is None
    before = _CALLS.last
    done = _bind(arrays, (Bound(event, tuple(range(len(arrays)))),), None if batch is None else batch.done, kept)
    if batch is not None and jax_slots.trace_of(done) is batch.trace:
        # Only what jax differentiates belongs to another trace: whatever depends on the batch depends on this call.
        batch.done = done
    if tied:
        return _depend(values, carried, done)
    if untied is not None:
        untied.done = done
    elif batch is not None:
        batch.kept = done
    else:
        _CALLS.last = before  # nothing holds `done`: later calls come after the one before it
    return carried


def put_event(event: Event, arrays: Sequence[Any]) -> None:
    """Put an event into a program that is traced within `CallsAsOutputs`, at this place; it is dropped if events are."""
    if _CALLS.dropped:
        return
    event.collected = True
    _bind(arrays, (Bound(event, tuple(range(len(arrays)))),), None, kept=True)


def _bind(values, bound, done, kept=False):
    """Put a callback into the program, after earlier ones: nothing else says that forward comes before backward.

    Args:
        done: the result of an earlier callback that this one may use, or None.

    Returns:
        The callback's result: False, as an array that the compiler does not know.
    """
    before = [] if done is None else [done]
    last = None if _CALLS.last is None else _CALLS.last()
    if last is not None and last is not done:
        trace = jax_slots.trace_of(last)
        if any(jax_slots.trace_of(v) is trace for v in values) or (not values and _is_usable(last)):
            before.append(last)
    made = hook_p.bind(*values, *before, bound=bound, kept=kept)
    _CALLS.last = weakref.ref(made) if is_tracer(made) else None
    return made


class CallbackBatch:
    """A context manager that puts the hook calls made within it into as few callbacks as possible: a callback costs more
    than the values that it carries.

    A call in a loop or a transformation within the region gets a callback of its own, after those of the calls before it.
    """

    def __init__(self):
        self.world = jax_slots.trace_state()
        self.trace = jax_slots.current_trace()
        self.done: JaxArray | None = None
        self.kept: JaxArray | None = None  # keeps the latest result that nothing depends on, so that calls come after it
        self._clear()

    def _clear(self):
        self.values = []
        self.numbers = {}
        self.events = []
        self.bytes: int = 0

    def __enter__(self) -> Self:
        self.around, _CALLS.batch = _CALLS.batch, self
        self.before = _CALLS.last
        return self

    def __exit__(self, *exception: Any) -> None:
        _CALLS.batch = self.around
        if exception[0] is not None:
            # The calls of an attempt that failed come before no other call, which would keep them in the program.
            _CALLS.last = self.before

    def add(self, event: Event, values: list[JaxArray]) -> bool:
        """Take an event. False if it belongs to another trace than the batch; the calls taken so far then have their callback."""
        if jax_slots.trace_state() != self.world:
            self.flush()
            return False
        self.events.append(Bound(event, tuple(map(self._number, values))))
        if self.bytes > primitive.LARGE:
            self.flush()
        return True

    def _number(self, value):
        # The output of one cell is the input of the next.
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.values)
            self.values.append(value)
            self.bytes += value.size * value.dtype.itemsize
        return self.numbers[id(value)]

    def flush(self, kept: bool = False) -> None:
        """Put the callback of the calls that were taken into the program; if `kept`, also where no result depends on them."""
        if not self.events:
            return
        with jax_slots.within_trace(self.trace):
            self.done = _bind(self.values, tuple(self.events), self.done, kept)
        self._clear()

    def add_dependency(self, values: Values, tree: PyTree) -> PyTree:
        """Nested containers whose values depend on the calls."""
        self.flush(kept=not values.find(tree)[2])
        return tree if self.done is None else _depend(values, tree, self.done)


def in_one_batch(values: Values, call: Callable[[], PyTree]) -> PyTree:
    """The result of the outermost call of a Cell where jax traces a program, which depends on the calls of hooks within, also of those
    that saw what no result depends on. Where the values are known, hooks are called at once."""
    if _CALLS.batch is not None or _CALLS.outputs or not staged():
        return call()
    with CallbackBatch() as calls:
        return calls.add_dependency(values, call())


def after_calls(values: Values, tree: PyTree) -> PyTree:
    """Nested containers whose values depend on the calls made so far.

    For what a loop or transformation of jax works on, so that the calls within it come after those before it.
    """
    batch = _CALLS.batch
    if batch is None or jax_slots.trace_state() != batch.world:
        return tree
    return batch.add_dependency(values, tree)


@contextlib.contextmanager
def no_batch() -> Iterator[None]:
    """Make calls that depend on none of another trace: where jax transposes a loop, its body can't use values from outside."""
    around, before = _CALLS.batch, _CALLS.apart
    _CALLS.batch, _CALLS.apart = None, around
    try:
        yield
    finally:
        _CALLS.batch, _CALLS.apart = around, before


class CallsAsOutputs:
    """A context manager for tracing a program that hands out the values of its events, which happen after each run.

    No result of the program depends on them: each is an equation with an effect, which is taken out before the program is compiled.

    Args:
        dropped: whether there are no events: of code that a program computes again.
    """

    def __init__(self, dropped: bool = False):
        self.dropped = dropped

    def __enter__(self) -> Self:
        self.around = _CALLS.outputs, _CALLS.dropped
        _CALLS.outputs, _CALLS.dropped = True, self.dropped
        self.key = _OUTPUTS("dropped" if self.dropped else "outputs")
        self.key.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        _CALLS.outputs, _CALLS.dropped = self.around
        self.key.__exit__(*exception)


# Part of the key of every cache of jax: a function with a jit of its own is traced apart for such programs. Made when msjax is
# imported, since jax forgets all that it has traced so far when a context is added.
_OUTPUTS = jax_slots.user_context(None)


def calls_are_outputs() -> bool:
    """Whether this thread traces a program within `CallsAsOutputs`."""
    return _CALLS.outputs


@contextlib.contextmanager
def tie_calls_to(values: Values, group: list[Any]) -> Iterator[None]:
    """Make values depend on the calls within, whatever else becomes of what the calls were given: their places in the list get new ones."""
    outer = _CALLS.untied
    untied = _CALLS.untied = _Untied() if any(is_tracer(values.raw(v)) for v in group if v is not None) else None
    try:
        yield
    finally:
        _CALLS.untied = outer
    if untied is not None and untied.done is not None:
        group[:] = _depend(values, group, untied.done)
        batch = _CALLS.apart
        if batch is not None and jax_slots.trace_of(untied.done) is batch.trace:
            batch.done = untied.done  # a later hook may drop what the group becomes


def after_latest_call(values: Values, tree: PyTree) -> PyTree:
    """Nested containers whose values depend on the calls so far, where they may not be computed from what these were given."""
    done = None if _CALLS.last is None or _CALLS.outputs else _CALLS.last()
    return tree if done is None or not _is_usable(done) else _depend(values, tree, done)


def _is_usable(value):
    """Whether code may use a tracer here."""
    return any(jax_slots.trace_of(value) is trace for trace in jax_slots.enclosing_traces())


def _depend(values, tree, done):
    """Nested containers whose traced values are there, as are their gradients, only when the callback has returned; constants
    where there is nothing else."""
    leaves, treedef, at = values.find(tree)
    arrays = [values.raw(leaves[i]) for i in at]
    constant = not any(map(is_tracer, arrays))
    for i, array in zip(at, arrays):
        if constant or is_tracer(array):
            # `done` is always False, which the compiler does not know.
            array = jax.lax.select(done, jnp.zeros_like(array), array)
            leaves[i] = values.depending(array, leaves[i])
    return jax.tree.unflatten(treedef, leaves)
