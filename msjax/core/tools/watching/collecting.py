"""Collects the statistics of one step of `watch`: computed at its end in PyNative mode, by the program in compiled code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import is_tracer
from msjax.core.hooks.protocol import observe
from msjax.core.tools.examples import of_all_examples
from msjax.core.tools.watching.statistics import statistics

Names = Sequence[tuple[str, str]]


class Collector:
    """Takes arrays from hooks, and keeps them or their statistics until the end of a step.

    Args:
        bins (int): of a histogram.
        tensors: a function that returns {name: Parameter} of those that are trained.
        ran: called after each run of a program in which the network is called, with whether it has changed Parameters.

    Attributes:
        statistics: computes those of a list of arrays.
        parameters: which of "parameter" and "update" a program adds to its statistics.
    """

    def __init__(self, bins: int, tensors: Callable[[], dict[str, Any]], ran: Callable[[bool], None]):
        self.bins, self.parameters = bins, frozenset[str]()
        self._tables: list[tuple[Names, jax.Array]] = []
        self._values: list[tuple[tuple[str, str], jax.Array]] = []
        self._tensors, self._ran = tensors, ran
        self._calls: dict[tuple[str, str], int] = {}
        self.statistics = jax.jit(functools.partial(statistics, bins=bins))
        self._of_all = of_all_examples(lambda value: statistics([value], bins))

    def __bool__(self) -> bool:
        return bool(self._tables or self._values)

    def emptied(self) -> list[tuple[Names, jax.Array]]:
        """(names, their statistics as an array, which need not be computed yet) of what has come; it is no longer kept here."""
        if self._values:
            # By one program: one for each array would take longer to start, and one for each shape to compile.
            names, values = zip(*self._values)
            self._tables.append((names, self.statistics(values)))
        tables, self._tables, self._values, self._calls = self._tables, [], [], {}
        return tables

    def take(self, kind: str, name: str, values: Sequence[Any]) -> None:
        """The arrays of a place: their statistics are computed at the end of the step, or by the program."""
        values = [v for v in values if hasattr(v, "dtype") and jnp.issubdtype(v.dtype, jnp.inexact)]
        for i, value in enumerate(values):
            names = [(kind, f"{name}[{i}]" if len(values) > 1 else name)]
            if not is_tracer(value):
                self._values.append((self._numbered(*names[0]), value))
            else:
                self.take_traced(names, value)

    def take_traced(self, names: Names, value: jax.Array) -> None:
        """An array that jax traces: its statistics come by an observer."""
        observe(functools.partial(self._arrived, names), (self._of_all(value),), "watch")

    def program(self) -> Any:
        """The statistics of the program that is being traced; None if jax compiles it."""

    def _arrived(self, names: Names, table: jax.Array) -> None:
        self._tables.append(([self._numbered(*name) for name in names], table))

    def _numbered(self, kind: str, name: str) -> tuple[str, str]:
        count = self._calls[kind, name] = self._calls.get((kind, name), -1) + 1
        return kind, f"{name}#{count}" if count else name
