"""The places of a model that `watch` looks at: hooks that can be put on and taken off, and its Parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.common.tensor import tensors_in
from msjax.core.base.state import STATE
from msjax.core.models.frameworks.registry import registry_of
from msjax.core.models.module_paths import paths
from msjax.core.models.where import Where, selected
from msjax.core.tools.fault import not_hooked
from msjax.core.tools.hook_set import HookSet, ModuleHookSet, names_in

Take = Callable[[str, str, list[Any]], None]


class CellPlaces:
    """Those of a Cell.

    Args:
        net (Cell): the network.
        where: which cells.
        what: some of "activation", "gradient", "parameter", "update".
        take: called with "activation" or "gradient", a name, and arrays.
        program: called in a program in which there are Parameters to look at.
    """

    def __init__(self, net: Any, where: Where, what: tuple[str, ...], take: Take, program: Callable[[], Any]):
        self._hooks, self._take = HookSet(), take
        cells = selected(dict(net.cells_and_names()), where, "watch")
        for name, cell in cells.items():
            if "activation" in what:
                self._hooks.add(cell, "forward", functools.partial(self._of_output, name))
            if "gradient" in what:
                self._hooks.add(cell, "backward_pre", functools.partial(self._of_gradient, name))
        self._tensors = {
            name: p for name, p in net.parameters_and_names()
            if p.requires_grad and any(name.startswith(f"{path}." if path else "") for path in cells)
        }  # fmt: skip
        for name, parameter in self._tensors.items() if "gradient" in what else ():
            self._hooks.add_of_parameter(parameter, functools.partial(self._of_parameter, name))
        # Programs are told apart by hooks: this one is there where only Parameters are looked at.
        self._hooks.add(net, "forward_pre", self._called)
        self._program = program
        self.on, self.off = self._hooks.on, self._hooks.off

    def what(self, what: tuple[str, ...], required: bool) -> tuple[str, ...]:
        """What of `what` there is."""
        return what

    def tensors(self) -> dict[str, Any]:
        """{name: Parameter} of those that are trained."""
        return self._tensors

    def parameters(self) -> dict[str, jax.Array]:
        """{name: present value} of these."""
        return {name: p._value for name, p in self._tensors.items()}

    def _called(self, cell, args):
        if STATE.trace is not None:
            self._program()

    def _of_output(self, name, cell, args, output):
        self._take("activation", name, [t._value for t in tensors_in([output])])

    def _of_gradient(self, name, cell, grads):
        self._take("gradient", name, [t._value for t in tensors_in(grads)])

    def _of_parameter(self, name, grad):
        self._take("gradient", name, [grad._value])
        return grad  # so that it is part of the program


class ModulePlaces:
    """Those of a flax nnx module, or of a model that `hooks.hooked` made; the same arguments.

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
