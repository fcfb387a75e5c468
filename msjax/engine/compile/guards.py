"""Guards: what a program was compiled for, each as what was read and what was seen there.

`msjax.engine.compile.walk` finds them. Three questions are asked of a list of guards. Do those hold whose changes nothing counts? That is
checked before every call. By what key are the programs found that serve the same state? Is a guard stale, so that its key never comes
again? Changes of cells, hooks and settings are counted in `msjax.core.base.state.VERSION`; where the count is the same, they hold.
"""

from __future__ import annotations

import array
import collections
import contextlib
import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from operator import is_
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from msjax import log
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.base.flax_slots import RAW_VALUE
from msjax.core.base.held_state import cell_contents
from msjax.core.base.trial_run import same_items
from msjax.core.door import Hook
from msjax.engine.processes.groups import PROCESSES, WORLD_NAMES
from msjax.engine.settings.current import SETTINGS

# numpy's numbers, dates and texts, which can't change; jax's own types such as bfloat16 included.
_NAMED = [*np.sctypeDict.values(), *vars(ml_dtypes).values()]
_SCALARS = frozenset(cls for cls in _NAMED if isinstance(cls, type) and issubclass(cls, np.generic)) - {np.void, np.object_}


class Nothing(Enum):
    """What stands for the value of a name that isn't there."""

    NOTHING = "nothing"

    def __repr__(self) -> str:
        return self.value


NOTHING = Nothing.NOTHING

# Classes of values that programs are compiled for: compared by value.
STATIC = (type(None), Nothing, bool, int, float, complex, str, bytes, Type, np.dtype, type(Ellipsis), slice, *_SCALARS)

# Of those, the ones whose own == is right. Of the others the text is: by it, a NaN equals another one, and 0.0 is not -0.0; numpy's have
# their bytes, and dates their units.
BY_TEXT = (float, complex, slice)
BY_VALUE = frozenset(STATIC).difference(BY_TEXT, _SCALARS)

# Containers that code may change, and whose items have an order.
APPENDED_TO = (list, collections.deque)

# Those that are told by their bytes, and those with keys.
ARRAYS = (np.ndarray, bytearray, array.array)
TABLES = (dict, types.MappingProxyType)

# How a guard is checked, as (read, a, b, seen): it holds if ``read(a, b)`` is the object `seen`.
Check: TypeAlias = tuple[Callable[[Any, Any], Any], Any, Any, Any]


def bytes_of(container: Any) -> bytes:
    """What an array holds."""
    return bytes(container) if type(container) is bytearray else container.tobytes()


def size_of(container: Any) -> int:
    """How many bytes an array holds."""
    return container.nbytes if isinstance(container, np.ndarray) else memoryview(container).nbytes


def entries_of(table: Any) -> Any:
    """A copy of a dict, which another thread may be changing: Python lets it in where a collection comes, or within an OrderedDict."""
    for _ in range(1000):
        with contextlib.suppress(RuntimeError):  # changed meanwhile
            return table.copy()
    return table.copy()


def static_key(value: Any) -> tuple[type, Any]:
    """What a value of one of the classes `STATIC` is compared by."""
    if isinstance(value, np.generic):
        return type(value), (value.dtype, value.tobytes())
    return type(value), repr(value) if isinstance(value, BY_TEXT) else value


def outline(values: Iterable[Any]) -> tuple[Any, ...]:
    """A shallow key of several values: the `static_key` of each, and None for those that have to be looked into."""
    return tuple([
        (type(v), v) if type(v) in BY_VALUE else (type(v), repr(v)) if type(v) in BY_TEXT else None for v in values
    ])  # fmt: skip


def settings_key() -> tuple[Any, ...]:
    """The settings of the whole process that programs depend on: the dialect of hooks, and the groups of processes that communicate."""
    # The group of all processes follows from the place; it is made when it is first asked for.
    groups = [group for name, group in list(PROCESSES.groups.items()) if name not in WORLD_NAMES]
    return "settings", SETTINGS.dialect.name, PROCESSES.place, *groups


@dataclass(eq=False, slots=True)
class Guard:
    """Something that a program was compiled for.

    Attributes:
        seen: hashable; what makes a difference. Keys are made of these, in the order of the guards.
        keeps: what is told from others by its identity, kept alive so that nothing else gets its id; None where there is nothing.
    """

    seen: Hashable
    keeps: Any = field(default=None, repr=False, kw_only=True)


@dataclass(eq=False, slots=True)
class Attribute(Guard):
    """An attribute of a cell that code names. The cell tells when it changes.

    Attributes:
        name: of the class and the attribute, for messages.
    """

    name: str


@dataclass(eq=False, slots=True)
class Hooks(Guard):
    """The hooks of a cell, or those of all cells: `seen` is the key of their table.

    Attributes:
        hooks: those that are part of programs.
    """

    hooks: list[Hook]

    def stale(self) -> bool:
        """True if one of them was removed."""
        return any(hook.removed for hook in self.hooks)


@dataclass(eq=False, slots=True)
class Variable(Guard):
    """A Tensor that the program may read or write: its identity, its hooks, and whether a Parameter requires a gradient.

    Attributes:
        tensor: the Tensor, kept alive.
        hooks: those that are part of programs.
    """

    tensor: Tensor
    key: tuple[Any, ...]
    hooks: list[Hook]

    def stale(self) -> bool:
        """True if one of them was removed, or all, as by a write in place."""
        now = self.tensor._hooks
        return bool(self.key) and (
            now is None or now.number != self.key[0] or any(hook.id not in now.hooks for hook in self.hooks)
        )


@dataclass(eq=False, slots=True)
class Name(Guard):
    """A name that code uses: a global, a variable of a closure, an attribute of a class or function, a slot. Nobody counts changes.

    Attributes:
        read: gives what stands there now, as ``read(owner, name)``.
        write: puts a value there, as ``write(owner, name, value)``.
        owner: the namespace, function, class, object, or variable of a closure.
    """

    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any, Any], None]
    owner: Any = field(repr=False)
    name: str
    value: Any

    def check(self) -> Check:
        """The check holds if the name still has the same object."""
        return self.read, self.owner, self.name, self.value

    def stale(self) -> bool:
        """Whether an nnx module has got other weights: those that programs hold would stay with them."""
        return self.name == RAW_VALUE.__name__ and self.read(self.owner, self.name) is not self.value

    def put_back(self) -> None:
        """Write what stood there, if something else does now."""
        if self.read(self.owner, self.name) is not self.value:
            self.write(self.owner, self.name, self.value)


def read_in_class(owner: type, name: str) -> Any:
    """What a class itself holds under a name, descriptors themselves, or NOTHING."""
    return vars(owner).get(name, NOTHING)


def read_slot(owner: Any, name: str) -> Any:
    """An attribute, or NOTHING."""
    return getattr(owner, name, NOTHING)


def put_attribute(owner: Any, name: str, value: Any) -> None:
    """Set an attribute; NOTHING deletes it."""
    if value is NOTHING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


def read_item(owner: dict[str, Any], name: str) -> Any:
    """What a namespace has under a name, or NOTHING. The quicker dict.get does where something else than None has stood there."""
    return owner.get(name, NOTHING)


def put_item(owner: dict[str, Any], name: str, value: Any) -> None:
    """Write it; NOTHING deletes the name."""
    if value is NOTHING:
        owner.pop(name, None)
    else:
        owner[name] = value


def read_cell(variable: types.CellType, _name: str) -> Any:
    """The value of a variable of a closure; NOTHING before it is assigned."""
    return cell_contents(variable, NOTHING)


def put_in_cell(variable: types.CellType, _name: str, value: Any) -> None:
    """Assign a variable of a closure; NOTHING deletes it."""
    put_attribute(variable, "cell_contents", value)


def put_nothing_back(_owner: Any, _name: str, _value: Any) -> None:
    """Leave what can't be written."""


def is_gone(weak: Any, _name: str) -> bool:
    """Whether what a weak reference gives is gone."""
    return isinstance(weak, weakref.ref) and weak() is None


@dataclass(eq=False, slots=True)
class Contents(Guard):
    """What a list, deque, set, dict or array holds, or an object's attributes. Nobody counts changes.

    Attributes:
        held: the items that it held, or the bytes of an array; known once `check` was called.
    """

    container: Any
    held: Any = field(default=None, init=False, repr=False)

    def check(self) -> Check:
        """Note the present items. The check holds if they are the same objects in the same order; for a set, if it is equal; for an array,
        if its bytes are."""
        container = self.container
        if isinstance(container, ARRAYS):
            same, self.held = _same_bytes, bytes_of(container)
        elif isinstance(container, TABLES):
            now = entries_of(container)
            same, self.held = _same_dict, (tuple(now), tuple(now.values()))
        elif isinstance(container, APPENDED_TO):
            same, self.held = same_items, tuple(container)
        else:
            same, self.held = same_items, container.copy()
        return same, container, self.held, True


@dataclass(eq=False, slots=True)
class ReadAttributes(Contents):
    """Those of an object's attributes that code reads. `seen` is the name of its class, until `settle` was called."""

    def settle(self, names: frozenset[str] | None) -> None:
        """Say which names the code reads, None for all, once that is known; what stands there now is noted."""
        now = _read(entries_of(self.container), names)
        self.held = names, (tuple(now), tuple(now.values()))
        self.seen = (self.seen, *now, outline(now.values()))

    def check(self) -> Check:
        """The check holds if those attributes are the same objects."""
        return _same_read, self.container, self.held, True


@dataclass(eq=False, slots=True)
class FoundBefore(Guard):
    """A second way to a container that was found before: code that changes it depends on their being one object.

    Attributes:
        first: the guard where it was found first. `seen` is None: the key names the place of that.
    """

    first: Contents


def _same_dict(container, held):
    keys, values = held
    try:
        return len(container) == len(keys) and all(map(is_, container.values(), values)) and all(map(is_, container, keys))
    except RuntimeError:  # another thread changes it meanwhile
        return False


def _read(attributes, names):
    return attributes if names is None else {name: value for name, value in [*attributes.items()] if name in names}


def _same_read(attributes, held):
    names, read = held
    return _same_dict(_read(attributes, names), read)


def _same_bytes(container, held):
    return bytes_of(container) == held


class Guards:
    """The guards of a compiled function, in the order in which a walk found them.

    Attributes:
        key: hashable; equal for two walks exactly if the same programs serve both.
        checks: of the guards whose changes nobody counts.
    """

    def __init__(self, found: list[Guard]):
        self.found = found
        places = {guard: number for number, guard in enumerate(found) if isinstance(guard, Contents)}
        self.key: tuple[Any, ...] = tuple([
            ("again", places.get(guard.first)) if isinstance(guard, FoundBefore) else guard.seen for guard in found
        ])  # fmt: skip
        self.checks: list[Check] = [guard.check() for guard in found if isinstance(guard, (Name, Contents))]

    def hold(self) -> bool:
        """Whether containers hold the same, and names stand for the same objects."""
        for read, a, b, seen in self.checks:
            if read(a, b) is not seen:
                return False
        return True

    def stale(self) -> bool:
        """True if a hook was removed, or weights of an nnx module: the key never comes again, or hardly ever."""
        return any(guard.stale() for guard in self.found if isinstance(guard, (Hooks, Variable, Name)))


# ---- what differs where a function is compiled again and again for the same shapes, told once by the log

# The compilation for the same shapes that is told.
_TOLD = 3


class Recompilations:
    """Counts the compilations of one function, by the shapes and dtypes of what it was called with; the log calls it by its name."""

    def __init__(self, name: str):
        self._name = name
        self._latest: dict[Hashable, tuple[int, Sequence[Any], list[Guard]]] = {}
        self._told = False

    def count(self, shapes: Hashable, arguments: Sequence[Any], found: list[Guard]) -> None:
        """Count one; the third for the same shapes is logged, with what differs from the one before in what makes a difference of each argument,
        or in the guards that were found."""
        if self._told:
            return
        number, before, guards = self._latest.get(shapes, (0, (), []))
        self._latest[shapes] = number + 1, arguments, found
        if number + 1 == _TOLD:
            what = _difference(guards, found, before, arguments)
            if what is not None:
                self._told = True
                self._latest.clear()
                log.warning(
                    "%s is compiled for the %s. time for the same shapes: %s. Each compilation takes time; a value that changes from call "
                    "to call is better passed as a Tensor.",
                    self._name, _TOLD, what,
                )  # fmt: skip


def _difference(guards, found, before, now):
    """What the first guard that differs is about, or the first argument; None where nothing differs."""
    for old, new in zip_longest(guards, found):
        if old is None or new is None or type(old) is not type(new) or old.seen != new.seen:
            name = getattr(new, "name", "")
            guard: Any = new or old
            seen = guard.seen
            other = (
                "a cell, or an attribute of it,"
                if isinstance(seen, tuple) and seen[:1] == ("module",)
                else "a value or an object that it uses"
            )
            about = f"{_ABOUT.get(type(guard), other)} {name}".rstrip()
            if old is None or new is None or not name or getattr(old, "name", "") != name:
                return f"{about} has changed"
            return f"{about} is {_shown(new.seen[-1])}, and was {_shown(old.seen[-1])}"
    for number, (old, new) in enumerate(zip_longest(before, now)):
        if old != new:
            return f"argument {number} is {_shown(new)}, and was {_shown(old)}"
    return None


_ABOUT = {
    Attribute: "the attribute",
    Name: "the variable",
    Contents: "what a container holds",
    ReadAttributes: "an attribute of an object",
    Hooks: "the set of registered hooks",
    Variable: "a Tensor that it uses, its hooks or its requires_grad",
}


def _shown(key):
    """A key of a value as messages show it."""
    if key is None:
        return "another object"
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], type):
        key = key[1]
    text = key if isinstance(key, str) else repr(key)
    return text if len(text) <= 60 else text[:57] + "..."
