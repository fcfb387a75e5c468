"""What lets a run of Python code be undone: text that is held back, containers that get their items back; and runs of hooks on values that are not
known yet, which tell whether the hook is part of the program."""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, Self

import numpy as np

from msjax.core.base.code import globals_in
from msjax.core.base.held_state import cell_contents
from msjax.core.base.libraries import of_library
from msjax.core.base.state import STATE


class OwnOutput:
    """Stands for sys.stdout, `outer`: what this thread writes goes to a function; other threads write through."""

    def __init__(self, write: Callable[[str], Any], outer: Any):
        self.outer = outer
        self._write = write
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return self.outer.write(text)
        self._write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)


def same_items(container: Any, before: Any) -> bool:
    """Whether a list, bytearray, deque, set or dict holds the same objects as a copy of it that was made before."""
    if isinstance(container, dict):
        return container.keys() == before.keys() and all(map(is_, map(container.get, before), before.values()))
    if isinstance(container, set):
        return container == before
    return len(container) == len(before) and all(map(is_, container, before))


def put_back(container: Any, before: Any, left: Iterable[str] = ()) -> bool:
    """Give a container the items that it had; returns whether it had others. Other threads may set something meanwhile under the keys `left` of a
    dict: what stands there stays."""
    kept = {key: container[key] for key in left if key in container} if isinstance(container, dict) else {}
    if isinstance(container, dict):
        before = {key: value for key, value in before.items() if key not in left} | kept
    if same_items(container, before):
        return False
    # The builtin class's own methods: a subclass may do other things in them, as Counter.update adds.
    kinds: tuple[Any, ...] = (OrderedDict, dict, set, deque, list, bytearray)
    kind = next(kind for kind in kinds if isinstance(container, kind))
    if isinstance(container, dict):
        # Not emptied, as it may have an object's attributes, unless only that brings the order of its keys back.
        for key in container.keys() - before.keys():
            kind.__delitem__(container, key)
        if [key for key in container if key not in kept] != [key for key in before if key not in kept]:
            kind.clear(container)
        for key, value in before.items():
            kind.__setitem__(container, key, value)
    else:
        kind.clear(container)
        (kind.update if kind is set else kind.extend)(container, before)
    return True


# How far a hook's containers and objects are looked into, how many items a container may hold for that, and how large all arrays together may be.
_DEPTH, _MOST_ITEMS, _MOST_BYTES = 4, 1000, 1 << 26
_CONTAINERS = (list, dict, set, deque, bytearray)
# What most attributes are, which hold nothing.
_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))


class TrialRun:
    """A context manager around the run of a hook: what it prints is held back, and what it changes is remembered.

    Remembered are the names that its code uses, the containers and numpy arrays among them, and the attributes of objects, of their classes
    and of what it gets as its first argument. What else it does (files that it writes, iterators that it moves on) can't be undone.

    Args:
        fn: the hook, as the user wrote it.
        holds_text: whether what it prints is held back. A program that msjax compiles has its own stdout, whose text is part of the program.
        subject: its first argument, or None.
    """

    def __init__(self, fn: Callable[..., Any], holds_text: bool, subject: Any = None):
        self._texts: list[str] = []
        self._held = OwnOutput(self._texts.append, sys.stdout) if holds_text else None
        self._seen: dict[int, Any] = {}
        self._slots: dict[type, list[str]] = {}
        self._bytes_left: int = _MOST_BYTES
        # (whether it is what it was, what makes it so again) of all that is remembered.
        self._kept: list[tuple[Callable[[], bool], Callable[[], Any]]] = []
        program = STATE.trace
        if program is not None:  # the hook may catch the error of a missing value
            lacks = program.lacks
            self._kept.append((lambda: program.lacks is lacks, lambda: setattr(program, "lacks", lacks)))
        self._visit(fn, 0)
        if subject is not None and id(subject) not in self._seen:
            self._subject(subject)

    def __enter__(self) -> Self:
        if self._held is not None:
            sys.stdout = self._held
        return self

    def __exit__(self, *_exception: Any) -> None:
        if self._held is not None and sys.stdout is self._held:
            sys.stdout = self._held.outer

    def keep(self) -> None:
        """The run counts: what it has printed is printed."""
        if self._texts:
            sys.stdout.write("".join(self._texts))

    def undo(self) -> bool:
        """The run does not count: put back what it has changed. Returns whether there was anything."""
        changed = [restore for is_same, restore in self._kept if not is_same()]
        for restore in changed:
            restore()
        return bool(changed)

    def changes(self) -> bool:
        """Whether the run has changed what it can put back."""
        return not all(is_same() for is_same, _ in self._kept)

    # ---- what is within reach

    def _visit(self, value, depth):
        if depth > _DEPTH or value.__class__ in _PLAIN:
            return
        if isinstance(value, type):
            self._class(value, depth)
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__, depth)
            self._visit(value.__func__, depth)
        elif isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self._visit(part, depth + 1)
        elif isinstance(value, types.BuiltinMethodType):
            self._visit(value.__self__, depth)
        elif isinstance(value, _CONTAINERS):
            self._container(value, depth)
        elif isinstance(value, tuple):
            for item in value[:_MOST_ITEMS]:
                self._visit(item, depth + 1)
        elif isinstance(value, np.ndarray):
            if value.flags.writeable and value.nbytes <= self._bytes_left:
                self._bytes_left -= value.nbytes
                before = value.copy()
                self._kept.append((lambda: value.tobytes() == before.tobytes(), lambda: np.copyto(value, before)))
        elif not isinstance(value, types.ModuleType) and type(value).__module__.partition(".")[0] not in _NO_STATE:
            attributes = getattr(value, "__dict__", None)
            if isinstance(attributes, dict):
                self._container(attributes, depth)
            if slots := self._slots_of(type(value)):
                self._attributes(value, lambda: {name: getattr(value, name) for name in slots if hasattr(value, name)}, depth)
            self._class(type(value), depth)

    def _slots_of(self, kind):
        """The names of the slots that the user's classes have given an object; a network has many objects of a class."""
        if kind not in self._slots:
            users = [each for each in kind.__mro__ if not of_library(each)]
            self._slots[kind] = [n for each in users for n, d in vars(each).items() if type(d) is types.MemberDescriptorType]
        return self._slots[kind]

    def _class(self, kind, depth):
        """A class of the user's: its attributes, and what its methods use."""
        for each in () if id(kind) in self._seen else kind.__mro__:
            if id(each) not in self._seen and not of_library(each):
                self._seen[id(each)] = each
                self._attributes(each, lambda each=each: {n: v for n, v in vars(each).items() if not n.startswith("__")}, depth)
                for value in list(vars(each).values()):
                    self._visit(
                        getattr(value, "__func__", None) if isinstance(value, (classmethod, staticmethod)) else value, depth + 1
                    )

    def _attributes(self, owner, read, depth):
        """Keep the attributes of a class, or in the slots of an object, which can only be read and set one by one."""
        before, base = read(), type if isinstance(owner, type) else object

        def restore():
            now = read()
            for name in now.keys() - before.keys():
                base.__delattr__(owner, name)
            for name, value in before.items():
                if now.get(name, _MISSING) is not value:
                    base.__setattr__(owner, name, value)

        self._kept.append((lambda: same_items(read(), before), restore))
        for value in before.values():
            self._visit(value, depth + 1)

    def _container(self, container, depth):
        before = container.copy()
        self._kept.append((lambda: same_items(container, before), lambda: put_back(container, before)))
        if len(container) <= _MOST_ITEMS:
            for item in container.values() if isinstance(container, dict) else list(container):
                self._visit(item, depth + 1)

    def _subject(self, subject):
        attributes = getattr(subject, "__dict__", {})

        def public():
            return {name: value for name, value in attributes.copy().items() if not name.startswith("_")}

        before = public()
        self._kept.append(
            (
                lambda: same_items(public(), before),
                lambda: put_back(attributes, before, [name for name in attributes if name.startswith("_")]),
            )
        )
        for value in before.values():
            if isinstance(value, _CONTAINERS):
                self._container(value, 1)

    def _function(self, function, depth):
        for cell in function.__closure__ or ():
            value = cell_contents(cell, _MISSING)
            if value is not _MISSING:
                self._variable(cell, value)
                self._visit(value, depth + 1)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._visit(default, depth + 1)
        for name in globals_in(function.__code__):
            value = function.__globals__.get(name, _MISSING)
            self._global(function.__globals__, name, value)
            self._visit(value, depth + 1)

    def _variable(self, cell, value):
        self._kept.append((lambda: cell.cell_contents is value, lambda: setattr(cell, "cell_contents", value)))

    def _global(self, namespace, name, value):
        restore = functools.partial(namespace.pop, name) if value is _MISSING else lambda: namespace.update({name: value})
        self._kept.append((lambda: namespace.get(name, _MISSING) is value, restore))


_MISSING = object()
# Modules whose objects are no user's.
_NO_STATE = frozenset(("jax", "jaxlib", "numpy", "flax", "builtins", "msjax", "haiku", "equinox"))
