"""Collects the statistics of one step of `watch`: computed at its end in PyNative mode, by the program in compiled code."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax

from msjax.core.base.arrays import is_float, is_tracer
from msjax.core.hooks.delivery import Frame
from msjax.core.hooks.values import ARRAYS
from msjax.core.tools.hook_set import Standing, of_all_examples
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
