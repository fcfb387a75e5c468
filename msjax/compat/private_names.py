"""Single names of MindSpore's private modules that public programs import; `msjax.alias` says which modules have them."""

from __future__ import annotations

from typing import Any

from ml_dtypes import bfloat16 as bfloat16

from msjax.core.door import RemovableHandle

__all__ = ["HookHandle", "StubTensor", "bfloat16", "cell_attr_register"]

HookHandle = _TensorHookHandle = RemovableHandle


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Returns the constructor that it decorates. MindSpore records its arguments; here `extend_repr` shows a cell's settings."""
    return (lambda decorated: decorated) if fn is None else fn


def _get_cache_prim(cls: Any) -> Any:
    """The class of an operator itself: creating an operator takes a microsecond here, so none is kept."""
    return cls


class StubTensor:
    """A Tensor whose value is still being computed, for programs that ask whether one is. No Tensor is one: jax computes behind each of them."""
