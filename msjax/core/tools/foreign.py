"""Records of PyTorch and MindSpore networks, and the file that they are written to.

This file needs numpy and safetensors, and imports nothing of msjax, so that it works where msjax isn't installed: MindSpore wants an
older numpy. Copy it there, or put its folder on the path: ``from foreign import record_mindspore``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import sys
from typing import Any

import numpy as np

KINDS = ("activation", "gradient", "parameter", "parameter_gradient", "buffer", "input")


class Recorder:
    """Collects what a run of a network computes, in order.

    Attributes:
        order: (name, class) of each call of a module; the second call of "relu" is "relu#1".
        arrays: {"activation/relu": array}: a kind of KINDS, and a name; of several arrays of one call, "lstm[0]", "lstm[1]".
        types: {"activation/relu": "bfloat16"}: of arrays of a type that numpy lacks, that type.
    """

    def __init__(self, framework: str):
        self.framework = framework
        self.order: list[tuple[str, str]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.types: dict[str, str] = {}
        self._calls: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}

    def call(self, path: str, cls: str, outputs: list[Any]) -> str:
        """Keep the outputs of a call of a module; returns the call's name."""
        count = self._calls[path] = self._calls.get(path, -1) + 1
        name = f"{path}#{count}" if count else path
        self._waiting.setdefault(path, []).append(name)
        self.order.append((name, cls))
        self._keep("activation", name, outputs)
        return name

    def gradients(self, path: str, grads: list[np.ndarray | None]) -> None:
        """Keep the gradients of the outputs of the latest call of a module whose gradients haven't come."""
        if self._waiting.get(path):
            self._keep("gradient", self._waiting[path].pop(), grads)

    def values(self, kind: str, named: dict[str, Any]) -> None:
        """Keep parameters, their gradients or buffers."""
        for name, value in named.items():
            if value is not None:
                self._put(f"{kind}/{name}", value)

    def inputs(self, inputs: Any, kwargs: Any) -> None:
        """Keep the inputs that are arrays, by their numbers or names."""
        named = {**{str(i): x for i, x in enumerate(inputs)}, **kwargs}
        self.values("input", {name: x for name, x in named.items() if hasattr(x, "dtype")})

    def _keep(self, kind, name, arrays):
        for i, array in enumerate(arrays):
            if array is not None:
                self._put(f"{kind}/{name}[{i}]" if len(arrays) > 1 else f"{kind}/{name}", array)

    def _put(self, name, value):
        if lacking := _lacking(value):
            self.types[name] = lacking
        self.arrays[name] = as_numpy(value)

    def write(self, path: Any) -> None:
        """Write a safetensors file."""
        from safetensors.numpy import save_file

        metadata = {"format": "msjax record 1", "framework": self.framework, "order": json.dumps(self.order)}
        metadata["types"] = json.dumps(self.types)
        save_file({name: np.ascontiguousarray(a) for name, a in self.arrays.items()}, str(path), metadata)


def _lacking(value):
    """The name of a value's type, if it is one that numpy lacks."""
    found = re.search(r"bfloat16|float8\w*", str(getattr(value, "dtype", "")).lower())
    return found and found[0]


def as_numpy(value: Any) -> np.ndarray:
    """A tensor of any framework as a numpy array; types that numpy lacks become Float32, jax's random keys the words of theirs."""
    for method in ("detach", "cpu"):
        value = getattr(value, method, lambda value=value: value)()
    if _lacking(value):
        value = value.float() if hasattr(value, "float") else np.asarray(value).astype(np.float32)
    if str(getattr(value, "dtype", "")).startswith("key<"):
        value = importlib.import_module("jax").random.key_data(value)
    return np.array(value.asnumpy() if hasattr(value, "asnumpy") else value)


def record_torch(model: Any, *inputs: Any, gradients: bool = True, loss: Any = None, path: Any = None, **kwargs: Any) -> Recorder:
    """Record a run of a PyTorch module; see `msjax.tools.record`.

    Args:
        model: a torch.nn.Module.
        inputs, kwargs: its inputs: torch tensors or numpy arrays.
        gradients (bool): whether gradients are recorded. Default: True.
        loss (callable, optional): from the result to the number that is differentiated; by default the sum of its values.
        path (optional): the file that is written.
    """
    torch = importlib.import_module("torch")

    found = Recorder("torch")
    found.inputs(inputs, kwargs)

    def keep(name, module, output):
        tensors = [t for t in _leaves(output) if isinstance(t, torch.Tensor)]
        found.call(name, type(module).__name__, tensors)
        if gradients and len(tensors) == 1 and tensors[0].requires_grad:
            tensors[0].register_hook(lambda grad: found.gradients(name, [grad]))

    with contextlib.ExitStack() as hooks, torch.set_grad_enabled(gradients):
        for name, module in model.named_modules():
            hooks.callback(module.register_forward_hook(lambda module, _, output, name=name: keep(name, module, output)).remove)
        args, named = _made(torch.from_numpy, inputs, kwargs)
        out = model(*args, **named)
        if gradients:
            total = sum(t.sum() for t in _leaves(out) if t.is_floating_point()) if loss is None else loss(out)
            parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
            grads = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
            found.values("parameter_gradient", dict(zip(parameters, grads)))
    found.values("parameter", dict(model.named_parameters()))
    found.values("buffer", {n: b for n, b in model.named_buffers() if b.is_floating_point()})
    return _written(found, path)


def record_mindspore(
    model: Any, *inputs: Any, gradients: bool = True, loss: Any = None, path: Any = None, **kwargs: Any
) -> Recorder:
    """Record a run of a MindSpore Cell, in PyNative mode; see `record_torch`, whose arguments it takes.

    Args:
        model: a mindspore.nn.Cell.
        inputs, kwargs: its inputs: MindSpore Tensors or numpy arrays.
        gradients, loss, path: see `record_torch`.
    """
    ms = importlib.import_module("mindspore")

    found = Recorder("mindspore")
    found.inputs(inputs, kwargs)

    def keep(name, cell, output):
        found.call(name, type(cell).__name__, [t for t in _leaves(output) if isinstance(t, ms.Tensor)])

    def total(*args):
        out = model(*args, **named)
        return sum(t.sum() for t in _leaves(out)) if loss is None else loss(out)

    tensors, named = _made(ms.Tensor, inputs, kwargs)
    weights = {p.name: p for p in model.trainable_params()}
    with contextlib.ExitStack() as hooks:
        for name, cell in model.cells_and_names():
            hooks.callback(cell.register_forward_hook(lambda cell, _, output, name=name: keep(name, cell, output)).remove)
            if gradients:
                back = cell.register_backward_pre_hook(lambda cell, grads, name=name: found.gradients(name, list(grads)))
                hooks.callback(back.remove)
        if gradients:
            _, grads = ms.value_and_grad(total, None, list(weights.values()))(*tensors)
            found.values("parameter_gradient", dict(zip(weights, grads)))
        else:
            model(*tensors, **named)
    found.values("parameter", weights)
    found.values("buffer", {p.name: p for p in model.get_parameters() if p.name not in weights})
    return _written(found, path)


def _made(make, inputs, kwargs):
    """The inputs, and those by name, with tensors in the places of numpy arrays."""
    tensors = {k: make(x) if isinstance(x, np.ndarray) else x for k, x in (*enumerate(inputs), *kwargs.items())}
    return [tensors[i] for i in range(len(inputs))], {name: tensors[name] for name in kwargs}


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _written(found, path):
    if path is not None:
        found.write(path)
    return found


def framework_of(model: Any) -> str | None:
    """ "torch" or "mindspore" for a module of these; None for anything else."""
    for name, base in (("torch", "Module"), ("mindspore", "Cell")):
        loaded = sys.modules.get(f"{name}.nn")
        if loaded is not None and isinstance(model, getattr(loaded, base)):
            return name
    return None
