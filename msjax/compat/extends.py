"""``mindspore._extends``: a decorator that public layers still carry."""

from __future__ import annotations

from typing import Any

__all__ = ["cell_attr_register"]


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Returns the constructor that it decorates. MindSpore records its arguments; here `extend_repr` shows a cell's settings."""
    return (lambda decorated: decorated) if fn is None else fn
