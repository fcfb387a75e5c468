"""Modules with hooks that compute on jax arrays: the attribute that they have, their subclasses, and the protocol of hooks around a call."""

from __future__ import annotations

import functools
import operator
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base import jax_slots
from msjax.core.base.errors import owner_named
from msjax.core.base.state import ACTIVITY, STATE
from msjax.core.hooks.batching import CallbackBatch
from msjax.core.hooks.hook import HookSite
from msjax.core.hooks.kinds import are_known
from msjax.core.hooks.protocol import CallFrame
from msjax.core.hooks.values import ARRAYS, ModuleSubject

_PRESENT = operator.methodcaller("present")

# The attribute of a module that has hooks; a `HookSite`.
SITE = "msjax_hooks"


def call_with_array_hooks(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], subject: ModuleSubject, owner: HookSite
) -> Any:
    """Call a function of arrays with the hooks of a module around it.

    Args:
        subject: the module as hooks get it, with its present hooks; compiled programs keep it, but for the module during the call.
        owner: the `HookSite` that names the module in errors.
    """
    owners, known = STATE.owners, are_known(args, kwargs)
    # What begins within a module, on known values, is no program of its own.
    eager = (known and owners) or jax_slots.trace_state() == jax_slots.NO_TRACE
    if not known:
        function = functools.partial(_on_copies, function)
    owners.append(owner)
    try:
        if ACTIVITY.slow_dispatch:
            STATE.entered(owner)
        if eager:
            return CallFrame(subject, _PRESENT, ARRAYS).run(function, args, kwargs)
        # All calls of hooks that a program of the user's makes within have one order, also on several devices.
        return CallbackBatch.of_call(ARRAYS, lambda: CallFrame(subject, _PRESENT, ARRAYS).run(function, args, kwargs))
    except RecursionError as error:
        # At the outermost call of a module that has called itself again and again, an error of a few lines.
        depth = owners.count(owner)
        error.calls = max(depth, getattr(error, "calls", 0))  # pyright: ignore[reportAttributeAccessIssue]
        if depth == 1 and error.calls > 8:  # pyright: ignore[reportAttributeAccessIssue]
            raise RecursionError(
                f"The {owner_named(owners)} called itself without end: does one of its hooks call the model, which calls the hook again? "
                "Call it within `with hooks.without(model):`."
            ) from None
        raise
    finally:
        owners.pop()
        subject.during = None


def _on_copies(function, /, *args, **kwargs):
    # Containers may be used up by the call (equinox's State), and hooks get them after it.
    args, kwargs = jax.tree.map(lambda leaf: leaf, (args, kwargs), is_leaf=ARRAYS.is_leaf)
    return function(*args, **kwargs)


def subclasses(namespace_of: Callable[..., dict[str, Any]]) -> Callable[..., type]:
    """A decorator that makes of ``namespace_of(cls, *key)`` a function that returns the subclass with that namespace, under the class's name.

    It is made once for each class and key, so that modules of one class stay of one class, and jax finds its programs.
    """
    made: weakref.WeakKeyDictionary[type, dict[tuple[Any, ...], type]] = weakref.WeakKeyDictionary()

    @functools.wraps(namespace_of)
    def of(cls, *key):
        classes = made.setdefault(cls, {})
        if key not in classes:
            classes[key] = _subclass(cls, namespace_of(cls, *key))
        return classes[key]

    return of


def _subclass(cls, namespace):
    nnx = sys.modules.get("flax.nnx")
    options = {}
    if nnx is not None and issubclass(cls, nnx.Pytree):
        # nnx asks of each class whether it is a pytree.
        options["pytree"] = not jax.tree_util.all_leaves([object.__new__(cls)])
    namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **namespace}
    return types.new_class(cls.__name__, (cls,), options, lambda body: body.update(namespace))
