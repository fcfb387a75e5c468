"""The protocol of hooks around a call of a module that computes on jax arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base.calls import entered
from msjax.core.base.state import ACTIVITY, STATE
from msjax.core.hooks.protocol import call_with_hooks
from msjax.core.hooks.values import ARRAYS, ModuleSubject, are_plain

# The attribute of a module that has hooks; it names the module by its `path` and `hook_path`.
SITE = "msjax_hooks"


def call_with_array_hooks(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], subject: ModuleSubject, owner: Any
) -> Any:
    """Call a function of arrays with the hooks of a module around it.

    Args:
        function (callable): called with the arguments after the forward pre hooks.
        args (tuple), kwargs (dict): the arguments of the call; jax arrays, in pytrees.
        subject: the module as hooks get it, with its present hooks; compiled programs keep it, but for the module during the call.
        owner: names the module in errors, by its attribute `hook_path`.
    """

    called = function if are_plain(args, kwargs) else functools.partial(_on_copies, function)
    owners = STATE.owners
    owners.append(owner)  # as `calling` does; written out, since every module comes here
    try:
        if ACTIVITY.slow_dispatch:
            entered(owner)
        return call_with_hooks(called, args, kwargs, subject, _present, ARRAYS)
    finally:
        owners.pop()
        subject.during = None


def _on_copies(function, *args, **kwargs):
    # Containers may be used up by the call (equinox's State), and hooks get them after it.
    args, kwargs = jax.tree.map(lambda leaf: leaf, (args, kwargs), is_leaf=ARRAYS.is_leaf)
    return function(*args, **kwargs)


def _present(subject):
    return subject.present()
