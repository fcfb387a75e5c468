"""record: what a network computes in one run, its gradients and parameters, as one object or file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flax import nnx

from msjax.core.base.arrays import check_at_hand
from msjax.core.base.checks import check_bool, check_path
from msjax.core.base.errors import check_function, describe, on_behalf_of
from msjax.core.models.capture import capture, sum_of_floats
from msjax.core.models.frameworks.framework import framework_of, registry_of
from msjax.core.models.hooked import as_function, hooked, paths, unhooked
from msjax.core.models.inputs import call_of
from msjax.core.tools import foreign
from msjax.core.tools.model_tools import as_arrays, tools_of


class Record(foreign.Recorder):
    """What one run of a network computed, in order; `record` makes it, and `compare` compares two.

    Attributes:
        framework (str): where it was computed: "msjax", "torch", "mindspore".
        order (list): (name, class) of each call of a cell, in the order in which they returned.
        arrays (dict): {"activation/fc1": numpy array}: the kinds are activation, gradient (of the result with respect to the
            activation), parameter, parameter_gradient, buffer (as it is after the run) and input.
    """

    @classmethod
    def read(cls, path: Any) -> Record:
        """Read a file that `record` or the recorders of other frameworks wrote.

        Raises:
            FileNotFoundError, ValueError: there is no such file, it is no record, or is cut off.
        """
        from safetensors import SafetensorError, safe_open

        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no file {str(path)!r}.")
        try:
            with safe_open(str(path), "numpy") as file:
                metadata = file.metadata() or {}
                if not metadata.get("format", "").startswith("msjax record"):
                    raise ValueError(f"The file {path} is no record: it was written by something else than tools.record.")
                found = cls(metadata["framework"])
                found.order = [(name, kind) for name, kind in json.loads(metadata["order"])]
                found.types = json.loads(metadata.get("types", "{}"))
                found.arrays = {name: file.get_tensor(name) for name in file.keys()}
        except SafetensorError as error:
            size = os.path.getsize(path)
            what = "is empty" if not size else "is no record, or is cut off"
            raise ValueError(f"The file {str(path)!r} ({size:,} bytes) {what}: {error}") from error
        return found

    def of(self, kind: str) -> dict[str, np.ndarray]:
        """The arrays of one kind by their names; activations and gradients in order of execution."""
        found = {name.partition("/")[2]: a for name, a in self.arrays.items() if name.partition("/")[0] == kind}
        place = {name: i for i, (name, _) in enumerate(self.order)}
        return dict(sorted(found.items(), key=lambda item: place.get(item[0].partition("[")[0], -1)))

    def __repr__(self) -> str:
        return f"<record of {len(self.order)} calls and {len(self.arrays)} arrays, {self.framework}>"


@on_behalf_of("record")
def record(
    model: Any, *inputs: Any, gradients: bool = True, loss: Callable[[Any], Any] | None = None, mode: str | None = None,
    path: Any = None, **kwargs: Any,
) -> Record:  # fmt: skip
    """Record what a network computes: activations, gradients with respect to them, Parameters and their gradients, buffers.

    Args:
        model: a Cell, a flax nnx module, a model of linen, equinox or haiku (called as by `hooks.capture`), or a function of jax arrays
            (whose places are those that `hooks.site` names); or a torch.nn.Module, or a Cell of MindSpore itself, whose package has
            to be installed.
        inputs, kwargs: what it is called with; jax and numpy arrays serve all of them. An `hooks.Inputs` stands for all.
        gradients (bool): whether gradients are recorded. Default: True.
        loss (callable, optional): from the result to the number that is differentiated. By default the sum of the result's values.
        mode (str, optional): how a Cell runs: "pynative", "graph" or "functional" (as a pure function). By default the current mode.
        path (optional): a safetensors file to be written; needs the package safetensors.

    Returns:
        A `Record`. The buffers of a Cell keep their values.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> import jax.numpy as jnp
        >>> from msjax import nn, tools
        >>> net = nn.SequentialCell(nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), nn.ReLU())
        >>> found = tools.record(net, jnp.array([[1.0, 2.0]], "float32"))
        >>> print(found.order)
        [('0', 'Dense'), ('1', 'ReLU'), ('', 'SequentialCell')]
        >>> print(found.arrays["activation/0"], found.arrays["gradient/0"], found.arrays["parameter_gradient/0.weight"])
        [[3.]] [[1.]] [[1. 2.]]
    """
    check_bool(gradients, "gradients", "record")
    if path is not None:
        check_path(path, "path", "record")
    if loss is not None:
        check_function(loss, "record", "loss", ("result",))
    tools, (args, kwargs) = tools_of(model), call_of(inputs, kwargs)
    check_at_hand((model, args, kwargs), "record")
    framework = None if tools is not None else foreign.framework_of(model)
    if framework is not None:
        made = getattr(foreign, f"record_{framework}")(model, *args, gradients=gradients, loss=loss, path=path, **kwargs)
        found = Record(framework)
        found.order, found.arrays, found.types = made.order, made.arrays, made.types
        return found
    found = Record("msjax")
    found.inputs(args, kwargs)
    modes = ("pynative", "graph", "functional")
    if mode is not None and (mode not in modes or tools is None):
        raise ValueError(f"For 'record', 'mode' should be one of {', '.join(modes)}, for a Cell, but got {mode!r}.")
    if tools is not None:
        tools.record(found, model, (args, kwargs), gradients, loss, mode)
    elif callable(model) or unhooked(model) is not None:
        _capture(found, model, as_arrays((args, kwargs)), gradients, loss)
    else:
        raise TypeError(f"For 'record', the model should be a Cell, a module or a function, but got {describe(model)}.")
    if path is not None:
        found.write(path)
    return found


def _capture(found, model, call, gradients, loss):
    (args, kwargs), total = call, loss or sum_of_floats
    model = hooked(model) if unhooked(model) is not None else model
    params, of_params = _weights(model, args, kwargs, total)
    captured = capture(model, "*", gradients=gradients, loss=total if gradients else None)(*args, **kwargs)[1]
    found.values("parameter", params)
    if gradients and params and of_params is not None:
        found.values("parameter_gradient", jax.grad(of_params)(params))
    # The modules of a linen or haiku model are known when it has run.
    keep_captured(found, captured, {name: type(m).__name__ for name, m in paths(model).items()} if framework_of(model) else {})


def keep_captured(found: Record, captured: Any, classes: dict[str, str]) -> None:
    """Record what was captured; `classes` are {path: class} of the modules."""
    for name, value in captured.activations.items():
        found.order.append((name, classes.get(name.partition("#")[0], "site")))
        found._keep("activation", name, jax.tree.leaves(value))
    for name, value in captured.gradients.items():
        found._keep("gradient", name, jax.tree.leaves(value))


def _weights(model, inputs, kwargs, total):
    """({name: array} of what a model trains, the result as a function of it)."""
    if isinstance(model, nnx.Module):
        graph, state, rest = nnx.split(model, nnx.Param, ...)
        flat = nnx.to_flat_state(state)
        rest = jax.tree.map(lambda value: value, rest)  # as it is now: a run may write to the variables themselves

        def of_params(params):
            new = nnx.from_flat_state([(path, v.replace(params[".".join(map(str, path))])) for path, v in flat])
            return total(nnx.merge(graph, new, rest, copy=True)(*inputs, **kwargs))

        return {".".join(map(str, path)): v[...] for path, v in flat}, of_params
    registry = registry_of(model)
    if registry is None:
        return {}, None
    names = {id(array): name for name, array, trained in registry.weights(model, inputs) if trained}
    call = as_function(model)
    leaves, treedef = jax.tree.flatten((call, inputs) if call is model else inputs)

    def of_weights(params):
        given = jax.tree.unflatten(treedef, [params.get(names.get(id(leaf)), leaf) for leaf in leaves])
        return total(given[0](*given[1], **kwargs) if call is model else call(*given, **kwargs))

    return {names[id(leaf)]: leaf for leaf in leaves if id(leaf) in names}, of_weights
