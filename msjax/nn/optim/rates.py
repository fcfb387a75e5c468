"""Learning rates as an optimizer stores them: a Parameter or a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_in_range, check_rank, check_value
from msjax.core.base.errors import describe
from msjax.engine.autograd.op import Op, apply
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRate, LearningRateSchedule


class KeptRate(LearningRateSchedule):
    """The base of schedules that look the learning rate up in a Parameter."""

    def __init__(self, rate: float | np.ndarray, name: str):
        super().__init__(auto_prefix=False)
        self.learning_rate: Parameter = Parameter(Tensor(rate, mstype.float32), name=name)


class RateTable(KeptRate):
    """A learning rate for each step; the last one holds from then on. The result has the shape of the step."""

    def construct(self, global_step: Tensor) -> Tensor:
        return apply(_look_up, (self.learning_rate.value(), global_step))


@partial(Op, "LearningRateTable", differentiable=False)
def _look_up(table, step):
    return table[jnp.clip(step, 0, table.shape[0] - 1)]


class ConstantRate(KeptRate):
    """One learning rate for all steps, where other groups have schedules."""

    def construct(self, global_step: Tensor) -> Tensor:
        return wrap(self.learning_rate._value)


def as_rate(value: LearningRate, who: str) -> float | np.ndarray | LearningRateSchedule:
    """Check a learning rate; returns a float, an array of one for each step, or a LearningRateSchedule."""
    if isinstance(value, LearningRateSchedule):
        return value
    if isinstance(value, (bool, int, float)):
        return float(check_in_range(value, "the learning rate", who, low=0))
    if isinstance(value, Tensor) or (isinstance(value, np.ndarray) and value.ndim):
        check_rank(value, (0, 1), "a learning rate", who)
        return np.asarray(value, np.float32)
    if isinstance(value, Iterable) and not isinstance(value, (Cell, np.ndarray)):
        rates = [float(v) for v in value]
        check_value(rates, rates, "not be empty", "the list of learning rates", who)
        return np.asarray(rates, np.float32)
    raise TypeError(
        f"For '{who}', the learning rate should be a number, Tensor, list or LearningRateSchedule, but got {describe(value)}."
    )


def changes(rate: float | np.ndarray | LearningRateSchedule) -> bool:
    """True if a rate, as `as_rate` returns it, is not the same at all steps."""
    return isinstance(rate, LearningRateSchedule) or (isinstance(rate, np.ndarray) and rate.ndim == 1)


def keep(rate: float | np.ndarray | LearningRateSchedule, name: str, as_schedule: bool = False) -> Cell | Parameter:
    """A rate as a member of an optimizer: a Parameter called `name`, or a schedule."""
    if isinstance(rate, LearningRateSchedule):
        return rate
    if isinstance(rate, np.ndarray) and rate.ndim == 1:
        return RateTable(rate, name)
    return ConstantRate(rate, name) if as_schedule else Parameter(Tensor(rate, mstype.float32), name=name)
