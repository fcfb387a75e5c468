"""Adam and its variants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_bool, check_options
from msjax.core.base.typing import JaxArray, JaxArrays
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRate
from msjax.nn.optim.engine import Update
from msjax.nn.optim.optimizer import Optimizer
from msjax.ops.function.nn_func import optimizer_steps as formulas

__all__ = ["AdaMax", "Adam", "AdamOffload", "AdamWeightDecay", "LazyAdam"]


class _BiasCorrected(Optimizer):
    """The formula of Adam, LazyAdam and AdamOffload: the learning rate contains the bias correction."""

    constants: tuple[str, ...] = ("beta1", "beta2", "eps", "use_nesterov")

    def _make(self, beta1, beta2, eps, use_locking, use_nesterov, power):
        who = type(self).__name__
        self._set_betas(beta1, beta2, eps)
        self.use_locking: bool = check_bool(use_locking, "use_locking", who)
        self.use_nesterov: bool = check_bool(use_nesterov, "use_nesterov", who)
        self.add_shared("beta1_power", Tensor(power))
        self.add_shared("beta2_power", Tensor(power))
        self.add_state("moment1", "moment2")

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        powers = {"beta1_power": shared["beta1_power"] * c.beta1, "beta2_power": shared["beta2_power"] * c.beta2}
        return [p.reshape(()) for p in powers.values()], powers

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        m, v, *vhat = u.slots
        return formulas.adam(u.value, m, v, *u.context, u.rate, c.beta1, c.beta2, c.eps, u.grad, c.use_nesterov, *vhat)


_ADAM = (
    "params", "learning_rate", "beta1", "beta2", "eps", "use_locking", "use_nesterov", "weight_decay", "loss_scale", "use_amsgrad",
    "use_lazy", "use_offload",
)  # fmt: skip


class Adam(_BiasCorrected):
    """Adaptive moment estimation, with the correction of the bias in the learning rate.

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 1e-3.
        beta1 (float): how much of the mean of gradients is kept. Default: 0.9.
        beta2 (float): how much of the mean of their squares is kept. Default: 0.999.
        eps (float): Default: 1e-8.
        use_locking (bool): without effect.
        use_nesterov (bool): Nesterov's variant. Default: False.
        weight_decay (float or Cell): Default: 0.0.
        loss_scale (float): Default: 1.0.
        use_amsgrad (bool): the AMSGrad variant. Default: False.
        use_lazy, use_offload (bool): accepted for compatibility with MindSpore; the numbers are the same.

    Example:
        >>> w = Parameter(Tensor([1.0]), name="w")
        >>> _ = nn.Adam([w], 0.1)((Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    def __init__(
        self, params: ParametersLike, learning_rate: LearningRate = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
        eps: float = 1e-8, use_locking: bool = False, use_nesterov: bool = False, weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0, use_amsgrad: bool = False, **kwargs: Any,
    ):  # fmt: skip
        check_options(kwargs, _ADAM, "Adam", what="argument", error=KeyError)
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.use_lazy: bool = check_bool(kwargs.get("use_lazy", False), "use_lazy", "Adam")
        self.use_offload: bool = check_bool(kwargs.get("use_offload", False), "use_offload", "Adam")
        self.use_amsgrad: bool = check_bool(use_amsgrad, "use_amsgrad", "Adam")
        if self.use_lazy and self.use_offload:
            raise ValueError("For 'Adam', 'use_lazy' and 'use_offload' can not both be True.")
        if use_amsgrad and (self.use_lazy or self.use_offload):
            raise ValueError("For 'Adam', 'use_amsgrad' can't be combined with 'use_lazy' or 'use_offload'.")
        self._make(beta1, beta2, eps, use_locking, use_nesterov, 1.0)
        if use_amsgrad:
            self.add_state("vhat")


class LazyAdam(_BiasCorrected):
    """Adam; gradients are dense here, so that the rows without a gradient are updated, too.

    Args:
        params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale: as in `Adam`.
    """

    def __init__(
        self, params: ParametersLike, learning_rate: LearningRate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0,
    ):  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._make(beta1, beta2, eps, use_locking, use_nesterov, [1.0])


class AdamOffload(LazyAdam):
    """Adam, whose update runs where the Parameters are; accepted for compatibility with MindSpore.

    Args:
        params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale: as in `Adam`.
    """


class AdamWeightDecay(Optimizer):
    """Adam without the correction of the bias, and with the decay of weights apart from their gradient.

    Args:
        params, learning_rate, beta1, beta2, weight_decay: as in `Adam`.
        eps (float): Default: 1e-6.
    """

    constants: tuple[str, ...] = ("beta1", "beta2", "eps")
    decays_gradient = False

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        self._set_betas(beta1, beta2, eps)
        self.add_state("adam_m", "adam_v")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.adam_weight_decay(u.value, *u.slots, u.rate, c.beta1, c.beta2, c.eps, u.decay, u.grad)


class AdaMax(Optimizer):
    """Adam with a decaying maximum of the absolute gradients instead of the root of their mean square.

    Args:
        params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale: as in `Adam`.
    """

    constants: tuple[str, ...] = ("beta1", "beta2", "eps")

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_betas(beta1, beta2, eps)
        self.add_shared("beta1_power", Tensor([1.0]))
        self.add_state("moment1", "moment2")

    @staticmethod
    def begin(c: SimpleNamespace, shared: dict[str, JaxArray], step: JaxArray, rate: JaxArray) -> tuple[Any, dict[str, JaxArray]]:
        power = shared["beta1_power"] * c.beta1
        return power.reshape(()), {"beta1_power": power}

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.ada_max(u.value, *u.slots, u.context, u.rate, c.beta1, c.beta2, c.eps, u.grad)
