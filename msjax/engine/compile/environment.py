"""Environments: the states of Python for which a compiled function has programs, each told by its guards; and how such a state is put back."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import random
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from msjax.common.bases import CellBase
from msjax.common.random import default_generator
from msjax.common.seeds import SEEDS
from msjax.common.tensor import Tensor
from msjax.common.tensor_hooks import HookList
from msjax.core.base.trial_run import put_back, same_items
from msjax.core.base.weak import new_number
from msjax.core.door import VERSION, HookTable
from msjax.engine.compile.guards import STATIC, Guards, Name, entries_of, put_attribute, read_in_class
from msjax.engine.compile.walk import Walk

# Toggling hooks or settings goes through a few counts of `VERSION`, and comes back to them: so many are remembered.
_REMEMBERED = 4

# What a signature tells of an argument wholly: its shape and dtype, or its value.
_TOLD_BY_SIGNATURE = (Tensor, jax.Array, np.ndarray, *STATIC)


class Environment:
    """One state of Python, and the programs that were made for it.

    Attributes:
        guards: what makes the state.
        with_arguments: whether they tell of objects among the arguments of a call, too.
        variables: the Tensors that programs take; those that tracing finds to be missing join them.
        programs: {key of a signature: program}.
        shapes: how many of them were made for calls that differ in shapes and dtypes only.
        version: the count of `VERSION` at which it was found last: while that is the same, its guards are all that has to hold. -1 where it
            has to be found at each call.
    """

    def __init__(self, guards: Guards, variables: list[Tensor], with_arguments: bool):
        self.guards = guards
        self.with_arguments = with_arguments
        self.variables = variables
        self.programs: dict[Hashable, Any] = {}
        self.shapes = 0
        self.version = -1

    def drop(self, program: Any) -> None:
        """Drop a program."""
        self.programs = {key: p for key, p in list(self.programs.items()) if p is not program}


class Environments:
    """The environments of a compiled function; for the arguments see `msjax.engine.compile.compiled.Compiled`.

    Attributes:
        now: the environment of the latest call.
        latest: the Snapshot of the latest program.
        own_changes: how many programs in a row changed, in their first run, what they were compiled for.
    """

    def __init__(self, subject: Callable[[], Any], roots: tuple[Any, ...]):
        self._subject = subject
        self._roots = roots
        self._by_key: dict[Hashable, Environment] = {}
        self._recent: dict[int, Environment] = {}  # by the count of `VERSION`
        self.now: Environment = Environment(Guards([]), [], with_arguments=True)  # before the first call
        self.own_changes = 0
        self.latest: Snapshot | None = None

    def walk(self, arguments: Sequence[Any] = ()) -> Walk:
        """A walk from the objects in which what it depends on is looked for, and the arguments of a call, as `find` has them."""
        return Walk([self._subject(), *self._roots, *arguments])

    def find(self, arguments: Sequence[Any]) -> tuple[Environment, Walk | None]:
        """The environment of a call, which becomes the present one.

        Args:
            arguments: those objects among the arguments whose state the signature does not tell; see `objects_among`.

        Returns:
            The environment, and the walk by which it was found, if there was one.
        """
        version, now = VERSION.n, self.now
        if not arguments:
            if now.version == version and (not now.guards.checks or now.guards.hold()):
                return now, None
            recent = self._recent.get(version)
            if recent is not None and recent.guards.hold():
                recent.version = version
                self.now = recent
                return recent, None
        walk = self.walk(arguments)
        guards = walk.guards()
        found = self._by_key.get(guards.key)
        if found is None:
            generator = default_generator.state
            variables = [generator, *[v for v in walk.variables if v is not generator]]
            self._drop([e for e in list(self._by_key.values()) if e.guards.stale()])  # they never come again
            found = self._by_key[guards.key] = Environment(guards, variables, bool(arguments))
        found.guards = guards
        self.now = found
        if not arguments:
            found.version = version
            self._recent = {**dict([*self._recent.items()][1 - _REMEMBERED :]), version: found}
        return found, walk

    def changed(self, arguments: Sequence[Any] = ()) -> bool:
        """Whether something that makes the present environment has changed since it was found.

        Args:
            arguments: of the call, as `find` has them. Without them, an environment that tells of some is not looked at.
        """
        now = self.now
        if (now.with_arguments and not arguments) or (now.version == VERSION.n and now.guards.hold()):
            return False
        return self.walk(arguments).guards().key != now.guards.key

    def after_run(self, arguments: Sequence[Any] = ()) -> bool:
        """Count what first runs change of the present environment; returns whether this one has. See `changed`."""
        changed = self.changed(arguments)
        self.own_changes = self.own_changes + 1 if changed else 0
        return changed

    def drop_all(self) -> None:
        """Drop all environments but the present one, and the programs of all."""
        self._drop([e for e in list(self._by_key.values()) if e is not self.now])
        self.now.programs = {}

    def _drop(self, environments):
        for environment in environments:
            environment.programs = {}
        self._by_key = {key: e for key, e in list(self._by_key.items()) if e not in environments}
        self._recent = {version: e for version, e in list(self._recent.items()) if e not in environments}


def objects_among(leaves: Iterable[Any]) -> list[Any]:
    """The arguments of a call whose state its signature does not tell: functions, cells and other objects."""
    return [leaf for leaf in leaves if not isinstance(leaf, _TOLD_BY_SIGNATURE)]


# Hooks of a cell may come and go in other threads meanwhile. Those that the code itself changes are noted.
_OTHERS_MAY_SET = frozenset(("_hooks", "_special"))


_OF_NUMPY = (lambda: np.random.get_state(legacy=False)), np.random.set_state
# (what gives the state, what puts it back) of the random generators of operators, of Python and of numpy.
_GENERATORS = (SEEDS.snapshot, SEEDS.put_back), (random.getstate, random.setstate), _OF_NUMPY


def _contents(containers, earlier=()):
    """[(container, copy)]. No copy keeps hooks alive that are removed later; copies of `earlier` that still hold are shared."""
    known, copies = {id(container): entries for container, entries in earlier}, []
    for container in containers:
        entries = known.get(id(container))
        if entries is None or not same_items(container, entries):
            entries = entries_of(container)
            for name in _OTHERS_MAY_SET if isinstance(entries, dict) else ():
                entries.pop(name, None)
        copies.append((container, entries))
    return copies


def _names_in_cells(walk):
    """Names of data in classes of Cells, up to the class that has it. Cells tell when these change, so that guards have no names of them."""
    for cls in walk.classes:
        for name in walk.names_of(cls).data if issubclass(cls, CellBase) else ():
            for owner in cls.__mro__:
                yield Name(None, read_in_class, put_attribute, owner, name, read_in_class(owner, name))
                if name in vars(owner):
                    break


class Snapshot:
    """The attributes, containers and names that a walk has found, and the states of random generators.

    Args:
        walk: it is just over. While a program is traced, observers are not called, and it leaves them out.
        observers: whether they are called: it goes on to all hooks of cells then.
        earlier: another one, with which it shares what is the same: programs keep these for long.
    """

    def __init__(self, walk: Walk, observers: bool = False, earlier: Snapshot | None = None):
        cells: list[Any] = [module for module in walk.modules if isinstance(module, CellBase)]
        if observers:
            walk.follow([hook.fn for cell in cells for hook in cell._hooks.all()])
        self._containers = _contents([*walk.containers, *map(vars, walk.modules)], earlier._containers if earlier else ())
        self._names = [*(guard for guard in walk.found if isinstance(guard, Name)), *_names_in_cells(walk)]
        self._hooks: dict[int, tuple[Any, Any]] = {}  # {id: (owner, its hooks)} of those whose hooks were noted
        self._tensors: dict[int, tuple[Tensor, HookList | None]] = {}
        self._number = new_number()
        self._cell = weakref.ref(cells[0]) if cells else lambda: None
        self._drawn: list[Any] = [state() for state, _ in _GENERATORS]

    def note_tensors(self, tensors: Iterable[Tensor]) -> None:
        """Keep which lists of hooks these Tensors have. One that came meanwhile is not theirs yet."""
        for tensor in tensors:
            hooks = tensor._hooks
            self._tensors.setdefault(id(tensor), (tensor, hooks if hooks is None or hooks.number < self._number else None))

    def note_hooks(self, owner: Any) -> None:
        """Keep the hooks of an owner, which the code that is traced is about to change."""
        # Other lists are of Tensors that the code computes, or not their Tensor's yet.
        if not isinstance(owner, HookList) or owner.number < self._number:
            self._hooks.setdefault(id(owner), (owner, owner._hooks))

    def restore(self) -> None:
        """Put everything back."""
        changed = [put_back(container, before, _OTHERS_MAY_SET) for container, before in self._containers]
        for name in self._names:
            name.put_back()
        for tensor, hooks in self._tensors.values():
            if tensor._hooks is not hooks:
                tensor._hooks = hooks
        for owner, hooks in self._hooks.values():
            HookTable.change(owner, lambda now, before=hooks: HookTable.put_back(before, now))
            for hook in owner._hooks.all() if isinstance(hooks, HookTable) else ():
                hook.removed = False
        for (_, put), state in zip(_GENERATORS, self._drawn):
            put(state)
        VERSION.changed()
        if True in changed and (cell := self._cell()) is not None:
            cell._structure_changed()

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """A context in which everything is as it was; at its end, it is as it is now."""
        now = copy.copy(self)
        now._containers = _contents([container for container, _ in self._containers])
        now._names = [dataclasses.replace(name, value=name.read(name.owner, name.name)) for name in self._names]
        now._hooks = {number: (owner, owner._hooks) for number, (owner, _) in self._hooks.items()}
        now._tensors = {number: (tensor, tensor._hooks) for number, (tensor, _) in self._tensors.items()}
        now._drawn = [state() for state, _ in _GENERATORS]
        self.restore()
        try:
            yield
        finally:
            now.restore()
