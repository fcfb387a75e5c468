"""Hooks that see what `map` operations get and give, in debug mode."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]


class DebugHook:
    """The base of hooks: define `compute`.

    ``ds.config.set_debug_mode(True, [hook])`` puts a hook before the first operation of each `map`, and behind each; or it stands among the
    operations of one `map`.

    Args:
        prev_op_name (str, optional): the operation before it, for what is printed. Default: None.

    Example:
        >>> class Show(ds.debug.DebugHook):
        ...     def compute(self, *args):
        ...         print(*args)
        ...         return args
        >>> data = ds.NumpySlicesDataset([1], ["v"]).map([lambda v: v + 1, Show()])
        >>> list(data.create_tuple_iterator(output_numpy=True))
        2
        [[array(2)]]
    """

    def __init__(self, prev_op_name: str | None = None):
        self.prev_op_name: str | None = prev_op_name
        self.is_first_op: bool = False

    def compute(self, *args: Any) -> Any:
        """What the hook does with the values of the columns; it returns them, or others."""
        raise NotImplementedError(f"{type(self).__name__} should define compute(self, *args).")

    def set_previous_op_name(self, prev_op_name: str) -> None:
        """Say which operation it stands behind."""
        self.prev_op_name = prev_op_name

    def set_is_first(self, is_first_op: bool) -> None:
        """Say whether it stands before that operation, the first one, instead."""
        self.is_first_op = is_first_op

    def __call__(self, *args: Any) -> Any:
        if self.prev_op_name is not None:
            print(
                f"[Dataset debugger] Print the [{'INPUT' if self.is_first_op else 'OUTPUT'}] of the operation [{self.prev_op_name}]."
            )
        found = self.compute(*args)
        return args if found is None else found


class PrintMetaDataHook(DebugHook):
    """Prints the type and the shape of the value of each column."""

    def compute(self, *args: Any) -> Any:
        """Print them."""
        for number, value in enumerate(args):
            array = np.asarray(value)
            print(f"Column {number}. The dtype is [{array.dtype}]. The shape is [{array.shape}].")
        return args


class PrintDataHook(DebugHook):
    """Prints the value of each column."""

    def compute(self, *args: Any) -> Any:
        """Print them."""
        for number, value in enumerate(args):
            print(f"Column {number}. The data is [{value}].")
        return args


def with_hooks(operations: Sequence[Callable[..., Any]], hooks: Sequence[DebugHook]) -> list[Callable[..., Any]]:
    """Operations with copies of the hooks before the first one and behind each."""
    names = [getattr(operation, "__name__", type(operation).__name__) for operation in operations]
    placed = [_placed(hook, names[0], True) for hook in hooks]
    for name, operation in zip(names, operations):
        placed += [operation, *(_placed(hook, name, False) for hook in hooks)]
    return placed


def _placed(hook, name, first):
    hook = copy.copy(hook)
    hook.set_previous_op_name(name)
    hook.set_is_first(first)
    return hook
