"""Batches the hook calls of one traced region into as few host callbacks as possible."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import jax
import jax.numpy as jnp
from jax.interpreters import batching

from msjax.base import jax_slots
from msjax.base.arrays import is_tracer
from msjax.base.state import STATE
from msjax.base.typing import JaxArray, PyTree, PyTreeDef
from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.hooks import primitive
from msjax.hooks.primitive import hook_p
from msjax.hooks.returns import check_observer_result

if TYPE_CHECKING:
    from msjax.hooks.returns import HookLabel


class Delivery:
    """One hook site: rebuilds the hook's arguments from the values that arrive, and calls the hook.

    Attributes:
        fn, what: the hook, and its label for messages.
        slots: for each leaf of the arguments, the number of a value or, in a tuple of its own, the leaf itself.
    """

    def __init__(self, fn: Callable[..., Any], what: HookLabel, slots: list[int], treedef: PyTreeDef):
        self.fn = fn
        self.what = what
        self.slots = slots
        self.treedef = treedef

    def __call__(self, values: Sequence[JaxArray]) -> None:
        leaves = [s[0] if isinstance(s, tuple) else wrap(values[s]) for s in self.slots]
        check_observer_result(self.fn(*jax.tree.unflatten(self.treedef, leaves)), self.what)

    def all_lanes(self, values: Sequence[Any], lanes: int) -> None:
        """Call the hook once for each example of `lanes` nested vmaps, with that example's values."""
        if not lanes:
            self(values)
            return
        for i in range(values[0].shape[0]):
            self.all_lanes([v[i] for v in values], lanes - 1)


@dataclass(frozen=True)
class HookCall:
    """One of the calls of a callback.

    Attributes:
        at: which of the callback's values the hook gets.
        lanes: how many vmaps are around the call.
    """

    delivery: Delivery
    at: tuple[Any, ...]
    lanes: int = 0

    def __call__(self, values: Sequence[JaxArray]) -> None:
        self.delivery.all_lanes([values[i] for i in self.at], self.lanes)

    def renumbered(self, numbers: Sequence[int]) -> HookCall:
        """The call as part of a callback that has value number i at ``numbers[i]``."""
        return HookCall(self.delivery, tuple(numbers[i] for i in self.at), self.lanes)


def _batched(values, axes, *, calls, kept):
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

    calls = tuple(
        HookCall(call.delivery, tuple(map(with_axis, call.at)), call.lanes + 1)
        if any(axes[i] is not None for i in call.at)
        else call
        for call in calls
    )
    return hook_p.bind(*values, calls=calls, kept=kept), None


batching.primitive_batchers[hook_p] = _batched


class _Calls(threading.local):
    """What this thread knows of the hook calls of the program that it traces.

    Attributes:
        last: a weak reference to the result of the latest call. The tracer itself belongs to its trace: the operations that
            use it keep it, and it goes when they do.
        batch: the CallbackBatch under way.
        untied: while `tie_calls_to` runs, the results of calls that nothing depends on yet.
        outputs: the `CallsAsOutputs` under way.
    """

    def __init__(self):
        self.last: weakref.ref[JaxArray] | None = None
        self.batch: CallbackBatch | None = None
        self.untied: list[JaxArray] | None = None
        self.outputs: CallsAsOutputs | None = None


_CALLS = _Calls()


def observe_traced(fn: Callable[..., Any], args: Sequence[Any], what: HookLabel, carries: int) -> PyTree:
    """Call an observer with the values that its arguments get when the program runs.

    Args:
        fn: the hook, which returns None.
        args: its arguments, pytrees with Tensors.
        what: its label, for messages.
        carries: the number of the argument whose Tensors go on through the network.

    Returns:
        The argument number `carries`. Its Tensors depend on the call: a program that uses them makes it.
    """
    leaves, treedef = jax.tree.flatten(tuple(args), is_leaf=is_leaf)
    slots, values = [], []
    for leaf in leaves:
        if _is_traced(leaf):
            slots.append(len(values))
            values.append(jax.lax.stop_gradient(leaf._value))
        else:
            slots.append((leaf,))
    if _CALLS.outputs is not None:
        call = HookCall(_CALLS.outputs.delivery(fn, what, slots, treedef), tuple(range(len(values))))
        _bind(values, (call,), None, kept=True)
        return args[carries]
    delivery = Delivery(fn, what, slots, treedef)
    if STATE.trace is not None:
        STATE.trace.uses_callbacks = True
    batch = _CALLS.batch
    if batch is not None and batch.add(delivery, values):
        return args[carries]
    tied = any(map(_is_traced, jax.tree.leaves(args[carries], is_leaf=is_leaf)))
    # jax drops what no result depends on, unless it has an effect; but programs with effects start more slowly.
    kept = not tied and _CALLS.untied is None
    call = HookCall(delivery, tuple(range(len(values))))
    done = _bind(values, (call,), None if batch is None else batch.done, kept)
    if tied:
        return _depend(args[carries], done)
    if _CALLS.untied is not None:
        _CALLS.untied.append(done)
    elif batch is not None:
        batch.kept = done
    return args[carries]


def mark_program(fn: Callable[[], None], what: Any) -> None:
    """Call a function where a program traced within `CallsAsOutputs` has come to this place.

    Args:
        what: its label, for messages.
    """
    outputs = _CALLS.outputs
    if outputs is not None:
        delivery = outputs.delivery(fn, what, [], jax.tree.structure(()))
        _bind([], (HookCall(delivery, ()),), None, kept=True)


def _bind(values, calls, done, kept=False):
    """Put a callback into the program, after earlier ones: nothing else says that forward comes before backward.

    Args:
        done: the result of an earlier callback that this one may use, or None.

    Returns:
        The callback's result: False, as an array that the compiler does not know.
    """
    before = [] if done is None else [done]
    last = None if _CALLS.last is None else _CALLS.last()
    if last is not None and last is not done and any(jax_slots.trace_of(v) is jax_slots.trace_of(last) for v in values):
        before.append(last)
    made = hook_p.bind(*values, *before, calls=calls, kept=kept)
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
        self.calls = []
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

    def add(self, delivery: Delivery, values: list[JaxArray]) -> bool:
        """Take a call. False if it belongs to another trace than the batch; the calls taken so far then have their callback."""
        if jax_slots.trace_state() != self.world:
            self.flush()
            return False
        self.calls.append(HookCall(delivery, tuple(map(self._number, values))))
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

    def flush(self) -> None:
        """Put the callback of the calls that were taken into the program."""
        if not self.calls:
            return
        with jax_slots.within_trace(self.trace):
            self.done = _bind(self.values, tuple(self.calls), self.done)
        self._clear()

    def add_dependency(self, value: PyTree) -> PyTree:
        """Nested containers whose Tensors depend on the calls."""
        self.flush()
        return value if self.done is None else _depend(value, self.done)


def after_calls(value: PyTree) -> PyTree:
    """Nested containers whose Tensors depend on the calls made so far.

    For what a loop or transformation of jax works on, so that the calls within it come after those before it.
    """
    batch = _CALLS.batch
    if batch is None or jax_slots.trace_state() != batch.world:
        return value
    return batch.add_dependency(value)


@contextlib.contextmanager
def no_batch() -> Iterator[None]:
    """Make calls that depend on none of another trace: where jax transposes a loop, its body can't use values from outside."""
    around, _CALLS.batch = _CALLS.batch, None
    try:
        yield
    finally:
        _CALLS.batch = around


class CallsAsOutputs:
    """A context manager for tracing a program that hands out the values of its hook calls, and calls the hooks after each run.

    No result of the program depends on the calls: each is an equation with an effect, which is taken out before the program is
    compiled.

    Args:
        delivery: makes what stands for one hook site; called like `Delivery`.
    """

    def __init__(self, delivery: Callable[..., Delivery]):
        self.delivery = delivery

    def __enter__(self) -> Self:
        self.around, _CALLS.outputs = _CALLS.outputs, self
        self.key = _OUTPUTS(True)
        self.key.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        _CALLS.outputs = self.around
        self.key.__exit__(*exception)


# Part of the key of every cache of jax: a function with a jit of its own is traced apart for such programs. Made when msjax is
# imported, since jax forgets all that it has traced so far when a context is added.
_OUTPUTS = jax_slots.user_context(None)


def calls_are_outputs() -> bool:
    """Whether this thread traces a program within `CallsAsOutputs`."""
    return _CALLS.outputs is not None


@contextlib.contextmanager
def tie_calls_to(tensors: list[Tensor | None]) -> Iterator[None]:
    """Make Tensors depend on the calls within that no result depends on: their places in the list get new Tensors."""
    outer = _CALLS.untied
    untied = _CALLS.untied = [] if any(map(_is_traced, tensors)) else None
    try:
        yield
    finally:
        _CALLS.untied = outer
    for done in untied or ():
        tensors[:] = _depend(tensors, done)


def _is_traced(leaf):
    return isinstance(leaf, Tensor) and is_tracer(leaf._value)


def _depend(value, done):
    """Nested containers whose traced Tensors are there, as are their gradients, only when the callback has returned."""

    def depend(leaf):
        if not _is_traced(leaf):
            return leaf
        value = leaf._value
        # `done` is always False, which the compiler does not know.
        value = jax.lax.select(jnp.broadcast_to(done, value.shape), jnp.zeros_like(value), value)
        return wrap(value, leaf._node, leaf._oidx)

    return jax.tree.map(depend, value, is_leaf=is_leaf)
