"""Batches the hook calls of one traced region into as few host callbacks as possible."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import jax
import jax.extend.core
import jax.numpy as jnp
from jax.interpreters import batching

from msjax.common.arrays import is_tracer
from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.hooks.primitive import hook_p
from msjax.hooks.returns import check_observer_result
from msjax.state import STATE
from msjax.typing import JaxArray

if TYPE_CHECKING:
    from msjax.hooks.returns import HookLabel
    from msjax.nn.cell.base import Cell


class Delivery:
    """One hook site: rebuilds the hook's arguments from the values that arrive, and calls it.

    Attributes:
        fn, what: the hook, and what it is, for messages.
        slots: for each leaf of the arguments, the number of a value or, wrapped in a tuple, the leaf itself.
    """

    def __init__(self, fn: Callable[..., Any], what: HookLabel, slots: list[Any], treedef: Any):
        self.fn = fn
        self.what = what
        self.slots = slots
        self.treedef = treedef

    def __call__(self, values: Any) -> None:
        leaves = [s[0] if isinstance(s, tuple) else wrap(values[s]) for s in self.slots]
        check_observer_result(self.fn(*jax.tree.unflatten(self.treedef, leaves)), self.what)

    def all_lanes(self, values: Any, lanes: Any) -> None:
        """Call the hook once for each example of a vmap (nested `lanes` times), as the code within sees them."""
        if not lanes:
            self(values)
            return
        for i in range(values[0].shape[0]):
            self.all_lanes([v[i] for v in values], lanes - 1)


@dataclass(frozen=True)
class HookCall:
    """A call that a callback brings: which hook, with which of the callback's values, under how many vmaps."""

    delivery: Delivery
    at: tuple[Any, ...]
    lanes: int = 0

    def __call__(self, values: Any) -> None:
        self.delivery.all_lanes([values[i] for i in self.at], self.lanes)


def _batched(values, axes, *, calls):
    size = next(v.shape[a] for v, a in zip(values, axes) if a is not None)
    values = [v if a is None else jnp.moveaxis(v, a, 0) for v, a in zip(values, axes)]
    alike = {}  # values without the new axis, as a call needs them whose others have it

    def with_axis(i):
        if axes[i] is not None:
            return i
        if i not in alike:
            alike[i] = len(values)
            values.append(jnp.broadcast_to(values[i], (size, *values[i].shape)))
        return alike[i]

    calls = tuple(
        HookCall(call.delivery, tuple(map(with_axis, call.at)), call.lanes + 1)
        if any(axes[i] is not None for i in call.at)
        else call
        for call in calls
    )
    return hook_p.bind(*values, calls=calls), None


batching.primitive_batchers[hook_p] = _batched


def observe_traced(fn: Callable[..., Any], args: tuple[Cell, tuple[Tensor], Tensor], what: HookLabel, carries: int) -> Tensor:
    """Call an observer with the values that its arguments get when the program runs.

    Returns:
        The argument number `carries`, tied to the call: a program that uses it makes the call, too.
    """
    leaves, treedef = jax.tree.flatten(tuple(args), is_leaf=is_leaf)
    slots, values = [], []
    for leaf in leaves:
        if isinstance(leaf, Tensor) and is_tracer(leaf._value):
            slots.append(len(values))
            values.append(jax.lax.stop_gradient(leaf._value))
        else:
            slots.append((leaf,))
    delivery = Delivery(fn, what, slots, treedef)
    if STATE.trace is not None:
        STATE.trace.uses_callbacks = True
    together = _CALLS.together
    if together is not None and together.add(delivery, values):
        return args[carries]
    before = _before(values, together.done if together is not None else None)
    call = HookCall(delivery, tuple(range(len(values))))
    done = hook_p.bind(*values, *before, calls=(call,))
    _CALLS.last = done if is_tracer(done) else None
    carried = jax.tree.leaves(args[carries], is_leaf=is_leaf)
    if not any(isinstance(leaf, Tensor) and is_tracer(leaf._value) for leaf in carried):
        _CALLS.untied.append(done)
        return args[carries]
    return jax.tree.map(lambda leaf: _with_dependency(leaf, done), args[carries], is_leaf=is_leaf)


def _before(values, done):
    """What a call with these values has to wait for: nothing else says that forward comes before backward.

    Args:
        done: the result of an earlier call that this one may use, or None.
    """
    before = [] if done is None else [done]
    last = _CALLS.last
    if last is not None and last is not done and any(getattr(v, "_trace", None) is last._trace for v in values):
        before.append(last)
    return before


# Calls whose values are larger than this, in bytes, aren't put together with later ones: a program keeps them until then.
_LARGE = 1 << 24


class CallbackBatch:
    """The calls of a stretch of a program in as few callbacks as may be: each costs more than what it carries.

    A call that belongs to a loop or a transformation within the stretch gets a callback of its own, after those before it.
    """

    def __init__(self):
        self.world = jax.extend.core.get_opaque_trace_state()
        with jax.extend.core.take_current_trace() as trace:
            self.trace = trace
        self.done = None
        self._clear()

    def _clear(self):
        self.values = []
        self.numbers = {}
        self.calls = []
        self.bytes = 0

    def __enter__(self) -> Self:
        self.before, _CALLS.together = _CALLS.together, self
        return self

    def __exit__(self, *_exception: Any) -> None:
        _CALLS.together = self.before

    def add(self, delivery: Delivery, values: list[JaxArray]) -> bool:
        """Take a call, or bring those that were taken to an end and return False."""
        if jax.extend.core.get_opaque_trace_state() != self.world:
            self.flush()
            return False
        self.calls.append(HookCall(delivery, tuple(map(self._number, values))))
        if self.bytes > _LARGE:
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
        before = _before(self.values, self.done)
        with jax.extend.core.set_current_trace(self.trace):
            self.done = hook_p.bind(*self.values, *before, calls=tuple(self.calls))
        _CALLS.last = self.done if is_tracer(self.done) else None
        self._clear()

    def add_dependency(self, value: Tensor) -> Tensor:
        """Nested containers whose Tensors need the calls."""
        self.flush()
        if self.done is None:
            return value
        return jax.tree.map(lambda leaf: _with_dependency(leaf, self.done), value, is_leaf=is_leaf)


class _Calls(threading.local):
    """The calls that this thread put into programs: the last one, those that nothing depends on yet, the stretch under way."""

    def __init__(self):
        self.last = None
        self.untied = []
        self.together = None


_CALLS = _Calls()


def add_pending_dependencies(tensors: Sequence[Tensor]) -> Any:
    """Tie calls that nothing depends on yet to Tensors (or None) that go on; returns those."""
    calls, _CALLS.untied = _CALLS.untied, []
    for done in calls:
        tensors = [_with_dependency(t, done) for t in tensors]
    return tensors


def _with_dependency(leaf, done):
    if not isinstance(leaf, Tensor) or not is_tracer(leaf._value):
        return leaf
    value = leaf._value
    # `done` is always False, which the compiler can't know: neither the value nor its gradient is there without the call.
    made = wrap(jax.lax.select(jnp.broadcast_to(done, value.shape), jnp.zeros_like(value), value))
    made._node, made._oidx = leaf._node, leaf._oidx
    return made
