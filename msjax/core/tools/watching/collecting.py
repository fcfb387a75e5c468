"""Collects the statistics of one step of `watch`: computed at its end in PyNative mode, by the program in compiled code."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.arrays import is_tracer
from msjax.core.base.state import STATE
from msjax.core.hooks.delivery import NO_SUBJECT, run_traced_hook
from msjax.core.hooks.values import ARRAYS
from msjax.core.tools.examples import of_all_examples
from msjax.core.tools.watching.statistics import statistics
from msjax.engine.compile.trace import in_program

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
        self._programs: weakref.WeakKeyDictionary[Any, _ProgramStatistics] = weakref.WeakKeyDictionary()

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
            elif not in_program() or not STATE.trace.here():
                row = (self._of_all(value),)
                run_traced_hook(
                    ARRAYS, functools.partial(self._arrived, names), NO_SUBJECT, row, "watch", observe=True, carried=()
                )
            else:
                program = self.program()
                if program is not None:
                    program.values += [(*names[0], value)]

    def program(self) -> _ProgramStatistics | None:
        """The statistics of the program that is being traced; None if jax compiles it."""
        trace = STATE.trace
        if not in_program():
            return None
        if trace not in self._programs:
            self._programs[trace] = _ProgramStatistics()
            trace.at_end(functools.partial(self._end_of_program, self._programs[trace], weakref.ref(trace)))
        return self._programs[trace]

    def _end_of_program(
        self, program: _ProgramStatistics, trace: Callable[[], Any], changed: Sequence[tuple[Tensor, Any]]
    ) -> None:
        before = {id(tensor): value for tensor, value in changed}
        parameters = {n: (before[id(p)], p._value) for n, p in self._tensors().items() if id(p) in before}
        if "parameter" in self.parameters:
            program.values += [("parameter", name, new) for name, (_, new) in parameters.items()]
        if "update" in self.parameters:
            program.values += [("update", name, new - old) for name, (old, new) in parameters.items()]
        if program.values:
            names = [(kind, name) for kind, name, _ in program.values]
            # The output of a cell is often that of the last cell in it, too.
            distinct = {id(value): value for _, _, value in program.values}
            rows = dict(zip(distinct, statistics([*distinct.values()], self.bins)))
            table = jnp.stack([rows[id(value)] for _, _, value in program.values])
            trace().after_run(functools.partial(self._arrived, names), (table,), "watch")
        if program.counts:
            trace().after_run(functools.partial(self._ran, bool(parameters)), (), "watch")
        program.values.clear()

    def _arrived(self, names: Names, table: jax.Array) -> None:
        self._tables.append(([self._numbered(*name) for name in names], table))

    def _numbered(self, kind: str, name: str) -> tuple[str, str]:
        count = self._calls[kind, name] = self._calls.get((kind, name), -1) + 1
        return kind, f"{name}#{count}" if count else name


@dataclass(eq=False)
class _ProgramStatistics:
    """The statistics that a program computes, as they are noted while it is traced.

    Attributes:
        values: (kind, name, value) of which it computes statistics.
        counts: whether each of its runs is a step.
    """

    values: list[tuple[str, str, Any]] = field(default_factory=list)
    counts: bool = False
