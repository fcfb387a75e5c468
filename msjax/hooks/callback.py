"""Hooks under someone else's transformation: a primitive that hands values to the host, and a thread that calls hooks.

The callback that XLA runs does nothing but copy values into a queue: a hook that called jax from
within it would wait for a thread that waits for it. Hooks run in a thread of msjax's own, one after the
other, in the order in which the values came.
"""

import atexit
import collections
import copy
import threading
import time
from dataclasses import dataclass

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from msjax.common.tensor import Tensor, is_leaf, is_tracer, wrap
from msjax.context import tracing
from msjax.hooks.returns import check_observer_result
from msjax.state import STATE


class Delivery:
    """One hook site: rebuilds the hook's arguments from the values that arrive, and calls it.

    Attributes:
        fn, what: the hook, and what it is, for messages.
        slots: for each leaf of the arguments, the number of a value or, wrapped in a tuple, the leaf itself.
    """

    def __init__(self, fn, what, slots, treedef):
        self.fn = fn
        self.what = what
        self.slots = slots
        self.treedef = treedef

    def __call__(self, values):
        leaves = [s[0] if isinstance(s, tuple) else wrap(values[s]) for s in self.slots]
        check_observer_result(self.fn(*jax.tree.unflatten(self.treedef, leaves)), self.what)

    def all_lanes(self, values, lanes):
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
    at: tuple
    lanes: int = 0

    def __call__(self, values):
        self.delivery.all_lanes([values[i] for i in self.at], self.lanes)


hook_p = jax.extend.core.Primitive("msjax_hook")


@hook_p.def_impl
def _now(*values, calls):
    for call in calls:
        call(values)
    return jnp.zeros((), bool)


@hook_p.def_abstract_eval
def _abstract(*avals, calls):
    return jax.core.ShapedArray((), np.dtype(bool))


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


def _jvp(primals, tangents, **params):
    out = hook_p.bind(*primals, **params)
    return out, ad.Zero.from_primal_value(out)


batching.primitive_batchers[hook_p] = _batched
ad.primitive_jvps[hook_p] = _jvp


def _lower(ctx, *operands, calls):
    def on_host(*values):
        # The arrays are XLA's own memory, gone after the call.
        _WORKER.put(calls, [np.array(v) for v in values])
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
    except (ValueError, RuntimeError):
        module = copy.copy(module)
        module.backend = _Absent(module.platforms[0])
        return ctx.replace(module_context=module)
    return ctx


class _Absent:
    """Stands for the client of a platform that is not there: enough to lower for it, not to run."""

    def __init__(self, platform):
        self.platform = platform

    def make_python_callback_from_host_send_and_recv(self, callback, *_):
        return callback


mlir.register_lowering(hook_p, _lower, cacheable=False)

# What a callback returns.
_DONE = np.zeros((), bool)


def observe_traced(fn, args, what, carries):
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

    def __enter__(self):
        self.before, _CALLS.together = _CALLS.together, self
        return self

    def __exit__(self, *_exception):
        _CALLS.together = self.before

    def add(self, delivery, values) -> bool:
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

    def flush(self):
        """Put the callback of the calls that were taken into the program."""
        if not self.calls:
            return
        before = _before(self.values, self.done)
        with jax.extend.core.set_current_trace(self.trace):
            self.done = hook_p.bind(*self.values, *before, calls=tuple(self.calls))
        _CALLS.last = self.done if is_tracer(self.done) else None
        self._clear()

    def add_dependency(self, value):
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


def add_pending_dependencies(tensors):
    """Tie calls that nothing depends on yet to Tensors (or None) that go on; returns those."""
    calls, _CALLS.untied = _CALLS.untied, []
    for done in calls:
        tensors = [_with_dependency(t, done) for t in tensors]
    return tensors


def call_on_host(fn, args, what, carries, check):
    """Call a backward hook that needs concrete values and returns some, within the program, on numpy arrays.

    Args:
        carries: the number of the argument that the result replaces: a Tensor, or a tuple of Tensors and None.
        check: a function from what the hook returned, and the argument, to the new one; it raises if it doesn't fit.

    Returns:
        That argument with new Tensors.
    """
    leaves, treedef = jax.tree.flatten(tuple(args), is_leaf=is_leaf)
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    single = isinstance(args[carries], Tensor)
    group = (args[carries],) if single else args[carries]
    there = [i for i, t in enumerate(group) if t is not None]

    def on_host(*values):
        full = list(leaves)
        for i, value in zip(at, values):
            full[i] = wrap(np.array(value))
        given = jax.tree.unflatten(treedef, full)
        with _HostOnly(what):
            result = check(fn(*given), given[carries])
            result = (result,) if single else result
            return tuple(np.asarray(result[i]._value) for i in there)

    shapes = tuple(jax.ShapeDtypeStruct(group[i].shape, group[i]._value.dtype) for i in there)
    values = jax.pure_callback(on_host, shapes, *[leaves[i]._value for i in at], vmap_method="sequential")
    new = list(group)
    for i, value in zip(there, values):
        new[i] = wrap(value)
    return new[0] if single else tuple(new)


class _HostOnly:
    """Where a hook runs within XLA's callback: computing with jax there could wait forever."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.before, STATE.trace = STATE.trace, self
        tracing(1)

    def __exit__(self, *_exception):
        STATE.trace = self.before
        tracing(-1)

    def see(self, operands):
        raise RuntimeError(
            f"In a program under someone else's jax.jit, {self.what} runs on the host, since it returns a value for which it "
            "needs concrete ones; operators can't run there. Use numpy on t.asnumpy(), and return ms.Tensor(array)."
        )


def _with_dependency(leaf, done):
    if not isinstance(leaf, Tensor) or not is_tracer(leaf._value):
        return leaf
    value = leaf._value
    # `done` is always False, which the compiler can't know: neither the value nor its gradient is there without the call.
    made = wrap(jax.lax.select(jnp.broadcast_to(done, value.shape), jnp.zeros_like(value), value))
    made._node, made._oidx = leaf._node, leaf._oidx
    return made


# So long without news, in seconds, before hooks run; and the longest that they wait for it.
_PAUSE, _PATIENCE = 0.002, 0.1


class _Worker:
    """The thread that calls hooks, started when the first value arrives.

    It waits for a moment of quiet before it begins: Python runs one thread at a time, and a hook would hold up the
    program whose values are still coming in.
    """

    def __init__(self):
        self._items = collections.deque()
        self._arrived = threading.Event()
        self._running = threading.Lock()
        self._thread = None
        self._errors = []
        self.last = 0.0

    def put(self, calls, values):
        self._items.append((calls, values))
        self.last = time.monotonic()
        if not self._arrived.is_set():
            self._arrived.set()
            if self._thread is None:
                self._start()

    def _start(self):
        with self._running:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="msjax-hooks", daemon=True)
                self._thread.start()
                atexit.register(self._at_exit)

    def _run(self):
        while True:
            self._arrived.wait()
            since = time.monotonic()
            while time.monotonic() - self.last < _PAUSE and time.monotonic() - since < _PATIENCE:
                time.sleep(_PAUSE)
            self.drain()

    @property
    def used(self):
        return self._thread is not None

    def drain(self):
        """Call the hooks whose values have arrived, in the order in which they came."""
        if STATE.hooks_run:
            return  # a hook asks for what only its end can bring
        with self._running:
            STATE.hooks_run = True
            try:
                self._arrived.clear()
                while self._items:
                    calls, values = self._items.popleft()
                    for call in calls:
                        self._call(call, values)
            finally:
                STATE.hooks_run = False

    def _call(self, call, values):
        try:
            call(values)
        except BaseException as error:
            error.add_note(f"raised by {call.delivery.what}, run by a compiled program")
            self._errors.append(error)

    def raise_pending(self):
        """Raise the first exception of hooks that has not been raised yet; the others are told in its notes."""
        if not self._errors or STATE.hooks_run:
            return
        errors, self._errors = self._errors, []
        first, *others = errors
        for other in others[:10]:
            first.add_note(f"then: {type(other).__name__}: {other} ({'; '.join(getattr(other, '__notes__', []))})")
        raise first

    def _at_exit(self):
        self.drain()
        if self._errors:
            import traceback

            for error in self._errors:
                traceback.print_exception(error)


_WORKER = _Worker()

# A program whose results nobody holds can't be waited for; so long without news from one counts as its end, in seconds.
_QUIET = 0.02


def barrier():
    """Wait until the hooks of all programs that have been started have run.

    For programs under ``jax.jit`` and the like, whose hooks run in a thread beside them. It waits for the results that
    are still held somewhere, and then for the hooks.

    Raises:
        Exception: what a hook raised, with a note that names the hook and its cell.

    Example:
        >>> import jax, msjax as ms
        >>> from msjax import nn
        >>> net = nn.ReLU()
        >>> handle = net.register_forward_hook(lambda cell, inputs, output: print("output:", output))
        >>> apply, params, buffers = ms.functionalize(net)
        >>> def run(x):
        ...     out, _ = jax.jit(apply)(params, buffers, x)
        ...     ms.hooks.barrier()
        >>> run(jax.numpy.array([-1.0, 2.0]))
        output: [0. 2.]
    """
    synchronize()
    jax.effects_barrier()
    if _WORKER.used:
        while time.monotonic() - _WORKER.last < _QUIET:
            time.sleep(_QUIET / 4)
    flush()


def synchronize():
    """Wait until all that was computed so far is there."""
    jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])


def flush():
    """Wait for the hooks whose values have arrived, and raise what they raised."""
    _WORKER.drain()
    _WORKER.raise_pending()


def raise_pending():
    """Raise what a hook raised since the last look, if one did."""
    _WORKER.raise_pending()
