"""What layers and training cells of public programs ask about parallel training, and its settings as an object."""

from __future__ import annotations

import functools
from typing import Any

from msjax.engine.processes.groups import PROCESSES
from msjax.engine.settings.parallel import (
    ParallelMode,
    device_num,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

__all__: list[str] = []


_get_parallel_mode = functools.partial(get_auto_parallel_context, "parallel_mode")
_get_gradients_mean = functools.partial(get_auto_parallel_context, "gradients_mean")
_get_full_batch = functools.partial(get_auto_parallel_context, "full_batch")
_get_parameter_broadcast = functools.partial(get_auto_parallel_context, "parameter_broadcast")


def _get_device_num() -> int:
    return device_num() or PROCESSES.group().size


_get_stage_device_num = _get_device_num


def _get_global_rank() -> int:
    return PROCESSES.place.rank


def _get_pipeline_stages() -> int:
    return 1


def _is_in_data_parallel_mode() -> bool:
    return _get_parallel_mode() == ParallelMode.DATA_PARALLEL


def _no() -> bool:
    return False


_get_enable_parallel_optimizer = _is_sharding_propagation = _is_in_auto_parallel_mode = _is_pynative_parallel = _no


class _Context:
    """``get_x()`` and ``set_x(value)`` for each setting x of `ms.set_auto_parallel_context`."""

    def __getattr__(self, name: str) -> Any:
        verb, _, setting = name.partition("_")
        if verb == "get":
            return functools.partial(get_auto_parallel_context, setting)
        if verb == "set":
            return lambda value: set_auto_parallel_context(**{setting: value})
        raise AttributeError(name)

    def set_all_reduce_fusion_split_indices(self, indices: Any, group: str = "") -> None:
        """Without effect: all gradients are reduced by one program."""

    def reset(self) -> None:
        """Give all settings their defaults."""
        reset_auto_parallel_context()


_CONTEXT = _Context()


def auto_parallel_context() -> _Context:
    """The settings."""
    return _CONTEXT
