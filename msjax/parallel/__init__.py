"""``mindspore.parallel``, as far as one process or data parallelism goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msjax.core.base.lazy import on_first_use
from msjax.ops.function.collectives import broadcast
from msjax.parallel._utils import auto_parallel_context as auto_parallel_context
from msjax.parallel.kept_settings import (
    get_algo_parameters as get_algo_parameters,
    reset_algo_parameters as reset_algo_parameters,
    set_algo_parameters as set_algo_parameters,
)
from msjax.parallel.layouts import AutoParallel as AutoParallel, Layout, shard

__all__ = ["Layout", "parameter_broadcast", "shard"]

_PLACEHOLDERS = {"reshard": "functionalize the network and give its parameters the shardings of Layout."} | dict.fromkeys(
    (
        "build_searched_strategy", "load_distributed_checkpoint", "load_segmented_checkpoints", "merge_pipeline_strategys",
        "merge_sliced_parameter", "rank_list_for_transform", "restore_group_info_list",
        "sync_pipeline_shared_parameters", "transform_checkpoint_by_rank", "transform_checkpoints", "unified_safetensors",
    ),
    "each process has the whole network here, and a checkpoint of one has all Parameters.",
)  # fmt: skip


def parameter_broadcast(net: Any, layout: Any = None, cur_rank: int = 0, initial_rank: int = 0) -> None:
    """Give the Parameters of all processes the values that they have in one.

    Args:
        net (Cell): the network.
        layout, cur_rank: without effect.
        initial_rank (int): the number of that process. Default: 0.
    """
    parameters = net.parameters_dict().values()
    for parameter, value in zip(parameters, broadcast([p.value() for p in parameters], initial_rank)):
        parameter.set_data(value)


if TYPE_CHECKING:
    from msjax.parallel import nn as nn
else:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
