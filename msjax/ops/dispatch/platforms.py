"""A kernel, or an error, for the platform that a program is compiled for, which is known when it is lowered, not when it is traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax.interpreters import mlir

from msjax.core.base import jax_slots
from msjax.core.door import STATE

_NAMES = {"cpu": "CPUs", "tpu": "TPUs", "cuda": "NVIDIA's GPUs", "rocm": "AMD's GPUs"}


def _only_cpus():
    """Whether the trace under way is that of a compiled function of msjax, whose program runs in this process, which has CPUs only.
    What `hooks.jit` and jax trace may be lowered for any platform."""
    if not STATE.msjax_compiles():
        return False
    return jax.config.jax_platforms in (None, "", "cpu") and jax.default_backend() == "cpu"


def on_cpu(kernel: Callable[..., Any], otherwise: Callable[..., Any], *values: Any, tpu: Callable[..., Any] | None = None) -> Any:
    """`kernel(*values)` in programs for CPUs, `otherwise(*values)` in those for all other platforms, or `tpu(*values)` for TPUs.

    jax's default backend doesn't say where a program will run: arrays may lie on another device, and `jax.export` and
    `lower(lowering_platforms=...)` make programs for platforms that this process hasn't. All functions are traced, except in
    compiled functions of a process that has CPUs only, so they should give results of the same shapes and dtypes; only one gets
    into the program.
    """
    if _only_cpus():
        # Tracing both took a third of the tracing.
        return kernel(*values)
    more = {} if tpu is None else {"tpu": tpu}
    return jax.lax.platform_dependent(*values, cpu=kernel, **more, default=otherwise)


def on_explicit_axes(*values: Any) -> bool:
    """Whether values lie on explicit axes of a mesh, where jax's own derivative knows how the gradients are sharded."""
    return any(jax.typeof(v).sharding.mesh.explicit_axes for v in values)


def not_on(platforms: Sequence[str], reason: str, kernel: Callable[..., Any], *values: Any) -> Any:
    """`kernel(*values)`, for which those platforms have no program: there, a NotImplementedError with a reason.

    It is raised when a program for one of the platforms is lowered: eagerly, in a compiled step, or by `jax.export`.
    """

    def refused(*values):
        # Without operands, so that it stands in the program whatever is done with it.
        mark = _refused_p.bind(reason=reason)
        shapes = jax.eval_shape(kernel, *values)
        return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype) + mark.astype(s.dtype), shapes)

    return jax.lax.platform_dependent(*values, **dict.fromkeys(platforms, refused), default=kernel)


_refused_p = jax.extend.core.Primitive("msjax_refused")
_refused_p.def_abstract_eval(lambda reason: jax.core.ShapedArray((), jnp.float32))


def _refuse(ctx, reason):
    platform = jax_slots.platform_of(ctx)
    raise NotImplementedError(f"{reason} for {_NAMES.get(platform, platform)}.")


mlir.register_lowering(_refused_p, _refuse)
