"""Hooks that a tool puts on a model's modules and takes off, again and again, and what they compute of values that `jax.vmap` maps over.

The next block of a tool like an earlier one finds that one's hooks, and so its programs: a program is found by its hooks. If each
``with tools.guard(net):`` made new ones, each would compile a program, which jax keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import jax
from jax.custom_batching import custom_vmap

from msjax.core.base.weak import Recent, identity
from msjax.core.hooks.hook import Hook
from msjax.core.models.frameworks.framework import registry_of
from msjax.core.models.hooked import paths
from msjax.core.models.module_hooks import path, put_hook
from msjax.core.models.where import Where

T = TypeVar("T", bound="Standing")


class ModuleHookSet:
    """Hooks of the modules of a model that takes hooks. Each time they are put on they are the same hooks, so that the program that was
    compiled with them is used again."""

    def __init__(self):
        self._hooks, self._handles = [], []

    def add(self, kind: str, fn: Callable[..., Any], where: Where = "*", always_call: bool = False) -> None:
        """A hook of all modules that `where` selects, see `hooks.register_forward_hook`; `kind` is "forward" and so on."""
        self._hooks.append((kind, Hook(fn, observe=False, traced=True, always_call=always_call), where))

    def on(self, model: Any) -> None:
        """Put the hooks on a model."""
        self._handles = [put_hook(model, kind, hook, where) for kind, hook, where in self._hooks]

    def off(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def names_in(model: Any) -> Callable[[Any], str]:
    """A function from a module, as hooks get it, to its path in a model."""
    names = {id(module): name for name, module in paths(model).items()}
    # Some modules are copies, or made anew for each run.
    return lambda module: names[id(module)] if id(module) in names else path(module)


# So many are kept of one model, those that were used last: a function as an option may be a new one each time.
_MOST = 8
_OF_MODELS: Recent[Hashable, Recent[Any, Any]] = Recent()


class Standing:
    """The hooks of one tool on one model, kept between its blocks, since compiled programs refer to them. Keeps the model alive within a block only.

    Attributes:
        hooks: a set of hooks, with methods `on` and `off`.
        user: the tool whose block it is; None between blocks.
    """

    hooks: Any
    user: Any = None


def standing(model: Any, key: Hashable, make: Callable[[], T], user: Any) -> T:
    """The `Standing` of a model (of all copies of what `hooks.hooked` made) and of what it depends on, with a user: made once in the model's life by
    `make`, which must not refer to the model strongly; a second one while a block uses the first."""
    registry = registry_of(model)
    anchor = model if registry is None else registry.life()
    found = _OF_MODELS.of(identity(anchor), Recent, math.inf, (anchor,)).of(key, make, _MOST)
    if found.user is not None:
        found = make()
    found.user = user
    return found


def of_all_examples(fn: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    """A function of an array, with any number of axes, in a program: under `jax.vmap` it gets the array of all examples, with an axis of them.

    So what is told of its result is told once, not once for each example. No gradient goes through it.
    """

    @custom_vmap
    def whole(value):
        return fn(value)

    @whole.def_vmap
    def _(size, batched, value):
        return whole(value), False

    return lambda value: whole(jax.lax.stop_gradient(value))
