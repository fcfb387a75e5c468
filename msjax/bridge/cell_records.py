"""What a Cell computes, for `tools.record`: by hooks in PyNative and graph mode, by captures as a pure function; and on shapes, for `tools.summary`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.dtype import from_np
from msjax.common.tensor import Tensor, tensors_in
from msjax.common.tensor_values import TENSORS
from msjax.core.base.arrays import TracedValueError
from msjax.core.models.capture import NothingToDifferentiateError, capture, sum_of_floats
from msjax.core.models.inputs import Call
from msjax.core.tools.model_tools import as_arrays, as_values
from msjax.core.tools.recording import Record, keep_captured
from msjax.core.tools.summarize import shapes_of_calls
from msjax.engine.autograd.grad import value_and_grad
from msjax.engine.autograd.memory import Held
from msjax.engine.settings.current import GRAPH_MODE, PYNATIVE_MODE, SETTINGS
from msjax.functional.functionalize import RANDOM, functionalize, state_of
from msjax.nn.cell.base import Cell


def record_cell(
    found: Record, net: Cell, call: Call, gradients: bool, loss: Callable[[Any], Any] | None, mode: str | None
) -> None:
    """Fill the record of one run."""
    if mode == "functional":
        _capture(found, net, as_arrays(call), gradients, loss or sum_of_floats)
        return
    inputs, kwargs = as_values(call, TENSORS)
    before = SETTINGS.mode
    weights, rest = state_of(net)

    def keep(name, cell, output):
        found.call(name, type(cell).__name__, tensors_in([output]))

    with contextlib.ExitStack() as hooks, Held([*weights.values(), *rest.values()]):
        for name, cell in net.cells_and_names():
            hooks.enter_context(cell.register_forward_hook(lambda cell, _, out, name=name: keep(name, cell, out), observe=True))
            if gradients:
                back = lambda _, grads, name=name: found.gradients(name, list(grads))  # noqa: E731
                hooks.enter_context(cell.register_backward_pre_hook(back, observe=True))
        try:
            SETTINGS.mode = {"pynative": PYNATIVE_MODE, "graph": GRAPH_MODE}.get(mode or "", before)
            if gradients:
                floats = tuple(i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_floating_point())
                if not (floats or weights):
                    raise NothingToDifferentiateError("For 'record', no input or Parameter has a gradient: give gradients=False.")
                total = loss or (lambda out: out)
                run = net if loss is None and not kwargs else lambda *inputs: total(net(*inputs, **kwargs))
                _, grads = value_and_grad(run, floats or None, list(weights.values()) or None)(*inputs)
                if weights:
                    grads = grads[1] if floats else grads
                    grads = grads if isinstance(grads, (tuple, list)) else [grads]
                    found.values("parameter_gradient", dict(zip(weights, grads)))
            else:
                net(*inputs, **kwargs)
            found.values("buffer", {name: t for name, t in rest.items() if name != RANDOM and t.is_floating_point()})
        finally:
            SETTINGS.mode = before
    found.values("parameter", weights)


def _capture(found, net, call, gradients, total):
    args, kwargs = call
    apply, params, buffers = functionalize(net)
    (_, after), captured = capture(net, "*", gradients=gradients, loss=total)(params, buffers, *args, **kwargs)
    found.values("buffer", {n: b for n, b in after.items() if n != RANDOM and jnp.issubdtype(b.dtype, jnp.inexact)})
    found.values("parameter", params)
    if gradients and params:
        found.values("parameter_gradient", jax.grad(lambda params: total(apply(params, buffers, *args, **kwargs)[0]))(params))
    keep_captured(found, captured, {name: type(cell).__name__ for name, cell in net.cells_and_names()})


# ---- for summary


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
