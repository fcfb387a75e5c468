"""The hooks of one owner: an immutable table, replaced as a whole when a hook is registered or removed; `HookSite` has a module's tables.

An immutable table can be part of a compilation key, and a call that is running keeps the hooks
that it started with.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from msjax.core.base.errors import check_hook
from msjax.core.base.weak import LiveSet
from msjax.core.hooks.hook import Hook, RemovableHandle
from msjax.core.hooks.worker import before_change

CALL_KINDS = ("forward_pre", "forward", "backward_pre", "backward")
_KINDS_IN_CALLS = (*CALL_KINDS, "saved_tensors")
KINDS = (
    *_KINDS_IN_CALLS,
    "state_dict_pre",
    "state_dict_post",
    "load_state_dict_pre",
    "load_state_dict_post",
)


class OwnerRef(weakref.ref[Any]):
    """A weak reference to the Cell, or nnx module, that hooks were registered on.

    Attributes:
        copies: those that nnx has made of it. They share its hooks until they get some of their own.
    """

    __slots__ = ("copies",)

    def __init__(self, owner: Any):
        super().__init__(owner)  # pyright: ignore[reportCallIssue]
        self.copies: LiveSet[Any] = LiveSet()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True, eq=False)
class HookTable:
    """The hooks of a Cell by kind, each a tuple in the order in which they run.

    Tables of one owner are equal if they are the same for programs: to nnx they are parts of the Cell's definition.

    Attributes:
        owner: the `OwnerRef`, or None.
        EMPTY: the one without hooks.
        CALL_KINDS: the kinds of hooks around a call.
    """

    EMPTY: ClassVar[HookTable]
    CALL_KINDS: ClassVar[tuple[str, ...]] = CALL_KINDS

    forward_pre: tuple[Hook, ...] = ()
    forward: tuple[Hook, ...] = ()
    backward_pre: tuple[Hook, ...] = ()
    backward: tuple[Hook, ...] = ()
    saved_tensors: tuple[Hook, ...] = ()
    state_dict_pre: tuple[Hook, ...] = ()
    state_dict_post: tuple[Hook, ...] = ()
    load_state_dict_pre: tuple[Hook, ...] = ()
    load_state_dict_post: tuple[Hook, ...] = ()
    owner: OwnerRef | None = None

    before_change = staticmethod(before_change)

    @staticmethod
    def register(
        owner: HookOwner, kind: str, fn: Any, prepend: bool = False, who: str | None = None, **options: Any
    ) -> RemovableHandle:
        """Add a hook to `owner._hooks` and return its handle; of the kind saved_tensors, `fn` is the pair of functions.

        Args:
            who: the name of the function that the user has called; by default ``register_KIND_hook``.

        Raises:
            TypeError, ValueError: see `check_hook`.
        """
        who = who or f"register_{kind}_hook"
        for each in fn if kind == "saved_tensors" else (fn,):
            check_hook(each, who, options.get("observe"), options.get("traced"))
        hook = Hook.registered(fn, writes=Hook.may_write(fn, **options), **options)
        owner._set_hooks(owner._hooks.add(kind, hook, prepend))
        return RemovableHandle(owner, _remove, hook.id)

    def __bool__(self) -> bool:
        return self is not EMPTY

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, HookTable) or self.owner is None or other.owner is None:
            return False
        owner = self.owner()
        return owner is not None and owner is other.owner() and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __deepcopy__(self, memo: dict[int, Any]) -> HookTable:
        if not self:
            return EMPTY
        return HookTable(**{kind: copy.deepcopy(getattr(self, kind), memo) for kind in KINDS})

    def __getstate__(self) -> dict[str, Any]:
        return {kind: getattr(self, kind) for kind in KINDS} | {"owner": None}  # a pickled cell is another one

    def owned_by(self, owner: Any) -> HookTable:
        """The table as that of a Cell."""
        if self is EMPTY or (self.owner is not None and self.owner() is owner):
            return self
        return replace(self, owner=OwnerRef(owner))

    @functools.cached_property
    def key(self) -> tuple[Any, ...]:
        """What programs with these hooks around a call are found by; see `Hook.key`."""
        return tuple([(kind, hook.key) for kind in _KINDS_IN_CALLS for hook in getattr(self, kind)])

    @functools.cached_property
    def of_programs(self) -> list[Hook]:
        """The hooks that are part of programs, as observers, which stand in slots, are not."""
        return [hook for kind in _KINDS_IN_CALLS for hook in getattr(self, kind) if not hook.in_slot]

    @property
    def in_calls(self) -> bool:
        """Whether any hook runs when the Cell is called or differentiated."""
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward or self.saved_tensors)

    def all(self) -> list[Hook]:
        """The hooks of all kinds."""
        return [hook for kind in KINDS for hook in getattr(self, kind)]

    def add(self, kind: str, hook: Hook, prepend: bool = False) -> HookTable:
        hooks = getattr(self, kind)
        return replace(self, **{kind: (hook, *hooks) if prepend else (*hooks, hook)})

    def without(self, id: int) -> HookTable:
        """The table without a hook; the shared empty one if none is left."""
        kept = {kind: tuple(h for h in getattr(self, kind) if h.id != id) for kind in KINDS}
        return replace(self, **kept) if any(kept.values()) else EMPTY


EMPTY = HookTable.EMPTY = HookTable()


class HookOwner(Protocol):
    """What hooks are registered on: a Cell, a module of another framework, or what stands for all cells."""

    @property
    def _hooks(self) -> HookTable: ...
    def _set_hooks(self, table: HookTable) -> None: ...


def _remove(owner: HookOwner, id: int):
    for hook in owner._hooks.all():
        if hook.id == id:
            hook.removed = True
            owner._set_hooks(owner._hooks.without(id))


class HookSite:
    """What stands on a module that has hooks, as its attribute.

    Attributes:
        path: of the module in its model.
        cls_name: the name of its class.
        tables: {name of a method: its present hooks}.
        models_with_hooks: the models that have hooks now whose modules are made anew for each run.
    """

    __slots__ = ()

    path: Any
    cls_name: Any
    tables: Any
    models_with_hooks: ClassVar[LiveSet[HookedModel]]
    _owner_noun = "module"

    def _named_in(self, around: Sequence[Any]) -> tuple[str, str]:
        return self.path or "the model", self.cls_name

    def cells_and_names(self) -> Sequence[tuple[str, Any]]:
        """The modules in the module, among them Cells, by their paths; none if they aren't known."""
        return ()


class HookedModel(Protocol):
    """The hooks of a model whose modules are made anew for each run.

    Attributes:
        number: no other such model has it.
        key: equal as long as programs with the hooks are the same.
        hooks: all of them.
    """

    number: int

    @property
    def key(self) -> tuple[Any, ...] | None: ...
    @property
    def hooks(self) -> list[Hook]: ...


# Those that have hooks now.
WITH_HOOKS: LiveSet[HookedModel] = LiveSet()
HookSite.models_with_hooks = WITH_HOOKS
