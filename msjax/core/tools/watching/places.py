"""The places of a model that `watch` looks at: hooks that can be put on and taken off, and its Parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import jax
from flax import nnx

from msjax.core.base.flax_slots import RAW_VALUE
from msjax.core.base.weak import identity
from msjax.core.hooks.values import ARRAYS, Values
from msjax.core.models.frameworks.framework import registry_of
from msjax.core.models.hooked import framework_with_hooks, paths
from msjax.core.models.where import Where, selected_calls
from msjax.core.tools.hook_set import ModuleHookSet, names_in

Take = Callable[[str, str, list[Any]], None]


class ModulePlaces:
    """Those of a flax nnx module, or of a model that `hooks.hooked` made.

    Args:
        what: some of "activation", "gradient", "parameter", "update".
        take: called with "activation" or "gradient", a name, and arrays.

    Attributes:
        kind: finds the values among those that hooks get.
        hook_set: makes the set of hooks.
    """

    kind: Values = ARRAYS
    hook_set: Callable[[], Any] = ModuleHookSet

    def __init__(self, model: Any, where: Where, what: tuple[str, ...], take: Take, *_: Any):
        self._hooked, self._variables = registry_of(model) is not None, None
        self._hooks, self._take = self.hook_set(), take
        modules = paths(model)
        chosen = selected_calls(modules, where, "watch") if modules else ()
        self._inside = tuple(f"{name}." if name else "" for name, *_ in chosen)
        if "activation" in what:
            self._hooks.add("forward", self._of_output, where)
        if "gradient" in what:
            self._hooks.add("backward_pre", self._of_gradient, where)

    def off(self) -> None:
        """Take the hooks off."""
        self._variables = None  # a Standing keeps no part of the model
        self._hooks.off()

    @staticmethod
    def structure(model: Any) -> Hashable:
        """What the places depend on: the modules of an nnx module; those of others are made anew for each run. TypeError if it takes no hooks."""
        framework_with_hooks(model, "watch")
        if registry_of(model) is not None:
            return None
        return tuple((name, identity(module)) for name, module in paths(model).items())

    def on(self, model: Any) -> None:
        """Put the hooks on the model."""
        self._name, self._variables = names_in(model), None
        self._hooks.on(model)

    def what(self, what: tuple[str, ...], required: bool) -> tuple[str, ...]:
        """What of `what` there is; ValueError if something else is required."""
        if not self._hooked:
            return what
        there = tuple(kind for kind in what if kind in ("activation", "gradient"))
        if required and there != what:
            raise ValueError(
                f"For 'watch', 'what' should be 'activation' or 'gradient' for a model of hooks.hooked, whose weights are elsewhere, "
                f"but got {what!r}."
            )
        return there

    # A set of the hook that is called at each call of a network; None where the user counts the steps, since calls of a module don't tell them.
    counting: Any = None

    def tensors(self) -> dict[str, Any]:
        """{name: Parameter}: a program of msjax changes none of such a model's."""
        return {}

    def parameters(self, model: Any) -> dict[str, jax.Array]:
        """{name: present value} of the nnx.Params."""
        if self._variables is None:
            params = () if self._hooked else ((at, v) for at, v in nnx.iter_graph(model) if isinstance(v, nnx.Param))
            named = [(name, v) for at, v in params if (name := ".".join(map(str, at))).startswith(self._inside)]
            # Nearly all hold what they give: nnx takes as long to give it as to run a small program.
            self._variables = [(name, v, v[...] is RAW_VALUE.__get__(v)) for name, v in named]
        return {name: RAW_VALUE.__get__(v) if plain else v[...] for name, v, plain in self._variables}

    def _of_output(self, module, args, output):
        self._take("activation", self._name(module), self.kind.arrays(output))

    def _of_gradient(self, module, grads):
        self._take("gradient", self._name(module), self.kind.arrays(grads))
