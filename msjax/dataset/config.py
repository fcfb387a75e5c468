"""Settings of data pipelines: the seed, how many workers, how many rows are prepared ahead.

Every setting has a `get_` and a `set_` function; `load` reads several from a JSON file. The seed is shared with
`msjax.set_seed`, which sets it, too.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

from msjax.common.random import set_data_seed
from msjax.common.seeds import SEEDS
from msjax.core.base.checks import check_bool, check_int, check_kind, check_str, check_value
from msjax.dataset.debug import DebugHook
from msjax.dataset.enums import ErrorSamplesMode

# A seed that nobody set: then each run shuffles in another order.
DEFAULT_SEED = 5489
_LARGEST = 2**31 - 1

_T = TypeVar("_T")
_DEBUG_HOOKS: list[DebugHook] = []
# {setting: value}; those of `_accessors` add theirs.
_VALUES: dict[str, Any] = {"num_parallel_workers": None, "debug_mode": False}


def set_seed(seed: int) -> None:
    """Seed the order of shuffled rows and what random transforms draw by an int from 0 to 2**32 - 1.

    Raises:
        TypeError, ValueError: no int, or out of range.

    Example:
        >>> def first():
        ...     ds.config.set_seed(3)
        ...     return [int(row["v"]) for row in ds.NumpySlicesDataset([1, 2, 3, 4], ["v"]).create_dict_iterator()]
        >>> first() == first()
        True
    """
    set_data_seed(check_int(seed, "seed", "set_seed", low=0, high=2**32 - 1))


def get_seed() -> int:
    """The seed that was set; 5489 where none was, and then the order differs between runs.

    Example:
        >>> ds.config.set_seed(7)
        >>> ds.config.get_seed()
        7
    """
    return DEFAULT_SEED if SEEDS.data is None else SEEDS.data


def set_num_parallel_workers(num: int) -> None:
    """Set how many workers an operation has that does not say so itself, at least 1.

    Until it is set, operations run without workers, in the thread that iterates.

    Example:
        >>> ds.config.set_num_parallel_workers(1)
        >>> ds.config.get_num_parallel_workers()
        1
    """
    _VALUES["num_parallel_workers"] = check_int(num, "num", "set_num_parallel_workers", low=1, high=_LARGEST)


def get_num_parallel_workers() -> int:
    """The number of workers that was set; where none was, that of the CPUs, at most 8.

    Example:
        >>> ds.config.get_num_parallel_workers() >= 1
        True
    """
    return _VALUES["num_parallel_workers"] or min(8, os.cpu_count() or 1)


def default_workers(unset: int = 1) -> int:
    """The number of workers of an operation that says nothing itself; `unset` where the setting says nothing either."""
    return 1 if _VALUES["debug_mode"] else _VALUES["num_parallel_workers"] or unset


_UNUSED = "Accepted for compatibility with MindSpore, without effect"


def _accessors(
    key: str, default: Any, check: Callable[[Any, str, str], _T], said: str = f"{_UNUSED}."
) -> tuple[Callable[[], _T], Callable[[_T], None]]:
    setter_name = f"set_{key}"
    _VALUES[key] = default

    def get():
        return _VALUES[key]

    def set(value):
        _VALUES[key] = check(value, "value", setter_name)

    get.__name__, set.__name__ = f"get_{key}", setter_name
    get.__qualname__, set.__qualname__ = get.__name__, set.__name__
    example = f"""

    Example:
        >>> ds.config.{setter_name}(ds.config.get_{key}())
    """
    get.__doc__ = f"The value of `set_{key}`.{example}"
    set.__doc__ = f"{said} Default: {getattr(default, 'name', repr(default))}.{example}"
    return get, set


_positive = functools.partial(check_int, low=1, high=_LARGEST)
_not_negative = functools.partial(check_int, low=0, high=_LARGEST)


def _start_method(value: Any, name: str, who: str) -> str:
    return check_value(value, check_str(value, name, who) in ("fork", "spawn"), "be 'fork' or 'spawn'", name, who)


get_prefetch_size, set_prefetch_size = _accessors(
    "prefetch_size", 16, _positive, "Set how many rows an operation with workers prepares ahead."
)
get_callback_timeout, set_callback_timeout = _accessors(
    "callback_timeout", 60, _positive, "The seconds that rows wait for `Dataset.sync_update`."
)
get_monitor_sampling_interval, set_monitor_sampling_interval = _accessors(
    "monitor_sampling_interval", 1000, _positive, f"{_UNUSED}: milliseconds."
)
get_multiprocessing_timeout_interval, set_multiprocessing_timeout_interval = _accessors(
    "multiprocessing_timeout_interval", 300, _positive, f"{_UNUSED}: seconds."
)
get_autotune_interval, set_autotune_interval = _accessors("autotune_interval", 0, _not_negative)
get_auto_num_workers, set_auto_num_workers = _accessors("auto_num_workers", False, check_bool)
get_auto_offload, set_auto_offload = _accessors("auto_offload", False, check_bool)
get_enable_autotune, set_enable_autotune = _accessors("enable_autotune", False, check_bool)
get_enable_shared_mem, set_enable_shared_mem = _accessors("enable_shared_mem", True, check_bool)
get_enable_watchdog, set_enable_watchdog = _accessors("enable_watchdog", True, check_bool)
get_numa_enable, set_numa_enable = _accessors("numa_enable", False, check_bool)
get_fast_recovery, set_fast_recovery = _accessors("fast_recovery", True, check_bool)


def get_debug_mode() -> bool:
    """Whether debug mode is on."""
    return _VALUES["debug_mode"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list[DebugHook] | None = None) -> None:
    """Run every operation in the thread that iterates, whatever it says of workers, for pdb.

    Args:
        debug_mode_flag (bool): whether to. It is off at the beginning.
        debug_hook_list (list, optional): instances of `debug.DebugHook`, which see what the operations of `map` get and give.

    Raises:
        TypeError: an argument of a wrong type.
    """
    hooks = [] if debug_hook_list is None else debug_hook_list
    fits = isinstance(hooks, list) and all(isinstance(hook, DebugHook) for hook in hooks)
    check_kind(debug_hook_list, fits, "be a list of DebugHook", "debug_hook_list", "set_debug_mode")
    _VALUES["debug_mode"] = check_bool(debug_mode_flag, "debug_mode_flag", "set_debug_mode")
    _DEBUG_HOOKS[:] = hooks


def debug_hooks() -> list[DebugHook]:
    """The hooks of debug mode."""
    return [*_DEBUG_HOOKS] if get_debug_mode() else []


get_multiprocessing_start_method, set_multiprocessing_start_method = _accessors(
    "multiprocessing_start_method", "fork", _start_method, "How processes of workers start: 'fork' or 'spawn'."
)


def _error_mode(value: Any, name: str, who: str) -> ErrorSamplesMode:
    return check_kind(value, isinstance(value, ErrorSamplesMode), "be a member of ErrorSamplesMode", name, who)


get_error_samples_mode, set_error_samples_mode = _accessors(
    "error_samples_mode", ErrorSamplesMode.RETURN, _error_mode,
    "What becomes of a row that fails in `map`, a member of ErrorSamplesMode; RETURN is an error.",
)  # fmt: skip


def load(file: str) -> None:
    """Set what the JSON file of a path says, such as ``{"seed": 5, "prefetch_size": 8}``.

    Raises:
        RuntimeError: the file cannot be read, or names a setting that there is not.

    Example:
        >>> with open("pipeline.json", "w") as f:
        ...     _ = f.write('{"prefetch_size": 16}')
        >>> ds.config.load("pipeline.json")
    """
    try:
        with open(file, encoding="utf-8") as f:
            settings = json.load(f)
        for key, value in settings.items():
            globals()[f"set_{key}"](value)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"For 'config.load', {file!r} could not be loaded: {type(error).__name__}: {error}") from error
