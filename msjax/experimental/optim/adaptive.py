"""Gradient descent, Adadelta, Adagrad, ASGD, RMSprop and Rprop, with parameter groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_number, check_value
from msjax.core.base.typing import JaxArray, JaxArrays
from msjax.experimental.optim.optimizer import Optimizer
from msjax.nn.optim.engine import Update
from msjax.nn.optim.momentum import check_nesterov
from msjax.nn.optim.signed import averaged, averaging, signed
from msjax.ops.function.nn_func import optimizer_steps as formulas


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and dampening if asked for.

    Args:
        params, weight_decay, maximize: as in `Adam`.
        lr (float): the learning rate.
        momentum (float): Default: 0.
        dampening (float): from the second step on, the gradient enters the momentum as (1 - dampening) * gradient. Default: 0.
        nesterov (bool): needs momentum and no dampening. Default: False.
    """

    not_negative = ("momentum", "dampening", "weight_decay")

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        defaults = dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
            grad_centralization=False,
        )  # fmt: skip
        super().__init__(params, defaults)
        self.add_state("accum")
        self.add_state("stat", start=1)

    def _check_group(self, group):
        super()._check_group(group)
        for name in self.not_negative:
            group[name] = float(group[name])
        if group["nesterov"]:
            check_nesterov(group["momentum"], group["dampening"])

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        if not c.momentum:
            return u.value - u.rate * u.grad, *u.slots
        accum, first = u.slots
        moved = formulas.sgd(u.value, accum, u.grad, u.rate, c.momentum, c.dampening, c.nesterov, first > 0)
        return *moved, jnp.zeros_like(first)


class Adadelta(Optimizer):
    """Gradients scaled by the root of the mean square of moves over that of gradients.

    Args:
        params, weight_decay, maximize: as in `Adam`.
        lr (float): the learning rate. Default: 1.0.
        rho (float): how much of the means is kept. Default: 0.9.
        eps (float): Default: 1e-6.
    """

    not_negative = ("eps", "weight_decay")

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize))
        self.add_state("accum", "accum_update")

    def _check_group(self, group):
        super()._check_group(group)
        check_number(group["rho"], "rho", "Adadelta", low=0, high=1)

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.adadelta(u.value, *u.slots, u.rate, c.rho, c.eps, u.grad)


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares.

    Args:
        params, weight_decay, maximize: as in `Adam`.
        lr (float): the learning rate. Default: 1e-2.
        lr_decay (float): how fast it decays. Default: 0.0.
        initial_accumulator_value (float): what the sum starts at. Default: 0.0.
        eps (float): Default: 1e-10.
    """

    not_negative = ("lr_decay", "weight_decay", "initial_accumulator_value", "eps")

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ):
        defaults = dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, maximize=maximize,
        )  # fmt: skip
        super().__init__(params, defaults)
        self.add_state("accum", start=initial_accumulator_value)
        self.add_step("step_t")

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        return rate / (1 + (step.astype(jnp.float32) - 1) * c.lr_decay), {}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.adagrad(u.value, *u.slots, u.context.astype(u.value.dtype), u.grad, c.eps)


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of each Parameter over the steps (in `ax`).

    Args:
        params, weight_decay, maximize: as in `Adam`.
        lr (float): the learning rate. Default: 1e-2.
        lambd, alpha, t0 (float): as in `nn.ASGD`.
    """

    not_negative = ("weight_decay",)
    group_state = {"eta": "lr", "mu": 1.0}

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ):
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize))
        self.add_state("ax")
        self.add_step("step_t")

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        mu, eta = averaging(c, rate, step.astype(jnp.float32))
        return step, {"eta": eta, "mu": mu}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        eta, mu = (u.shared[name].astype(u.value.dtype) for name in ("eta", "mu"))
        return averaged(c, u.value, u.grad, *u.slots, eta, mu)


class RMSprop(Optimizer):
    """Gradients divided by the root of their mean square.

    Args:
        params, eps, weight_decay, maximize: as in `Adam`.
        lr (float): the learning rate. Default: 1e-2.
        alpha (float): how much of the mean square is kept. Default: 0.99.
        momentum (float): Default: 0.0.
        centered (bool): whether the square of the mean is taken off the mean square. Default: False.
    """

    not_negative = ("alpha", "eps", "weight_decay", "momentum")

    def __init__(
        self, params: ParametersLike, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centered: bool = False, maximize: bool = False,
    ):  # fmt: skip
        defaults = dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay, maximize=maximize
        )
        super().__init__(params, defaults)
        self.add_state("mean_grad", "mean_square", "moment")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        mean, square, moment = u.slots
        square = c.alpha * square + (1 - c.alpha) * jnp.square(u.grad)
        spread = square
        if c.centered:
            mean = c.alpha * mean + (1 - c.alpha) * u.grad
            spread = square - jnp.square(mean)
        move = u.grad / (jnp.sqrt(spread) + c.eps)
        if c.momentum:
            move = moment = c.momentum * moment + move
        return u.value - u.rate * move, mean, square, moment


class Rprop(Optimizer):
    """Steps of a size that grows while the gradient keeps its sign, and shrinks when it changes.

    Args:
        params, maximize: as in `Adam`.
        lr (float): the size at the beginning. Default: 1e-2.
        etas (tuple of float): how much a size shrinks and grows. Default: (0.5, 1.2).
        step_sizes (tuple of float): the smallest and the largest size. Default: (1e-6, 50).
    """

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, ...] = (0.5, 1.2),
        step_sizes: tuple[float, ...] = (1e-6, 50),
        *,
        maximize: bool = False,
    ):
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize))
        self.add_state("prev", "step_size")
        self.add_step("step_t")

    def _check_group(self, group):
        down, up = group["etas"]
        check_value(group["etas"], 0 < down < 1 < up, "be below and above 1", "etas", "Rprop")
        group["step_sizes"] = tuple(float(s) for s in group["step_sizes"])

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return signed(c, u.value, u.grad, u.slots[0], jnp.where(u.context == 1, u.rate, u.slots[1]))
