"""The rows of `tools.summary` for a Cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.dtype import from_np
from msjax.core.base.arrays import TracedValueError
from msjax.core.models.capture import capture
from msjax.core.tools.describing import hooks_in_words
from msjax.core.tools.model_tools import as_arrays
from msjax.core.tools.modules import shapes_of_calls
from msjax.functional.functionalize import functionalize


def rows(net: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The fields of each `SummaryRow`: the network, then each cell in it."""
    hooks = {name: hooks_in_words(cell) for name, cell in net.cells_and_names()}
    called = _outputs(net, inputs, kwargs) if inputs or kwargs else {}
    counted = set()
    for name, cell in net.cells_and_names():
        own = [p for _, p in cell._own_parameters() if id(p) not in counted]
        counted.update(map(id, own))
        trainable = sum(p.size for p in own if p.requires_grad)
        other = sum(p.size for p in own if not p.requires_grad)
        calls = called.get(name, [])
        outputs = tuple([(shape, str(from_np(jnp.dtype(dtype)))) for shape, dtype in calls[0]]) if calls else None
        yield name, type(cell).__name__, outputs, len(calls), trainable, other, hooks[name]


def _outputs(net, inputs, kwargs):
    try:
        state, (inputs, kwargs) = functionalize(net)[1:], as_arrays((inputs, kwargs))
        return shapes_of_calls(lambda state, *args, **kwargs: capture(net)(*state, *args, **kwargs), state, inputs, kwargs)
    except (TracedValueError, jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        raise RuntimeError(
            f"For 'summary', the network runs on shapes only, but it reads the values of Tensors: {str(error).splitlines()[0]}"
        ) from error
