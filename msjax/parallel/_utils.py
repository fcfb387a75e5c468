"""What layers and training cells of public programs ask about parallel training."""

from __future__ import annotations

import functools

from msjax.engine.processes.groups import PROCESSES
from msjax.engine.settings.parallel import ParallelMode, device_num, get_auto_parallel_context

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
