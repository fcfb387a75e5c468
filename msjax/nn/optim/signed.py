"""ASGD and Rprop."""

import jax.numpy as jnp

from msjax.errors import describe
from msjax.nn.optim.checks import fraction, positive, real
from msjax.nn.optim.optimizer import Optimizer

__all__ = ["ASGD", "Rprop"]


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of each Parameter over the steps (in `ax`).

    Args:
        params: Parameters or parameter groups.
        learning_rate: a number, table or schedule. Default: 0.1.
        lambd (float): the decay. Default: 1e-4.
        alpha (float): the power in which the step grows smaller. Default: 0.75.
        t0 (float): the step at which averaging begins. Default: 1e6.
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("lambd", "alpha", "t0")

    def __init__(self, params, learning_rate=0.1, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        self.lambd = real(lambd, "lambd", "ASGD")
        self.alpha = real(alpha, "alpha", "ASGD")
        self.t0 = real(t0, "t0", "ASGD")
        self.add_state("mu", lambda x: jnp.ones((), jnp.float32), form="{}_{}")
        self.add_state("eta", lambda x: jnp.zeros((), jnp.float32), form="{}_{}")
        self.add_state("ax_", attribute="ax")

    def construct(self, gradients):
        super().construct(gradients)
        return True

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        mu, eta, average = slots
        t = step.astype(value.dtype)
        eta = jnp.where(step == 1, rate, eta)
        value = value * (1 - c.lambd * eta) - eta * grad
        average = jnp.where(mu == 1, value, average + (value - average) * mu)
        return value, (1 / jnp.maximum(1, t - c.t0), rate / (1 + c.lambd * rate * t) ** c.alpha, average)


class Rprop(Optimizer):
    """Steps of a size that grows while the gradient keeps its sign, and shrinks when it changes.

    Args:
        params: Parameters or parameter groups.
        learning_rate: the size at the beginning: a number, table or schedule. Default: 0.1.
        etas (tuple of float): how much a size shrinks, in (0, 1), and grows, above 1. Default: (0.5, 1.2).
        step_sizes (tuple of float): the smallest and the largest size. Default: (1e-6, 50.0).
        weight_decay (float or Cell): Default: 0.0.
    """

    constants = ("etas", "step_sizes")

    def __init__(self, params, learning_rate=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, tuple):
                raise TypeError(f"For 'Rprop', '{name}' should be a tuple, but got {describe(pair)}.")
            if len(pair) != 2:
                raise ValueError(f"For 'Rprop', '{name}' should hold two numbers, but got {len(pair)}.")
        self.etas = fraction(etas[0], "etas[0]", "Rprop"), real(etas[1], "etas[1]", "Rprop", low=1.0, low_open=True)
        self.step_sizes = positive(step_sizes[0], "step_sizes[0]", "Rprop"), positive(step_sizes[1], "step_sizes[1]", "Rprop")
        if step_sizes[0] > step_sizes[1]:
            raise ValueError(f"For 'Rprop', the smallest of 'step_sizes' should come first, but got {step_sizes}.")
        self.add_state("prev")
        self.add_state("step_size")

    def construct(self, gradients):
        super().construct(gradients)
        return True

    @staticmethod
    def update(c, value, grad, slots, rate, decay, step):
        before, size = slots
        size = jnp.where(step == 1, rate, size)
        size, grad = resize(c, grad, before, size)
        return value - jnp.sign(grad) * size, (grad, size)


def resize(c, grad, before, size):
    """(sizes of the step, gradients without those that changed their sign) of Rprop."""
    agrees = grad * before
    size = jnp.clip(jnp.where(agrees > 0, size * c.etas[1], jnp.where(agrees < 0, size * c.etas[0], size)), *c.step_sizes)
    return size, jnp.where(agrees < 0, 0, grad)
