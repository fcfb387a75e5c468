"""Settings of the whole program: execution mode, device, hook dialect and the like.

The names and values are MindSpore's (``ms.set_context``); `hook_dialect` is msjax's own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from msjax.core.base.checks import (
    check_bool,
    check_int,
    check_kind,
    check_one_of,
    check_options,
    check_positive_int,
    check_str,
    check_type,
    check_value,
    is_int,
)  # fmt: skip
from msjax.core.door import ACTIVITY, HOOK_SETTINGS, VERSION
from msjax.engine.programs import disk_cache
from msjax.engine.programs.limits import CACHE_LIMIT
from msjax.engine.programs.tiers import TieredProgram
from msjax.engine.settings import precision
from msjax.engine.settings.current import DIALECTS, GRAPH_MODE as GRAPH_MODE, PYNATIVE_MODE as PYNATIVE_MODE, SETTINGS
from msjax.engine.settings.parallel import (
    ParallelMode as ParallelMode,
    get_auto_parallel_context as get_auto_parallel_context,
    reset_auto_parallel_context as reset_auto_parallel_context,
    set_auto_parallel_context as set_auto_parallel_context,
)

__all__ = [
    "COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "ParallelMode", "STRICT", "get_auto_parallel_context", "get_context",
    "get_current_device", "reset_auto_parallel_context", "set_auto_parallel_context", "set_context", "set_deterministic",
    "set_device",
]  # fmt: skip


# Levels of syntax that MindSpore's compiler takes, for the setting jit_syntax_level.
STRICT, COMPATIBLE, LAX = 0, 1, 2

DEVICE_TARGETS = ("CPU", "GPU", "TPU", "Ascend", "Davinci")

# Settings of MindSpore programs that have no counterpart in XLA: stored, so that they can be read back, without effect.
SETTINGS.kept |= {
    "device_id": 0,
    "save_graphs": False,
    "save_graphs_path": "",
    "enable_dump": False,
    "save_dump_path": "",
    "enable_profiling": False,
    "enable_reduce_precision": True,
    "enable_graph_kernel": False,
    "graph_kernel_flags": "",
    "reserve_class_name_in_scope": True,
    "check_bprop": False,
    "max_device_memory": "1024GB",
    "mempool_block_size": "1GB",
    "variable_memory_max_size": "0GB",
    "print_file_path": "",
    "env_config_path": "",
    "max_call_depth": 1000,
    "grad_for_scalar": False,
    "enable_sparse": False,
    "auto_tune_mode": "NO_TUNE",
    "runtime_num_threads": 30,
    "op_timeout": 900,
    "jit_syntax_level": 2,
    "jit_config": {},
    "memory_optimize_level": "O0",
    "memory_offload": "OFF",
    "ascend_config": {},
    "exec_order": "bfs",
    "precompile_only": False,
    "support_binary": False,
    "enable_task_sink": True,
    "enable_mem_reuse": True,
    "enable_ge": False,
    "device_type": None,
    "aoe_tune_mode": "",
    "aoe_config": {},
    "debug_level": 0,
    "disable_format_transform": False,
    "enable_auto_mixed_precision": False,
    "infer_boost": "off",
    "inter_op_parallel_num": 0,
    "jit_enable_inplace_ops": True,
    "jit_level": "",
    "load_compile_cache": False,
    "profiling_options": "training_trace",
    "save_compile_cache": False,
}


def set_context(**kwargs: Any) -> None:
    """Set one or more settings of the program.

    Args:
        mode (int): ``ms.PYNATIVE_MODE`` (1, the default; operators run one by one) or ``ms.GRAPH_MODE`` (0; the
            call of a network is compiled into one program).
        device_target (str): "CPU", "GPU", "TPU" or "Ascend". Where jax has no such device, what it has is used
            and a warning says so.
        pynative_synchronize (bool): True makes every operator wait for its result, so that an error on the
            device appears at its own line.
        enable_compile_cache (bool): True keeps compiled programs on disk, so that a script or notebook that is
            started again does not compile again.
        compile_cache_path (str): the folder for that; by default ``msjax`` in the user's cache directory.
        compile_cache_bytes (int): how large the folder may be after the program; 1 GiB by default. The oldest files are deleted.
        deterministic (str): "ON" has large compiled programs run on CPUs with all optimizations from the first call on. "OFF", the default, has
            the first calls run sooner without them, so that the last bits of results depend on when the optimized program is ready.
            On GPUs, the environment variable ``XLA_FLAGS=--xla_gpu_deterministic_ops=true`` has results be the same in each run.
        hook_dialect (str): where hooks sit and what they get: "tutorial", "mindspore-2.10" or "mindspore-1".
        hook_queue_bytes (int): how many bytes of values may wait for hooks of programs under ``jax.jit``; 256 MiB by default.
            A program that has more to hand over waits until hooks have been called.
        program_cache_size (int): how many compiled programs of operators there are at most; 8192 by default. When half as many have been
            compiled, all are dropped, and compiled again as they are needed. Each takes up to 1.4 MiB of memory.
        gpu_config (dict): "matmul_allow_tf32" and "conv_allow_tf32": whether operands of float32 may be rounded to TF32 on GPUs (and to
            bfloat16 on TPUs). The first is jax's own setting, `jax_default_matmul_precision`, for all of this process. By default,
            jax rounds both; programs of `msjax run` and `install_as_mindspore` round those of convolutions only, as MindSpore does.
        **kwargs: MindSpore's other settings are accepted and kept, without effect.

    Raises:
        ValueError: an unknown setting, or a value out of its range.
        TypeError: a value of a wrong type.

    Example:
        >>> import msjax as ms
        >>> ms.set_context(mode=ms.PYNATIVE_MODE)
        >>> ms.get_context("mode")
        1
    """
    check_options(kwargs, _names(), "set_context", what="setting", error=ValueError)
    for name, value in kwargs.items():
        if name in _SETTERS:
            _SETTERS[name](value)
        elif name in _CHECKED:
            (check, tell), (owner, attribute) = _CHECKED[name], _place_of(name)
            setattr(owner, attribute, check(value, name, "set_context"))
            tell(value)
        else:
            if name in _TYPES:
                check_type(value, _TYPES[name], name, "set_context")
            SETTINGS.kept[name] = _RANGES[name](value, name, "set_context") if name in _RANGES else value


def get_context(attr_key: str) -> Any:
    """The value of a setting; see `set_context`.

    Raises:
        ValueError: an unknown setting.
    """
    if attr_key == "device_target":
        return SETTINGS.device_target or _default_target()
    if attr_key in _SETTERS or attr_key in _CHECKED:
        return getattr(*_place_of(attr_key))
    check_options([attr_key], _names(), "get_context", what="setting", error=ValueError)
    return SETTINGS.kept[attr_key]


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device by its name, "CPU", "GPU", "TPU" or "Ascend", and its number among those."""
    _set_device_target(device_target, 0 if device_id is None else device_id)


def set_deterministic(deterministic: bool) -> None:
    """Have results be the same in each run: ``set_context(deterministic="ON")``, or "OFF".

    Raises:
        TypeError: `deterministic` is no bool.
    """
    set_context(deterministic="ON" if check_bool(deterministic, "deterministic", "set_deterministic") else "OFF")


def get_current_device() -> str:
    """The kind of device that operators run on: "CPU", "GPU" or "TPU"."""
    return get_context("device_target")


def force_mode(mode: int | None) -> None:
    """Override the mode that the program sets (``msjax run --mode``); None ends the override."""
    SETTINGS.forced_mode = mode
    if mode is not None:
        SETTINGS.mode = mode


def _set_mode(value):
    should = "be ms.GRAPH_MODE (0) or ms.PYNATIVE_MODE (1)"
    check_kind(value, is_int(value), should, "mode", "set_context")
    check_value(value, value in (GRAPH_MODE, PYNATIVE_MODE), should, "mode", "set_context")
    SETTINGS.mode = value if SETTINGS.forced_mode is None else SETTINGS.forced_mode


def _check_path(value, name, who):
    return os.fspath(check_kind(value, isinstance(value, (str, os.PathLike)), "be a path", name, who))


def _update_compile_cache(_value: Any = None):
    """Tell jax whether and where to store compiled programs between processes."""
    if SETTINGS.enable_compile_cache:
        disk_cache.enable(SETTINGS.compile_cache_path, SETTINGS.compile_cache_bytes)
    else:
        disk_cache.disable()


def _place_of(name):
    """(object, attribute) where a setting is kept."""
    elsewhere = {"hook_queue_bytes": (HOOK_SETTINGS, "queue_bytes"), "program_cache_size": (CACHE_LIMIT, "programs")}
    return elsewhere.get(name, (SETTINGS, name))


def _one_of(options):
    return lambda value, name, who: check_one_of(value, options, name, who)


def _check_jit_config(value, name, who):
    level = value.get("jit_level", "O0")
    return check_value(value, level in ("O0", "O1", "O2"), "have a 'jit_level' of 'O0', 'O1' or 'O2'", name, who)


# Of settings without effect, what MindSpore checks: a type, and of some a range.
_TYPES = {name: type(value) for name, value in SETTINGS.kept.items() if value is not None} | {"save_graphs": (bool, int)}
_RANGES: dict[str, Callable[[Any, str, str], Any]] = {
    "device_id": partial(check_int, low=0, high=4095),
    "max_call_depth": check_positive_int,
    "exec_order": _one_of(("bfs", "dfs")),
    "jit_config": _check_jit_config,
}


def _set_gpu_config(value):
    check_type(value, dict, "gpu_config", "set_context")
    check_options(value, _GPU_CONFIG, "set_context", what="key of gpu_config", error=ValueError)
    if "matmul_allow_tf32" in value:
        precision.allow_tf32_in_products(value["matmul_allow_tf32"], "set_context")
    if "conv_allow_tf32" in value:
        precision.allow_tf32_in_convolutions(value["conv_allow_tf32"], "set_context")
    SETTINGS.gpu_config = dict(value)


# XLA chooses algorithms itself.
_GPU_CONFIG = ("matmul_allow_tf32", "conv_allow_tf32", "conv_fprop_algo", "conv_dgrad_algo", "conv_wgrad_algo")


def _set_device_target(value, device_id: int | None = None):
    check_str(value, "device_target", "set_context")
    check_value(value, value in DEVICE_TARGETS, f"be one of {', '.join(DEVICE_TARGETS)}", "device_target", "set_context")
    if device_id is None:
        device_id = SETTINGS.device_id if value == SETTINGS.device_target else 0
    # "Ascend" means the accelerator of this machine: jax's default backend.
    backend = {"CPU": "cpu", "GPU": "gpu", "TPU": "tpu"}.get(value)
    try:
        # Asking for the current device must not initialize jax's backends.
        if (value, device_id) != (SETTINGS.device_target, SETTINGS.device_id):
            jax.config.update("jax_default_device", jax.local_devices(backend=backend)[device_id])
    except (RuntimeError, IndexError):
        warnings.warn(
            f"device_target {value!r}, device {device_id}, is not there; jax runs on {jax.default_backend()}.", stacklevel=4
        )
    SETTINGS.device_target, SETTINGS.device_id = value, device_id


def _default_target() -> str:
    return {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}.get(jax.default_backend(), "CPU")


_SETTERS = {"mode": _set_mode, "device_target": _set_device_target, "gpu_config": _set_gpu_config}

# Of other settings with an effect, how a value is checked, and what is called with it afterwards.
_CHECKED: dict[str, tuple[Callable[[Any, str, str], Any], Callable[[Any], object]]] = {
    "pynative_synchronize": (check_bool, ACTIVITY.set_synchronize),
    "deterministic": (_one_of(("ON", "OFF")), lambda value: TieredProgram.set_deterministic(value == "ON")),
    "hook_dialect": (_one_of(tuple(DIALECTS)), lambda _: VERSION.changed()),
    "hook_queue_bytes": (check_positive_int, bool),
    "program_cache_size": (check_positive_int, bool),
    "enable_compile_cache": (check_bool, _update_compile_cache),
    "compile_cache_path": (_check_path, _update_compile_cache),
    "compile_cache_bytes": (check_positive_int, lambda _: SETTINGS.enable_compile_cache and _update_compile_cache()),
}


def _names():
    return sorted((*_SETTERS, *_CHECKED, *SETTINGS.kept))
