"""``mindspore.hal``: devices, and the names of ``mindspore.runtime`` under their older module."""

from __future__ import annotations

from typing import Any

import jax

from msjax.context import get_context
from msjax.runtime import (
    Event as Event,
    Stream as Stream,
    StreamCtx as StreamCtx,
    communication_stream as communication_stream,
    current_stream as current_stream,
    default_stream as default_stream,
    empty_cache as empty_cache,
    max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved,
    memory_allocated as memory_allocated,
    memory_reserved as memory_reserved,
    memory_stats as memory_stats,
    memory_summary as memory_summary,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_reserved as reset_max_memory_reserved,
    reset_peak_memory_stats as reset_peak_memory_stats,
    set_cur_stream as set_cur_stream,
    synchronize as synchronize,
)


def _devices(target):
    target = str(target or get_context("device_target")).lower()
    try:
        return jax.local_devices(backend="gpu" if target == "ascend" else target)
    except RuntimeError:
        return []


def device_count(device_target: str | None = None) -> int:
    """How many devices of a kind ("CPU", "GPU") this process has; by default of the present kind.

    Example:
        >>> import msjax as ms
        >>> ms.hal.is_available("CPU")
        True
    """
    return len(_devices(device_target))


def is_available(device_target: str) -> bool:
    """Whether there are devices of a kind."""
    return bool(_devices(device_target))


is_initialized = is_available


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The name of a device, such as "cpu".

    Raises:
        ValueError: there is no such device.
    """
    return _device(device_id, device_target).device_kind


def get_device_capability(device_id: int, device_target: str | None = None) -> tuple[int, int]:
    """The compute capability of a GPU, such as (9, 0); (0, 0) for other devices."""
    text = str(getattr(_device(device_id, device_target), "compute_capability", "0.0"))
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def get_device_properties(device_id: int, device_target: str | None = None) -> dict[str, Any]:
    """What jax says of a device: its name, its platform, and its memory if that is known."""
    device = _device(device_id, device_target)
    return {"name": device.device_kind, "platform": device.platform, **(device.memory_stats() or {})}


def get_arch_list(device_target: str | None = None) -> str:
    """The compute capabilities of the GPUs, separated by spaces."""
    devices = range(len(_devices(device_target)))
    return " ".join(sorted({"sm_{}{}".format(*get_device_capability(i, device_target)) for i in devices}))


def _device(number, target):
    devices = _devices(target)
    if not 0 <= number < len(devices):
        raise ValueError(f"There is no {target or get_context('device_target')} device {number}; there are {len(devices)}.")
    return devices[number]
