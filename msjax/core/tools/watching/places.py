"""The places of a model that `watch` looks at: hooks that can be put on and taken off, and its Parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.core.models.frameworks.registry import registry_of
from msjax.core.models.module_paths import paths
from msjax.core.models.where import Where, selected
from msjax.core.tools.fault import not_hooked
from msjax.core.tools.hook_set import ModuleHookSet, names_in

Take = Callable[[str, str, list[Any]], None]


class ModulePlaces:
    """Those of a flax nnx module, or of a model that `hooks.hooked` made.

    Args:
        model: the model.
        where: which modules.
        what: some of "activation", "gradient", "parameter", "update".
        take: called with "activation" or "gradient", a name, and arrays.
        program: called in a program in which there are Parameters to look at.

    Raises:
        TypeError: the model is none of these.
    """

    def __init__(self, model: Any, where: Where, what: tuple[str, ...], take: Take, program: Callable[[], Any]):
        self._hooked = registry_of(model) is not None
        if not self._hooked and not isinstance(model, nnx.Module):
            raise not_hooked(model, "watch")
        self._model, self._hooks, self._take = model, ModuleHookSet(model, where), take
        modules, self._name = paths(model), names_in(model)
        self._inside = [f"{name}." if name else "" for name in (selected(modules, where, "watch") if modules else ())]
        if "activation" in what:
            self._hooks.add("forward", self._of_output)
        if "gradient" in what:
            self._hooks.add("backward_pre", self._of_gradient)
        self.on, self.off = self._hooks.on, self._hooks.off

    def what(self, what: tuple[str, ...], required: bool) -> tuple[str, ...]:
        """What of `what` there is.

        Raises:
            ValueError: something else is required.
        """
        if not self._hooked:
            return what
        there = tuple(kind for kind in what if kind in ("activation", "gradient"))
        if required and there != what:
            raise ValueError(
                f"For 'watch', 'what' should be 'activation' or 'gradient' for a model of hooks.hooked, whose weights are elsewhere, "
                f"but got {what!r}."
            )
        return there

    def counted(self, called: Callable[..., Any]) -> Any:
        """None: the user counts the steps, since calls of a module don't tell them."""

    def tensors(self) -> dict[str, Any]:
        """{name: Parameter}: a program of msjax changes none of such a model's."""
        return {}

    def parameters(self) -> dict[str, jax.Array]:
        """{name: present value} of the nnx.Params."""
        if self._hooked:
            return {}
        flat = [(".".join(map(str, at)), v[...]) for at, v in nnx.to_flat_state(nnx.state(self._model, nnx.Param))]
        return {name: value for name, value in flat if any(name.startswith(prefix) for prefix in self._inside)}

    def _of_output(self, module, args, output):
        self._take("activation", self._name(module), jax.tree.leaves(output))

    def _of_gradient(self, module, grads):
        self._take("gradient", self._name(module), [g for g in jax.tree.leaves(grads) if g is not None])
