"""Looks up names of mindspore in msjax, and says what to do without those that it lacks."""

from __future__ import annotations

import difflib
import importlib
import types
from typing import Any

# What to do without names of these modules, by the longest prefix.
_ADVICE = {
    "mindspore": "Leave it out, or use what the page 'Run your MindSpore program' names in its place.",
    "mindspore.nn": "Write the layer as a Cell of the layers that are there.",
    "mindspore.ops": "Write it with other operators, or lift a function of jax arrays with ms.from_jax.",
    "mindspore.mint": "Write it with other operators, or lift a function of jax arrays with ms.from_jax.",
    "mindspore.numpy": "Use ms.ops, or lift the function of jax.numpy with ms.from_jax.",
    "mindspore.scipy": "Lift the function of jax.scipy with ms.from_jax.",
    "mindspore.dataset": "Write it as a function for GeneratorDataset or map.",
    "mindspore.rewrite": "Write the changed network as a Cell; hooks change what a cell computes without rewriting it.",
    "mindspore.parallel": "Functionalize the network and give its parameters jax shardings.",
    "mindspore.train": "Write it as a Callback.",
    "mindspore.nn.probability": "Use jax.scipy.stats or a package of distributions, lifted with ms.from_jax.",
    "mindspore._c_expression": "It is a part of MindSpore's C++ code; use the public name.",
}


class MissingName(Exception):
    """A name is missing; its full name and what to do."""


def module_of(name: str) -> Any:
    """The module of a name such as "mindspore.nn"."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingName(name, _advice(name)) from None


def member(module: types.ModuleType, shown: str, name: str) -> Any:
    """What a module has of a name, which may be a module in it."""
    try:
        return getattr(module, name)
    except (AttributeError, ImportError):
        full = f"{shown}.{name}"
    try:
        return importlib.import_module(f"{module.__name__}.{name}")  # what Python looks for
    except ImportError:
        raise MissingName(full, _advice(full, module)) from None


def _advice(name, module=None):
    near = difflib.get_close_matches(name.rpartition(".")[2], dir(module) if module else (), 1, 0.8)
    prefix = name
    while prefix not in _ADVICE:
        prefix = prefix.rpartition(".")[0]
    return (f"msjax has {near[0]}. " if near else "") + _ADVICE[prefix]
