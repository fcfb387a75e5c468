"""Gradient descent with parameter groups."""

from __future__ import annotations

from types import SimpleNamespace

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import ParametersLike
from msjax.core.base.typing import JaxArrays
from msjax.experimental.optim.optimizer import Optimizer
from msjax.nn.optim.engine import Update
from msjax.nn.optim.momentum import check_nesterov
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
