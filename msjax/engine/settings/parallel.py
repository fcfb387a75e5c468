"""MindSpore's settings of parallel training: ``ms.set_auto_parallel_context``."""

from __future__ import annotations

from typing import Any

from msjax.core.base.checks import check_one_of, check_options, check_type, check_value


class ParallelMode:
    """Names of MindSpore's parallel modes."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


# {setting: default}. msjax acts on parallel_mode, gradients_mean, device_num and parameter_broadcast; it keeps the others for
# programs that read them.
_DEFAULTS: dict[str, Any] = {
    "parallel_mode": ParallelMode.STAND_ALONE,
    "gradients_mean": False,
    "device_num": 1,
    "parameter_broadcast": False,
    "global_rank": 0,
    "gradient_fp32_sync": True,
    "loss_repeated_mean": True,
    "auto_parallel_search_mode": "recursive_programming",
    "search_mode": "recursive_programming",
    "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "",
    "strategy_ckpt_config": {},
    "full_batch": False,
    "dataset_strategy": "data_parallel",
    "enable_parallel_optimizer": False,
    "parallel_optimizer_config": {},
    "optimizer_weight_shard_size": -1,
    "enable_alltoall": False,
    "all_reduce_fusion_config": [],
    "communi_parallel_mode": "all_group_parallel",
    "comm_fusion": {},
    "force_fp32_communication": False,
    "grad_accumulation_step": 1,
    "pipeline_stages": 1,
    "pipeline_config": {},
    "pipeline_segments": 1,
    "pipeline_result_broadcast": False,
    "pipeline_interleave": False,
    "pipeline_scheduler": "1f1b",
    "auto_pipeline": False,
    "sharding_propagation": False,
    "init_param_in_compile": True,
    "optimizer_weight_shard_aggregated_save": False,
    "group_ckpt_save_file": "",
    "dump_local_norm": False,
    "dump_local_norm_path": "",
    "dump_device_local_norm": False,
}
_SETTINGS: dict[str, Any] = {}


def set_auto_parallel_context(**kwargs: Any) -> None:
    """Set how several processes train together.

    Args:
        parallel_mode (str): "data_parallel" makes training cells such as `nn.TrainOneStepCell` sum the gradients of all processes
            before the optimizer gets them; "stand_alone", the default, doesn't. "hybrid_parallel" is the same as
            "data_parallel", for programs that split layers by communication operators of their own.
        gradients_mean (bool): True divides the sum by the number of processes. Default: False.
        device_num (int): the number by which it is divided, if it is not that of the processes.
        parameter_broadcast (bool): True gives all processes the weights that process 0 has when the training cell is
            created. Default: False.
        **kwargs: MindSpore's other settings are accepted and kept, without effect.

    Raises:
        ValueError: an unknown setting, or a value out of its range.
        TypeError: a value of a wrong type.
        NotImplementedError: the modes "semi_auto_parallel" and "auto_parallel", which split single operators.

    Example:
        >>> import msjax as ms
        >>> ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
        >>> ms.get_auto_parallel_context("gradients_mean")
        True
        >>> ms.reset_auto_parallel_context()
    """
    check_options(kwargs, _DEFAULTS, "set_auto_parallel_context", what="setting", error=ValueError)
    for name, value in kwargs.items():
        if name != "dataset_strategy":  # a str or a tuple
            check_type(value, type(_DEFAULTS[name]), name, "set_auto_parallel_context")
        if name == "parallel_mode":
            check_one_of(value, ParallelMode.MODE_LIST, "parallel_mode", "set_auto_parallel_context")
            if value in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL):
                raise NotImplementedError(
                    f"msjax has no parallel mode {value!r}: functionalize the network and give its parameters jax shardings."
                )
        check_value(value, name != "device_num" or value >= 1, "be positive", "device_num", "set_auto_parallel_context")
    _SETTINGS.update(kwargs)


def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of a setting of parallel training; see `set_auto_parallel_context`.

    Raises:
        ValueError: an unknown setting.
    """
    check_options([attr_key], _DEFAULTS, "get_auto_parallel_context", what="setting", error=ValueError)
    return _SETTINGS.get(attr_key, _DEFAULTS[attr_key])


def reset_auto_parallel_context() -> None:
    """Give all settings of parallel training their defaults."""
    _SETTINGS.clear()


def reduces_gradients() -> bool:
    """Whether training cells add up the gradients of all processes."""
    return get_auto_parallel_context("parallel_mode") in (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL)


def device_num() -> int | None:
    """The number of devices that the program has set; None if it has not."""
    return _SETTINGS.get("device_num")
