"""Adam and its variants, with parameter groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import ParametersLike
from msjax.core.base.typing import JaxArray, JaxArrays
from msjax.experimental.optim.optimizer import Optimizer
from msjax.nn.optim.engine import Update
from msjax.ops.function.nn_func import optimizer_steps as formulas


def adam(
    c: SimpleNamespace,
    value: JaxArray,
    grad: JaxArray,
    slots: JaxArrays,
    rate: JaxArray,
    t: JaxArray,
    scales_eps: bool = True,
) -> JaxArrays:
    """A step of Adam; `eps` is added before the bias of the squares is corrected (`scales_eps`), or after it."""
    t = t.astype(value.dtype)
    first, second = (beta**t for beta in c.betas)
    m, v, largest = slots
    eps = c.eps if scales_eps else c.eps * jnp.sqrt(1 - second)
    value, *new = formulas.adam(value, m, v, first, second, rate, *c.betas, eps, grad, vhat=largest if c.amsgrad else None)
    return value, *new, *slots[len(new) :]


class Adam(Optimizer):
    """Adaptive moment estimation.

    Args:
        params: Parameters or parameter groups.
        lr (float): the learning rate. Default: 1e-3.
        betas (tuple of float): how much of the means of gradients and of their squares is kept. Default: (0.9, 0.999).
        eps (float): Default: 1e-8.
        weight_decay (float): added to the gradient. Default: 0.0.
        amsgrad (bool): the AMSGrad variant. Default: False.
        maximize (bool): whether to go up. Default: False.
    """

    not_negative = ("eps", "weight_decay")

    def __init__(
        self, params: ParametersLike, lr: float | Tensor = 1e-3, betas: tuple[float, ...] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False,
    ):  # fmt: skip
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)
        super().__init__(params, defaults)
        self.add_state("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        self.add_step("state_step")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return adam(c, u.value, u.grad, u.slots, u.rate, u.context)


class AdamW(Adam):
    """Adam with the decay of weights apart from their gradient.

    Args:
        params, lr, betas, eps, amsgrad, maximize: as in `Adam`.
        weight_decay (float): Default: 0.01.
    """

    decays_gradient = False

    def __init__(
        self, params: ParametersLike, lr: float | Tensor = 1e-3, betas: tuple[float, ...] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.01, amsgrad: bool = False, *, maximize: bool = False,
    ):  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return adam(c, u.value * (1 - u.rate * u.decay), u.grad, u.slots, u.rate, u.context, scales_eps=False)


class Adamax(Optimizer):
    """Adam with a decaying maximum of the absolute gradients instead of the root of their mean square.

    Args:
        params, betas, eps, weight_decay, maximize: as in `Adam`.
        lr (float): Default: 2e-3.
    """

    not_negative = ("eps", "weight_decay")

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize))
        self.add_step("step_t")
        self.add_state("exp_avg", "exp_inf")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        beta1, beta2 = c.betas
        m = beta1 * u.slots[0] + (1 - beta1) * u.grad
        largest = jnp.maximum(beta2 * u.slots[1], jnp.abs(u.grad) + c.eps)
        return u.value - u.rate / (1 - beta1 ** u.context.astype(u.value.dtype)) * m / largest, m, largest


class RAdam(Optimizer):
    """Adam whose scaling by squares waits until there are enough of them.

    Args:
        params, lr, betas, eps, weight_decay: as in `Adam`.
    """

    not_negative = ("eps", "weight_decay")

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))
        self.add_step("step_t")
        self.add_state("exp_avg", "exp_avg_sq")

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        beta1, beta2 = c.betas
        t = step.astype(jnp.float32)
        most = 2 / (1 - beta2) - 1
        length = most - 2 * t * beta2**t / (1 - beta2**t)
        spread = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        rectified = jnp.sqrt(jnp.where(length > 5, spread, 1.0))
        return (length > 5, rectified * jnp.sqrt(1 - beta2**t), 1 - beta1**t), {}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        enough, factor, first = u.context
        m, v = formulas.moments(*u.slots, u.grad, *c.betas)
        scaled = jnp.where(enough, factor / (jnp.sqrt(v) + c.eps), 1.0)
        return u.value - u.rate * m / first * scaled, m, v


class NAdam(Optimizer):
    """Adam with Nesterov's momentum, which grows with the steps.

    Args:
        params, betas, eps, weight_decay: as in `Adam`.
        lr (float): Default: 2e-3.
        momentum_decay (float): how fast the momentum grows. Default: 4e-3.
    """

    not_negative = ("eps", "weight_decay", "momentum_decay")
    group_state = {"mu_product": 1.0}

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay))
        self.add_step("step_t")
        self.add_state("exp_avg", "exp_avg_sq")

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        t = step.astype(jnp.float32)
        now, after = (c.betas[0] * (1 - 0.5 * 0.96 ** ((t + ahead) * c.momentum_decay)) for ahead in (0, 1))
        product = shared["mu_product"] * now
        shares = (1 - now) / (1 - product), after / (1 - product * after), 1 - c.betas[1] ** t
        return shares, {"mu_product": product}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        own, ahead, second = u.context
        m, v = formulas.moments(*u.slots, u.grad, *c.betas)
        return u.value - u.rate * (own * u.grad + ahead * m) / (jnp.sqrt(v / second) + c.eps), m, v
