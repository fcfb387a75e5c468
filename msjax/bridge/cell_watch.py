"""What `tools.watch` looks at in a Cell: by its hooks, by its Parameters, and inside of the programs that msjax compiles."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from msjax.bridge.cell_hooks import CellHookSet, structure_of
from msjax.common.tensor import Tensor
from msjax.common.tensor_values import TENSORS
from msjax.core.models.where import Where
from msjax.core.tools.watching.collecting import Collector, ModulePlaces, Names, Take, numbered
from msjax.core.tools.watching.handle import Watch
from msjax.engine.compile.trace import program_here, program_under_way
from msjax.train.callback.callback import Callback


class CellPlaces(ModulePlaces):
    """The places of a Cell.

    Args:
        program: called in a program in which there are Parameters to look at.
        called: called at each call of the network.
    """

    kind, hook_set, structure = TENSORS, CellHookSet, staticmethod(structure_of)

    def __init__(
        self, net: Any, where: Where, what: tuple[str, ...], take: Take, program: Callable[[], Any], called: Callable[..., Any]
    ):
        super().__init__(net, where, what, take)
        if "gradient" in what:
            self._hooks.add_of_parameters(self._of_parameter, self._inside)
        # Programs are told apart by hooks: this one is there where only Parameters are looked at.
        self._hooks.add("forward_pre", self._called, "")
        self._program = program
        self._tensors = {name: p for name, p in net.parameters_and_names() if p.requires_grad and name.startswith(self._inside)}
        self.counting = CellHookSet()
        self.counting.add("forward_pre", called, "")

    def what(self, what: tuple[str, ...], required: bool) -> tuple[str, ...]:
        return what

    def tensors(self) -> dict[str, Any]:
        return self._tensors

    def parameters(self, model: Any) -> dict[str, jax.Array]:
        return {name: p._value for name, p in self._tensors.items()}

    def _called(self, cell, args):
        self._program()

    def _of_parameter(self, name, grad):
        self._take("gradient", name, [grad._value])
        return grad  # so that it is part of the program


class CellCollector(Collector):
    """The collector of a Cell, whose programs compute the statistics themselves; the same arguments."""

    def __init__(self, bins: int, wanted: Sequence[str]):
        super().__init__(bins, wanted)
        self._programs: weakref.WeakKeyDictionary[Any, _ProgramStatistics] = weakref.WeakKeyDictionary()

    def take_traced(self, names: Names, value: jax.Array) -> None:
        program = self.program() if program_here() is not None else None
        if program is None:
            super().take_traced(names, value)
        else:
            program.values += [(*names[0], value)]

    def program(self) -> _ProgramStatistics | None:
        trace = program_under_way()
        if trace is None:
            return None
        if trace not in self._programs:
            self._programs[trace] = _ProgramStatistics()
            trace.ends.append(functools.partial(self._end_of_program, self._programs[trace], weakref.ref(trace)))
        return self._programs[trace]

    def _end_of_program(
        self, program: _ProgramStatistics, trace: Callable[[], Any], changed: Sequence[tuple[Tensor, Any]]
    ) -> None:
        before = {id(tensor): value for tensor, value in changed}
        parameters = {n: (before[id(p)], p._value) for n, p in self.places.tensors().items() if id(p) in before}
        if "parameter" in self.parameters:
            program.values += [("parameter", name, old) for name, (old, _) in parameters.items()]
        if "update" in self.parameters:
            program.values += [("update", name, new - old) for name, (old, new) in parameters.items()]
        if program.values:
            names = [(kind, name) for kind, name, _ in program.values]
            table = self._compute([value for _, _, value in program.values])
            trace().after_run(functools.partial(self._arrived_from_program, names, self._known(names)), (table,), "watch")
        if program.counts:
            trace().after_run(functools.partial(self._ran, bool(parameters)), (), "watch")
        program.values.clear()

    def _known(self, names):
        """The names as they are in a step of one run of the program, in which a place may come several times."""
        counts: dict[tuple[str, str], int] = {}
        return [numbered(counts, *name) for name in names], counts

    def _arrived_from_program(self, names, known, table):
        if self._calls or self.user is None:
            self._arrived(names, table)
        else:
            # The first run of the step.
            own, counts = known
            self._calls = dict(counts)
            self._tables.append((own, table))

    def _ran(self, trains):
        if self.user is not None:
            self.user.ran(trains)


@dataclass(eq=False)
class _ProgramStatistics:
    """The statistics that a program computes, as they are noted while it is traced.

    Attributes:
        values: (kind, name, value) of which it computes statistics.
        counts: whether each of its runs is a step.
    """

    values: list[tuple[str, str, Any]] = field(default_factory=list)
    counts: bool = False


class CellWatch(Watch, Callback):
    """What `tools.watch` returns for a Cell."""

    collector, places = CellCollector, CellPlaces
