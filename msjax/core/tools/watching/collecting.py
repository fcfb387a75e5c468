"""What `watch` looks at in a model, and what takes the statistics of one step: computed at its end in PyNative mode, by the program in compiled
code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
from flax import nnx

from msjax.core.base.arrays import is_float, is_tracer
from msjax.core.base.flax_slots import RAW_VALUE
from msjax.core.base.weak import identity
from msjax.core.hooks.delivery import Frame
from msjax.core.hooks.values import ARRAYS, Values
from msjax.core.models.frameworks.framework import registry_of
from msjax.core.models.hooked import framework_with_hooks, paths
from msjax.core.models.where import Where, selected_calls
from msjax.core.tools.hook_set import ModuleHookSet, Standing, names_in, of_all_examples
from msjax.core.tools.watching.statistics import statistics

Names = Sequence[tuple[str, str]]


@functools.cache
def _program(bins, wanted):
    """One program for all collectors: jax's caches may keep a collector when its model is gone."""

    @jax.jit
    def program(values, before):
        return statistics([v if b is None else v - b for v, b in zip(values, before)], bins=bins, wanted=wanted)

    return program


class Collector(Standing):
    """Takes arrays from hooks, and keeps them or their statistics until the end of a step.

    Attributes:
        places: what is looked at, with the hooks that call `take`.
        statistics: computes those of a list of arrays, less what a second list has in the same place; None for nothing.
        parameters: which of "parameter" and "update" a program adds to its statistics.
    """

    places: Any

    def __init__(self, bins: int, wanted: Sequence[str]):
        self._compute = functools.partial(statistics, bins=bins, wanted=wanted)
        self.parameters = frozenset[str]()
        self._tables: list[tuple[Names, jax.Array]] = []
        self._values: list[tuple[tuple[str, str], jax.Array]] = []
        self._calls: dict[tuple[str, str], int] = {}
        self.statistics = _program(bins, tuple(wanted))
        self._of_all = of_all_examples(lambda value: self._compute([value]))

    def __bool__(self) -> bool:
        return bool(self._tables or self._values)

    def emptied(self) -> list[tuple[Names, jax.Array]]:
        """Take out what has been collected, as tables of (names, an array of their statistics, which jax may still be computing)."""
        if self._values:
            # By one program: one for each array would take longer to start, and one for each shape to compile.
            names, values = zip(*self._values)
            self._tables.append((names, self.statistics(values, (None,) * len(values))))
        tables, self._tables, self._values, self._calls = self._tables, [], [], {}
        return tables

    def take(self, kind: str, name: str, values: Sequence[Any]) -> None:
        """The arrays of a place: their statistics are computed at the end of the step, or by the program."""
        values = [v for v in values if is_float(v)]
        for i, value in enumerate(values):
            names = [(kind, f"{name}[{i}]" if len(values) > 1 else name)]
            if not is_tracer(value):
                self._values.append((numbered(self._calls, *names[0]), value))
            else:
                self.take_traced(names, value)

    def take_traced(self, names: Names, value: jax.Array) -> None:
        """An array that jax traces: its statistics come by an observer."""
        Frame(ARRAYS).observe(functools.partial(self._arrived, names), (self._of_all(value),), "watch")

    def called(self, _model: Any, _args: Any) -> None:
        """The network is called."""
        if self.user is not None:
            self.user.called()

    def program(self) -> Any:
        """The statistics of the program that is being traced; None if jax compiles it."""

    def _arrived(self, names: Names, table: jax.Array) -> None:
        if self.user is not None:  # not after the end of the block
            self._tables.append(([numbered(self._calls, *name) for name in names], table))


def numbered(calls: dict[tuple[str, str], int], kind: str, name: str) -> tuple[str, str]:
    """The name of a place in its next call; `calls` counts them."""
    count = calls[kind, name] = calls.get((kind, name), -1) + 1
    return kind, f"{name}#{count}" if count else name


Take = Callable[[str, str, list[Any]], None]


class ModulePlaces:
    """The watched places of a flax nnx module, or of a model that `hooks.hooked` made.

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
        """Those of the wanted quantities that the model has; ValueError if one is `required` that it lacks."""
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
