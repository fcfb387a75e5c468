"""The protocol of hooks around a call of a module that computes on jax arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base.calls import calling
from msjax.core.hooks.batching import CallbackBatch
from msjax.core.hooks.protocol import CallFrame
from msjax.core.hooks.table import HookTable
from msjax.core.hooks.values import ARRAYS, ModuleSubject

# The attribute of a module that has hooks; a `HookSite`.
SITE = "msjax_hooks"


def call_with_array_hooks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    during: Any,
    later: Callable[[], Any],
    site: Any,
    table: Callable[[], HookTable],
) -> Any:
    """Call a function of arrays with the hooks of a module around it.

    Args:
        function (callable): called with the arguments after the forward pre hooks.
        args (tuple), kwargs (dict): the arguments of the call; jax arrays, in pytrees.
        during, later: the module as hooks get it during the call, and a function that returns it as they get it after the run of a
            program; compiled programs keep the latter.
        site: the `HookSite` that names the module in errors.
        table (callable): returns the module's present HookTable; compiled programs keep it.
    """
    subject = ModuleSubject(during, later, table)

    def on_copies(*args, **kwargs):
        # Containers may be used up by the call (equinox's State), and hooks get them after it.
        args, kwargs = jax.tree.map(lambda leaf: leaf, (args, kwargs), is_leaf=ARRAYS.is_leaf)
        return function(*args, **kwargs)

    try:
        with calling(site):
            # All calls of hooks that a program of the user's makes within have one order, also on several devices.
            return CallbackBatch.of_call(
                ARRAYS, lambda: CallFrame(subject, lambda _: table(), ARRAYS).run(on_copies, args, kwargs)
            )
    finally:
        subject.during = None
