"""Checks of arguments that data pipelines share; the simple ones are in `msjax.core.base.checks`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_kind, check_number, check_type, check_value, is_int, is_number
from msjax.core.base.errors import describe
from msjax.dataset import config

LARGEST = INT32_MAX = 2**31 - 1
# MindSpore's names for limits, which programs import.
INT32_MIN, INT64_MIN, INT64_MAX = -(2**31), -(2**63), 2**63 - 1
UINT8_MAX, UINT32_MAX, UINT64_MAX = 2**8 - 1, 2**32 - 1, 2**64 - 1
POS_INT_MIN = 1


def check_columns(value: Any, name: str, who: str) -> list[Any]:
    """A list of different, non-empty names of columns, from a str or a list of them."""
    columns = [value] if isinstance(value, str) else value
    listed = isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    check_kind(value, listed, "be a str or a list of str", name, who)
    check_value(value, columns and "" not in columns, "hold at least one name and no empty one", name, who)
    check_value(value, len(set(columns)) == len(columns), "not hold a name twice", name, who)
    return list(columns)


# MindSpore allows as many workers as there are CPUs. A program for a larger machine runs here, too, so this is a limit for mistakes.
_MOST_WORKERS = max(255, os.cpu_count() or 1)


def check_workers(value: Any, who: str) -> int:
    """The number of workers; None is the setting's."""
    if value is None:
        return config.default_workers()
    if is_int(value) and not 1 <= value <= _MOST_WORKERS:
        raise ValueError(f"For '{who}', num_parallel_workers exceeds the boundary between 1 and {_MOST_WORKERS}: {value}.")
    return check_int(value, "num_parallel_workers", who)


def check_pool(number: int | None, processes: bool | None, who: str) -> tuple[Any, ...]:
    """(how many workers, whether they are processes); processes are as many as the setting says where `number` is None."""
    processes = bool(processes) and check_bool(processes, "python_multiprocessing", who)
    workers = config.get_num_parallel_workers() if processes and number is None else check_workers(number, who)
    return workers, processes and workers > 1


def check_real(value: Any, name: str, who: str, low: float = -(2**24), above: float | None = None, high: float = 2**24) -> float:
    """A number from `low`, or above `above`, to `high`; float32 holds whole numbers up to 2**24."""
    _check_interval(check_number(value, name, who), name, who, low, above, high)
    return value


def check_whole(value: Any, name: str, who: str, low: int = 1, high: int = LARGEST) -> int:
    """An int from `low` to `high`."""
    _check_interval(check_int(value, name, who), name, who, low, None, high)
    return value


def _check_interval(value, name, who, low, above, high):
    # In the words that MindSpore has for it, which scripts and tests of all its datasets look for.
    if not (low <= value <= high if above is None else above < value <= high):
        interval = f"[{low}, {high}]" if above is None else f"({above}, {high}]"
        raise ValueError(f"For '{who}': Input {name} is not within the required interval of {interval}. It is {value}.")


def check_list(value: Any, name: str, who: str, empty: bool = False) -> list[Any]:
    """The value, if it is a list that is not empty."""
    check_type(value, list, name, who)
    return check_value(value, value or empty, "not be empty", name, who)


def check_numbers(
    value: Any, name: str, who: str, n: int | None = None, low: float | None = None, high: float | None = None
) -> tuple[Any, ...]:
    """A tuple of numbers from a list, tuple or array, `n` of them, each from `low` to `high`."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    fits = isinstance(values, (tuple, list)) and all(is_number(v) for v in values)
    check_kind(value, fits, "be a tuple or list of numbers", name, who)
    check_value(value, n is None or len(values) == n, f"hold {n} numbers", name, who)
    fits = all((low is None or v >= low) and (high is None or v <= high) for v in values)
    check_value(value, fits, f"hold numbers in [{low}, {high}]", name, who)
    return tuple(values)


def check_range(value: Any, name: str, who: str, low: float | None = None, high: float | None = None) -> tuple[Any, ...]:
    """Two numbers, the first not above the second, each from `low` to `high`."""
    first, second = values = check_numbers(value, name, who, 2, low, high)
    check_value(value, first <= second, "not fall", name, who)
    return values


def check_size(value: Any, name: str, who: str, square: bool = True) -> Any:
    """(height, width), positive, from an int or from a tuple or list of two; with ``square=False`` an int stays one."""
    if is_int(value):
        value = check_int(value, name, who, low=1, high=2**24)
        return (value, value) if square else value
    fits = isinstance(value, (tuple, list)) and len(value) == 2 and all(map(is_int, value))
    check_kind(value, fits, "be an int, or a tuple or list of two", name, who)
    return tuple(check_int(v, name, who, low=1, high=2**24) for v in value)


def check_data(value: Any, fits: object, should: str, who: str) -> Any:
    """The value, which a transform got from a row, if it fits; `should` says what was expected, such as "the image should be grey"."""
    if not fits:
        raise RuntimeError(f"{who}: {should}, but got {describe(value)}.")
    return value


def check_enum(value: Any, kind: type[Enum], name: str, who: str) -> Any:
    """The value, if it is a member of an enum."""
    return check_kind(value, isinstance(value, kind), f"be a member of {kind.__name__}", name, who)


# ---- of sources


def check_folder(folder: str, who: str) -> str:
    """The path of a folder that is there."""
    check_kind(folder, isinstance(folder, (str, os.PathLike)), "be a path", "dataset_dir", who)
    if not os.path.isdir(folder):
        raise ValueError(f"For '{who}', 'dataset_dir' should be a folder, but there is none at {os.fspath(folder)!r}.")
    return os.fspath(folder)


def check_usage(usage: str | None, options: Sequence[str], who: str) -> str:
    """Which files to read: one of the options, "all" for None."""
    if usage is None:
        return "all"
    check_type(usage, str, "usage", who)
    check_value(usage, usage in options, f"be one of {', '.join(map(repr, options))}", "usage", who)
    return usage


def refuse_cache(cache: object, who: str) -> None:
    """NotImplementedError for a cache server."""
    if cache is not None:
        raise NotImplementedError(f"For '{who}', msjax has no cache server; leave 'cache' out.")


def check_decrypt(decrypt: Any, who: str) -> Callable[[str], bytes] | None:
    """The function that makes an image's bytes of its path; None: the file has them."""
    return None if decrypt is None else check_kind(decrypt, callable(decrypt), "be a function", "decrypt", who)
