"""The settings of parallel training as an object with a pair of methods for each."""

from __future__ import annotations

import functools
from typing import Any

from msjax.engine.settings.parallel import get_auto_parallel_context, reset_auto_parallel_context, set_auto_parallel_context


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
