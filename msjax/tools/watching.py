"""watch: statistics of activations, gradients, Parameters and updates at every so many steps, computed inside of the program."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.checks import check_int
from msjax.common.arrays import is_tracer
from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, tensors_in, wrap
from msjax.compile.trace import Call
from msjax.errors import describe
from msjax.functional.module_paths import Where, selected
from msjax.hooks.delivery import run_traced_hook
from msjax.state import STATE
from msjax.tools.hook_set import HookSet
from msjax.tools.sinks import Histogram, WatchRow, sink_of
from msjax.train.callback.callback import Callback

KINDS = ("activation", "gradient", "parameter", "update")


def watch(
    model: Any, every: int = 100, what: str | Iterable[str] = KINDS, to: Any = None, *, where: Where = "*", bins: int = 30
) -> Watch:
    """Compute statistics of a network while it trains: mean, deviation, norm, share of zeros, smallest and largest value, histogram.

    Every so many calls of the network, its cells have hooks that compute the statistics; where msjax compiles, as part of the program,
    which gives out a few numbers for each place. At the other steps there is no hook, and the program is the one without `watch`.

    Args:
        model (Cell): the network; each of its calls counts as a step.
        every (int): the statistics of so many steps are computed: of number `every`, twice `every` and so on. Default: 100.
        what (str or iterable of str): some of "activation" (outputs of cells), "gradient" (with respect to these and to Parameters),
            "parameter" and "update" (what a step has added to a Parameter). Default: all.
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


class Watch(Callback):
    """What `watch` returns.

    Attributes:
        rows (list of WatchRow): all statistics so far: `step`, `kind`, `name`, `mean`, `std`, `norm`, `zeros`, `min`, `max`, `histogram`.
        step (int): the number of the present step, from 1.
    """

    def __init__(self, model: Any, every: int, what: str | Iterable[str], to: Any, where: Where, bins: int):
        if not is_cell(model):
            raise TypeError(f"For 'watch', the model should be a Cell, but got {describe(model)}.")
        self.every: int = check_int(every, "every", "watch", low=1)
        self.what: tuple[str] | tuple[str, ...] = (what,) if isinstance(what, str) else tuple(what)
        if not self.what or not set(self.what) <= set(KINDS):
            raise ValueError(f"For 'watch', 'what' should be some of {', '.join(KINDS)}, but got {what!r}.")
        self.model, self.rows, self.step = model, [], 1
        self._sink, self._bins = sink_of(to), check_int(bins, "bins", "watch", low=1)
        self._statistic = jax.jit(functools.partial(statistics, bins=self._bins))
        cells = selected(dict(model.cells_and_names()), where)
        self._hooks = HookSet()
        for name, cell in cells.items():
            if "activation" in self.what:
                self._hooks.add(cell, "forward", functools.partial(self._of_output, name))
            if "gradient" in self.what:
                self._hooks.add(cell, "backward_pre", functools.partial(self._of_gradient, name))
        self._parameters = {
            name: p for name, p in model.parameters_and_names()
            if p.requires_grad and any(name.startswith(f"{path}." if path else "") for path in cells)
        }  # fmt: skip
        for name, parameter in self._parameters.items() if "gradient" in self.what else ():
            self._hooks.add_of_parameter(parameter, functools.partial(self._of_parameter, name))
        self._traces: weakref.WeakSet[Any] = weakref.WeakSet()
        self._armed, self._called, self._by_model = False, False, False
        self._found, self._calls, self._old = [], {}, {}
        self._count = model.register_forward_pre_hook(self._called_again, traced=True)
        self._begin_step()

    def remove(self) -> None:
        """Write what has come, and take all hooks off; the programs are those without `watch` again."""
        self._count.remove()
        self._end_step()
        self._disarm()

    def __exit__(self, *_exception: Any) -> None:
        self.remove()

    # ---- a callback of train.Model

    def begin(self, run_context: Any) -> None:
        self._by_model = True

    def step_begin(self, run_context: Any) -> None:
        self._begin_step()

    def step_end(self, run_context: Any) -> None:
        self._next_step()

    def end(self, run_context: Any) -> None:
        self.remove()

    # ---- steps

    def _called_again(self, cell, args):
        """The network is called: in PyNative mode a step begins; in a program, a step ends with each of its runs."""
        trace = STATE.trace
        if self._by_model or STATE.functional:
            return
        if trace is None:
            if self._called:
                self._next_step()
            self._called = True
        elif not trace.silent and trace not in self._traces:
            self._traces.add(trace)
            trace.at_end.append(lambda trace, _: trace.events.append(Call(self._ran, (), "watch", trace)))

    def _ran(self):
        self._called = False
        self._next_step()

    def _next_step(self):
        self._end_step()
        self.step += 1
        self._begin_step()

    def _begin_step(self):
        if self.step % self.every or self._armed:
            return
        self._armed = True
        self._hooks.on()
        if "update" in self.what:
            # Copies, since a program may write the new values in their place.
            self._old = {name: jnp.copy(p._value) for name, p in self._parameters.items()}

    def _disarm(self):
        if self._armed:
            self._armed = False
            self._hooks.off()

    def _end_step(self):
        if not self._armed or not (self._found or self._called):
            return
        self._disarm()
        found, self._found, self._calls = self._found, [], {}
        if self.what != ("activation",) and self.what != ("gradient",):
            values = {name: p._value for name, p in self._parameters.items()}
            both = _of_parameters(values if "parameter" in self.what else {}, values, self._old, self._bins)
            found += [(kind, name, both[kind][name]) for kind in both for name in values if name in both[kind]]
        self._old = {}
        rows = [_row(self.step, kind, name, values) for kind, name, values in jax.device_get(found)]
        self.rows += rows
        if rows:
            self._sink(self.step, rows)

    # ---- places

    def _of_output(self, name, cell, args, output):
        self._take("activation", name, tensors_in([output]))

    def _of_gradient(self, name, cell, grads):
        self._take("gradient", name, tensors_in(grads))

    def _of_parameter(self, name, grad):
        self._take("gradient", name, [grad])
        return grad  # so that it is part of the program

    def _take(self, kind, name, tensors):
        values = [t._value for t in tensors if jnp.issubdtype(t._value.dtype, jnp.inexact)]
        for i, value in enumerate(values):
            tag = f"{name}[{i}]" if len(values) > 1 else name
            if not is_tracer(value):
                self._keep(kind, tag, self._statistic(value))
            else:
                row = wrap(statistics(value, self._bins))
                run_traced_hook(functools.partial(self._arrived, kind, tag), (row,), "watch", observe=True, carried=())

    def _arrived(self, kind, name, row: Tensor):
        self._keep(kind, name, row._value)

    def _keep(self, kind, name, row):
        count = self._calls[kind, name] = self._calls.get((kind, name), -1) + 1
        self._found.append((kind, f"{name}#{count}" if count else name, row))


@functools.partial(jax.jit, static_argnums=3)
def _of_parameters(values, new, old, bins):
    return {
        "parameter": {name: statistics(v, bins) for name, v in values.items()},
        "update": {name: statistics(new[name] - v, bins) for name, v in old.items()},
    }


def statistics(value: jax.Array, bins: int) -> jax.Array:
    """mean, deviation, norm, share of zeros, min, max, and the counts of a histogram between the last two: Float32, shape (6 + bins,)."""
    if not value.size:
        return jnp.zeros(6 + bins, jnp.float32)
    value = (jnp.abs(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value).astype(jnp.float32).ravel()
    low, high = value.min(), value.max()
    width = jnp.where(high > low, high - low, 1)
    finite = jnp.isfinite(value)
    place = jnp.clip(jnp.where(finite, (value - low) / width * bins, 0).astype(jnp.int32), 0, bins - 1)
    counts = jnp.zeros(bins, jnp.float32).at[place].add(finite.astype(jnp.float32))
    scalars = [value.mean(), value.std(), jnp.sqrt((value * value).sum()), (value == 0).mean(dtype=jnp.float32), low, high]
    return jnp.concatenate([jnp.stack(scalars), counts])


def _row(step, kind, name, values):
    scalars, counts = values[:6].tolist(), values[6:]
    low, high = scalars[4:]
    edges = np.linspace(low, high if high > low else low + 1, len(counts) + 1)
    return WatchRow(step, kind, name, *scalars, Histogram(counts, edges))
