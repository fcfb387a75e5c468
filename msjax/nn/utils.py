"""Helpers for making networks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["no_init_parameters"]


@contextlib.contextmanager
def no_init_parameters() -> Iterator[Any]:
    """A context for building networks whose Parameters will be loaded from a checkpoint.

    MindSpore leaves their Parameters without data until then. Here Parameters have data from the start, so the
    context changes nothing; it is accepted for compatibility with MindSpore.

    Example:
        >>> from msjax import nn
        >>> with nn.no_init_parameters():
        ...     net = nn.Dense(2, 3)
        >>> net.weight.shape
        (3, 2)
    """
    yield
