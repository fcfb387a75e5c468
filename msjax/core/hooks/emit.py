"""Emits calls of Python functions within a program, for one device or several, on any platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from msjax.core.base import jax_slots


class CallbackSite:
    """The place in a program that is being lowered where a callback is emitted.

    Attributes:
        ctx: the context of the lowering rule.
        platform: the name of the platform that the program is lowered for.
        here: whether this machine has that platform. One that it lacks is lowered for to be looked at or exported.
        sharded: whether the program is for several devices.
    """

    def __init__(self, ctx: mlir.LoweringRuleContext):
        self.ctx, self.here = jax_slots.lowering_here(ctx)
        self.platform: str = jax_slots.platform_of(ctx)
        axes = jax_slots.manual_axes(ctx)
        if axes is not None and set(axes[0]) != set(axes[1]):
            raise NotImplementedError(
                f"Hooks under jax.shard_map need all axes of the mesh to be manual: {axes[1]}, but only {axes[0]} are."
            )
        self._manual = axes is not None
        self.sharded: bool = self._manual or jax_slots.device_count(ctx) > 1

    def emit(self, on_host: Callable[..., tuple[Any, ...]], operands: Sequence[Any]) -> Sequence[Any]:
        """Emit a call of `on_host` with numpy arrays.

        In a program for several devices, the first one calls it, once, with whole values; under jax.shard_map, each device
        does, with its own part.

        Args:
            on_host: a function from numpy arrays to a tuple of them, of the types that the rule's `avals_out` say.
            operands: what it is called with.

        Returns:
            The results.
        """
        ctx = self.ctx
        if self.sharded and self.platform == "tpu":
            # There, a callback is several operations, to which only jax can give a sharding.
            shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_out]

            def through_jax(*values):
                return jax.pure_callback(lambda *v: list(on_host(*map(np.asarray, v))), shapes, *values)

            # A context takes the tokens of one rule; the caller's is for its own.
            rule = mlir.lower_fun(through_jax, multiple_results=True)
            return [r for rs in rule(ctx.replace(avals_in=ctx.avals_in), *operands) for r in _flat(rs)]
        sharding = self._sharding() if self.sharded else None
        return jax_slots.emit_callback(ctx, on_host, operands, sharding)

    def _sharding(self):
        """(attribute, its text) that say where the callback runs."""
        if not jax_slots.setting("jax_use_shardy_partitioner"):
            return "mhlo.sharding", '"{manual}"' if self._manual else '"{maximal device=0}"'
        if self._manual:
            shardings = [f"<mesh<[]>, [{', '.join(['{}'] * aval.ndim)}]>" for aval in self.ctx.avals_out]
        else:
            shardings = ["<mesh<[], device_ids=[0]>, []>"] * len(self.ctx.avals_out)
        return "sdy.sharding", f"#sdy.sharding_per_value<[{', '.join(shardings)}]>"


def _flat(results):
    return results if isinstance(results, (list, tuple)) else [results]
