"""What a program depends on: the Tensors that it may read or write, and the Python values that it is compiled for.

A survey starts from the function or cell that is compiled and follows attributes, closures and the
globals that its code names. What it overlooks is found when the program is traced.
"""

from __future__ import annotations

import itertools
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flax import nnx

from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.flax_slots import is_module_state
from msjax.hooks.table import GLOBAL, HookTable

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Type, np.dtype, type(Ellipsis), slice)
_LIBRARIES = frozenset(
    ("jax", "jaxlib", "numpy", "flax", "optax", "msjax", "builtins", "torch", "matplotlib", "rich", "IPython", "pytest")
)
_DEPTH = 5
_UNCOUNTED = ("_special",)  # follows from the hooks

_SERIALS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


_NUMBERS = itertools.count(1)


def serial(cell: Any) -> int:
    """A number for a cell that no other cell of the process ever has."""
    number = _SERIALS.get(cell)
    if number is None:
        number = _SERIALS[cell] = next(_NUMBERS)
    return number


class Guards:
    """What was found from some roots.

    Attributes:
        variables: Tensors, Parameters and Buffers.
        key: hashable; equal for two surveys exactly if the same programs serve both.
        watched: functions that read names which the code uses; `seen` has what they gave.
        refs: what `key` names by its identity, kept alive.
    """

    def __init__(self, roots: list[Callable[..., Any]]):
        self.variables, self.watched, self.seen, self.refs = [], [], [], []
        self._visited = set()
        self._key = [GLOBAL.table]
        for root in roots:
            self._visit(root, 0)
        self.key = tuple(self._key)
        del self._key, self._visited

    def hold(self) -> bool:
        """True if the names that the code uses still stand for the same."""
        for (read, name), seen in zip(self.watched, self.seen):
            if read(name) is not seen:
                return False
        return True

    # ---- walking

    def _visit(self, value, depth):
        kind = type(value)
        if kind in _PLAIN:
            self._key.append((kind, value) if kind is not slice else str(value))
        elif isinstance(value, Tensor):
            self._tensor(value)
        elif isinstance(value, nnx.Module):
            self._cell(value)
        elif isinstance(value, HookTable):
            self._key.append(value)
        elif kind in (list, tuple, set, frozenset) or isinstance(value, (list, tuple)):
            self._several(value, list(value), depth)
        elif isinstance(value, dict):
            self._several(value, [*map(str, value), *value.values()], depth)
        else:
            self._other(value, depth)

    def _several(self, whole, items, depth):
        self._key.append((type(whole).__name__, len(items)))
        if depth < _DEPTH and len(items) <= 1000:
            for item in items:
                self._visit(item, depth + 1)

    def _tensor(self, tensor):
        hooks = tensor.__dict__.get("_hooks")
        self._key.append((
            "tensor", id(tensor), tensor.requires_grad if isinstance(tensor, Parameter) else None,
            tuple(hooks.hooks) if hooks else (),
        ))  # fmt: skip
        if id(tensor) not in self._visited:
            self._visited.add(id(tensor))
            self.variables.append(tensor)

    def _cell(self, cell):
        self._key.append(("cell", serial(cell)))
        if id(cell) in self._visited:
            return
        self._visited.add(id(cell))
        for name, value in vars(cell).items():
            # What is as the class has it may as well not be there: so it is again after a hook was removed.
            if name in _UNCOUNTED or is_module_state(name) or getattr(type(cell), name, self) is value:
                continue
            self._key.append(name)
            self._visit(value, 1)
        self._key.append("end")

    def _other(self, value, depth):
        if isinstance(value, types.ModuleType) or id(value) in self._visited:
            return
        self._key.append(("object", id(value)))
        self.refs.append(value)
        self._visited.add(id(value))
        if depth >= _DEPTH or isinstance(value, (type, jax.Array, np.ndarray, np.generic)):
            return
        if isinstance(value, types.MethodType):
            self._visit(value.__self__, depth + 1)
            self._function(value.__func__, depth)
        elif isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif hasattr(value, "func") and hasattr(value, "keywords"):
            self._several(value.args, [value.func, *value.args, *value.keywords.values()], depth)
        elif type(value).__module__.split(".")[0] not in _LIBRARIES or type(value).__module__.startswith("msjax"):
            for item in [*getattr(value, "__dict__", {}).values()]:
                self._visit(item, depth + 1)

    def _function(self, function, depth):
        code = function.__code__
        for cell in function.__closure__ or ():
            self._name(_cell_contents, cell, depth)
        for default in function.__defaults__ or ():
            self._visit(default, depth + 1)
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self._visit(wrapped, depth + 1)
        if (function.__module__ or "").split(".")[0] in _LIBRARIES:
            return
        for name in _global_names(code):
            if name in function.__globals__:
                self._name(function.__globals__.get, name, depth)

    def _name(self, read, name, depth):
        value = read(name)
        if isinstance(value, (types.ModuleType, type)):
            return
        self.watched.append((read, name))
        self.seen.append(value)
        self._visit(value, depth + 1)


def _cell_contents(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _global_names(code):
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_global_names(constant))
    return names
