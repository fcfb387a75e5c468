"""The walk that finds what a compiled function depends on, as a list of guards.

It starts from the function or cell that is compiled and follows attributes, closures, containers, and the globals that its code names.
Tensors that it overlooks are found when the program is traced.
"""

from __future__ import annotations

import builtins
import collections
import contextvars
import functools
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.parameter import Parameter
from msjax.common.run_state import GLOBAL
from msjax.common.tensor import Tensor, root_of
from msjax.core.base.code import assigned_and_imported_in, globals_in, names_in, names_read_in
from msjax.core.base.flax_slots import RAW_VALUE
from msjax.core.base.held_state import values_named
from msjax.core.base.libraries import is_library, of_library
from msjax.core.base.weak import identity
from msjax.core.door import Hook, HookSite, HookTable
from msjax.engine.compile.code_names import (
    BY_COMPUTED_NAMES,
    ENTRIES,
    NOT_GUARDED,
    VALUES,
    WEAK,
    ClassNames,
    always_read,
    function_of,
    holds_user_data,
    is_import,
    is_method_of_library,
    is_plain,
    methods_of,
    names_of_class,
    slots_of,
    texts_in,
)
from msjax.engine.compile.guards import (
    APPENDED_TO,
    ARRAYS,
    NOTHING,
    STATIC,
    TABLES,
    Attribute,
    Contents,
    FoundBefore,
    Guard,
    Guards,
    Hooks,
    Name,
    ReadAttributes,
    Variable,
    bytes_of,
    entries_of,
    is_gone,
    outline,
    put_attribute,
    put_in_cell,
    put_item,
    put_nothing_back,
    read_cell,
    read_in_class,
    read_item,
    read_slot,
    settings_key,
    size_of,
    static_key,
)

# docs/limits.md gives the next three numbers. They bound what a walk costs, and a check before each call, where a program refers to much
# data that it doesn't use: settings lie closer, and are fewer and smaller.
_DEPTH = 5  # steps from a cell or function to the objects and containers that are looked into
_MOST_ITEMS = 1000  # of a container that holds more, the items themselves are compared, and not looked into
_MOST_BYTES = 1 << 16  # of a larger numpy array, only the identity counts


class Walk:
    """One walk over what code can reach.

    Args:
        roots: functions, cells and other objects.

    Attributes:
        found: the guards, in the order in which they were found.
        variables: Tensors, Parameters and Buffers.
        modules: cells and other modules of nnx.
        containers: lists, deques, sets and dicts, attributes of objects included.
        classes: {class: its depth}.
        names_of: from a class to the `ClassNames` of it.
        refused: why the code can't be compiled, if something was found that no guard can tell of.
    """

    def __init__(self, roots: list[Any]):
        self.found: list[Guard] = [Guard(settings_key())]
        self.variables: list[Tensor] = []
        self.modules: list[nnx.Module] = []
        self.containers: list[Any] = []
        self.classes: dict[type, int] = {}
        self.names_of: Callable[[type], ClassNames] = functools.cache(names_of_class)
        self.refused: str | None = None
        self._visited = {}  # {id of an object, or (id of a namespace, name): its Contents or None}
        self._names: set[str] = set()
        self._users_names = set()  # those of them in the users' code
        self._namespaces = []
        # (cell or plain object, its attributes that no code has named so far, depth): what they hold makes no difference.
        self._unread: list[tuple[Any, dict[str, Any], int]] = []
        self._logs: list[tuple[str, Any, int]] = []  # (name, list, depth), where code only appends
        self._asked: set[str] = set()  # texts in code that reads attributes by computed names
        self._all_read = False  # some code may read any attribute, or was not looked at
        self._hooks(GLOBAL._hooks)
        for registry in sorted(HookSite.models_with_hooks, key=lambda registry: registry.number):
            self.found.append(Guard(registry.key))
            for hook in registry.hooks:
                self._hook(hook)
        self.follow(roots)

    def guards(self) -> Guards:
        """What was found, as guards that can be checked."""
        names = None if self._all_read else frozenset(self._users_names)
        for guard in self.found:
            if isinstance(guard, ReadAttributes) and isinstance(guard.seen, str):
                guard.settle(names)
        return Guards([*self.found])

    def reads(self, owner: Any, name: str | None) -> bool:
        """Whether the code may read a container's items (of a list, under a name), or what an object, namespace or cell has under a name."""
        if name is None:
            return id(owner) in self._visited
        read = name in self._users_names or (self._all_read and not isinstance(owner, list))
        return (id(owner), name) in self._visited or (read and id(owner) in self._visited)

    def follow(self, roots: list[Any]) -> None:
        """Start from further objects, too."""
        for root in roots:
            self._visit(root, 0)
        before = None
        while before != (before := (len(self._visited), self._all_read)):  # what was found may name more
            for namespace, depth in [*self._namespaces]:  # of modules, and attributes of functions
                for name in sorted((self._names | self._asked).intersection(namespace)):
                    self._item(namespace, name, depth)
            self._visit_methods()
            self._visit_attributes()
            for name, log, depth in [*self._logs]:
                if self._reads_items(name) and id(log) not in self._visited:
                    self._visit(log, depth)

    # ---- values

    def _visit(self, value, depth):
        """Look at a value."""
        kind = type(value)
        if kind is types.FunctionType:
            self._object(value, depth)
        elif isinstance(value, Tensor):
            self._tensor(value)
        elif isinstance(value, nnx.Module):
            self._module(value)
        elif isinstance(value, HookTable):
            self._hooks(value)
        elif isinstance(value, (tuple, frozenset)):
            seen = outline(value)
            self.found.append(Guard((kind.__name__, *seen)))
            self._items(value, seen, depth)
            self._besides(value, depth)
        elif isinstance(value, (list, set, collections.deque, *TABLES)):
            self._container(value, depth)
        elif isinstance(value, ARRAYS) and size_of(value) <= _MOST_BYTES:
            self._array(value, depth)
        elif kind in STATIC:
            self.found.append(Guard(static_key(value)))
        else:
            self._object(value, depth)

    def _items(self, items, seen, depth):
        """Look into those of some items that their outline does not tell."""
        if depth < _DEPTH and len(seen) <= _MOST_ITEMS:
            for item, known in zip(items, seen):
                if known is None:
                    self._visit(item, depth + 1)
        elif not self._all_read:
            self._all_read = any(known is None and not isinstance(item, VALUES) for item, known in zip(items, seen))

    def _container(self, container, depth):
        if self._found_before(container):
            return
        kind = type(container).__name__
        if not isinstance(container, types.MappingProxyType):  # a view of another one
            self.containers.append(container)
        if depth >= _DEPTH:
            self._all_read = True
            self._visited[id(container)] = None
            self.found.append(Guard((kind, len(container))))
            return
        if isinstance(container, TABLES):
            entries = entries_of(container)
            keys = tuple([static_key(key) if type(key) in STATIC else str(key) for key in entries])
            items = [*entries.values()]
        else:
            keys, items = (), [*container]
        seen = outline(items)
        self._contents(container, (kind, keys, seen))
        self._items(items, seen, depth)
        self._besides(container, depth)
        if isinstance(container, collections.defaultdict):
            self._name(getattr, setattr, container, "default_factory", depth)

    def _array(self, value, depth):
        if self._found_before(value):
            return
        is_numpys = isinstance(value, np.ndarray)
        self._contents(value, ((value.shape, value.dtype) if is_numpys else type(value), bytes_of(value)))
        if is_numpys and value.dtype.hasobject:
            items = value.ravel().tolist()
            self._items(items, outline(items), depth)
        self._besides(value, depth)

    def _besides(self, value, depth):
        """Visit the attributes of a container whose class is the user's; its items are visited elsewhere."""
        if not of_library(type(value)) and (id(value), None) not in self._visited:
            self._visited[id(value), None] = None
            self._attributes(value, depth)

    def _contents(self, container, seen):
        guard = self._visited[id(container)] = Contents(seen, container)
        self.found.append(guard)

    def _found_before(self, container):
        """Whether a container was found before; then the guard says where."""
        if found := id(container) in self._visited:
            self.found.append(FoundBefore(None, self._visited[id(container)]))
        return found

    def _tensor(self, tensor):
        hooks = tensor.__dict__.get("_hooks")
        key, modifiers = (hooks.key, hooks.of_programs) if hooks else ((), [])
        requires_grad = tensor.requires_grad if isinstance(tensor, Parameter) else None
        self.found.append(Variable(("tensor", id(tensor), requires_grad, key), tensor, key, modifiers))
        known, root = id(tensor) in self._visited, root_of(tensor)  # a part is read from the whole
        if id(root) not in self._visited:
            self._visited[id(root)] = None
            self.variables.append(root)
        self._visited[id(tensor)] = None
        for hook in () if known else modifiers:
            self._hook(hook)

    def _hooks(self, table):
        # Observers stand in slots: which functions they are makes no difference.
        self.found.append(Hooks(table.key, table.of_programs))
        for hook in table.of_programs:
            self._hook(hook)

    def _hook(self, hook):
        """Look into a hook that becomes part of a program. An observer is called after each run, whatever it reads then; the tools' own
        hooks read nothing of the user's."""
        if not hook.in_slot and not is_method_of_library(hook.fn):
            self._visit(hook.fn, 1)

    def _module(self, module):
        number, cls = identity(module), type(module)
        if id(module) in self._visited:
            self.found.append(Guard(("module", number)))
            return
        self._visited[id(module)] = None
        self.modules.append(module)
        attributes = {
            name: value
            for name, value in entries_of(vars(module)).items()
            # What is as the class has it may as well not be there: so it is again after a hook was removed.
            if name not in NOT_GUARDED and getattr(cls, name, NOTHING) is not value
        }
        if isinstance(module, CellBase):
            read = always_read(module, attributes, self.names_of(cls).libraries)
            self._unread.append((module, {n: value for n, value in attributes.items() if n not in read}, 0))
            attributes = read
        seen = outline(attributes.values())
        whole = ("module", number, *attributes, seen)
        if isinstance(module, CellBase):
            self.found.append(Guard(whole))  # its number tells it from others, so that no cell is kept alive
        else:
            # Other modules don't tell when an attribute changes.
            self._contents(vars(module), whole)
        for value, known in zip(attributes.values(), seen):
            if known is None:
                self._visit(value, 1)
        self._class(cls, 1)

    def _object(self, value, depth):
        """Look at an object that is told from others by its identity."""
        if isinstance(value, types.MethodType):  # made anew each time that it is asked for
            self._visit(value.__self__, depth + 1)
            self._visit(value.__func__, depth)
            return
        if isinstance(value, HookSite):  # made anew when hooks come and go; one for the same hooks is equal
            self.found.append(Guard(("hooks", value)))
        else:
            self.found.append(Guard(("object", id(value)), keeps=value))
        if id(value) in self._visited:
            return
        if isinstance(value, type) and depth < _DEPTH and not of_library(value):
            self._class(value, depth - 1)  # no step of its own
            return
        self._visited[id(value)] = None
        if depth >= _DEPTH or isinstance(value, (type, *VALUES)):
            self._all_read = self._all_read or not (isinstance(value, VALUES) or of_library(value))
            return
        if isinstance(value, Hook):
            self._hook(value)
        elif isinstance(value, HookSite):
            for table in value.tables.values():
                self._hooks(table)
        elif isinstance(value, types.ModuleType):
            if not is_library(value.__name__):
                self._namespaces.append((vars(value), depth))
        elif isinstance(value, nnx.Variable):  # of an nnx module in a Cell
            self._name(read_slot, put_attribute, value, RAW_VALUE.__name__, depth)
        elif isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif isinstance(value, functools.partial):
            self._visit((value.func, *value.args), depth)
            self._container(value.keywords, depth)
        elif isinstance(value, (contextvars.ContextVar, threading.local)):
            self.refused = "it reads a context variable, or attributes that each thread has for itself"
        elif isinstance(value, WEAK):
            self._name(is_gone, put_nothing_back, value, "", depth)
            referent = value() if isinstance(value, weakref.ref) else value  # None if that is gone; a set of some, itself
            if isinstance(getattr(referent, "__self__", referent), nnx.Module):
                self._visit(referent, depth)
            elif not isinstance(referent, (*VALUES, type(None))):
                self.refused = "it reads a weak reference to something else than a cell"  # guards would keep it alive
        elif holds_user_data(type(value)):
            self._attributes(value, depth)
            self._name(getattr, object.__setattr__, value, "__class__", depth)
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):  # functools.lru_cache and its like
            self._visit(value.__wrapped__, depth)

    def _attributes(self, value, depth):
        attributes, cls = getattr(value, "__dict__", None), type(value)
        if isinstance(attributes, dict) and is_plain(cls):
            self._unread.append((value, entries_of(attributes), depth))
            self.found.append(ReadAttributes(cls.__name__, attributes))
            self.containers.append(attributes)
        elif isinstance(attributes, dict):
            now = entries_of(attributes)
            seen = outline(now.values())
            self._contents(attributes, (cls.__name__, *now, seen))
            self.containers.append(attributes)
            self._items(now.values(), seen, depth)
        if not of_library(cls):
            for name in slots_of(cls):
                self._name(read_slot, put_attribute, value, name, depth)
            self._class(cls, depth)

    # ---- code

    def _class(self, cls, depth):
        """What instances find in their class: data, and the methods that code may call."""
        if id(cls) in self._visited:
            return
        self._visited[id(cls)] = None
        names = self.names_of(cls)
        self._names |= names.libraries
        self.classes[cls] = depth
        if issubclass(cls, CellBase):  # tells when an attribute changes
            if names.data:
                data = {name: inspect.getattr_static(cls, name) for name in names.data}
                seen = outline(data.values())
                self.found.append(Guard((*data, seen)))
                self._items(data.values(), seen, depth)
        else:
            self._name(getattr, put_nothing_back, cls, "__mro__", depth)
            for name in names.own:
                self._method(cls, name, depth)
        for name in names.data:
            self._told_by_nobody(cls, name, depth)

    def _method(self, cls, name, depth):
        """Look at the methods of that name in a class and its bases, if there are some."""
        if methods := methods_of(cls, name):
            self._told_by_nobody(cls, name, depth)
        for method in methods:
            if id(method) not in self._visited:
                self._visited[id(method)] = None
                self._function(method, depth)
                if not issubclass(cls, CellBase):  # also of a library's function, under a name of the user's
                    self._users_names.update(names_read_in(method.__code__))

    def _told_by_nobody(self, cls, name, depth):
        """Guard a name in the user's classes that don't count changes of attributes."""
        hidden = False
        for owner in self.names_of(cls).silent:
            if name in vars(owner) or not hidden:
                self._name(read_in_class, put_attribute, owner, name, depth)
            hidden = hidden or name in vars(owner)  # what is behind it is found by `super` alone

    def _function(self, function, depth):
        names = names_in(function.__code__)
        self._names.update(names)
        library = is_library(function.__globals__.get("__name__") or "")
        read = names_read_in(function.__code__) if not library else [f"{name}[:]" for name in function.__code__.co_freevars]
        self._users_names.update(read)
        # What a library wraps is no step: a function that is compiled, differentiated or lifted lies as deep as it lay before.
        inside = depth - 1 if library else depth
        for name, variable in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if not (library and isinstance(read_cell(variable, name), WEAK)):  # caches, as of functions for several types
                self._name(read_cell, put_in_cell, variable, name, inside)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self._name(getattr, setattr, function, name, depth)
        if (wrapped := getattr(function, "__wrapped__", None)) is not None:
            self._visit(wrapped, depth)
        if function.__dict__:
            self._namespaces.append((vars(function), depth + 1))
        if library:
            return
        # Tools that reload edited modules exchange the code of functions.
        self._name(getattr, setattr, function, "__code__", depth)
        namespace = function.__globals__
        for name in globals_in(function.__code__):
            if name in namespace or not hasattr(builtins, name):
                self._item(namespace, name, depth)
        asked, imported = assigned_and_imported_in(function.__code__)
        if not BY_COMPUTED_NAMES.isdisjoint(names):
            self._all_read = True
            asked |= texts_in(function.__code__)
            self._asked |= asked
        for value in values_named(function) if asked else ():
            if isinstance(value, (types.FunctionType, types.ModuleType)) and not of_library(value):
                for name in sorted(asked.difference(vars(value))):  # made when the code runs, or later
                    self._item(vars(value), name, depth)
        for name in imported:
            if not is_library(name) and (module := sys.modules.get(name)) is not None:
                self._namespaces.append((vars(module), depth))

    def _visit_methods(self):
        """Of the users' classes, the methods that some code names or Python calls, and what it asks for, though there may be nothing yet."""
        for cls, depth in [*self.classes.items()]:
            names = self.names_of(cls)
            named = self._users_names | names.libraries | ENTRIES
            for name in names.own if issubclass(cls, CellBase) else ():
                if self._all_read or name in named or name.startswith("__"):
                    self._method(cls, name, depth)
            for name in sorted(self._asked):
                self._told_by_nobody(cls, name, depth)

    def _visit_attributes(self):
        """Of cells and plain objects, the attributes that some code names."""
        taken = [
            (owner, name, attributes.pop(name), depth)
            for owner, attributes, depth in self._unread
            for name in [name for name in attributes if self._all_read or name in self._users_names]
        ]
        for owner, name, value, depth in taken:
            known = static_key(value) if type(value) in STATIC else None
            if isinstance(owner, CellBase):
                self.found.append(Attribute((identity(owner), name, known), f"{type(owner).__name__}.{name}"))
            if known is None:
                self._visit_named(name, value, depth + 1)

    def _visit_named(self, name, value, depth):
        """Look at what stands under a name. What a list holds makes no difference where code only appends to it."""
        if not isinstance(value, APPENDED_TO) or self._reads_items(name):
            self._visit(value, depth)
        elif id(value) not in self._visited:
            self._logs.append((name, value, depth))
            self.containers.append(value)

    def _reads_items(self, name):
        return self._all_read or f"{name}[:]" in self._users_names

    def _item(self, namespace, name, depth):
        read, write = (read_item, put_item) if namespace.get(name) is None else (dict.get, dict.__setitem__)
        self._name(read, write, namespace, name, depth)

    def _name(self, read, write, owner, name, depth):
        place = id(owner), name
        if place in self._visited:
            return
        self._visited[place] = None
        value = read(owner, name)
        if is_import(name, value):
            return
        known = static_key(value) if type(value) in STATIC else None
        self.found.append(Name((name, known), read, write, owner, name, value))
        # `_method` looks at the functions of classes.
        if known is None and (read is not read_in_class or function_of(value) is None):
            self._visit_named(name, value, depth + 1)
