"""Learning rate schedules: cells that compute the rate from the step number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_float, check_order, check_positive_int
from msjax.core.base.errors import describe
from msjax.engine.autograd.op import Op, apply
from msjax.nn.cell.base import Cell

__all__ = [
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule", "NaturalExpDecayLR", "PolynomialDecayLR",
    "WarmUpLR",
]  # fmt: skip


class LearningRateSchedule(Cell):
    """Base of schedules: ``construct(global_step)`` returns the learning rate as a 0-d Tensor.

    Example:
        >>> class Halving(nn.LearningRateSchedule):
        ...     def construct(self, global_step):
        ...         return 0.1 * 0.5 ** global_step.astype(float32)
        >>> print(Halving()(Tensor(1)))
        0.05
    """

    def construct(self, global_step: Tensor) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no 'construct'.")


# A number, one for each step, or what computes it from the step.
LearningRate: TypeAlias = "float | Iterable[float] | Tensor | LearningRateSchedule"


def _float_step(step):
    return jnp.asarray(step).astype(jnp.float32)


def _exponential(step, rate, decay, steps, stairs):
    p = _float_step(step) / steps
    return rate * decay ** (jnp.floor(p) if stairs else p)


def _natural_exponential(step, rate, decay, steps, stairs):
    p = _float_step(step)
    return rate * jnp.exp(-decay * (jnp.floor(p / steps) * steps if stairs else p))


def _inverse(step, rate, decay, steps, stairs):
    p = _float_step(step) / steps
    return rate / (1 + decay * (jnp.floor(p) if stairs else p))


def _cosine(step, low, height, steps):
    p = jnp.minimum(_float_step(step), steps) / steps
    return low + 0.5 * height * (1 + jnp.cos(math.pi * p))


def _polynomial(step, height, end, steps, power, longer):
    p = _float_step(step)
    if longer:
        steps = steps * jnp.maximum(jnp.ceil(p / steps), 1)
    p = jnp.minimum(p, steps) / steps
    # Rounding must not produce the root of a negative number at the last step.
    return height * jnp.maximum(1 - p, 0) ** power + end


def _warm_up(step, rate, steps):
    return rate * jnp.minimum(_float_step(step), steps) / steps


_OPS = {
    f.__name__: Op(f.__name__.strip("_"), f)
    for f in (_exponential, _natural_exponential, _inverse, _cosine, _polynomial, _warm_up)
}


def _rate(formula, step, numbers, *settings):
    """Numbers are operands: other ones need no other program."""
    if not isinstance(step, (Tensor, int)):
        raise TypeError(f"A learning rate schedule takes the step as a Tensor or int, but got {describe(step)}.")
    return apply(_OPS[formula.__name__], (step, *numbers), settings)


class _Decay(LearningRateSchedule):
    _formula = None

    def __init__(self, learning_rate: Any, decay_rate: Any, decay_steps: Any, is_stair: Any = False):
        super().__init__()
        who = type(self).__name__
        self.learning_rate: float = check_float(learning_rate, "learning_rate", who, above=0)
        self.decay_rate: float = check_float(decay_rate, "decay_rate", who, above=0)
        self.decay_steps: int = check_positive_int(decay_steps, "decay_steps", who)
        self.is_stair: bool = check_bool(is_stair, "is_stair", who)

    def construct(self, global_step):
        numbers = self.learning_rate, self.decay_rate
        return _rate(type(self)._formula, global_step, numbers, self.decay_steps, self.is_stair)


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate ** (step / decay_steps).

    Args:
        learning_rate (float): positive.
        decay_rate (float): positive.
        decay_steps (int): positive.
        is_stair (bool): whether step / decay_steps is rounded down. Default: False.

    Inputs:
        - **global_step** (Tensor) - the number of the step.

    Outputs:
        Tensor, the learning rate.

    Example:
        >>> print(nn.ExponentialDecayLR(0.1, 0.5, 4)(Tensor(4)))
        0.05
    """

    _formula = staticmethod(_exponential)


class NaturalExpDecayLR(_Decay):
    """learning_rate * exp(-decay_rate * step); with `is_stair`, of the last multiple of `decay_steps`.

    Args:
        learning_rate, decay_rate, decay_steps, is_stair: as in `ExponentialDecayLR`.

    Example:
        >>> print(nn.NaturalExpDecayLR(0.1, 0.5, 4)(Tensor(0)))
        0.1
    """

    _formula = staticmethod(_natural_exponential)


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * step / decay_steps).

    Args:
        learning_rate, decay_rate, decay_steps, is_stair: as in `ExponentialDecayLR`.

    Example:
        >>> print(nn.InverseDecayLR(0.1, 1.0, 4)(Tensor(4)))
        0.05
    """

    _formula = staticmethod(_inverse)


class CosineDecayLR(LearningRateSchedule):
    """From `max_lr` down to `min_lr` in `decay_steps`, along a half wave of the cosine.

    Args:
        min_lr (float): not negative.
        max_lr (float): greater than `min_lr`.
        decay_steps (int): positive.

    Example:
        >>> print(nn.CosineDecayLR(0.0, 0.1, 4)(Tensor(2)))
        0.05
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int):
        super().__init__()
        self.min_lr: float = check_float(min_lr, "min_lr", "CosineDecayLR", low=0)
        self.max_lr: float = check_float(max_lr, "max_lr", "CosineDecayLR", above=0)
        self.decay_steps: int = check_positive_int(decay_steps, "decay_steps", "CosineDecayLR")
        check_order(min_lr, max_lr, ("min_lr", "max_lr"), "CosineDecayLR")

    def construct(self, global_step: Tensor) -> Tensor:
        return _rate(_cosine, global_step, (self.min_lr, self.max_lr - self.min_lr), self.decay_steps)


class PolynomialDecayLR(LearningRateSchedule):
    """From `learning_rate` to `end_learning_rate` in `decay_steps`: (learning_rate - end) * (1 - step / decay_steps) ** power + end.

    Args:
        learning_rate (float): positive.
        end_learning_rate (float): not negative.
        decay_steps (int): positive.
        power (float): positive.
        update_decay_steps (bool): whether `decay_steps` is taken times the smallest number that makes it reach the step.
            Default: False.

    Example:
        >>> print(nn.PolynomialDecayLR(0.1, 0.0, 4, 1.0)(Tensor(2)))
        0.05
    """

    def __init__(
        self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float, update_decay_steps: bool = False
    ):
        super().__init__()
        self.learning_rate: float = check_float(learning_rate, "learning_rate", "PolynomialDecayLR", above=0)
        self.end_learning_rate: float = check_float(end_learning_rate, "end_learning_rate", "PolynomialDecayLR", low=0)
        self.decay_steps: int = check_positive_int(decay_steps, "decay_steps", "PolynomialDecayLR")
        self.power: float = check_float(power, "power", "PolynomialDecayLR", above=0)
        self.update_decay_steps: bool = check_bool(update_decay_steps, "update_decay_steps", "PolynomialDecayLR")

    def construct(self, global_step: Tensor) -> Tensor:
        numbers = self.learning_rate - self.end_learning_rate, self.end_learning_rate
        return _rate(_polynomial, global_step, numbers, self.decay_steps, self.power, self.update_decay_steps)


class WarmUpLR(LearningRateSchedule):
    """Up to `learning_rate` in `warmup_steps` equal steps.

    Args:
        learning_rate (float): not negative.
        warmup_steps (int): positive.

    Example:
        >>> print(nn.WarmUpLR(0.1, 2)(Tensor(1)))
        0.05
    """

    def __init__(self, learning_rate: float, warmup_steps: int):
        super().__init__()
        self.learning_rate: float = check_float(learning_rate, "learning_rate", "WarmUpLR", low=0)
        self.warmup_steps: int = check_positive_int(warmup_steps, "warmup_steps", "WarmUpLR")

    def construct(self, global_step: Tensor) -> Tensor:
        return _rate(_warm_up, global_step, (self.learning_rate,), self.warmup_steps)
