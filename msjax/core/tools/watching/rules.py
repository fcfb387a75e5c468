"""Rules on what `watch` sees: a dead layer, a gradient that jumps, updates that are too large or too small, numbers beyond Float16."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from msjax.core.base.checks import check_int
from msjax.core.base.errors import describe
from msjax.core.tools.watching.sinks import WatchRow

_FLOAT16_MAX, _FLOAT16_TINY = 65504.0, 2.0**-24


class RuleBroken(RuntimeError):
    """A rule of `watch` that raises is broken.

    Attributes:
        rule (str): its name.
        path (str): of the cell, module or Parameter.
        step (int): the step.
    """

    def __init__(self, message: str, rule: str, path: str, step: int):
        super().__init__(message)
        self.rule, self.path, self.step = rule, path, step


class Broken(NamedTuple):
    """What a rule said.

    Attributes:
        kind, name, step: of the row that breaks it.
    """

    rule: str
    kind: str
    name: str
    step: int
    message: str


class Rule:
    """A rule; `tools.rules` makes those that are known.

    Args:
        name (str): what it is called in messages.
        needs: the kinds of statistics that it looks at: some of "activation", "gradient", "parameter", "update".
        reads: the statistics that it reads, such as "norm".
        broken: from all rows of one step, of these kinds, to (row, message) pairs.
        then: "warn", "raise", or a function called as ``then(path, message, step)``.
        also: the kinds that it looks at where they are watched.
    """

    def __init__(
        self,
        name: str,
        needs: Sequence[str],
        reads: Sequence[str],
        broken: Callable[[list[WatchRow]], Iterable[tuple[WatchRow, str]]],
        then: str | Callable[[str, str, int], Any] = "warn",
        also: Sequence[str] = (),
    ):
        if then not in ("warn", "raise") and not callable(then):
            raise ValueError(f"For 'rules.{name}', 'then' should be 'warn', 'raise' or a function, but got {describe(then)}.")
        self.name, self.needs, self.reads, self._broken, self._then = name, tuple(needs), tuple(reads), broken, then
        self._kinds = *needs, *also

    def __repr__(self) -> str:
        return f"<rule {self.name}>"

    def __call__(self, rows: list[WatchRow], told: Callable[[Broken], Any] | None = None) -> None:
        """Look at the rows of one step; `told` is called for each that breaks the rule, before `RuleBroken` is raised, if it is."""
        for row, message in self._broken([row for row in rows if row.kind in self._kinds]):
            if told is not None:
                told(Broken(self.name, row.kind, row.name, row.step, message))
            text = f"watch: rule {self.name}, step {row.step}, {row.kind} of {row.name or 'the model'}: {message}"
            if self._then == "raise":
                raise RuleBroken(text, self.name, row.name, row.step)
            if callable(self._then):
                self._then(row.name, message, row.step)
            else:
                warnings.warn(text, stacklevel=2)


def dead(share: float = 1.0, steps: int = 3, then: str | Callable[[str, str, int], Any] = "warn") -> Rule:
    """A rule against dead layers: nearly all outputs of a cell, or all gradients that arrive there, are 0, at several steps in a row.

    Where an activation such as relu is a function, as in flax, the gradient tells: that of the layer before a dead one is 0.

    Args:
        share (float): of the values, that are 0. Default: 1.0.
        steps (int): how many steps in a row, of those that are looked at. Default: 3.
        then: "warn", "raise", or a function called as ``then(path, message, step)``. Default: "warn".

    Example:
        >>> from msjax import Tensor, float32, nn, tools
        >>> net = nn.SequentialCell(nn.Dense(1, 1, "zeros", "zeros"), nn.ReLU())
        >>> dead = []
        >>> rule = tools.rules.dead(steps=2, then=lambda path, message, step: dead.append((path, step)))
        >>> with tools.watch(net, every=1, what="activation", where="1", rules=[rule]):
        ...     for _ in range(3):
        ...         _ = net(Tensor([[1.0]], float32))
        >>> dead
        [('1', 2)]
    """
    steps, rows_in_a_row = check_int(steps, "steps", "rules.dead", low=1), {}

    def broken(rows):
        for row in rows:
            count = rows_in_a_row[row.tag] = rows_in_a_row.get(row.tag, 0) + 1 if row.zeros >= share else 0
            if count == steps:
                what = "gradients" if row.kind == "gradient" else "values"
                yield row, f"{row.zeros:.0%} of the {what} are 0, at {steps} steps in a row"

    return Rule("dead", ("activation",), ("zeros",), broken, then, also=("gradient",))


def gradient_norm(medians: float = 10.0, after: int = 5, then: str | Callable[[str, str, int], Any] = "warn") -> Rule:
    """A rule against gradients that jump: the norm is so many times the median of those before, or isn't finite.

    Args:
        medians (float): how many times the median. Default: 10.0.
        after (int): how many norms there have to be before. Default: 5.
        then: as of `dead`.
    """
    norms: dict[str, list[float]] = {}

    def broken(rows):
        for row in rows:
            before = norms.setdefault(row.name, [])
            if not np.isfinite(row.norm):
                yield row, f"the norm is {row.norm}: {row.nan:.0f} NaN, {row.inf:.0f} infinite"
                continue
            median = float(np.median(before)) if len(before) >= after else 0.0
            if median and row.norm > medians * median:
                yield row, f"the norm is {row.norm:.3g}, {row.norm / median:.0f} times the median {median:.3g}"
            before.append(row.norm)
            del before[:-1000]

    return Rule("gradient_norm", ("gradient",), ("norm", "nan", "inf"), broken, then)


def update_ratio(low: float = 1e-7, high: float = 0.1, then: str | Callable[[str, str, int], Any] = "warn") -> Rule:
    """A rule on the norm of what a step adds to a Parameter, relative to that of the Parameter.

    Args:
        low, high (float): the ratio should be between them. Default: 1e-7, 0.1.
        then: as of `dead`.
    """

    def broken(rows):
        weights = {row.name: row.norm for row in rows if row.kind == "parameter"}
        for row in rows:
            if row.kind == "update" and weights.get(row.name):
                ratio = row.norm / weights[row.name]
                if not low <= ratio <= high:
                    should = f"which should be between {low:g} and {high:g}"
                    yield row, f"its norm is {ratio:.2g} times that of the Parameter, {should}"

    return Rule("update_ratio", ("parameter", "update"), ("norm",), broken, then)


def float16_range(share: float = 0.5, then: str | Callable[[str, str, int], Any] = "warn") -> Rule:
    """A rule on numbers that Float16 can't hold: absolute values above 65504, or so small that they become 0.

    Args:
        share (float): a gradient is too small if its root mean square is below this part of Float16's smallest number. Default: 0.5.
        then: as of `dead`.
    """

    def broken(rows):
        for row in rows:
            largest = max(abs(row.min), abs(row.max))
            if row.inf or largest > _FLOAT16_MAX:
                yield row, f"values up to {largest:.3g}{f', {row.inf:.0f} infinite' if row.inf else ''}: Float16 ends at 65504"
            elif row.kind == "gradient" and 0 < largest < share * _FLOAT16_TINY:
                yield row, f"no value is above {largest:.3g}: all become 0 in Float16"

    return Rule("float16_range", ("activation", "gradient"), ("min", "max", "inf"), broken, then)
