"""``mindspore.ops._primitive_cache``."""

from typing import Any

__all__: list[str] = []


def _get_cache_prim(cls: Any) -> Any:
    """The class of an operator itself: creating an operator takes a microsecond here, so none is kept."""
    return cls
