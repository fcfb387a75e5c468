"""What MindSpore programs say to its compiler. Here each program is compiled for the shapes at hand, so that little of it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from msjax.core.base.checks import check_kind, check_value

_LEVELS = {
    "jit_level": ("", "O0", "O1", "O2"),
    "exc_mode": ("auto", "sink", "no_sink"),
    "jit_syntax_level": ("", "STRICT", "COMPATIBLE", "LAX"),
}


_T = TypeVar("_T")


class JitConfig:
    """Settings of MindSpore's compiler: checked and kept, without effect on XLA's.

    Args:
        jit_level (str): "O0", "O1", "O2", or "" for none. Default: "".
        exc_mode (str): "auto", "sink" or "no_sink". Default: "auto".
        jit_syntax_level (str): "STRICT", "COMPATIBLE", "LAX", or "" for none. Default: "".
        debug_level, infer_boost, **kwargs: kept.

    Raises:
        ValueError: another value.

    Example:
        >>> import msjax as ms
        >>> ms.JitConfig(jit_level="O1").jit_config_dict["jit_level"]
        'O1'
    """

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ):
        chosen = {"jit_level": jit_level, "exc_mode": exc_mode, "jit_syntax_level": jit_syntax_level}
        for name, value in chosen.items():
            check_value(value, value in _LEVELS[name], f"be one of {_LEVELS[name]}", name, "JitConfig")
        self.jit_config_dict: dict[str, Any] = {**chosen, "debug_level": debug_level, "infer_boost": infer_boost, **kwargs}


def jit_class(cls: type[_T]) -> type[_T]:
    """A class decorator that marks classes which compiled functions use; any class may be used here.

    Raises:
        TypeError: no class.
    """
    check_kind(cls, inspect.isclass(cls), "be a class", "the argument", "jit_class")
    return cls


def lazy_inline(fn: Callable[..., Any] | None = None, attrs: object = None, policy: object = None) -> Any:
    """A decorator of a cell's ``__init__``, by which MindSpore compiles equal cells once; without effect."""
    return fn if fn is not None else lazy_inline


def no_inline(fn: Callable[..., Any] | None = None) -> Any:
    """A decorator that keeps MindSpore's compiler from inlining a function; without effect."""
    return fn if fn is not None else no_inline


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Without effect: Python's own limit holds, which ``sys.setrecursionlimit`` sets."""
