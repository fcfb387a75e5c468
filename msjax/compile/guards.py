"""What a program depends on: the Tensors that it may read or write, and the Python values that it is compiled for.

The walk starts from the function or cell that is compiled and follows attributes, closures, containers, and the globals that
its code names. Tensors that it overlooks are found when the program is traced.
"""

from __future__ import annotations

import collections
import functools
import itertools
import sys
import types
import weakref
from operator import is_
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from flax import nnx

from msjax.base.flax_slots import is_module_state
from msjax.base.state import VERSION
from msjax.common.bases import CellBase
from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.hooks.table import GLOBAL, HookTable

if TYPE_CHECKING:
    from msjax.nn.cell import Cell


# Values that programs are compiled for.
STATIC = (type(None), bool, int, float, complex, str, bytes, Type, np.dtype, type(Ellipsis), slice)
_LIBRARIES = sys.stdlib_module_names | frozenset(
    ("jax", "jaxlib", "numpy", "flax", "optax", "msjax", "mindspore", "scipy", "torch", "matplotlib", "rich", "IPython", "pytest")
) - {"__main__"}  # fmt: skip
_DEPTH = 5
_LONGEST = 1000  # items of a container that are looked at
_LARGEST = 1 << 16  # bytes of a numpy array that are compared
# Classes of the standard library whose attributes are the user's.
_NAMESPACES = (
    "types.SimpleNamespace",
    "argparse.Namespace",
    "collections.UserDict",
    "collections.UserList",
    "collections.ChainMap",
)
# Containers that code may change, and whose items have an order.
_ORDERED = (list, collections.deque)
_UNCOUNTED = ("_special",)  # follows from the hooks

_SERIALS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


# {class of cells: (count of changes of such classes, what `_called_methods` found)}.
_METHODS: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()

_NUMBERS = itertools.count(1)


def serial(cell: Cell) -> int:
    """A number for a cell that no other cell of the process ever has."""
    number = _SERIALS.get(cell)
    if number is None:
        number = _SERIALS[cell] = next(_NUMBERS)
    return number


class Guards:
    """What was found from some roots.

    Args:
        roots: functions, cells and other objects.
        logs: {id: list} of lists that running the program makes longer; what they hold makes no difference.
        everything: True keeps `mutable` and `cells`.

    Attributes:
        variables: Tensors, Parameters and Buffers.
        key: hashable; equal for two walks exactly if the same programs serve both.
        watched: functions that read names which the code uses; `seen` has what they gave.
        containers: (container, what it held) of the lists, sets, dicts and numpy arrays that the code uses; attributes of
            objects that are no cells count as such.
        mutable: all dicts, lists and sets that were found.
        cells: the cells and other modules that were found.
        refs: what `key` names by its identity, kept alive.
        hooks: the hooks of the cells that were found.
        tensor_hooks: (hooks of a Tensor, number of one of them).
    """

    def __init__(self, roots: list[Any], logs: dict[int, list] | None = None, everything: bool = False):
        self.variables, self.watched, self.seen, self.refs = [], [], [], []
        self.containers, self.mutable, self.cells = [], [], []
        self.hooks, self.tensor_hooks = GLOBAL.table.all(), []
        self._logs = logs or {}
        self._visited, self._names, self._found = set(), set(), []
        self._key, self._spans, self._spaces = [GLOBAL.table], {}, []
        for root in roots:
            self._visit(root, 0)
        self._visit_spaces()
        self.key: tuple[HookTable, ...] = tuple(self._key)
        # An attribute that no code names is read by no code: a list in which hooks keep values, say.
        for attribute, container in self._found:
            if attribute is None or attribute in self._names:
                self.containers.append((container, _contents(container)))
        del self._key, self._visited, self._names, self._found, self._spaces
        if not everything:
            del self.mutable, self.cells

    def hold(self) -> bool:
        """True if the names that the code uses still stand for the same, and containers still hold the same."""
        for (read, name), seen in zip(self.watched, self.seen):
            if read(name) is not seen:
                return False
        return not self.containers or self.containers_hold()

    def containers_hold(self) -> bool:
        """True if all containers still hold the same."""
        for container, held in self.containers:
            if not _same(container, held):
                return False
        return True

    def stale(self) -> bool:
        """True if a hook was removed: the key never comes again."""
        return any(hook.removed for hook in self.hooks) or any(number not in hooks for hooks, number in self.tensor_hooks)

    def grown(self) -> dict[int, list]:
        """{id: list} of the lists and deques that were only added to."""
        return {
            id(container): container
            for container, held in self.containers
            if isinstance(container, _ORDERED) and _only_added(container, held)
        }

    def key_without(self, logs: dict[int, list]) -> tuple:
        """The key as it would be if some lists had been known to be logs."""
        key, end = [], 0
        for i, (start, stop) in sorted(self._spans.items(), key=lambda item: item[1]):
            if i in logs and start >= end:
                key += [*self.key[end:start], _log(i)]
                end = stop
        return (*key, *self.key[end:])

    # ---- walking

    def _visit(self, value, depth, attribute=None):
        kind = type(value)
        if kind in STATIC:
            self._key.append(static_key(value))
        elif isinstance(value, Tensor):
            self._tensor(value)
        elif isinstance(value, nnx.Module):
            self._cell(value)
        elif isinstance(value, HookTable):
            self._key.append(value)
            self.hooks += value.all()
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            self._several(value, value, depth, attribute)
        elif isinstance(value, dict):
            value_now = value.copy()
            self._several(value, [*map(str, value_now), *value_now.values()], depth, attribute)
        elif kind is np.ndarray and value.nbytes <= _LARGEST:
            self._key.append((value.shape, value.dtype, value.tobytes()))
            self._found.append((attribute, value))
        else:
            self._other(value, depth)

    def _several(self, whole, items, depth, attribute):
        if id(whole) in self._logs:
            self._key.append(_log(id(whole)))
            return
        items, start = list(items), len(self._key)
        self._key.append((type(whole).__name__, len(items)))
        if not isinstance(whole, (tuple, frozenset)):
            if id(whole) in self._visited:
                return
            self._visited.add(id(whole))
            self.mutable.append(whole)
            if depth < _DEPTH:
                self._found.append((attribute, whole))
        if depth < _DEPTH and len(items) <= _LONGEST:
            for item in items:
                self._visit(item, depth + 1, attribute)
        self._spans[id(whole)] = start, len(self._key)

    def _tensor(self, tensor):
        hooks = tensor.__dict__.get("_hooks")
        self._key.append((
            "tensor", id(tensor), tensor.requires_grad if isinstance(tensor, Parameter) else None,
            tuple(hooks.hooks) if hooks else (),
        ))  # fmt: skip
        if id(tensor) not in self._visited:
            self._visited.add(id(tensor))
            self.variables.append(tensor)
            self.tensor_hooks += [(hooks.hooks, number) for number in hooks.hooks] if hooks else []

    def _cell(self, cell):
        self._key.append(("cell", serial(cell)))
        if id(cell) in self._visited:
            return
        self._visited.add(id(cell))
        self.cells.append(cell)
        attributes = vars(cell)
        if not isinstance(cell, CellBase):
            # Other modules don't tell when an attribute changes.
            self._found.append((None, attributes))
        for name, value in attributes.copy().items():
            # What is as the class has it may as well not be there: so it is again after a hook was removed.
            if name in _UNCOUNTED or is_module_state(name) or getattr(type(cell), name, self) is value:
                continue
            self._key.append(name)
            self._visit(value, 1, name)
        self._class(type(cell), 1)
        self._key.append("end")

    def _class(self, cls, depth):
        """What instances find in their class: data, and the methods that code may call."""
        if id(cls) in self._visited:
            return
        self._visited.add(id(cls))
        is_cell = issubclass(cls, CellBase)
        names, methods = _methods_of_cell(cls) if is_cell else _called_methods(cls, None)
        self._names |= names
        for name, value in _data_of_class(cls):
            if is_cell:  # a class of cells tells when an attribute changes
                self._key.append(name)
                self._visit(value, depth + 1, name)
            else:
                self._name(functools.partial(_read_class, cls), name, depth)
        for method in methods:
            self._key.append(id(method))
            if id(method) not in self._visited:
                self._visited.add(id(method))
                self.refs.append(method)
                self._function(method, depth)

    def _visit_spaces(self):
        """Of modules and of attributes of functions, what some code names; that code may name more."""
        visited = set()
        while True:
            places = [
                (space, name, depth)
                for space, depth in self._spaces
                for name in sorted(self._names.intersection(space))
                if (id(space), name) not in visited
            ]
            if not places:
                return
            for space, name, depth in places:
                visited.add((id(space), name))
                self._name(space.get, name, depth)

    def _other(self, value, depth):
        if id(value) in self._visited:
            return
        self._key.append(("object", id(value)))
        self.refs.append(value)
        self._visited.add(id(value))
        if depth >= _DEPTH or isinstance(value, (type, jax.Array, np.ndarray, np.generic)):
            return
        if isinstance(value, types.ModuleType):
            if not _is_library(value.__name__):
                self._spaces.append((vars(value), depth))
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__, depth + 1)
            self._function(value.__func__, depth)
        elif isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif hasattr(value, "func") and hasattr(value, "keywords"):
            self._visit((value.func, *value.args, *value.keywords.values()), depth)
        elif _may_hold(type(value)):
            attributes = getattr(value, "__dict__", None)
            if isinstance(attributes, dict):
                self._key.append(type(value).__name__)
                self._found.append((None, attributes))
                self.mutable.append(attributes)
                for name, item in attributes.copy().items():
                    self._key.append(name)
                    self._visit(item, depth + 1, name)
            if not _is_library(type(value).__module__):
                for name in _slots(type(value)):
                    self._name(functools.partial(_slot, value), name, depth)
                self._class(type(value), depth)

    def _function(self, function, depth):
        code = function.__code__
        names = _names(code)
        self._names.update(names)
        for cell in function.__closure__ or ():
            self._name(cell_contents, cell, depth)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self._name(functools.partial(getattr, function), name, depth)
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self._visit(wrapped, depth + 1)
        if vars(function):
            self._spaces.append((vars(function), depth + 1))
        if _is_library(function.__module__ or ""):
            return
        for name in names:
            if name in function.__globals__:
                self._name(function.__globals__.get, name, depth)

    def _name(self, read, name, depth):
        value = read(name)
        if isinstance(value, types.ModuleType) and _is_library(value.__name__):
            return
        if isinstance(value, type):
            if not _is_library(value.__module__) and not issubclass(value, nnx.Module):
                self._class(value, depth)
            return
        place = id(getattr(read, "__self__", name)), name if isinstance(name, str) else 0, id(getattr(read, "args", (0,))[0])
        if place not in self._visited:
            self._visited.add(place)
            self.watched.append((read, name))
            self.seen.append(value)
        self._visit(value, depth + 1)


def static_key(value: Any) -> tuple[type, Any]:
    """What a value of one of the classes `STATIC` is compared by."""
    # As text, a NaN is equal to another one, and 0.0 is not to -0.0.
    return type(value), repr(value) if isinstance(value, (float, complex, slice)) else value


def _log(number):
    return "log", number


def _is_library(module):
    return module.partition(".")[0] in _LIBRARIES


def _may_hold(cls):
    """Whether what the instances of a class hold is the user's."""
    module = cls.__module__
    return not _is_library(module) or module.startswith("msjax") or f"{module}.{cls.__qualname__}" in _NAMESPACES


def _slots(cls):
    """The names of a class' `__slots__`."""
    slots = [owner.__dict__.get("__slots__", ()) for owner in cls.__mro__]
    names = [name for several in slots for name in ((several,) if isinstance(several, str) else several)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _slot(value, name):
    return getattr(value, name, None)


def _contents(container):
    """What a container holds, to be compared with later."""
    if isinstance(container, np.ndarray):
        return container.tobytes()
    if isinstance(container, dict):
        return tuple(container), tuple(container.values())
    return tuple(container) if isinstance(container, _ORDERED) else container.copy()


def _same(container, held):
    if isinstance(container, np.ndarray):
        return container.tobytes() == held
    if isinstance(container, _ORDERED):
        return len(container) == len(held) and all(map(is_, container, held))
    if isinstance(container, dict):
        keys, values = held
        return len(container) == len(keys) and all(map(is_, container.values(), values)) and all(map(is_, container, keys))
    return container == held


def _only_added(container, held):
    """Whether a list or deque holds what it held and more behind it; a full deque has dropped items for that."""
    full = isinstance(container, collections.deque) and len(container) == container.maxlen
    if not full:
        return len(container) > len(held) and all(map(is_, container, held))
    items = tuple(container)
    return any(len(held) - dropped < len(items) and all(map(is_, items, held[dropped:])) for dropped in range(max(len(held), 1)))


def cell_contents(cell: types.CellType) -> Any:
    """What a closure's variable holds; None before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _read_class(cls, name):
    for owner in cls.__mro__:
        if name in vars(owner):
            return vars(owner)[name]
    return None


def _user_classes(cls):
    return [c for c in cls.__mro__ if not _is_library(c.__module__)]


def _data_of_class(cls):
    """(name, value) of what the user's classes hold besides methods and properties; descriptors of the user's count."""
    found = {}
    for owner in _user_classes(cls):
        for name, value in vars(owner).copy().items():
            if name.startswith("__") or isinstance(value, type):
                continue
            if not hasattr(type(value), "__get__") or not _is_library(type(value).__module__):
                found.setdefault(name, value)
    found.pop("_abc_impl", None)
    return [(name, value) for name, value in found.items() if not is_module_state(name)]


def _methods_of_cell(cls):
    known = _METHODS.get(cls)
    if known is None or known[0] != VERSION.classes:
        known = _METHODS[cls] = VERSION.classes, *_called_methods(cls, ("construct", "__call__", "bprop"))
    return known[1:]


def _called_methods(cls, start):
    """(names in the code, functions of the user's) of some methods and those that they may call; all methods if `start` is None."""
    todo = list(start) if start else [name for c in _user_classes(cls) for name in vars(c).copy()]
    names, functions = set(), []
    for name in todo:
        found = _read_class(cls, name)
        found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
        if not isinstance(found, types.FunctionType):
            continue
        functions.append(found)
        for function in (found, getattr(found, "__wrapped__", None)):
            if isinstance(function, types.FunctionType):
                new = [n for n in _names(function.__code__) if n not in names]
                names.update(new)
                todo += [n for n in new if n not in todo]
    return names, [f for f in functions if not _is_library(f.__module__ or "")]


def _names(code):
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_names(constant))
    return names
