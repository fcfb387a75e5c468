"""Looks for the first NaN of a Cell, or of a function of Tensors, in PyNative mode: for `tools.find_nan`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.bridge.pynative_search import PyNativeSearch
from msjax.common.tensor import Tensor, is_leaf, tensors_in, wrap
from msjax.core.tools.checking import Check
from msjax.core.tools.fault import Fault
from msjax.engine.autograd.grad import grad
from msjax.functional.functionalize import state_of
from msjax.nn.cell.base import Cell
from msjax.nn.wrap.cell_wrapper import TrainOneStepCell


def find_in_pynative_mode(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], check: Check, gradients: bool | None
) -> Fault | None:
    """The fault of a call, forward or backward; None if nothing is wrong."""
    models = [m for m in jax.tree.leaves((fn, args, kwargs), is_leaf=lambda v: isinstance(v, Cell)) if isinstance(m, Cell)]
    args, kwargs = jax.tree.map(lambda v: wrap(jnp.asarray(v)) if _is_array(v) else v, (args, kwargs), is_leaf=is_leaf)
    model, names = fn if isinstance(fn, Cell) else None, _names_of_tensors(args, kwargs)
    with kept_state(models) as state, PyNativeSearch(check, model, names=names) as found:
        out = tensors_in([fn(*args, **kwargs)])
        fault = found.fault([t._value for t in out])
        if fault is None:
            fault = found.fault([t._value for t in state], "a Parameter or buffer")
        if fault is not None:
            return fault
    if gradients is None:
        trains = any(isinstance(cell, TrainOneStepCell) for model in models for _, cell in model.cells_and_names())
        gradients = (isinstance(fn, Cell) and not trains) or [t.shape for t in out] == [()]
    weights = list({id(p): p for model in models for p in model.trainable_params()}.values())
    floats = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point())
    if not gradients or not (weights or floats) or not any(t.is_floating_point() for t in out):
        return None
    with kept_state(models), PyNativeSearch(check, model, names=names) as found:
        grads = tensors_in([grad(lambda *args: fn(*args, **kwargs), floats or None, weights or None)(*args)])
    named = [*(f"argument {i}" for i in floats), *(f"the Parameter {p.name!r}" for p in weights)]
    wrong = next((i for i, g in enumerate(grads) if check([g._value])), None)
    return None if wrong is None else found.fault([grads[wrong]._value], f"the gradient of {named[wrong]}")


def _names_of_tensors(args, kwargs):
    """{id of an array: its name} of the Tensors among the arguments."""
    named = [
        *((f"argument {i}", arg) for i, arg in enumerate(args)),
        *((f"argument {name}", arg) for name, arg in kwargs.items()),
    ]
    return {id(t._value): name for name, arg in named for t in tensors_in([arg])}


def _is_array(value):
    return not isinstance(value, Tensor) and hasattr(value, "dtype") and hasattr(value, "shape")


@contextlib.contextmanager
def kept_state(models: Sequence[Cell]) -> Any:
    """A context after which the Parameters, buffers and random state of Cells, which it gives, have their values of before."""
    states = [{**trained, **rest} for trained, rest in map(state_of, models)]
    before = [(tensor, tensor._value) for state in states for tensor in state.values()]
    try:
        yield [tensor for tensor, _ in before]
    finally:
        for tensor, value in before:
            tensor._set_value(value)
