"""watch: statistics of activations, gradients, Parameters and updates at every so many steps, computed inside of the program."""

from __future__ import annotations

import atexit
import gc
import warnings
from collections.abc import Iterable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_int, check_kind, check_value
from msjax.core.base.errors import describe
from msjax.core.base.state import STATE
from msjax.core.base.weak import LiveSet
from msjax.core.hooks.worker import barrier
from msjax.core.models.where import Where, names_of, where_key
from msjax.core.page.run import KINDS
from msjax.core.tools.hook_set import standing
from msjax.core.tools.model_tools import tools_of, values_of
from msjax.core.tools.watching.collecting import Collector, ModulePlaces, Names
from msjax.core.tools.watching.report import WatchReport
from msjax.core.tools.watching.rules import Broken, Rule
from msjax.core.tools.watching.sinks import STATISTICS, Sink, WatchRow, note_step, sink_of
from msjax.core.tools.watching.statistics import rows_of

# The statistics of so many steps, or twice as many, are on the device at most.
_ON_DEVICE = 64


def watch(
    model: Any,
    every: int = 100,
    what: str | Iterable[str] | None = None,
    to: Any = None,
    *,
    where: Where = "*",
    bins: int = 30,
    rules: Iterable[Rule] = (),
    statistics: str | Iterable[str] | None = None,
) -> Watch:
    """Compute statistics of a network while it trains: mean, deviation, norm, share of zeros, smallest and largest value, histogram.

    At every so many steps, its cells have hooks that compute the statistics; in compiled code, as part of the program, which gives
    out a few numbers for each place. At the other steps these hooks are off, and the program is the one without statistics. The program
    with statistics is compiled at the second step, whose statistics are dropped.

    Args:
        model: a Cell, each call of which counts as a step; or a flax nnx module, or what `hooks.hooked` made of a model of linen,
            equinox or haiku: call the `next_step` of the result after each step. A compiled step has to get an nnx module as an
            argument.
        every (int): the statistics of so many steps are computed: of number `every`, twice `every` and so on. Default: 100.
        what (str or iterable of str): some of "activation" (outputs of cells), "gradient" (with respect to these and to Parameters),
            "parameter" (as a step finds them) and "update" (what it has added to them). By default, all that the model has: the gradients of
            Parameters only of a Cell, and no Parameters of a model that `hooks.hooked` made, whose weights are elsewhere.
        to: where the statistics go: the path of an ``.html`` file, a page to look at (`tools.page`), which is written anew at most once a
            second; that of a ``.csv`` file; that of another folder, for TensorBoard (needs tensorboardX), or
            a SummaryWriter; "plot" for a plot in a notebook; W&B's ``log``, or any function, called as ``to({"activation/fc1/mean": 0.1,
            ...}, step=100)``; or a list of these. By default they are only kept in `rows`. No step is waited for, so that they may
            be written a step or two later; files and plots in a thread of their own.
        where: which cells, as for `hooks.register_forward_hook`: a glob over paths, a type, a function, or a list. Default: all.
        bins (int): of a histogram. Default: 30.
        statistics (str or iterable of str): which statistics: some of "mean", "std", "norm", "zeros", "min", "max", "nan", "inf" and "histogram",
            which takes the most time by far. The others are NaN in the rows. Default: all.
        rules (iterable of Rule): those of `tools.rules`, each of which warns, raises or calls a function where it is broken: when the
            statistics of a step have come, which may be a step or two later.

    Returns:
        A `Watch`: a handle, a context manager, and, of a Cell, a callback of ``train.Model``, which then counts the Model's training steps.

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
    tools = tools_of(model)
    return (Watch if tools is None else tools.watch)(model, every, what, to, where, bins, rules, statistics)


class Watch(WatchReport):
    """What `watch` returns; prints as a table of the latest statistics.

    Attributes:
        step (int): the number of the present step, from 1.
        numbers (list of tuple): (step, name, value) of what `note` was given.
        broken (list of tuple): (rule, kind, name, step, message) of each time that a rule was broken.
        collector, places: the classes of what takes the statistics, and of the places that are looked at.
    """

    collector: Any = Collector
    places: Any = ModulePlaces

    def __init__(
        self,
        model: Any,
        every: int,
        what: str | Iterable[str] | None,
        to: Any,
        where: Where,
        bins: int,
        rules: Iterable[Rule] = (),
        statistics: str | Iterable[str] | None = None,
    ):
        self.every: int = check_int(every, "every", "watch", low=1)
        self.model, self.step = model, 1
        self._sink: Sink | None = None if to is None else sink_of(to)
        bins = check_int(bins, "bins", "watch", low=1)
        self.what: tuple[str, ...] = KINDS if what is None else names_of(what, "what", "watch")
        check_value(what, self.what and set(self.what) <= set(KINDS), f"be some of {', '.join(KINDS)}", "what", "watch")
        wanted = STATISTICS if statistics is None else names_of(statistics, "statistics", "watch")
        fits = isinstance(rules, Iterable) and not isinstance(rules, (str, dict))
        check_kind(rules, fits, "be a list of rules", "rules", "watch")
        fits = wanted and set(wanted) <= set(STATISTICS)
        check_value(statistics, fits, f"be some of {', '.join(STATISTICS)}", "statistics", "watch")
        # A histogram lies between the smallest and the largest value.
        between = ("min", "max") if "histogram" in wanted else ()
        self.statistics: tuple[str, ...] = tuple(name for name in STATISTICS if name in (*wanted, *between))
        key = "watch", where_key(where), self.what, bins, self.statistics, self.places.structure(model)
        self._collector: Any = standing(model, key, lambda: self._made(model, where, bins), self)
        self._places: Any = self._collector.places
        self._collector.emptied()
        try:
            self.what = self._places.what(self.what, required=what is not None)
            self._rules = [self._checked(rule) for rule in rules]
        except Exception:
            self._collector.user = None
            raise
        # Whether next_step() was called; whether the network was called since the step began.
        self._counted, self._called, self._armed, self._on = False, False, False, False
        self._old, self._waiting, self._settled = None, None, False
        # Whether Parameters are copied before a step, as a program may write the new values in their place: Cells' programs do, and for others
        # the first step with statistics tells.
        self._copies = None if self._places.counting is None else True
        self._given: dict[str, jax.Array] = {}
        self._rows: list[WatchRow] = []
        self.numbers: list[tuple[int, str, Any]] = []
        self.broken: list[Broken] = []
        self._unwritten: list[tuple[int, list[tuple[Names, Any]]]] = []
        _OPEN.add(self)
        if self._places.counting is not None:
            self._places.counting.on(model)
        self._arm()
        if self._places.counting is None:
            self._keep_old()

    def _checked(self, rule):
        check_kind(rule, isinstance(rule, Rule), "be rules of tools.rules", "rules", "watch")
        for name, needed, there in (("what", rule.needs, self.what), ("statistics", rule.reads, self.statistics)):
            if not set(needed) <= set(there):
                raise ValueError(f"For 'watch', the rule {rule.name} needs {name}={list(needed)}, but '{name}' is {list(there)}.")
        return rule

    def _made(self, model, where, bins):
        found = self.collector(bins, self.statistics)
        found.places = self.places(model, where, self.what, found.take, found.program, found.called)
        return found

    @property
    def rows(self) -> list[WatchRow]:
        """All statistics so far: `step`, `kind`, `name`, `mean`, `std`, `norm`, `zeros`, `min`, `max`, `histogram`."""
        self._write(wait=True)
        return self._rows

    def remove(self) -> None:
        """Write what has come, and take all hooks off; the programs are those without `watch` again."""
        counting = self._places.counting
        if counting is None and not self._counted and not self.rows and self.every > 1:
            warnings.warn("watch: next_step() was not called, so that no step was counted after the first", stacklevel=2)
        if self._counted:
            barrier()  # callbacks may bring what was computed
            self._counted = False  # what is left is no step, but where the network was called since
        if self in _OPEN:
            self._end_step()
            self._disarm()
            self._put_off()
            if counting is not None:
                counting.off()
            _OPEN.discard(self)
            self._collector.user = None
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.remove()

    def note(self, **numbers: Any) -> None:
        """Keep numbers of the latest step, such as ``note(loss=loss)``, for the page. They may be arrays that are not computed yet.

        Raises:
            TypeError: one is no number, and no array with one value.
        """
        step = self.step if self._called or self._counted else max(1, self.step - 1)
        for name, value in numbers.items():
            value = values_of(value).raw(value)
            if not isinstance(value, (int, float)) and getattr(value, "size", 0) != 1:
                raise TypeError(f"For 'watch', note({name}=...) should be a number, but got {describe(value)}.")
            self.numbers.append((step, name, value))
            if self._sink is not None:
                self._sink.number(step, name, value)

    def next_step(self, **numbers: Any) -> None:
        """End a step: what was computed is written, and the next step begins. Calls of the network count no more.

        Args:
            numbers: of the step that ends, such as its loss; see `note`.
        """
        self._counted = True
        self.note(**numbers)
        self._next_step()
        self._keep_old()

    # ---- a callback of train.Model

    def begin(self, run_context: Any) -> None:
        self._counted = True
        self._keep_old()

    def step_end(self, run_context: Any) -> None:
        loss = getattr(run_context.original_args(), "net_outputs", None)
        self.next_step(**({"loss": loss} if getattr(loss, "size", 0) == 1 else {}))

    def end(self, run_context: Any) -> None:
        self.remove()

    # ---- steps

    def called(self) -> None:
        """The network is called: in PyNative mode a step begins; in a program, a step ends with each of its runs."""
        if STATE.in_functional_run():
            return
        program = self._collector.program()
        if program is not None:
            program.counts = True
        else:
            if not self._counted and self._called:
                self._next_step()
            if self.step == 1:
                # Without a program, the statistics are compiled at a step's end: at that of the first, the second has nothing to compile.
                self._put_on()
            self._called = self._called or not self._counted
            self._keep_old()

    def ran(self, trains: bool) -> None:
        """A program has run in which the network is called; `trains` says whether it has changed Parameters."""
        if self._counted:
            return
        if trains:
            self._called = True
            self._next_step()
            return
        # What changes the Parameters comes after the program; the next step begins when it runs again.
        self._end_wait()
        if self._armed:
            self._keep_old()
            self._disarm()
            self._wait_for_update()
            if self.step == 2:
                # The update comes after the program, and its statistics with the next step: they are compiled now.
                _, found, old = self._waiting
                self._settle(self._late(found, old))
        self.step += 1
        self._arm()
        self._write(wait=False)

    def _next_step(self):
        self._end_step()
        self.step += 1
        self._arm()

    def _end_step(self):
        # Most steps have no statistics: there is nothing to be done then.
        if self._waiting is not None:
            self._end_wait()
        if self._armed and (self._called or self._counted or self._collector):
            if self._places.counting is None:
                barrier()  # callbacks may bring what was computed
            self._disarm()
            self._wait_for_update()
            self._end_wait()
        self._called = False
        if self._unwritten:
            self._write(wait=False)

    def _arm(self):
        # The second step has statistics, too, which nobody gets: their program is compiled now, not in the midst of training. The first
        # step may still set up state that programs are compiled for.
        if self.step % self.every == 0 or self.step == 2:
            self._put_on()
        else:
            self._put_off()

    def _put_on(self):
        self._armed = True
        self._collector.parameters = frozenset(self.what)
        if not self._on:
            self._on = True
            self._places.on(self.model)

    def _put_off(self):
        if self._on:
            self._on = False
            self._places.off()

    def _disarm(self):
        # The hooks stay where they are until it is known whether the next step has statistics, too.
        self._armed = False
        self._collector.parameters = frozenset()

    def _keep_old(self):
        """Keep the Parameters as they are before a step."""
        if self._armed and self._old is None and not {"parameter", "update"}.isdisjoint(self.what):
            self._given = self._places.parameters(self.model)
            # An array of numpy may change without a new one in its place.
            stay = self._copies is False and all(hasattr(value, "is_deleted") for value in self._given.values())
            self._old = self._given if stay else _copied(self._given)

    # ---- what has come

    def _wait_for_update(self):
        self._waiting = self.step, self._collector.emptied(), self._kept()
        self._old, self._given = None, {}

    def _kept(self):
        """The Parameters as they were before the step; None if they were not copied and it has written over one."""
        gone = any(hasattr(value, "is_deleted") and value.is_deleted() for value in self._given.values())
        lost = gone and self._old is self._given
        if self._given and not self._copies:
            self._copies = gone
        if lost:
            warnings.warn(
                f"watch: step {self.step} has no statistics of parameters and updates: it has written the new values into the memory of the "
                "old ones (donate_argnums), which earlier steps have not. They are copied before each step from now on.",
                stacklevel=2,
            )
        return None if lost else self._old or {}

    def _end_wait(self):
        """End the wait for a step's programs: the statistics of Parameters that none of them has changed are computed now."""
        if self._waiting is None:
            return
        (step, found, old), self._waiting = self._waiting, None
        found += [] if old is None else self._late(found, old)
        if step % self.every == 0:
            self._unwritten += [(step, found)] * bool(found)
        else:
            self._settle(found)

    def _settle(self, found):
        """Wait for statistics that nobody gets: programs that were compiled now and run for the first time take ten times as long as later."""
        jax.block_until_ready([table for _, table in found])
        if self._sink is not None and not self._settled:
            gc.collect()  # what compiling has left is looked through now, not when a plot's objects have Python do it
        self._settled = True

    def _late(self, found, old):
        there = {name for names, _ in found for name in names}
        now = self._places.parameters(self.model)
        each = [("parameter", n, old.get(n, v), None) for n, v in now.items()]
        each += [("update", n, v, old[n]) for n, v in now.items() if n in old]
        late = [one for one in each if one[0] in self.what and one[:2] not in there]
        names = [(k, n) for k, n, *_ in late]
        return [(names, self._collector.statistics(*map(list, zip(*[both for _, _, *both in late]))))] if late else []

    def _write(self, wait: bool):
        """Write the statistics of earlier steps: all of them, or, not to wait for the device, those that have been computed."""
        while self._unwritten:
            step, found = self._unwritten[0]
            if not wait and not (self._sink or self._rules):
                # Rows are made when somebody asks for them. Until then, what is on the device must not get more and more.
                if len(self._unwritten) % _ON_DEVICE == 0:
                    latest = self._unwritten[-2 * _ON_DEVICE :]
                    self._unwritten[-2 * _ON_DEVICE :] = [(step, [_on_host(*each) for each in found]) for step, found in latest]
                return
            if not wait and not all(_is_ready(table) for _, table in found):
                return
            del self._unwritten[0]
            names = [name for names, _ in found for name in names]
            rows = rows_of(step, names, np.concatenate([np.atleast_2d(np.asarray(table)) for _, table in found]), self.statistics)
            self._rows += rows
            if self._sink is not None:
                self._send(step, rows)
            for rule in self._rules:
                rule(rows, self._broken)
        if wait and self._sink is not None:
            self._to_sink(lambda sink: sink.wait())

    def _close(self):
        self._write(wait=True)
        if self._sink is not None:
            self._sink.close()

    def _send(self, step, rows):
        try:
            self._to_sink(lambda sink: sink(step, rows))
        except Exception as error:
            note_step(error, step)
            raise

    def _broken(self, said: Broken):
        self.broken.append(said)
        if self._sink is not None:
            self._sink.broken(*said)

    def _to_sink(self, act):
        sink, self._sink = self._sink, None  # one that fails gets no more
        act(sink)
        self._sink = sink


_copied = jax.jit(lambda values: jax.tree.map(jnp.copy, values))


def _on_host(names: Names, table: Any) -> tuple[Names, Any]:
    return names, np.array(table) if _is_ready(table) else table  # a view would keep the array


def _is_ready(table: Any) -> bool:
    # What came by a callback is an array of numpy.
    is_ready = getattr(table, "is_ready", None)
    return is_ready is None or is_ready()


_OPEN: LiveSet[Watch] = LiveSet()  # those that nobody has removed


@atexit.register
def _write_the_last():
    for watched in _OPEN:
        watched._close()
