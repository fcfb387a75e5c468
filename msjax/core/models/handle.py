"""The handle of a hook on several modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ModuleHandle:
    """Stands for one hook on the modules that were selected; see `RemovableHandle`."""

    __slots__ = ("_removes", "id")

    def __init__(self, id: int, removes: list[Callable[[], Any]]):
        self.id: int = id
        self._removes = removes

    def remove(self) -> None:
        """Take the hook off all modules; nothing happens if it is gone already."""
        removes, self._removes = self._removes, []
        for remove in removes:
            remove()

    def __enter__(self):
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.remove()
