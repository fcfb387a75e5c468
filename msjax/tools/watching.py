"""watch: statistics of activations, gradients, Parameters and updates at every so many steps, computed inside of the program."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.checks import check_int
from msjax.common.arrays import is_tracer
from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, wrap
from msjax.compile.trace import Call, OwnCall
from msjax.functional.module_paths import Where
from msjax.hooks.delivery import run_traced_hook
from msjax.hooks.worker import barrier
from msjax.state import STATE
from msjax.tools.sinks import sink_of
from msjax.tools.watch_report import WatchReport
from msjax.tools.watch_statistics import rows_of, statistics, statistics_of_all
from msjax.tools.watched_models import CellPlaces, ModulePlaces
from msjax.train.callback.callback import Callback

KINDS = ("activation", "gradient", "parameter", "update")


def watch(
    model: Any, every: int = 100, what: str | Iterable[str] | None = None, to: Any = None, *, where: Where = "*", bins: int = 30
) -> Watch:
    """Compute statistics of a network while it trains: mean, deviation, norm, share of zeros, smallest and largest value, histogram.

    At every so many steps, its cells have hooks that compute the statistics; in compiled code, as part of the program, which gives
    out a few numbers for each place. At the other steps these hooks are off, and the program is the one without statistics.

    Args:
        model: a Cell, each call of which counts as a step; or a flax nnx module, or what `hooks.hooked` made of a model of linen,
            equinox or haiku: call the `next_step` of the result after each step. A compiled step has to get an nnx module as an
            argument.
        every (int): the statistics of so many steps are computed: of number `every`, twice `every` and so on. Default: 100.
        what (str or iterable of str): some of "activation" (outputs of cells), "gradient" (with respect to these and to Parameters),
            "parameter" and "update" (what a step has added to a Parameter). By default, all that the model has: the gradients of
            Parameters only of a Cell, and no Parameters of a model that `hooks.hooked` made, whose weights are elsewhere.
        to: where the statistics go: the path of a ``.csv`` file; that of another folder, for TensorBoard (needs tensorboardX), or
            a SummaryWriter; "plot" for a plot in a notebook; W&B's ``log``, or any function, called as ``to({"activation/fc1/mean": 0.1,
            ...}, step=100)``; or a list of these. By default they are only kept in `rows`.
        where: which cells, as for `hooks.register_forward_hook`: a glob over paths, a type, a function, or a list. Default: all.
        bins (int): of a histogram. Default: 30.

    Returns:
        A `Watch`: a handle, a context manager, and a callback of ``train.Model``, which then counts the Model's training steps.

    Raises:
        TypeError, ValueError: a wrong argument, or no cell matches `where`.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones"), nn.ReLU())
        >>> step = ms.jit(nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)))
        >>> with ms.tools.watch(net, every=2, what="activation", where="1") as watched:
        ...     for _ in range(4):
        ...         _ = step(ms.Tensor([[1.0, -1.0]], ms.float32))
        >>> print([(row.step, row.kind, row.name) for row in watched.rows])
        [(2, 'activation', '1'), (4, 'activation', '1')]
    """
    return Watch(model, every, what, to, where, bins)


class Watch(WatchReport, Callback):
    """What `watch` returns; prints as a table of the latest statistics.

    Attributes:
        rows (list of WatchRow): all statistics so far: `step`, `kind`, `name`, `mean`, `std`, `norm`, `zeros`, `min`, `max`, `histogram`.
        step (int): the number of the present step, from 1.
    """

    def __init__(self, model: Any, every: int, what: str | Iterable[str] | None, to: Any, where: Where, bins: int):
        places = CellPlaces if is_cell(model) else ModulePlaces
        self.every: int = check_int(every, "every", "watch", low=1)
        self.model, self.rows, self.step = model, [], 1
        self._sink, self._bins = sink_of(to), check_int(bins, "bins", "watch", low=1)
        self.what: tuple[str, ...] = (what,) if isinstance(what, str) else KINDS if what is None else tuple(what)
        if not self.what or not set(self.what) <= set(KINDS):
            raise ValueError(f"For 'watch', 'what' should be some of {', '.join(KINDS)}, but got {what!r}.")
        self._places: Any = places(model, where, self.what, self._take, self._program)
        self.what = self._places.what(self.what, required=what is not None)
        self._statistic = jax.jit(functools.partial(statistics, bins=self._bins))
        self._programs: weakref.WeakKeyDictionary[Any, _Program] = weakref.WeakKeyDictionary()
        # Whether next_step() was called; whether the network was called since the step began.
        self._counted, self._called, self._armed = False, False, False
        self._found: list[tuple[str, str, Any]] = []
        self._calls, self._old, self._waiting = {}, None, None
        self._count = model.register_forward_pre_hook(self._called_again, traced=True) if is_cell(model) else None
        self._arm()
        if self._count is None:
            self._keep_old()

    def remove(self) -> None:
        """Write what has come, and take all hooks off; the programs are those without `watch` again."""
        if self._count is not None:
            self._count.remove()
        elif not self._counted and not self.rows and self.every > 1:
            warnings.warn("watch: next_step() was not called, so that no step was counted after the first", stacklevel=2)
        self._end_step()
        self._disarm()

    def __exit__(self, *_exception: Any) -> None:
        self.remove()

    def next_step(self) -> None:
        """End a step: what was computed is written, and the next step begins. Calls of the network count no more."""
        self._counted = True
        self._next_step()
        self._keep_old()

    # ---- a callback of train.Model

    def begin(self, run_context: Any) -> None:
        self._counted = True
        self._keep_old()

    def step_end(self, run_context: Any) -> None:
        self.next_step()

    def end(self, run_context: Any) -> None:
        self.remove()

    # ---- steps

    def _called_again(self, cell, args):
        """The network is called: in PyNative mode a step begins; in a program, a step ends with each of its runs."""
        trace = STATE.trace
        if STATE.functional:
            return
        if trace is not None:
            program = self._program(trace)
            if program is not None:
                program.counts = True
        elif not self._counted:
            if self._called:
                self._next_step()
            self._called = True
            self._keep_old()

    def _next_step(self):
        self._end_step()
        self.step += 1
        self._arm()

    def _arm(self):
        if self.step % self.every == 0 and not self._armed:
            self._armed = True
            self._places.on()

    def _disarm(self):
        if self._armed:
            self._armed = False
            self._places.off()

    def _keep_old(self):
        """Copy the Parameters before a step, for its updates: a program may write the new values in their place."""
        if self._armed and self._old is None and "update" in self.what:
            self._old = {name: jnp.copy(value) for name, value in self._places.parameters().items()}

    def _end_step(self):
        self._write_waiting()
        if self._armed and (self._called or self._counted or self._found):
            if self._count is None:
                barrier()  # callbacks may bring what was computed
            self._disarm()
            self._wait_for_update()
            self._write_waiting()
        self._called = False

    def _wait_for_update(self):
        self._waiting = self.step, self._found, self._old
        self._found, self._calls, self._old = [], {}, None

    def _write_waiting(self):
        """Compute what is still missing of the statistics of a step, and write them."""
        if self._waiting is None:
            return
        (step, found, old), self._waiting = self._waiting, None
        there = {(kind, name) for kind, name, _ in found}
        now = self._places.parameters()
        kinds = {"parameter": now, "update": {n: now[n] - value for n, value in (old or {}).items() if n in now}}
        late = [(k, n, v) for k in kinds if k in self.what for n, v in kinds[k].items() if (k, n) not in there]
        if late:
            table = np.asarray(statistics_of_all([value for _, _, value in late], self._bins))
            found += [(kind, name, row) for (kind, name, _), row in zip(late, table)]
        if found:
            table = np.stack(jax.device_get([row for _, _, row in found]))
            rows = rows_of(step, [(kind, name) for kind, name, _ in found], table)
            self.rows += rows
            self._sink(step, rows)

    # ---- places

    def _take(self, kind, name, values):
        """Statistics of the arrays of a place: computed now, or by the program."""
        values = [v for v in values if hasattr(v, "dtype") and jnp.issubdtype(v.dtype, jnp.inexact)]
        trace = STATE.trace
        for i, value in enumerate(values):
            tag = f"{name}[{i}]" if len(values) > 1 else name
            if not is_tracer(value):
                self._keep(kind, tag, self._statistic(value))
            elif trace is None or trace.at_end is None or not trace.here():
                row = (wrap(statistics(value, self._bins)),)
                run_traced_hook(functools.partial(self._arrived, [(kind, tag)]), row, "watch", observe=True, carried=())
            else:
                program = self._program(trace)
                if program is not None:
                    program.values.append((kind, tag, value))

    def _program(self, trace):
        """What is noted of a program while it is traced; None if jax compiles it, and in a forward pass that is computed again."""
        if trace.silent or trace.at_end is None:
            return None
        if trace not in self._programs:
            self._programs[trace] = _Program()
            trace.at_end.append(functools.partial(self._end_of_program, self._programs[trace]))
        return self._programs[trace]

    def _end_of_program(self, program, trace, changed):
        before = {id(tensor): value for tensor, value in changed}
        parameters = {n: (before[id(p)], p._value) for n, p in self._places.tensors().items() if id(p) in before}
        if self._armed:
            if "parameter" in self.what:
                program.values += [("parameter", name, new) for name, (_, new) in parameters.items()]
            if "update" in self.what:
                program.values += [("update", name, new - old) for name, (old, new) in parameters.items()]
        if program.values:
            names = [(kind, name) for kind, name, _ in program.values]
            table = wrap(jnp.stack([statistics(value, self._bins) for _, _, value in program.values]))
            trace.events.append(Call(functools.partial(self._arrived, names), (table,), "watch", trace))
        if program.counts:
            trace.events.append(OwnCall(functools.partial(self._ran, bool(parameters)), (), "watch", trace))
        program.values.clear()

    def _arrived(self, names: Sequence[tuple[str, str]], table: Tensor):
        for (kind, name), row in zip(names, np.atleast_2d(np.asarray(table._value))):
            self._keep(kind, name, row)

    def _keep(self, kind, name, row):
        count = self._calls[kind, name] = self._calls.get((kind, name), -1) + 1
        self._found.append((kind, f"{name}#{count}" if count else name, row))

    def _ran(self, trains):
        """A program has run in which the network is called; `trains` says whether it has changed Parameters."""
        if self._counted:
            return
        if trains:
            self._called = True
            self._next_step()
            return
        # What changes the Parameters comes after the program; the next step begins when it runs again.
        self._write_waiting()
        if self._armed:
            self._keep_old()
            self._disarm()
            self._wait_for_update()
        self.step += 1
        self._arm()


@dataclass(eq=False)
class _Program:
    """What is noted of a program while it is traced.

    Attributes:
        values: (kind, name, value) of which it computes statistics.
        counts: whether each of its runs is a step.
    """

    values: list[tuple[str, str, Any]] = field(default_factory=list)
    counts: bool = False
