"""Runs a network whose cells get what another network's cells have computed, so that errors of earlier cells are not in their outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.core.base.arrays import is_tracer
from msjax.core.models.frameworks.registry import registry_of
from msjax.core.models.hooked import as_function, hooked, unhooked
from msjax.core.models.module_hooks import register_forward_hook
from msjax.core.tools.hook_set import names_in
from msjax.nn.cell.base import Cell


def can_be_fed(model: Any) -> bool:
    """Whether a model can be run so: a Cell, an nnx module, or a model of linen, equinox or haiku."""
    return isinstance(model, nnx.Module) or unhooked(model) is not None or registry_of(model) is not None


def outputs_when_fed(model: Any, inputs: Sequence[Any], values: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """Run a model; the output of each cell is looked at, and then replaced by the other network's.

    Args:
        model: one for which `can_be_fed`.
        inputs: what it is called with.
        values: {name of a call, as records have it: the other network's output}.

    Returns:
        {name of a call: output}, in order of execution; of calls in which jax traces, none.
    """
    found, calls = {}, {}

    def replaced(name, output):
        count = calls[name] = calls.get(name, -1) + 1
        name = f"{name}#{count}" if count else name
        leaves, treedef = jax.tree.flatten(output, is_leaf=is_leaf)
        for i, leaf in enumerate(leaves):
            value = leaf._value if isinstance(leaf, Tensor) else leaf
            key = f"{name}[{i}]" if len(leaves) > 1 else name
            other = values.get(key)
            if not hasattr(value, "dtype") or is_tracer(value):
                continue
            found[key] = np.asarray(value)
            if other is not None and other.size == value.size and (other.shape == value.shape or other.ndim != value.ndim):
                new = jnp.asarray(other).reshape(value.shape).astype(value.dtype)
                leaves[i] = wrap(new) if isinstance(leaf, Tensor) else new
        return jax.tree.unflatten(treedef, leaves)

    if isinstance(model, Cell):
        inputs = [wrap(jnp.asarray(x)) if hasattr(x, "dtype") and not isinstance(x, Tensor) else x for x in inputs]
        handles = [
            cell.register_forward_hook(lambda cell, args, out, name=name: replaced(name, out), observe=False)
            for name, cell in model.cells_and_names()
        ]
    else:
        model = hooked(model)
        name_of = names_in(model)
        handles = [register_forward_hook(model, lambda module, args, out: replaced(name_of(module), out), "*", observe=False)]
    try:
        (model if isinstance(model, nnx.Module) else as_function(model))(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found
