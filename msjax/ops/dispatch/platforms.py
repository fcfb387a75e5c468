"""A kernel for the platform that a program is compiled for, which is known when it is lowered, not when it is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def on_cpu(kernel: Callable[..., Any], otherwise: Callable[..., Any], *values: Any) -> Any:
    """`kernel(*values)` in programs for CPUs, `otherwise(*values)` in those for all other platforms.

    jax's default backend doesn't say where a program will run: arrays may lie on another device, and `jax.export` and
    `lower(lowering_platforms=...)` make programs for platforms that this process hasn't. Both functions are traced, so they
    should give results of the same shapes and dtypes; only one gets into the program.

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
    return jax.lax.platform_dependent(*values, cpu=kernel, default=otherwise)
