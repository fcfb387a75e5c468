"""Processes that call a function. Arguments and results go through memory that both sides share; pipes only say what is where."""

from __future__ import annotations

import itertools
import math
import mmap
import multiprocessing
import os
import pickle
import random
import signal
import time
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing import connection, reduction
from multiprocessing.pool import RemoteTraceback  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

import numpy as np

from msjax.dataset import config
from msjax.dataset.result_memory import allocate_with

# Arrays from so many bytes on are copied by themselves, without pickle.
_LARGE = 4096
_ALIGNMENT = 64
# Results of so many bytes are used where the process left them, without a copy; so many of one process at a time, as each keeps a
# file open.
_LENT, _MOST_LENT = 2**20, 16
# The message that an argument follows; another one says how large new memory is.
_TASK = "task"
_CAN_SHARE = hasattr(os, "memfd_create")


class ProcessPool:
    """Processes that are given chunks of items in turn, so that each always gets the same ones.

    Args:
        work: what they call with a key and an item; it is handed over once, by the fork, and need not be pickled then.
        workers (int): how many processes.
        who (str): the operation, for errors.
        seed (int): what the generators of `random` and `np.random` in the processes are seeded by, with their number.
    """

    def __init__(self, work: Callable[..., Any], workers: int, who: str, seed: int):
        # A fork hands the function on as it is, lambdas and functions of the script included, without running the script again.
        method = config.get_multiprocessing_start_method()
        context = multiprocessing.get_context(method if method in multiprocessing.get_all_start_methods() else "spawn")
        self._workers: list[_Worker] = []
        # jax and Python warn that a thread may hold a lock while the process forks; the workers run numpy and Pillow, not jax.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*fork", category=RuntimeWarning)
            warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
            try:
                for number in range(workers):
                    self._workers.append(_Worker(context, work, (seed, number), who))
            except BaseException:
                self.close()
                raise
        self._turns = itertools.cycle(self._workers)

    def submit(self, key: tuple[Any, ...], items: list[Any]) -> _Task:
        """Begin the work on some items."""
        return next(self._turns).submit((key, items))

    def close(self) -> None:
        """End the processes after what they have begun."""
        for worker in self._workers:
            worker.dismiss()
        for worker in self._workers:
            worker.join()


class _Task:
    """Work that one process has been given."""

    def __init__(self, worker, slot):
        self._worker, self.slot = worker, slot
        self.reply, self.wanted = None, True

    def result(self):
        """The results and the seconds that they took, or the error."""
        while self.reply is None:
            self._worker.receive()
        value, error, trace = self.reply
        if error is not None:
            raise error from RemoteTraceback(trace)
        return value

    def cancel(self):
        self.wanted = False


class _Worker:
    """A process, seen from the one that reads the pipeline."""

    def __init__(self, context, work, seed, who):
        self._who = who
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(other_end, work, seed, who), daemon=True, name=f"msjax-dataset-{who}"
        )
        self._process.start()
        other_end.close()
        self._given, self._free, self._slots = deque(), [], itertools.count()

    def submit(self, item):
        while not _CAN_SHARE and self._given:
            self.receive()  # while it writes a result to the pipe it doesn't read from it
        slot = self._free.pop() if self._free else _Slot(next(self._slots))
        parts = _flatten(item)
        task = _Task(self, slot)
        try:
            slot.grow(_room(parts), self._pipe, self._process.pid)
            if slot.memory:
                slot.memory.clear()
            self._pipe.send((slot.number, _TASK))
            _send(self._pipe, slot.memory, parts)
        except OSError as error:
            raise self._died() from error
        self._given.append(task)
        return task

    def receive(self):
        """Read the reply to the oldest task."""
        slot = self._given[0].slot
        try:
            if self._pipe not in connection.wait([self._pipe, self._process.sentinel]):
                raise EOFError("nothing more came")
            where = self._pipe.recv()
            parts = self._parts(slot, where) if isinstance(where, list) else _receive(self._pipe, where)
        except (EOFError, OSError) as error:
            raise self._died() from error
        if not isinstance(where, list):
            slot.needs = max(slot.needs, _room(parts))
            self._free.append(slot)
        task = self._given.popleft()
        task.reply = _restore(parts) if task.wanted else (None, None, None)

    def _parts(self, slot, places):
        """The bytes of a result. Large ones stay where they are, and the slot is free when no array needs them any more."""
        large = sum(size for _, size in places[1:])
        if large < _LENT or slot.number >= _MOST_LENT:
            self._free.append(slot)
            return slot.memory.copies(places)
        first, *lent = slot.memory.lend(places)
        left = len(lent)

        def ended():
            nonlocal left
            left -= 1
            if not left:
                self._free.append(slot)

        for part in lent:
            weakref.finalize(part, ended).atexit = False
        return [first.copy(), *lent]

    def _died(self):
        self._process.join(1)
        return RuntimeError(
            f"{self._who}: a process of its workers ended before its work was done, with exit code {self._process.exitcode}."
        )

    def dismiss(self):
        try:
            self._pipe.send(None)
        except OSError:
            return  # it has ended

    def join(self):
        # It may be writing to a full pipe, and must be read then before it can end.
        while self._pipe in connection.wait([self._pipe, self._process.sentinel]):
            try:
                self._pipe.recv_bytes()
            except (EOFError, OSError):
                break
        self._process.join()
        self._process.close()
        self._pipe.close()


class _Slot:
    """The place of a task: its argument, then its result, in memory that grows with them."""

    def __init__(self, number):
        self.number, self.memory, self.needs = number, None, 0

    def grow(self, room, pipe, process):
        """Hand the process larger memory where `room` bytes, or the results so far, don't fit."""
        room = max(room, self.needs)
        if not _CAN_SHARE or (self.memory and self.memory.size >= room):
            return
        room += room // 4
        file = os.memfd_create("msjax-dataset")
        os.truncate(file, room)
        pipe.send((self.number, room))
        reduction.send_handle(pipe, file, process)
        self.memory = _Memory(file, room)


class _Memory:
    """Bytes that two processes share: an anonymous file, which is gone when neither has it open."""

    def __init__(self, file, size):
        self._bytes, self.size = np.frombuffer(mmap.mmap(file, size), np.uint8), size
        self._start, self._used = self._bytes.ctypes.data, 0
        os.close(file)

    def clear(self):
        """Nothing in it is needed any more."""
        self._used = 0

    def allocate(self, shape, dtype):
        """An array in it, or an own one where there is no room."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        start = self._take(size)
        return np.empty(shape, dtype) if start is None else self._bytes[start : start + size].view(dtype).reshape(shape)

    def _take(self, size):
        start = self._used
        if start + _aligned(size) > self.size:
            return None
        self._used += _aligned(size)
        return start

    def place(self, parts):
        """Copy bytes into it unless they are there, and return (start, size) of each; None where there is no room."""
        places = []
        for part in parts:
            start = part.ctypes.data - self._start
            if not 0 <= start < self.size:
                start = self._take(len(part))
                if start is None:
                    return None
                self._bytes[start : start + len(part)] = part
            places.append((start, len(part)))
        return places

    def copies(self, places):
        """The bytes of each place, in memory of their own."""
        return [part.copy() for part in self.lend(places)]

    def lend(self, places):
        """The bytes of each place, as they are."""
        return [self._bytes[start : start + size] for start, size in places]


def _aligned(size):
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _room(parts):
    return sum(_aligned(len(part)) for part in parts) or _ALIGNMENT


def _flatten(value):
    """A value as arrays of bytes: what pickle makes of it, and its large arrays as they are."""
    large = []

    def keep_in(buffer):
        raw = buffer.raw()
        if raw.nbytes < _LARGE:
            return True
        large.append(np.frombuffer(raw, np.uint8))
        return False

    pickled = pickle.dumps(value, protocol=5, buffer_callback=keep_in)
    return [np.frombuffer(pickled, np.uint8), *large]


def _restore(parts):
    return pickle.loads(parts[0], buffers=parts[1:])


def _send(pipe, memory, parts):
    """Tell where the parts of a value are: in the memory, or behind the message where they don't fit."""
    places = memory and memory.place(parts)
    pipe.send(places or len(parts))
    if not places:
        for part in parts:
            pipe.send_bytes(part)


def _receive(pipe, where):
    """The parts that stand behind a message."""
    return [np.frombuffer(bytearray(pipe.recv_bytes()), np.uint8) for _ in range(where)]


# ---- in the process


def _serve(pipe, work, seed, who):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads the rows decides what an interrupt ends
    random.seed(str(seed))
    np.random.seed(np.random.SeedSequence(seed).generate_state(1)[0])
    parent = multiprocessing.parent_process()
    memories = {}
    try:
        # A process that is killed says nothing, and others may have inherited its end of the pipe.
        while parent and pipe in connection.wait([pipe, parent.sentinel]):
            message = pipe.recv()
            if message is None:
                return
            slot, what = message
            if what == _TASK:
                memory: Any = memories.get(slot)
                where = pipe.recv()
                argument = _restore(_receive(pipe, where) if isinstance(where, int) else memory.copies(where))
                if memory:
                    memory.clear()
                    allocate_with(memory.allocate)
                _send(pipe, memory, _reply(work, who, *argument))
            else:
                memories[slot] = _Memory(reduction.recv_handle(pipe), what)
    except (EOFError, OSError):
        return  # the one that reads the rows is gone


def _reply(work, who, key, items):
    try:
        started = time.perf_counter()
        results = [work(key, item) for item in items]
        value = results, time.perf_counter() - started
    except Exception as error:
        told = error if type(error) is RuntimeError else RuntimeError(f"{who}: {type(error).__name__}: {error}")
        return _flatten((None, told, traceback.format_exc()))
    try:
        return _flatten((value, None, None))
    except Exception as error:
        told = RuntimeError(f"{who}: its result can't leave the process: {type(error).__name__}: {error}")
        return _flatten((None, told, traceback.format_exc()))
