"""Gradient descent, with and without momentum."""

from __future__ import annotations

from types import SimpleNamespace

import jax.numpy as jnp

from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_bool, check_float, check_number
from msjax.core.base.typing import JaxArrays
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRate
from msjax.nn.optim.engine import Update
from msjax.nn.optim.optimizer import Optimizer
from msjax.ops.function.nn_func import optimizer_steps as formulas

__all__ = ["Momentum", "SGD"]


def check_nesterov(momentum: float, dampening: float) -> None:
    """ValueError where SGD can't use Nesterov's momentum."""
    if momentum <= 0 or dampening != 0:
        raise ValueError(
            f"For 'SGD', nesterov=True needs a momentum and no dampening, but got momentum={momentum}, dampening={dampening}."
        )


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and dampening if asked for.

    Args:
        params, weight_decay, loss_scale: as in `Adam`.
        learning_rate: a number, table or schedule. Default: 0.1.
        momentum (float): Default: 0.0.
        dampening (float): from the second step on, the gradient enters the momentum as (1 - dampening) * gradient.
            Default: 0.0.
        nesterov (bool): whether the gradient is looked at ahead; needs momentum and no dampening. Default: False.

    Example:
        >>> w = Parameter(Tensor([1.0]), name="w")
        >>> _ = nn.SGD([w], 0.1)((Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    constants: tuple[str, ...] = ("dampening", "nesterov", "_plain")

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float | Cell = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = float(check_number(momentum, "momentum", "SGD", low=0))
        self.dampening: float = float(check_number(dampening, "dampening", "SGD", low=0))
        self.nesterov: bool = check_bool(nesterov, "nesterov", "SGD")
        if nesterov:
            check_nesterov(momentum, dampening)
        self._plain = momentum == 0
        self.add_shared("momentum", momentum)
        self.add_state("accum")
        self.add_state("stat", start=1)

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        if c._plain:
            return u.value - u.rate * u.grad, *u.slots
        accum, first = u.slots
        momentum = u.shared["momentum"].astype(u.value.dtype)
        moved = formulas.sgd(u.value, accum, u.grad, u.rate, momentum, c.dampening, c.nesterov, first=first > 0)
        return *moved, jnp.zeros_like(first)


class Momentum(Optimizer):
    """v = momentum * v + gradient; the Parameter moves by -lr * v, with Nesterov by -lr * (gradient + momentum * v).

    Args:
        params, weight_decay, loss_scale: as in `Adam`.
        learning_rate: a number, table or schedule.
        momentum (float): not negative.
        use_nesterov (bool): Default: False.

    Example:
        >>> w = Parameter(Tensor([1.0]), name="w")
        >>> _ = nn.Momentum([w], 0.1, 0.9)((Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    constants: tuple[str, ...] = ("use_nesterov",)

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate,
        momentum: float,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.use_nesterov: bool = check_bool(use_nesterov, "use_nesterov", "Momentum")
        self.add_shared("momentum", check_float(momentum, "momentum", "Momentum", low=0))
        self.add_state("moments")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.sgd(
            u.value, *u.slots, u.grad, u.rate, u.shared["momentum"].astype(u.value.dtype), nesterov=c.use_nesterov
        )
