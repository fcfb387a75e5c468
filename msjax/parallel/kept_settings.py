"""Settings of MindSpore that do nothing here, and are kept for programs that read them back: one table for each of its modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from msjax.core.base.checks import Bounds, check_in_range, check_options, check_type
from msjax.ops.dispatch.docs import titled

__all__ = [
    "get_algo_parameters", "get_ps_context", "reset_algo_parameters", "reset_ps_context", "set_algo_parameters", "set_ps_context",
]  # fmt: skip


def _functions(
    name: str, doc: str, defaults: dict[str, Any], ranges: Mapping[str, Bounds] = MappingProxyType({})
) -> tuple[Callable[..., None], Callable[[str], Any], Callable[[], None]]:
    """The functions that set, get and reset settings, each with a default whose type a value should have, and some with a range."""
    values = dict(defaults)

    def check_name(key, who):
        check_options([key], defaults, who, what="setting", error=ValueError)

    def set_values(**kwargs: Any) -> None:
        who = f"set_{name}"
        for key, value in kwargs.items():
            check_name(key, who)
            check_type(value, type(defaults[key]), key, who)
            check_in_range(value, key, who, **ranges.get(key, Bounds()))
        values.update(kwargs)

    def get_value(attr_key: str) -> Any:
        check_name(attr_key, f"get_{name}")
        return values[attr_key]

    def reset() -> None:
        values.update(defaults)

    get_doc = f"The value of a setting of `set_{name}`; ValueError if there is no such setting."
    reset_doc = f"Give the settings of `set_{name}` their defaults."
    return (
        titled(set_values, f"set_{name}", f"Accepted for compatibility with MindSpore, without effect{doc}"),
        titled(get_value, f"get_{name}", get_doc),
        titled(reset, f"reset_{name}", reset_doc),
    )


# mindspore.parallel.algo_parameter_config: how strategies of parallelism are searched
set_algo_parameters, get_algo_parameters, reset_algo_parameters = _functions(
    "algo_parameters",
    """: each process has the whole network here.

    Args:
        kwargs: fully_use_devices, elementwise_op_strategy_follow, tensor_slice_align_enable, enable_algo_approxi (bool),
            tensor_slice_align_size (int), algo_approxi_epsilon (float).

    Raises:
        TypeError, ValueError: there is no such setting, or it can't have this value.

    Example:
        >>> from msjax import parallel
        >>> parallel.set_algo_parameters(fully_use_devices=True)
        >>> parallel.get_algo_parameters("fully_use_devices")
        True
        >>> parallel.reset_algo_parameters()
    """,
    {
        "fully_use_devices": False, "elementwise_op_strategy_follow": False, "tensor_slice_align_enable": False,
        "tensor_slice_align_size": 16, "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
    },
    {"tensor_slice_align_size": {"low": 1, "high": 1024}, "algo_approxi_epsilon": {"above": 0, "high": 1}},
)  # fmt: skip

# mindspore.parallel._ps_context: parameter servers, of which there are none here
set_ps_context, get_ps_context, reset_ps_context = _functions(
    "ps_context",
    """: processes train together in data parallelism.

    Args:
        kwargs: enable_ps, enable_ssl (bool), config_file_path, client_password, server_password (str), scheduler_manage_port (int).

    Raises:
        TypeError, ValueError: there is no such setting, or it can't have this value.

    Example:
        >>> import msjax as ms
        >>> ms.set_ps_context(enable_ps=True)
        >>> ms.get_ps_context("enable_ps")
        True
        >>> ms.reset_ps_context()
    """,
    {
        "enable_ps": False, "config_file_path": "", "scheduler_manage_port": 0, "enable_ssl": False, "client_password": "",
        "server_password": "",
    },
)  # fmt: skip


def _no() -> bool:
    return False


_is_ps_mode = _is_role_worker = _is_role_pserver = _is_role_sched = _no

# mindspore.parallel._cost_model_context: what parallelism costs
set_cost_model_context, get_cost_model_context, reset_cost_model_context = _functions(
    "cost_model_context",
    ".",
    {
        "device_memory_capacity": 17179869184.0, "costmodel_alpha": 1.0, "costmodel_beta": 400.0, "costmodel_gamma": 0.001,
        "costmodel_communi_threshold": 2048.0, "costmodel_communi_const": 3072.0, "costmodel_communi_bias": 1024.0, "run_phase": 0,
        "costmodel_allreduce_fusion_algorithm": 0, "costmodel_allreduce_fusion_times": 0,
        "costmodel_allreduce_fusion_tail_percent": 0.1, "costmodel_allreduce_fusion_tail_time": 0.1,
        "costmodel_allreduce_fusion_allreduce_inherent_time": 0.1, "costmodel_allreduce_fusion_allreduce_bandwidth": 0.1,
        "costmodel_allreduce_fusion_computation_time_parameter": 0.1, "multi_subgraphs": False, "rp_matmul_mem_coef": 0.1,
        "algo_single_loop": True,
    },
)  # fmt: skip


def _set_multi_subgraphs(multi_subgraph: bool = True) -> None:
    set_cost_model_context(multi_subgraphs=multi_subgraph)


def _set_rp_matmul_mem_coef(coef: float) -> None:
    set_cost_model_context(rp_matmul_mem_coef=coef)


_get_multi_subgraphs = functools.partial(get_cost_model_context, "multi_subgraphs")
_get_rp_matmul_mem_coef = functools.partial(get_cost_model_context, "rp_matmul_mem_coef")
