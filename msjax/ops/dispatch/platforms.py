"""A kernel for the platform that a program is compiled for, which is known when it is lowered, not when it is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from msjax.hooks.batching import calls_are_outputs


def on_cpu(kernel: Callable[..., Any], otherwise: Callable[..., Any], *values: Any) -> Any:
    """`kernel(*values)` in programs for CPUs, `otherwise(*values)` in those for all other platforms.

    jax's default backend doesn't say where a program will run: arrays may lie on another device, and `jax.export` and
    `lower(lowering_platforms=...)` make programs for platforms that this process hasn't. Both functions are traced, except in
    compiled functions of a process that has CPUs only, so they should give results of the same shapes and dtypes; only one gets
    into the program.

    Args:
        kernel, otherwise: functions of arrays; neither calls `on_cpu` itself.
        values: arrays, or pytrees of them.

    Example:
        >>> import jax
        >>> from msjax.ops.dispatch.platforms import on_cpu
        >>> shout = jax.jit(lambda x: on_cpu(lambda x: x + 1, lambda x: x + 2, x))
        >>> shout.trace(1.0).lower(lowering_platforms=("cuda",)).as_text().count("2.0")
        1
    """
    if calls_are_outputs() and jax.default_backend() == "cpu":
        # A program of msjax's own runs in this process, where there is nothing else; tracing both took a third of its tracing.
        return kernel(*values)
    return jax.lax.platform_dependent(*values, cpu=kernel, default=otherwise)
