"""The options with which XLA compiles small programs: those of operators, and those that a search for a fault runs once."""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Sequence
from typing import Any

import jax

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer


@functools.cache
def quick_options() -> dict[str, Any]:
    """The options for small programs: compiling takes a third of the time, results to the last bit and speed stay.

    Empty where XLA does not compile for a CPU, or lacks the options.
    """
    if jax.default_backend() != "cpu" or not importlib.metadata.version("jaxlib").startswith("0.10."):
        return {}
    options = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
    if not jax_slots.settings().get("jax_disable_most_optimizations"):
        options["xla_backend_optimization_level"] = 1
    given = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in options.items() if name not in given}


def platform_of(values: Sequence[Any]) -> str:
    """The platform that a program of these operands is compiled for: that of arrays that are tied to a device, or jax's default."""
    for value in values:
        if isinstance(value, jax.Array) and not is_tracer(value) and value.committed:
            return next(iter(value.devices())).platform
    default = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return jax.default_backend() if default is None else getattr(default, "platform", default)


def options_for(values: Sequence[Any]) -> dict[str, Any]:
    """`quick_options`, for operands on CPUs."""
    return quick_options() if platform_of(values) == "cpu" else {}
