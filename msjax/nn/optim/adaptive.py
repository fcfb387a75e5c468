"""Optimizers that scale each element by its past gradients, without Adam's moments."""

from __future__ import annotations

from types import SimpleNamespace

from msjax.common.typing import ParametersLike
from msjax.core.base.checks import check_bool, check_float
from msjax.core.base.typing import JaxArrays
from msjax.nn.cell.base import Cell
from msjax.nn.learning_rate_schedule import LearningRate
from msjax.nn.optim.engine import Update
from msjax.nn.optim.optimizer import Optimizer
from msjax.ops.function.nn_func import optimizer_steps as formulas

__all__ = ["Adadelta", "Adagrad", "FTRL", "ProximalAdagrad", "RMSProp"]


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares.

    Args:
        params, learning_rate, loss_scale, weight_decay: as in `Adam`.
        accum (float): what the sum starts at. Default: 0.1.
        update_slots (bool): False keeps the sum as it is. Default: True.
    """

    constants: tuple[str, ...] = ("update_slots",)

    def __init__(
        self,
        params: ParametersLike,
        accum: float = 0.1,
        learning_rate: LearningRate = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update_slots: bool = check_bool(update_slots, "update_slots", "Adagrad")
        self.add_state("accum", start=check_float(accum, "accum", "Adagrad", low=0))

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.adagrad(u.value, *u.slots, u.rate, u.grad, 0.0, c.update_slots)


class Adadelta(Optimizer):
    """Gradients scaled by the root of the mean square of moves over that of gradients.

    Args:
        params, loss_scale, weight_decay: as in `Adam`.
        learning_rate: a number, table or schedule. Default: 1.0.
        rho (float): how much of the means is kept, in [0, 1]. Default: 0.9.
        epsilon (float): Default: 1e-6.
    """

    constants: tuple[str, ...] = ("rho", "epsilon")

    def __init__(
        self,
        params: ParametersLike,
        learning_rate: LearningRate = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho: float = check_float(rho, "rho", "Adadelta", low=0, high=1)
        self.epsilon: float = check_float(epsilon, "epsilon", "Adadelta", low=0)
        self.add_state("accum", "accum_update")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.adadelta(u.value, *u.slots, u.rate, c.rho, c.epsilon, u.grad)


class RMSProp(Optimizer):
    """Gradients divided by the root of their mean square, which starts at one.

    Args:
        params, use_locking, loss_scale, weight_decay: as in `Adam`.
        learning_rate: a number, table or schedule. Default: 0.1.
        decay (float): how much of the mean square is kept. Default: 0.9.
        momentum (float): Default: 0.0.
        epsilon (float): Default: 1e-10.
        centered (bool): whether the square of the mean is taken off the mean square. Default: False.
    """

    constants: tuple[str, ...] = ("decay", "momentum", "epsilon", "centered")

    def __init__(
        self, params: ParametersLike, learning_rate: LearningRate = 0.1, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10,
        use_locking: bool = False, centered: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0,
    ):  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay: float = check_float(decay, "decay", "RMSProp", low=0)
        self.momentum: float = check_float(momentum, "momentum", "RMSProp", low=0)
        self.epsilon: float = check_float(epsilon, "epsilon", "RMSProp", above=0)
        self.use_locking: bool = check_bool(use_locking, "use_locking", "RMSProp")
        self.centered: bool = check_bool(centered, "centered", "RMSProp")
        if centered:
            self.add_state("mean_grad", attribute="mg")
        self.add_state("mean_square", start=1, attribute="ms")
        self.add_state("moment")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        formula = formulas.centered_rms_prop if c.centered else formulas.rms_prop
        return formula(u.value, *u.slots, lr=u.rate, grad=u.grad, decay=c.decay, momentum=c.momentum, epsilon=c.epsilon)


class FTRL(Optimizer):
    """Follow the regularized leader.

    Args:
        use_locking, loss_scale, weight_decay: as in `Adam`.
        params: Parameters or parameter groups; groups can't have a learning rate of their own.
        initial_accum (float): what the sum of squares starts at. Default: 0.1.
        learning_rate (float): one for all steps. Default: 0.001.
        lr_power (float): zero or less. Default: -0.5.
        l1, l2 (float): the strength of regularization. Default: 0.0.
    """

    constants: tuple[str, ...] = ("lr_power", "l1", "l2")
    spared: tuple[str, ...] = ()

    def __init__(
        self, params: ParametersLike, initial_accum: float = 0.1, learning_rate: LearningRate = 0.001, lr_power: float = -0.5, l1: float = 0.0,
        l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0,
    ):  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ValueError("For 'FTRL', the learning rate should be one for all steps and groups.")
        check_float(initial_accum, "initial_accum", "FTRL", low=0)
        self.lr_power: float = check_float(lr_power, "lr_power", "FTRL", high=0)
        self.l1, self.l2 = check_float(l1, "l1", "FTRL", low=0), check_float(l2, "l2", "FTRL", low=0)
        self.use_locking: bool = check_bool(use_locking, "use_locking", "FTRL")
        self.add_state("moments", start=initial_accum)
        self.add_state("linear")

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.ftrl(u.value, *u.slots, u.grad, u.rate, c.l1, c.l2, float(c.lr_power))


class ProximalAdagrad(Optimizer):
    """Adagrad, followed by the proximal step of l1 and l2 regularization.

    Args:
        params, learning_rate, use_locking, loss_scale, weight_decay: as in `Adam`.
        accum (float): what the sum of squares starts at. Default: 0.1.
        l1, l2 (float): the strength of regularization. Default: 0.0.
    """

    constants: tuple[str, ...] = ("l1", "l2")

    def __init__(
        self,
        params: ParametersLike,
        accum: float = 0.1,
        learning_rate: LearningRate = 0.001,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_bool(use_locking, "use_locking", "ProximalAdagrad")
        self.l1, self.l2 = check_float(l1, "l1", "ProximalAdagrad", low=0), check_float(l2, "l2", "ProximalAdagrad", low=0)
        self.add_state("accum", start=check_float(accum, "accum", "ProximalAdagrad", low=0))

    @staticmethod
    def update(c: SimpleNamespace, u: Update) -> JaxArrays:
        return formulas.proximal_adagrad(u.value, *u.slots, u.rate, c.l1, c.l2, u.grad)
