"""Memory for large results: in a process that works for another one, where that one finds them without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_STATE: dict[str, Callable[..., np.ndarray]] = {"allocate": np.empty}


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """What `numpy.empty` gives, perhaps in memory that processes share. It is for results that nothing else keeps."""
    return _STATE["allocate"](shape, dtype)


def allocate_with(allocate: Callable[..., np.ndarray]) -> None:
    """Let `empty` take its memory from a function of a shape and a dtype."""
    _STATE["allocate"] = allocate
