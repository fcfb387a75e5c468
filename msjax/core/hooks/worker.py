"""The queue of hook calls, the thread that makes them, and how to wait for them.

The callback that XLA runs does nothing but copy values into a queue: a hook that called jax from within the callback
would wait for a thread that waits for it. Hooks run one after the other, in the order in which their values arrived,
in a thread of msjax's own, or in the thread that waits for them. The file is longer than 400 lines: order, bounds,
interrupts and waiting rest on one lock, and are read together.
"""

from __future__ import annotations

import _thread
import atexit
import collections
import contextlib
import functools
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.state import ACTIVITY, STATE, without_lock
from msjax.core.hooks.events import BoundEvent, Standing
from msjax.core.hooks.failures import Failures
from msjax.core.hooks.kinds import HOOK_SETTINGS

# True while hooks run. It is part of the key of jax.jit's caches, so that a program with hooks that a hook itself runs is
# compiled separately from the same program run by other code: its callback must never wait for room in the queue.
IN_HOOK = jax_slots.user_context(False)

# How long no value may have arrived, in seconds, before the thread begins to call hooks, and how long it waits for that
# moment. Python runs one thread at a time: a hook would hold up the program whose values are still arriving.
_PAUSE, _PATIENCE = 0.002, 0.1

# A program waits for room as long as hooks come to an end. After so many seconds without one it goes on: the hook that
# runs may be waiting for this program, for example for the same GPU.
_STUCK = 5.0

# So many seconds of hooks may wait, as far as the latest ones tell: a thread whose programs outrun their hooks would have whoever
# waits for these wait for as long as it has run. Where there are other threads, it is only the first number once a call waits in the queue
# twice: they wait for two runs of a program that is not theirs, whatever that one is ahead.
_SHORT, _BEHIND = 0.02, 3.0

# So many calls may wait whose like has not been timed yet: a thread that makes thousands of steps a second would have queued half a
# minute of hooks before the first one ends.
_UNTIMED = 64

# The first device of a sharded program calls back, perhaps several times, while the others wait for it: after 40 seconds they
# end the process. So long its callbacks wait altogether, and half of the time that has passed since.
_STUCK_SHARDED = 10.0


class _Item(NamedTuple):
    """Calls that arrived together.

    Attributes:
        root: the number of the arrival; for a program that a hook ran, the least root of the items that were called with that hook's.
        size: bytes of the values.
    """

    root: int
    calls: Sequence[BoundEvent]
    values: list[np.ndarray]
    size: int


class _Worker:
    """The queue, and the thread that calls hooks, which starts when the first value arrives."""

    def __init__(self):
        self.platforms: set[str] = set()  # for which programs with hooks were lowered
        self.sharded = False  # whether one of them runs on several devices
        self.nested = False  # whether a hook has run a program with hooks
        self._items: collections.deque[_Item] = collections.deque()
        self._room = threading.Condition(threading.Lock())  # guards the counters below
        self._calling = threading.RLock()  # held by the thread that calls a hook
        self._arrived = threading.Event()
        self._thread: threading.Thread | None = None
        self._count = 0  # of arrivals
        self._alike: collections.Counter[int] = collections.Counter()  # how often each call waits
        self._bytes = 0  # of the values that wait, and of those whose hooks run
        self._root = 0  # of the items whose hooks run
        self._seconds: float | None = None  # that the hooks of an item take, on average over the latest ones
        self._waiters = 0  # threads that call the hooks themselves
        self._unlimited = 0  # threads that wait for programs, which must not wait for room then
        self._other_threads = False  # whether there were any since the last barrier
        self._waited = self._waited_at = 0.0  # how long programs have waited for room, and until when
        self.failures = Failures()
        self._seen_interrupt: BaseException | None = None
        self._interrupted = False  # whether Ctrl-C came in a callback, and is still to be raised

    # ---- arrivals

    def put(self, calls: Sequence[BoundEvent], values: Sequence[np.ndarray], from_hook: bool, sharded: bool) -> None:
        """Queue calls of hooks; wait first while the queue holds too much.

        Args:
            values: arrays; those in XLA's own memory, which is gone when the callback returns, are copied.
        """
        if self._main_thread_was_interrupted():
            self.drop()  # what comes now was asked for after Ctrl-C, as by the next cell of a notebook
        size = sum(v.nbytes for v in values)
        from_hook = from_hook or STATE.hooks_run
        with self._room:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="msjax-hooks", daemon=True)
                self._thread.start()
                atexit.register(self._at_exit)
            if not from_hook and not self._interrupted and not self._has_room(size, calls):
                self._wait_for_room(size, calls, sharded)
            if self.failures.stopped or self._interrupted:
                return
            self._bytes += size
        self.look_for_other_threads()
        try:
            values = [v if v.flags.owndata else np.array(v) for v in values]
        except BaseException:
            with self._room:
                self._bytes -= size
            raise
        with self._room:
            self._count += 1
            self._alike[id(calls[0])] += 1
            self._items.append(_Item(self._root if from_hook and self._root else self._count, calls, values, size))
        self._arrived.set()

    def _has_room(self, size, calls):
        if self._bytes and self._bytes + size > HOOK_SETTINGS.queue_bytes:
            return False
        if self._seconds is None:
            return len(self._items) <= _UNTIMED
        ahead = self._alike[id(calls[0])] >= 2 and self._are_there_other_threads()
        return len(self._items) * self._seconds <= (_SHORT if ahead else _BEHIND)

    def _wait_for_room(self, size, calls, sharded):
        self._arrived.set()
        start = time.monotonic()
        # What earlier callbacks have waited is forgotten with time: see _STUCK_SHARDED.
        self._waited = max(0.0, self._waited - (start - self._waited_at) / 2)

        while not self._has_room(size, calls) and not (self._unlimited and self._one_queue()) and not self.failures.stopped:
            left = _STUCK_SHARDED - self._waited - (time.monotonic() - start) if sharded else _STUCK
            if left <= 0 or not self._room.wait(min(left, _STUCK)):
                break
        self._waited_at = time.monotonic()
        self._waited += self._waited_at - start

    @contextlib.contextmanager
    def unlimited(self) -> Iterator[None]:
        """This thread waits for what programs compute. Where they may stand before a program of a hook, they don't wait for room."""
        with self._room:
            self._unlimited += 1
            self._room.notify_all()
        try:
            yield
        finally:
            with self._room:
                self._unlimited -= 1

    # ---- programs of other threads

    def look_for_other_threads(self) -> None:
        """Note whether there are threads that may start programs, besides the one that asks."""
        if self._are_there_other_threads():
            self._other_threads = True

    def _are_there_other_threads(self):
        return threading.active_count() > 1 + (self._thread is not None)

    def wait_for_other_threads(self) -> None:
        """Wait for the results that are held of programs that other threads have started."""
        self.look_for_other_threads()
        if self._other_threads:
            # Where a program failed, who holds its result learns of it.
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                self.synchronize()
            self._other_threads = False

    def synchronize(self) -> None:
        """Wait until all that was computed so far is there.

        Raises:
            jax.errors.JaxRuntimeError: a program failed whose result is still held.
        """
        with self.unlimited():
            # Another thread may donate an array to its next program in the meantime; that program's results are there in a
            # second listing.
            for _ in range(2):
                arrays = [a for a in jax.live_arrays() if not a.is_deleted()]
                try:
                    jax.block_until_ready(arrays)
                    return
                except RuntimeError:
                    if not any(a.is_deleted() for a in arrays):
                        raise

    # ---- calls

    def _run(self):
        while True:
            self._arrived.wait()
            self._wait_for_a_pause()
            self._arrived.clear()
            with self._calling:
                self._call_while(lambda item: not self._waiters, report=True)

    def _wait_for_a_pause(self):
        seen, end = -1, time.monotonic() + _PATIENCE
        while seen != self._count and time.monotonic() < end:
            seen = self._count
            time.sleep(_PAUSE)

    def wait(self) -> None:
        """Call the hooks whose values have arrived, in this thread, or wait until they have been called."""
        if STATE.hooks_run:
            return  # a hook asks for what only its end can bring
        with self._room:
            self._waiters += 1
        target = self._count
        try:
            if not self._calling.acquire(blocking=False):
                with without_lock():  # a hook that runs in another thread may trace or differentiate
                    self._calling.acquire()
            while self._owed(target):
                self._call_while(lambda item: item.root <= target, report=False)
                # Later ones may stand before what hooks of those have started.
                if self._owed(target):
                    self._call_while(lambda item: item.root > target, report=False)
        except KeyboardInterrupt:
            self.drop()
            raise
        finally:
            with contextlib.suppress(RuntimeError):
                self._calling.release()  # not held where Ctrl-C came while this thread waited for it
            with self._room:
                self._waiters -= 1
            if self._items:
                self._arrived.set()

    def _owed(self, target):
        """Whether calls wait that arrived up to number `target`, or whose programs were run by the hooks of those."""
        items = self._items
        return bool(items) and (items[0].root <= target or (self.nested and any(i.root <= target for i in tuple(items))))

    def _call_while(self, wanted, report):
        """Call the first items as long as `wanted` says, and wait for the programs that their hooks have started.

        They are waited for together, not after each call: programs of other threads need not wait for room in the meantime.
        """
        try:
            while (item := self._next(wanted)) is not None:
                self._root = min(self._root or item.root, item.root)
                self._call_item(item, report)
            if self._root and self.nested:
                _wait_for_own_programs()
        finally:
            self._root = 0

    def _next(self, wanted):
        if self._main_thread_was_interrupted():
            self.drop()
        try:
            return self._items.popleft() if wanted(self._items[0]) else None
        except IndexError:
            return None  # none, or dropped in the meantime

    def _call_item(self, item, report):
        STATE.hooks_run = True
        start, drops = time.monotonic(), ACTIVITY.drops
        try:
            with IN_HOOK(True):
                standing = Standing([call.event for call in item.calls])
                for call in item.calls:
                    if ACTIVITY.drops == drops:
                        self._call(call, standing, item.values, report)
        finally:
            STATE.hooks_run = False
            with self._room:
                self._forget(item)
                taken = time.monotonic() - start
                self._seconds = taken if self._seconds is None else self._seconds + (taken - self._seconds) / 8
                self._room.notify_all()

    def _one_queue(self):
        """Whether programs of other threads may stand before a hook's own, as in a GPU's queue: on one CPU device they don't."""
        return self.sharded or self.platforms != {"cpu"}

    def _call(self, call, standing, values, report):
        if self.failures.stopped:
            return
        try:
            call(values, standing)
        except BaseException as error:
            self.failures.add(error, call.event.what, report)
            if self.failures.stopped:
                self.drop()

    # ---- failures and interrupts

    def raise_pending(self) -> None:
        """Raise the first exception of hooks that has not been raised yet; its notes tell of the others."""
        if self.failures.first is not None and not STATE.hooks_run:
            self.failures.raise_first()

    def drop(self) -> None:
        """Forget the calls that wait, and the rest of those that arrived together with one that runs."""
        with self._room:
            ACTIVITY.drops += 1
            while self._items:
                self._forget(self._items.popleft())
            self._room.notify_all()

    def _forget(self, item):
        self._bytes -= item.size
        self._alike[id(item.calls[0])] -= 1
        if not self._alike[id(item.calls[0])]:
            del self._alike[id(item.calls[0])]

    def interrupted_in_callback(self, frame: FrameType) -> None:
        """Ctrl-C came while the main thread ran a callback: drop the calls, and raise it once the main thread runs no callback.

        Raised in the callback, it would become an error of XLA's. Calls that arrive until then are dropped, too: a loop whose programs wait
        for room would be in the next callback nearly all of the time.

        Args:
            frame: jax's, which runs the callback.
        """
        self._interrupted = True
        self.drop()
        main, callback = threading.main_thread().ident or 0, frame.f_code

        def within():
            at = sys._current_frames().get(main)
            while at is not None and at.f_code is not callback:
                at = at.f_back
            return at is not None

        def interrupt():
            while within():
                time.sleep(0.001)
            self._interrupted = False
            _thread.interrupt_main()

        threading.Thread(target=interrupt, name="msjax-interrupt", daemon=True).start()

    def _main_thread_was_interrupted(self):
        """Whether Ctrl-C has ended code of the main thread, outside of msjax, since the last call of this method."""
        last = getattr(sys, "last_value", None)
        if not isinstance(last, KeyboardInterrupt) or last is self._seen_interrupt:
            return False
        self._seen_interrupt = last
        return True

    def _at_exit(self):
        if self._main_thread_was_interrupted():
            self.drop()
            return
        try:
            barrier()
        except BaseException as error:
            traceback.print_exception(error)


WORKER = _Worker()


def _wait_for_own_programs() -> None:
    """Wait for all programs that this thread has started: a device runs the programs of a thread one after the other.

    It runs an empty program on each device, and waits for that. Programs in which devices communicate have an order of their
    own: where there may be such, an empty one of those runs, too.
    """
    with jax.disable_jit(False), WORKER.unlimited():  # jax calls no compiled program where jit is disabled
        programs = [program for platform in tuple(WORKER.platforms) for program in _empty_programs(platform, WORKER.sharded)]
        for result in [program() for program in programs]:
            result.block_until_ready()


@functools.cache
def _empty_programs(platform, communicating):
    if jax.sharding.get_abstract_mesh().empty:
        return _compiled_programs(platform, communicating)
    # Under `jax.set_mesh`, jax compiles for the devices of that mesh only; the setting is a thread's own.
    made: list[list[Callable[[], jax.Array]]] = []
    thread = threading.Thread(target=lambda: made.append(_compiled_programs(platform, communicating)))
    thread.start()
    thread.join()
    return made[0]


def _compiled_programs(platform, communicating):
    devices = jax.local_devices(backend=platform)
    with jax.ensure_compile_time_eval():
        programs = [_compiled(jnp.logical_not, np.zeros((), bool), device) for device in devices]
        if communicating and len(devices) > 1:
            mesh = jax.sharding.Mesh(np.array(devices), ("devices",))
            split = jax.sharding.PartitionSpec("devices")
            total = jax.shard_map(lambda x: jax.lax.psum(x, "devices"), mesh=mesh, in_specs=split, out_specs=split)
            value = np.zeros(len(devices), np.int32)
            programs.append(_compiled(total, value, jax.sharding.NamedSharding(mesh, split)))
    return programs


def _compiled(fn, value, place):
    array = jax.device_put(value, place)
    compiled = jax.jit(fn).lower(array).compile()
    return lambda: compiled(array)


def barrier() -> None:
    """Wait until the hooks of all programs that were started before this call have been called.

    For programs under ``jax.jit`` and the like, whose hooks run in a thread beside them. The hooks that have not been called
    yet run in the calling thread, so that a debugger in them has its prompt. Programs that other threads have started are
    known by their results, as long as somebody holds those; what they start during the call is not waited for.

    Raises:
        Exception: what a hook raised, with a note that names the hook and its cell.
        KeyboardInterrupt: Ctrl-C was pressed; the calls that waited are dropped.

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
    if STATE.hooks_run:
        return
    wait_for_programs()
    WORKER.wait()
    WORKER.raise_pending()


def wait_for_programs() -> None:
    """Wait until the values for the hooks of all programs that were started before this call have arrived."""
    try:
        _wait_for_own_programs()
        with WORKER.unlimited():
            WORKER.wait_for_other_threads()
            jax.effects_barrier()
    except KeyboardInterrupt:
        WORKER.drop()
        raise


# Held while a table is replaced by one that was made of it: another thread may register a hook, too. Nothing waits meanwhile.
CHANGING = threading.RLock()
if hasattr(os, "register_at_fork"):  # not on Windows; no other thread holds it in the child
    os.register_at_fork(before=CHANGING.acquire, after_in_parent=CHANGING.release, after_in_child=CHANGING.release)


def before_change(owner: Any = None) -> None:
    """Called before hooks change: the pending calls of hooks in slots run, and a trace under way notes the hooks of `owner`.

    Args:
        owner: whose hooks a trace can put back; see `HookTable.change`.
    """
    if owner is not None:
        STATE.hooks_change(owner)
    if ACTIVITY.late_slots and not STATE.hooks_run and jax_slots.trace_state() == jax_slots.NO_TRACE:
        wait_for_programs()
        WORKER.wait()
