"""One registered function, how it is called, and its handle."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from msjax.core.base import code, jax_slots
from msjax.core.base.errors import callable_name
from msjax.core.base.held_state import held_state
from msjax.core.base.weak import identity, new_number


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

    def __init__(self, owner: object, remove: Callable[..., Any], id: int | None = None):
        """
        Args:
            owner: what the hook is registered on; held weakly.
            remove: a function of (owner, id) that removes the hook if it is still registered.
            id: the hook's number; a new one by default.
        """
        self.id: int = new_number() if id is None else id
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
        id: the number of its handle.
        fn: the function; for the kind saved_tensors, the pair of functions.
        with_kwargs: True if it also gets the keyword arguments of the call.
        always_call: a forward hook that runs even if the call fails.
        observe, traced: whether the user declared the hook an observer, or part of compiled programs; None if not declared.
        removed: whether `remove()` was called: no program that runs the hook is used again.
        writes: whether its code says that it may write to Tensors, which the network may read: then a program has it at its place.
        fixed: whether it belongs to the program that is traced when it is registered, so that it is no observer in a slot.
    """

    id: int
    fn: Any
    with_kwargs: bool = False
    always_call: bool = False
    observe: bool | None = None
    traced: bool | None = None
    removed: bool = False
    writes: bool = False
    fixed: bool = False

    @classmethod
    def new(cls, fn: Any, **options: Any) -> Hook:
        """A hook with a number of its own."""
        return cls(new_number(), fn, **options)

    @classmethod
    def registered(cls, fn: Any, **options: Any) -> Hook:
        """One that the user registers now: what jax traces registers hooks of that program alone."""
        return cls(new_number(), fn, fixed=jax_slots.trace_state() != jax_slots.NO_TRACE, **options)

    @staticmethod
    def may_write(fn: Any, observe: bool | None = None, traced: bool | None = None, **_others: Any) -> bool:
        """Whether a hook that gets Tensors, of which the user has not said what it is, may write to some, as far as its code tells."""
        return observe is None and traced is None and code.writes(users_hook(fn))

    @property
    def name(self) -> str:
        return callable_name(self.fn)

    @functools.cached_property
    def in_slot(self) -> bool:
        """Whether it is an observer, which takes a slot of a program."""
        return not self.fixed and self.observes

    @property
    def observes(self) -> bool:
        """Whether it is to be called after each run."""
        return not self.writes and observes(self.fn, self.observe, self.traced)

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


def observes(fn: Callable[..., Any], observe: bool | None = None, traced: bool | None = None) -> bool:
    """True if a hook is to be called after each run; what the user said of it counts first."""
    if observe is not None:
        return bool(observe)
    if traced is not None:
        return not traced
    return only_observes(fn)


class Adapter:
    """A hook of msjax's own around one of the user's, which returns None where that does.

    Attributes:
        fn: the user's hook.
    """

    fn: Callable[..., Any]


def users_hook(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The hook that the user wrote."""
    return fn.fn if isinstance(fn, Adapter) else fn


def only_observes(fn: Callable[..., Any]) -> bool:
    """True if a call of a hook can only return None, as far as its code tells."""
    return code.only_returns_none(users_hook(fn))


def computes(fn: Callable[..., Any]) -> bool:
    """True if the code of a hook says that it may return a value that it has computed or made: then it is no mere observer."""
    return code.computes(users_hook(fn))
