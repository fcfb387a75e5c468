"""The objects among a call's arguments that keep what the call writes to them: those of flax nnx, which isn't imported for that."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def objects_among(given: Any) -> Any:
    """The nnx objects among arguments, as `msjax.core.models.frameworks.nnx_outputs.Objects`; None if there are none."""
    if "flax.nnx" not in sys.modules:
        return None
    module: Any = importlib.import_module("msjax.core.models.frameworks.nnx_outputs")
    return module.Objects(given) or None


def with_written(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (the result of `fn`, its writes to nnx objects among the arguments, as `Objects.write` takes them, or None)."""

    def call(*args, **kwargs):
        objects = objects_among((args, kwargs))
        written = None if objects is None else objects.noted()
        out = fn(*args, **kwargs)
        return out, None if written is None else written()

    return call


def write_to(given: Any, written: Any) -> None:
    """Write to the user's arguments what a call has written to copies of them."""
    if written is not None:
        objects_among(given).write(*written)
