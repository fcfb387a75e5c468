"""Optimizers that scale each element by what its gradients were, without Adam's moments."""

import jax.numpy as jnp

from msjax.errors import describe
from msjax.nn.optim.checks import flag, not_negative, positive, real
from msjax.nn.optim.optimizer import Optimizer
from msjax.ops.operations import optim_ops as formulas

__all__ = ["Adadelta", "Adagrad", "FTRL", "ProximalAdagrad", "RMSProp"]


def _filled(value):
    return lambda x: jnp.full_like(x, value)


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares.

    Args:
        params: Parameters or parameter groups.
        accum (float): what the sum starts at. Default: 0.1.
        learning_rate: a number, table or schedule. Default: 0.001.
        update_slots (bool): False keeps the sum as it is. Default: True.
        loss_scale (float): Default: 1.0.
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("update_slots",)

    def __init__(self, params, accum=0.1, learning_rate=0.001, update_slots=True, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update_slots = flag(update_slots, "update_slots", "Adagrad")
        self.add_state("accum", _filled(not_negative(accum, "accum", "Adagrad")))

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        accum = slots[0] + jnp.square(grad) if c.update_slots else slots[0]
        return value - rate * grad / jnp.sqrt(accum), (accum,)


class Adadelta(Optimizer):
    """Gradients scaled by the root of the mean square of moves over that of gradients.

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 1.0.
        rho (float): how much of the means is kept, in [0, 1]. Default: 0.9.
        epsilon (float): Default: 1e-6.
        loss_scale (float): Default: 1.0.
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("rho", "epsilon")

    def __init__(self, params, learning_rate=1.0, rho=0.9, epsilon=1e-6, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = real(rho, "rho", "Adadelta", low=0.0, high=1.0)
        self.epsilon = not_negative(epsilon, "epsilon", "Adadelta")
        self.add_state("accum")
        self.add_state("accum_update")

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        accum = c.rho * slots[0] + (1 - c.rho) * jnp.square(grad)
        move = jnp.sqrt((slots[1] + c.epsilon) / (accum + c.epsilon)) * grad
        return value - rate * move, (accum, c.rho * slots[1] + (1 - c.rho) * jnp.square(move))


class RMSProp(Optimizer):
    """Gradients divided by the root of their mean square, which starts at one.

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 0.1.
        decay (float): how much of the mean square is kept. Default: 0.9.
        momentum (float): Default: 0.0.
        epsilon (float): Default: 1e-10.
        use_locking (bool): without effect.
        centered (bool): whether the square of the mean is taken off the mean square. Default: False.
        loss_scale (float): Default: 1.0.
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("decay", "momentum", "epsilon", "centered")

    def __init__(
        self, params, learning_rate=0.1, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
        loss_scale=1.0, weight_decay=0.0,
    ):  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay = not_negative(decay, "decay", "RMSProp")
        self.momentum = not_negative(momentum, "momentum", "RMSProp")
        self.epsilon = positive(epsilon, "epsilon", "RMSProp")
        self.use_locking = flag(use_locking, "use_locking", "RMSProp")
        self.centered = flag(centered, "centered", "RMSProp")
        if centered:
            self.add_state("mean_grad", attribute="mg")
        self.add_state("mean_square", jnp.ones_like, attribute="ms")
        self.add_state("moment")

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        step = formulas.centered_rms_prop if c.centered else formulas.rms_prop
        value, *slots = step(value, *slots, lr=rate, grad=grad, decay=c.decay, momentum=c.momentum, epsilon=c.epsilon)
        return value, tuple(slots)


class FTRL(Optimizer):
    """Follow the regularized leader.

    Args:
        params: Parameters or parameter groups; groups can't have a learning rate of their own.
        initial_accum (float): what the sum of squares starts at. Default: 0.1.
        learning_rate (float): one for all steps. Default: 0.001.
        lr_power (float): zero or less. Default: -0.5.
        l1, l2 (float): the strength of regularization. Default: 0.0.
        use_locking (bool): without effect.
        loss_scale (float): Default: 1.0.
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("lr_power", "l1", "l2")
    spared = ()

    def __init__(
        self, params, initial_accum=0.1, learning_rate=0.001, lr_power=-0.5, l1=0.0, l2=0.0, use_locking=False, loss_scale=1.0,
        weight_decay=0.0,
    ):  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ValueError("For 'FTRL', the learning rate should be one for all steps and groups.")
        not_negative(initial_accum, "initial_accum", "FTRL")
        self.lr_power = real(lr_power, "lr_power", "FTRL", high=0.0)
        self.l1, self.l2 = not_negative(l1, "l1", "FTRL"), not_negative(l2, "l2", "FTRL")
        self.use_locking = flag(use_locking, "use_locking", "FTRL")
        self.add_state("moments", _filled(initial_accum))
        self.add_state("linear")

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        value, *slots = formulas.ftrl(value, *slots, grad, rate, c.l1, c.l2, c.lr_power)
        return value, tuple(slots)


class ProximalAdagrad(Optimizer):
    """Adagrad, followed by the proximal step of l1 and l2 regularization.

    Args:
        params: Parameters or parameter groups.
        accum (float): what the sum of squares starts at. Default: 0.1.
        learning_rate: a number, table or schedule. Default: 0.001.
        l1, l2 (float): the strength of regularization. Default: 0.0.
        use_locking (bool): without effect.
        loss_scale (float): Default: 1.0.
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("l1", "l2")

    def __init__(
        self, params, accum=0.1, learning_rate=0.001, l1=0.0, l2=0.0, use_locking=False, loss_scale=1.0, weight_decay=0.0
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not isinstance(use_locking, bool):
            raise TypeError(f"For 'ProximalAdagrad', 'use_locking' should be a bool, but got {describe(use_locking)}.")
        self.l1, self.l2 = not_negative(l1, "l1", "ProximalAdagrad"), not_negative(l2, "l2", "ProximalAdagrad")
        self.add_state("accum", _filled(not_negative(accum, "accum", "ProximalAdagrad")))

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        value, accum = formulas.proximal_adagrad(value, *slots, rate, c.l1, c.l2, grad)
        return value, (accum,)
