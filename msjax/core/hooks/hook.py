"""One registered function, how it is called, and its handle; the hooks of one owner: an immutable table, replaced as a whole when a hook is
registered or removed; `HookSite` has a module's tables.

An immutable table can be part of a compilation key, and a call that is running keeps the hooks that it started with.
"""

from __future__ import annotations

import copy
import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from msjax.core.base import code, jax_slots
from msjax.core.base.errors import callable_name, check_hook
from msjax.core.base.held_state import held_state
from msjax.core.base.weak import LiveSet, identity, new_number
from msjax.core.hooks.worker import CHANGING, before_change


class RemovableHandle:
    """The handle of one registered hook; `remove()` removes the hook.

    Removing twice is harmless. The handle keeps neither the cell or Tensor nor the hook alive. In a `with`
    statement, it removes the hook at the end of the block.

    Example:
        >>> from msjax import Tensor, nn
        >>> net = nn.ReLU()
        >>> with net.register_forward_hook(lambda cell, inputs, output: print("ran")):
        ...     _ = net(Tensor(1.0))
        ran
        >>> _ = net(Tensor(1.0))
    """

    __slots__ = ("id", "_owner", "_remove", "__weakref__")

    def __init__(self, owner: object, remove: Callable[..., Any], id: int):
        """
        Args:
            owner: what the hook is registered on; held weakly.
            remove: a function of (owner, id) that removes the hook if it is still registered.
            id: the hook's number.
        """
        self.id: int = id
        self._owner = weakref.ref(owner)
        self._remove = remove

    def remove(self) -> None:
        """Remove the hook; does nothing if it was removed already."""
        owner = self._owner()
        if owner is not None:
            self._remove(owner, self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.remove()


@dataclass(eq=False)
class Hook:
    """One registered function and how to call it.

    Attributes:
        fn: the function; for the kind saved_tensors, the pair of functions.
        with_kwargs: True if it also gets the keyword arguments of the call.
        always_call: a forward hook that runs even if the call fails.
        observe, traced: whether the user declared the hook an observer, or part of compiled programs; None if not declared.
        removed: by `remove()`, in the thread of this number, or True: no program that runs the hook is used again.
        of_tensors: whether it gets Tensors, to which it may write.
        fixed: whether it belongs to the program that is traced when it is registered, so that it is no observer in a slot.
        id: the number of its handle.
        thread: the number of the thread that registered it.
    """

    fn: Any
    with_kwargs: bool = False
    always_call: bool = False
    observe: bool | None = None
    traced: bool | None = None
    removed: int = False
    of_tensors: bool = False
    fixed: bool = False
    id: int = field(default_factory=new_number)
    thread: int = field(default_factory=threading.get_ident)

    @classmethod
    def registered(cls, fn: Any, **options: Any) -> Hook:
        """The hook that a registration makes. One that is made while jax traces is `fixed`: it belongs to that program alone."""
        return cls(fn, fixed=jax_slots.trace_state() != jax_slots.NO_TRACE, **options)

    @functools.cached_property
    def writes(self) -> bool:
        """Whether its code says that it may write to Tensors, which the network may read: then a program has it at its place. What the user said
        of it counts first."""
        return self.of_tensors and self.observe is None and self.traced is None and code.effects(users_hook(self.fn))[0]

    @property
    def name(self) -> str:
        return callable_name(self.fn)

    @functools.cached_property
    def in_slot(self) -> bool:
        """Whether it is an observer, which takes a slot of a program."""
        return not self.fixed and self.observes

    @property
    def observes(self) -> bool:
        """Whether it is to be called after each run; what the user said of it counts first."""
        if self.observe is not None or self.traced is not None:
            return self.observe or self.traced is False
        return not self.writes and code.only_returns_none(users_hook(self.fn))

    @functools.cached_property
    def key(self) -> tuple[Any, ...]:
        """What programs with the hook are found by: all observers are alike, and modifiers of the same function, which holds the same
        when it is registered, and options. Functions of the same code that hold nothing are the same."""
        if self.in_slot:
            return "observer", self.with_kwargs, self.always_call
        return _function_key(self.fn), self.with_kwargs, self.always_call, self.observe, self.traced


def _function_key(fn):
    if isinstance(fn, tuple):  # of the kind saved_tensors
        return tuple(map(_function_key, fn))
    if isinstance(fn, types.MethodType):
        return identity(fn.__self__), identity(fn.__func__), held_state(fn)
    if _is_its_code(fn):
        return held_state(fn)
    return identity(fn), held_state(fn)


def _is_its_code(fn):
    """Whether a function holds nothing of its own, so that one that is made anew by the same line does the same, as a lambda in a loop."""
    return (
        isinstance(fn, types.FunctionType)
        and not (fn.__closure__ or fn.__defaults__ or fn.__kwdefaults__ or fn.__dict__)
        and fn.__globals__ is vars(sys.modules.get(fn.__module__, sys))
    )


# ---- observers and modifiers: as the user says, or else as the code of hooks tells, without running them


class Adapter:
    """A hook of msjax's own around one of the user's, which returns None where that does.

    Attributes:
        fn: the user's hook.
        skip: so many arguments that come first are not given to it.
    """

    def __init__(self, fn: Callable[..., Any], skip: int = 0):
        self.fn = self.__wrapped__ = fn
        self.skip = skip


class Ignored(Adapter):
    """An observer made of a hook whose result replaces nothing, such as that of ``found.setdefault("x", output)``."""

    def __call__(self, *args: Any) -> None:
        self.fn(*args)


def users_hook(fn: Callable[..., Any], *head: Any) -> Any:
    """The hook that the user wrote; with the first ones of its arguments, where they are given, as a functools.partial."""
    while isinstance(fn, Adapter):
        fn, head = fn.fn, head[fn.skip :]
    return functools.partial(fn, *head) if head else fn


def computes(fn: Callable[..., Any]) -> bool:
    """True if the code of a hook says that it may return a value that it has computed or made: then it is no mere observer."""
    return code.computes(users_hook(fn))


# ---- tables

CALL_KINDS = ("forward_pre", "forward", "backward_pre", "backward")
_KINDS_IN_CALLS = (*CALL_KINDS, "saved_tensors")


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
    changing = CHANGING

    @staticmethod
    def register(
        owner: Any, kind: str, fn: Any, prepend: bool = False, who: str | None = None, **options: Any
    ) -> RemovableHandle:
        """Add a hook to `owner._hooks` and return its handle; of the kind saved_tensors, `fn` is the pair of functions.

        Args:
            owner: a Cell, or what stands for all cells; see `change`.
            who: the name of the function that the user has called; by default ``register_KIND_hook``.

        Raises:
            TypeError, ValueError: see `check_hook`.
        """
        who = who or f"register_{kind}_hook"
        for each in fn if kind == "saved_tensors" else (fn,):
            check_hook(each, who, options.get("observe"), options.get("traced"))
        flags = {name: bool(options.pop(name)) for name in ("with_kwargs", "always_call") if name in options}
        hook = Hook.registered(fn, of_tensors=True, **flags, **options)
        HookTable.change(owner, lambda table: table.add(kind, hook, prepend))
        return RemovableHandle(owner, _remove, hook.id)

    @staticmethod
    def change(owner: Any, changed: Callable[[Any], Any]) -> None:
        """Replace the hooks of an owner by what a function makes of them.

        Args:
            owner: it has `_hooks`, a HookTable or a tuple, and `_set_hooks`, which replaces that.
        """
        before_change(owner)
        with CHANGING:
            owner._set_hooks(changed(owner._hooks))

    @staticmethod
    def put_back(before: Any, now: Any) -> Any:
        """The earlier hooks of an owner, a table or a tuple, with what other threads than this one have added and removed since."""
        own = threading.get_ident()
        if isinstance(before, tuple):
            kept = [hook for hook in before if hook.removed in (False, own)]
            return (*kept, *[hook for hook in now if hook.thread != own and hook not in before])
        hooks = {kind: HookTable.put_back(getattr(before, kind), getattr(now, kind)) for kind in KINDS}
        return before.with_changed(hooks) if any(hooks.values()) else EMPTY

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
        return HookTable(**{kind: copy.deepcopy(getattr(self, kind), memo) for kind in KINDS}) if self else EMPTY

    def __getstate__(self) -> dict[str, Any]:
        return {kind: getattr(self, kind) for kind in KINDS} | {"owner": None}  # a pickled cell is another one

    def owned_by(self, owner: Any) -> HookTable:
        """The table as that of a Cell."""
        if self is EMPTY or (self.owner is not None and self.owner() is owner):
            return self
        return self.with_changed({"owner": OwnerRef(owner)})

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
        return self.with_changed({kind: (hook, *hooks) if prepend else (*hooks, hook)})

    def without(self, id: int) -> HookTable:
        """The table without a hook; the shared empty one if none is left."""
        kept = {kind: tuple([h for h in hooks if h.id != id]) for kind in KINDS if (hooks := getattr(self, kind))}
        return self.with_changed(kept) if any(kept.values()) else EMPTY

    def with_changed(self, changed: dict[str, Any]) -> HookTable:
        """The table with other hooks of some kinds, or another owner. `dataclasses.replace` takes four times as long."""
        own, table = vars(self), object.__new__(HookTable)
        vars(table).update({name: own[name] for name in _FIELDS}, **changed)
        return table


_FIELDS = tuple([each.name for each in fields(HookTable)])
KINDS = _FIELDS[:-1]  # all but the owner
EMPTY = HookTable.EMPTY = HookTable()


def _remove(owner: Any, id: int):
    for hook in owner._hooks.all():
        if hook.id == id:
            hook.removed = threading.get_ident()
            HookTable.change(owner, lambda table: table.without(id))


class HookSite:
    """What stands on a module that has hooks, as its attribute.

    Attributes:
        path: of the module in its model.
        cls_name: the name of its class.
        tables: {name of a method: its present hooks}.
        models_with_hooks: the `Registry` of each model that has hooks now, and whose modules are made anew for each run.
    """

    __slots__ = ()

    path: Any
    cls_name: Any
    tables: Any
    models_with_hooks: ClassVar[LiveSet[Any]] = LiveSet()
    _owner_noun = "module"

    def _named_in(self, around: Sequence[Any]) -> tuple[str, str]:
        return self.path or "the model", self.cls_name

    def cells_and_names(self) -> Sequence[tuple[str, Any]]:
        """The modules in the module, among them Cells, by their paths; none if they aren't known."""
        return ()
