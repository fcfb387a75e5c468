"""ASGD and Rprop."""

from __future__ import annotations

from types import SimpleNamespace

import jax.numpy as jnp

from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_float, check_type, check_value
from msjax.core.base.typing import JaxArray, JaxArrays
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRate
from msjax.nn.optim.engine import CompiledOptimizer, Update
from msjax.nn.optim.optimizer import Optimizer

__all__ = ["ASGD", "Rprop"]


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of each Parameter over the steps (in `ax`).

    Args:
        params, weight_decay: as in `Adam`.
        learning_rate: a number, table or schedule. Default: 0.1.
        lambd (float): the decay. Default: 1e-4.
        alpha (float): the power in which the step grows smaller. Default: 0.75.
        t0 (float): the step at which averaging begins. Default: 1e6.
    """

    constants: tuple[str, ...] = ("lambd", "alpha", "t0")

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        self.lambd, self.alpha, self.t0 = (
            check_float(value, name, "ASGD") for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0))
        )
        self.add_state("mu", start=lambda x: jnp.ones((), jnp.float32), form="{}_{}")
        self.add_state("eta", start=lambda x: jnp.zeros((), jnp.float32), form="{}_{}")
        self.add_state("ax_", attribute="ax")

    construct = CompiledOptimizer.construct

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        mu, eta, average = u.slots
        value, average = averaged(c, u.value, u.grad, average, jnp.where(u.context == 1, u.rate, eta), mu)
        return value, *averaging(c, u.rate, u.context.astype(value.dtype)), average


def averaged(
    c: SimpleNamespace, value: JaxArray, grad: JaxArray, average: JaxArray, eta: JaxArray, mu: JaxArray
) -> tuple[JaxArray, JaxArray]:
    """(new value, new average of the values) of ASGD."""
    value = value * (1 - c.lambd * eta) - eta * grad
    return value, jnp.where(mu == 1, value, average + (value - average) * mu)


def averaging(c: SimpleNamespace, rate: JaxArray, t: JaxArray) -> tuple[JaxArray, JaxArray]:
    """(weight of the next value in the average, next size of a step) of ASGD after step t."""
    return 1 / jnp.maximum(1, t - c.t0), rate / (1 + c.lambd * rate * t) ** float(c.alpha)


class Rprop(Optimizer):
    """Steps of a size that grows while the gradient keeps its sign, and shrinks when it changes.

    Args:
        params, weight_decay: as in `Adam`.
        learning_rate: the size at the beginning: a number, table or schedule. Default: 0.1.
        etas (tuple of float): how much a size shrinks, in (0, 1), and grows, above 1. Default: (0.5, 1.2).
        step_sizes (tuple of float): the smallest and the largest size. Default: (1e-6, 50.0).
    """

    constants: tuple[str, ...] = ("etas", "step_sizes")

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate = 0.1,
        etas: tuple[float, ...] = (0.5, 1.2),
        step_sizes: tuple[float, ...] = (1e-6, 50.0),
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            check_value(pair, len(check_type(pair, tuple, name, "Rprop")) == 2, "hold two numbers", name, "Rprop")
        shrink = check_float(etas[0], "etas[0]", "Rprop", above=0, below=1)
        self.etas: tuple[float, float] = shrink, check_float(etas[1], "etas[1]", "Rprop", above=1)
        self.step_sizes: tuple[float, ...] = tuple(
            check_float(size, f"step_sizes[{i}]", "Rprop", above=0) for i, size in enumerate(step_sizes)
        )
        check_value(step_sizes, step_sizes[0] <= step_sizes[1], "come first", "the smallest of 'step_sizes'", "Rprop")
        self.add_state("prev", "step_size")

    construct = CompiledOptimizer.construct

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return signed(c, u.value, u.grad, u.slots[0], jnp.where(u.context == 1, u.rate, u.slots[1]))


def signed(c: SimpleNamespace, value: JaxArray, grad: JaxArray, before: JaxArray, size: JaxArray) -> JaxArrays:
    """(new value, gradient without the elements that changed their sign, new sizes of the step) of Rprop."""
    agrees = grad * before
    least, largest = map(jnp.asarray, c.step_sizes)
    size = jnp.clip(jnp.where(agrees > 0, size * c.etas[1], jnp.where(agrees < 0, size * c.etas[0], size)), least, largest)
    grad = jnp.where(agrees < 0, 0, grad)
    return value - jnp.sign(grad) * size, grad, size
