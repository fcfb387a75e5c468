"""mint's optimizers: the experimental optimizers' parameter groups, with PyTorch's formulas and state names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from msjax.common.tensor import Tensor
from msjax.common.typing import ParametersLike
from msjax.core.base.lazy import on_first_use
from msjax.core.base.typing import JaxArrays
from msjax.experimental.optim import moments, optimizer as groups
from msjax.nn.optim.engine import Update
from msjax.nn.optim.momentum import check_nesterov
from msjax.ops.function.nn_func import optimizer_steps as formulas

__all__ = ["Adam", "AdamW", "FusedAdamW", "Optimizer", "SGD"]


class Optimizer(groups.Optimizer):
    """Base of mint's optimizers.

    Args:
        params (list): Parameters, or dicts with the key "params" and settings of their own.
        defaults (dict): settings of all groups.

    Inputs:
        - **gradients** (tuple of Tensor) - one for each Parameter, in order.

    Raises:
        TypeError: `params` is not a list of Parameters or dicts.
        KeyError: a group has no "params".
        ValueError: there are no Parameters, or one is in two groups.
    """

    def __init__(self, params: ParametersLike, defaults: dict[str, Any]):
        super().__init__(params, defaults)
        self.add_step("state_step")

    def add_step(self, name: str) -> None:
        super().add_step(name, 1)

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        return Tensor(super().construct(gradients))


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    Args:
        params, weight_decay, maximize: as in `Adam`.
        lr (float): the learning rate.
        momentum (float): Default: 0.
        dampening (float): the share of the gradient that does not enter the momentum. Default: 0.
        nesterov (bool): Nesterov's momentum. Default: False.

    Example:
        >>> from msjax import Parameter, Tensor, mint
        >>> w = Parameter(Tensor([1.0]), name="w")
        >>> _ = mint.optim.SGD([w], lr=0.5)((Tensor([1.0]),))
        >>> print(w.value())
        [0.5]
    """

    not_negative = ("momentum", "weight_decay")

    def __init__(
        self,
        params: ParametersLike,
        lr: float | Tensor,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        if nesterov:
            check_nesterov(momentum, dampening)
        defaults = dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize
        )
        super().__init__(params, defaults)
        self.add_state("momentum_buf")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        if not c.momentum:
            return u.value - u.rate * u.grad, *u.slots
        return formulas.sgd(u.value, *u.slots, u.grad, u.rate, c.momentum, c.dampening, c.nesterov, first=u.context == 1)


class Adam(moments.Adam, Optimizer):
    """Adam: steps scaled by running means of the gradients and of their squares.

    Args:
        params (list): Parameters, or dicts with the key "params" and settings of their own.
        lr (float): the learning rate. Default: 1e-3.
        betas (tuple of float): the shares of the old means. Default: (0.9, 0.999).
        eps (float): added to the divisor. Default: 1e-8.
        weight_decay (float): Default: 0.
        amsgrad (bool): divide by the largest mean so far. Default: False.
        maximize (bool): maximize the objective instead of minimizing it. Default: False.
    """

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return moments.adam(c, u.value, u.grad, u.slots, u.rate, u.context, scales_eps=False)


class AdamW(moments.AdamW, Adam):
    """Adam with decoupled weight decay; the arguments are those of `Adam`, with a weight decay of 0.01."""


class FusedAdamW(AdamW):
    """The same as `AdamW`: XLA does the fusing."""


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
