"""What `tools.summary` shows of Cells: their Parameters, and the shapes of their outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.dtype import from_np
from msjax.core.base.arrays import TracedValueError
from msjax.core.models.capture import capture
from msjax.core.tools.model_tools import as_arrays
from msjax.core.tools.modules import shapes_of_calls
from msjax.functional.functionalize import functionalize


def weights(net: Any) -> Iterator[tuple[str, Any, bool]]:
    """(name, Parameter, whether it is trained)."""
    return ((name, p, p.requires_grad) for name, p in net.parameters_and_names())


def outputs(net: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, list[Any]]:
    """{path: for each call of a cell, ((shape, dtype), ...) of its outputs}."""
    try:
        state, (inputs, kwargs) = functionalize(net)[1:], as_arrays((inputs, kwargs))
        called = shapes_of_calls(lambda state, *args, **kwargs: capture(net)(*state, *args, **kwargs), state, inputs, kwargs)
    except (TracedValueError, jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        raise RuntimeError(
            f"For 'summary', the network runs on shapes only, but it reads the values of Tensors: {str(error).splitlines()[0]}"
        ) from error
    return {
        path: [tuple([(shape, str(from_np(jnp.dtype(dtype)))) for shape, dtype in call]) for call in calls]
        for path, calls in called.items()
    }
