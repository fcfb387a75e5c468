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


# Milliseconds of the processor to compile (jax 0.10.2), by default, with older code, in one piece, at level 1: a + b 60, 23, 17, 17; BatchNorm's
# gradient 213, 114, 84, 82; that of a convolution 3x3 424, 122, 87, 78. Tried, and not worth it: level 0 (a quarter of the time again, but two to
# four times as long to run, and other last bits); `xla_cpu_opt_preset` (no faster); no expensive passes, narrower vectors (within 10 %);
# elementwise operators on flattened arrays, no locations of source lines, no Shardy (the same); jaxlib 0.12, which has no older code.
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
        if not is_tracer(value) and getattr(value, "committed", False):  # isinstance(value, jax.Array) takes half a microsecond
            return next(iter(value.devices())).platform
    default = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return jax.default_backend() if default is None else getattr(default, "platform", default)


def options_for(values: Sequence[Any]) -> dict[str, Any]:
    """`quick_options`, for operands on CPUs: for small programs alone, as older code takes twice as long to compile a model's gradient."""
    return quick_options() if platform_of(values) == "cpu" else {}


def options_of_few_runs(values: Sequence[Any]) -> dict[str, Any]:
    """`options_for` operands, of a program that runs a few times: compiling takes a third of the time again, a run twice as long."""
    options, level = options_for(values), "xla_backend_optimization_level"
    return {**options, level: 0} if level in options else options
