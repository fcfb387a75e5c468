"""``mindspore.runtime``: waiting, memory and streams.

XLA orders its own work, so streams and events only carry MindSpore's programs along.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Self

import jax

from msjax.context import set_context
from msjax.core.base.checks import check_options
from msjax.core.door import WORKER

__all__ = [
    "Event", "Stream", "StreamCtx", "communication_stream", "current_stream", "default_stream", "dispatch_threads_num",
    "empty_cache", "launch_blocking", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats",
    "set_cpu_affinity", "set_cur_stream", "set_kernel_launch_capture", "set_kernel_launch_group", "set_memory", "synchronize",
]  # fmt: skip


def synchronize() -> None:
    """Wait until all that was computed so far is there.

    Raises:
        jax.errors.JaxRuntimeError: a program failed whose result is still held.
    """
    WORKER.synchronize()


def launch_blocking() -> None:
    """Make every operator wait for its result, so that an error on the device appears at its own line.

    The same as ``ms.set_context(pynative_synchronize=True)``.

    Example:
        >>> import msjax as ms
        >>> ms.runtime.launch_blocking()
        >>> ms.get_context("pynative_synchronize")
        True
        >>> ms.set_context(pynative_synchronize=False)
    """
    set_context(pynative_synchronize=True)


def memory_stats() -> dict[str, Any]:
    """What jax says of the memory of the device: bytes in use, the largest number so far, the limit. Empty on CPUs."""
    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    device = chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]
    return device.memory_stats() or {}


def memory_allocated() -> int:
    """The bytes in use on the device; 0 on CPUs, where jax does not count them."""
    return memory_stats().get("bytes_in_use", 0)


def max_memory_allocated() -> int:
    """The largest number of bytes that was in use on the device; 0 on CPUs."""
    return memory_stats().get("peak_bytes_in_use", 0)


def memory_reserved() -> int:
    """The bytes that jax has reserved on the device; 0 on CPUs."""
    return memory_stats().get("bytes_reserved", memory_allocated())


def max_memory_reserved() -> int:
    """The largest number of bytes that jax has reserved on the device; 0 on CPUs."""
    return memory_stats().get("peak_bytes_reserved", max_memory_allocated())


def memory_summary() -> str:
    """`memory_stats` as text, a line for each entry."""
    return "\n".join(f"{name:32} {value}" for name, value in memory_stats().items())


def without_effect(name: str, reason: str, **parameters: Any) -> Callable[..., None]:
    """A function of such parameters, with these defaults, that does nothing."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(k, kind, default=v) for k, v in parameters.items()])

    def call(*args: Any, **kwargs: Any) -> None:
        check_options(kwargs, parameters, name, what="argument")
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"For '{name}': {error}; it takes {signature}.") from None

    call.__name__ = call.__qualname__ = name
    call.__module__ = sys._getframe(1).f_globals["__name__"]  # where pickle looks for it
    call.__doc__ = f"Without effect: {reason}"
    call.__signature__ = signature  # inspect reads it
    return call


REQUIRED = inspect.Parameter.empty
_BY_JAX = "jax manages memory by itself."
empty_cache: Final = without_effect("empty_cache", _BY_JAX)
set_memory: Final = without_effect(
    "set_memory",
    "the environment variable XLA_PYTHON_CLIENT_MEM_FRACTION sets jax's share of the memory.",
    init_size="2GB",
    increase_size="2GB",
    max_size="1024GB",
    optimize_level="O0",
    huge_page_reserve_size="0GB",
)
_LARGEST = "jax keeps the largest number of the whole run."
reset_max_memory_allocated: Final = without_effect("reset_max_memory_allocated", _LARGEST)
reset_max_memory_reserved: Final = without_effect("reset_max_memory_reserved", _LARGEST)
reset_peak_memory_stats: Final = without_effect("reset_peak_memory_stats", "jax keeps the largest numbers of the whole run.")
dispatch_threads_num: Final = without_effect("dispatch_threads_num", "XLA chooses its threads.", threads_num=REQUIRED)
set_cpu_affinity: Final = without_effect(
    "set_cpu_affinity",
    "start the program with taskset instead.",
    enable_affinity=REQUIRED,
    affinity_cpu_list=None,
    module_to_cpu_dict=None,
    bind_file=None,
)
set_kernel_launch_group: Final = without_effect(
    "set_kernel_launch_group", "XLA launches its kernels.", thread_num=2, kernel_group_num=8
)
set_kernel_launch_capture: Final = without_effect(
    "set_kernel_launch_capture", "XLA launches its kernels.", enable_capture_graph=REQUIRED, op_capture_skip=None
)


class _InOrder:
    """What stands in the one order of XLA's work."""

    def synchronize(self) -> None:
        """Wait until all that was computed so far is there."""
        synchronize()

    def query(self) -> bool:
        """Waits, and returns True."""
        synchronize()
        return True


class Stream(_InOrder):
    """A stream of work. XLA orders its work by itself, so that all streams are one.

    Args:
        priority, stream, stream_id: without effect.
    """

    def __init__(self, priority: int = 0, *, stream: Stream | None = None, stream_id: int | None = None):
        self.priority: int = priority

    def wait_event(self, event: Event) -> None:
        """Without effect: work runs in the order in which it is needed."""

    def wait_stream(self, stream: Stream) -> None:
        """Without effect: work runs in the order in which it is needed."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that stands here."""
        event = event or Event(enable_timing=True)
        event.record(self)
        return event


class Event(_InOrder):
    """A point in the work of the program.

    Args:
        enable_timing (bool): whether `elapsed_time` can be asked. Recording then waits for all work. Default: False.
        blocking: without effect.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False):
        self._timing: bool = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Put the event here."""
        if self._timing:
            synchronize()
        self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Without effect: work runs in the order in which it is needed."""

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to another one.

        Raises:
            RuntimeError: an event has not been recorded, or was created without ``enable_timing=True``.
        """
        if not (self._timing and end_event._timing) or self._time is None or end_event._time is None:
            raise RuntimeError("For 'elapsed_time', both events should be created with enable_timing=True and recorded.")
        return (end_event._time - self._time) * 1000


_DEFAULT = Stream()


def default_stream() -> Stream:
    """The stream in which everything runs."""
    return _DEFAULT


current_stream = communication_stream = default_stream
set_cur_stream: Final = without_effect("set_cur_stream", "XLA orders its work by itself.", stream=REQUIRED)


class StreamCtx:
    """A context manager without effect, since all streams are one."""

    def __init__(self, ctx_stream: Stream | None):
        self.stream: Stream | None = ctx_stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        return None
