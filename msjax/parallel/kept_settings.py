"""Settings of MindSpore that do nothing here, and are kept for programs that read them back: one table for each of its modules."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from msjax.core.base.checks import Bounds, check_in_range, check_options, check_type

__all__ = [
    "get_algo_parameters", "get_ps_context", "reset_algo_parameters", "reset_ps_context", "set_algo_parameters", "set_ps_context",
]  # fmt: skip


class KeptSettings:
    """Settings by name, each with a default whose type a value should have, and some with a range."""

    def __init__(self, defaults: dict[str, Any], ranges: Mapping[str, Bounds] | None = None):
        self._defaults, self._ranges = defaults, ranges or {}
        self._values = dict(defaults)

    def set(self, settings: dict[str, Any], who: str) -> None:
        """Keep values, for the function `who`; TypeError or ValueError for one that a setting can't have."""
        for name, value in settings.items():
            check_options([name], self._defaults, who, what="setting", error=ValueError)
            check_type(value, type(self._defaults[name]), name, who)
            check_in_range(value, name, who, **self._ranges.get(name, Bounds()))
        self._values.update(settings)

    def get(self, name: str, who: str) -> Any:
        """The value of a setting; ValueError if there is no such setting."""
        check_options([name], self._defaults, who, what="setting", error=ValueError)
        return self._values[name]

    def reset(self) -> None:
        """Give all settings their defaults."""
        self._values.update(self._defaults)


# ---- mindspore.parallel.algo_parameter_config: how strategies of parallelism are searched

_ALGO = KeptSettings(
    {
        "fully_use_devices": False, "elementwise_op_strategy_follow": False, "tensor_slice_align_enable": False,
        "tensor_slice_align_size": 16, "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
    },
    {"tensor_slice_align_size": {"low": 1, "high": 1024}, "algo_approxi_epsilon": {"above": 0, "high": 1}},
)  # fmt: skip


def set_algo_parameters(**kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect: each process has the whole network here.

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
    """
    _ALGO.set(kwargs, "set_algo_parameters")


def get_algo_parameters(attr_key: str) -> Any:
    """The value of a setting of `set_algo_parameters`; ValueError if there is no such setting."""
    return _ALGO.get(attr_key, "get_algo_parameters")


def reset_algo_parameters() -> None:
    """Give the settings of `set_algo_parameters` their defaults."""
    _ALGO.reset()


# ---- mindspore.parallel._ps_context: parameter servers, of which there are none here

_PS = KeptSettings(
    {
        "enable_ps": False, "config_file_path": "", "scheduler_manage_port": 0, "enable_ssl": False, "client_password": "",
        "server_password": "",
    }
)  # fmt: skip


def set_ps_context(**kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect: processes train together in data parallelism.

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
    """
    _PS.set(kwargs, "set_ps_context")


def get_ps_context(attr_key: str) -> Any:
    """The value of a setting of `set_ps_context`; ValueError if there is no such setting."""
    return _PS.get(attr_key, "get_ps_context")


def reset_ps_context() -> None:
    """Give the settings of `set_ps_context` their defaults."""
    _PS.reset()


def _no() -> bool:
    return False


_is_ps_mode = _is_role_worker = _is_role_pserver = _is_role_sched = _no


# ---- mindspore.parallel._cost_model_context: what parallelism costs

_COSTS = KeptSettings(
    {
        "device_memory_capacity": 17179869184.0, "costmodel_alpha": 1.0, "costmodel_beta": 400.0, "costmodel_gamma": 0.001,
        "costmodel_communi_threshold": 2048.0, "costmodel_communi_const": 3072.0, "costmodel_communi_bias": 1024.0, "run_phase": 0,
        "costmodel_allreduce_fusion_algorithm": 0, "costmodel_allreduce_fusion_times": 0,
        "costmodel_allreduce_fusion_tail_percent": 0.1, "costmodel_allreduce_fusion_tail_time": 0.1,
        "costmodel_allreduce_fusion_allreduce_inherent_time": 0.1, "costmodel_allreduce_fusion_allreduce_bandwidth": 0.1,
        "costmodel_allreduce_fusion_computation_time_parameter": 0.1, "multi_subgraphs": False, "rp_matmul_mem_coef": 0.1,
        "algo_single_loop": True,
    }
)  # fmt: skip


def set_cost_model_context(**kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect."""
    _COSTS.set(kwargs, "set_cost_model_context")


def get_cost_model_context(attr_key: str) -> Any:
    """The value of a setting of `set_cost_model_context`; ValueError if there is no such setting."""
    return _COSTS.get(attr_key, "get_cost_model_context")


def _set_multi_subgraphs(multi_subgraph: bool = True) -> None:
    set_cost_model_context(multi_subgraphs=multi_subgraph)


def _set_rp_matmul_mem_coef(coef: float) -> None:
    set_cost_model_context(rp_matmul_mem_coef=coef)


_get_multi_subgraphs = functools.partial(get_cost_model_context, "multi_subgraphs")
_get_rp_matmul_mem_coef = functools.partial(get_cost_model_context, "rp_matmul_mem_coef")
