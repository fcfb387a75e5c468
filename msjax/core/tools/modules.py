"""What summary shows of the modules of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from flax import nnx

from msjax.core.base.split import Split
from msjax.core.models.capture import capture
from msjax.core.models.frameworks.framework import registry_of
from msjax.core.models.hooked import paths
from msjax.core.tools.describing import hooks_in_words
from msjax.core.tools.model_tools import tools_of


def described(model: Any, inputs: Any, kwargs: Any) -> Iterator[tuple[Any, ...]]:
    """The fields of each `SummaryRow`. If there are arguments (those of `apply`, where a model has one), it is called on shapes only.

    A module stands right behind the one that it is in, and its label is indented. A weight counts for the innermost module that it is in.
    """
    tools = tools_of(model)
    called = (_outputs if tools is None else tools.outputs)(model, inputs, kwargs) if inputs or kwargs else {}
    modules = paths(model)
    trained, others = dict.fromkeys(modules, 0), dict.fromkeys(modules, 0)
    for name, array, is_trained in _weights(model, inputs) if tools is None else tools.weights(model):
        owner = _around(name, modules)
        if owner is not None:
            (trained if is_trained else others)[owner] += np.size(array)  # of an nnx variable that holds a plain number, too
    for name, label in _labels(modules):
        module, calls = modules[name], called.get(name, [])
        hooks, outputs = hooks_in_words(module), calls[0] if calls else None
        yield name, type(module).__name__, outputs, len(calls), trained[name], others[name], hooks, label


def _around(name, modules):
    """The path of the innermost module around a module or a weight, or None."""
    while name:
        name = name.rpartition(".")[0]
        if name in modules:
            return name
    return None


def _labels(modules):
    inside = {}
    for name in modules:
        inside.setdefault(_around(name, modules), []).append(name)

    def below(outer, depth):
        for name in inside.get(outer, ()):
            yield name, "  " * depth + (name[len(outer) + 1 if outer else 0 :] or "(network)")
            yield from below(name, depth + 1)

    return below(None, 0)


def _weights(model, inputs):
    registry = registry_of(model)
    if registry is not None:
        return registry.weights(model, inputs)
    flat = nnx.to_flat_state(nnx.state(model, nnx.Not(nnx.RngState)))
    return [
        (".".join(map(str, at)), leaf, isinstance(variable, nnx.Param))
        for at, variable in flat
        for leaf in jax.tree.leaves(variable)
    ]


def _outputs(model, inputs, kwargs):
    graphdef, state = nnx.split(model) if isinstance(model, nnx.Module) else (None, None)

    def run(state, /, *args, **kwargs):
        return capture(model if graphdef is None else nnx.merge(graphdef, state))(*args, **kwargs)

    return shapes_of_calls(run, state, inputs, kwargs)


def shapes_of_calls(captured: Callable[..., Any], state: Any, inputs: Any, kwargs: Any) -> dict[str, list[Any]]:
    """{path: for each call of a module, ((shape, dtype), ...) of its outputs}; the steps of a loop are one call, with a first axis of their own.

    ``captured(state, *inputs, **kwargs)`` returns (result, `Captured`). It runs on shapes only.
    """

    def run(state, given):
        args, named = given.joined()
        return captured(state, *args, **named)[1].activations

    called, given = {}, Split.of((inputs, kwargs), lambda leaf: hasattr(leaf, "shape") and hasattr(leaf, "dtype"))
    for name, value in jax.eval_shape(run, state, given).items():
        shapes = tuple((tuple(leaf.shape), str(leaf.dtype)) for leaf in jax.tree.leaves(value))
        called.setdefault(name.partition("#")[0], []).append(shapes)
    return called
