"""Schedulers that multiply the learning rates by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_float, check_int, check_kind, check_number, check_type
from msjax.experimental.optim.lr_scheduler.scheduler import LRScheduler, check_optimizer, per_group
from msjax.experimental.optim.optimizer import Optimizer

__all__ = [
    "ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR",
]  # fmt: skip


class _ByFactor(LRScheduler):
    """Base of schedulers with one factor for all groups."""

    _change: Callable[[], float]  # the factor from the last epoch's learning rate to this one's
    _total: Callable[[], float]  # the factor from the first learning rate to this epoch's

    def get_lr(self) -> Sequence[float | Tensor]:
        change = self._change()
        return [rate * change for rate in self._rates()]

    def _get_closed_form_lr(self):
        total = self._total()
        return [base * total for base in self._bases()]


class StepLR(_ByFactor):
    """Times `gamma` after every `step_size` epochs.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        step_size (int): the number of epochs.
        gamma (float): Default: 0.1.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size: int = check_int(step_size, "step_size", "StepLR")
        self.gamma: float = check_float(gamma, "gamma", "StepLR")
        super().__init__(optimizer, last_epoch)

    def _change(self):
        return 1.0 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _total(self):
        return self.gamma ** (self.last_epoch // self.step_size)


class LinearLR(_ByFactor):
    """From base * `start_factor` to base * `end_factor` in `total_iters` equal steps.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        start_factor (float): in (0, 1]. Default: 1 / 3.
        end_factor (float): in [0, 1]. Default: 1.0.
        total_iters (int): Default: 5.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        check_number(start_factor, "start_factor", "LinearLR", above=0, high=1)
        check_number(end_factor, "end_factor", "LinearLR", low=0, high=1)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters

    def _change(self):
        if self.last_epoch == 0:
            return self.start_factor
        return self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)

    def _total(self):
        return self._factor(self.last_epoch)


class ExponentialLR(_ByFactor):
    """Times `gamma` after every epoch.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        gamma (float): the factor.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma: float = check_float(gamma, "gamma", "ExponentialLR")
        super().__init__(optimizer, last_epoch)

    def _change(self):
        return 1.0 if self.last_epoch == 0 else self.gamma

    def _total(self):
        return self.gamma**self.last_epoch


class PolynomialLR(_ByFactor):
    """Down to zero in `total_iters` epochs: base * (1 - epoch / total_iters) ** power.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        total_iters (int): Default: 5.
        power (float): Default: 1.0.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        check_float(power, "power", "PolynomialLR")
        check_int(total_iters, "total_iters", "PolynomialLR")
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _change(self):
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return 1.0
        left = (1 - self.last_epoch / self.total_iters) / (1 - (self.last_epoch - 1) / self.total_iters)
        return left**self.power

    def _total(self):
        return (1 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class ConstantLR(_ByFactor):
    """base * `factor` until epoch `total_iters`, then base.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        factor (float): in [0, 1]. Default: 1 / 3.
        total_iters (int): Default: 5.
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        check_number(factor, "factor", "ConstantLR", low=0, high=1)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self):
        if self.last_epoch == 0:
            return self.factor
        return 1 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _total(self):
        return self.factor if self.last_epoch < self.total_iters else 1.0


class MultiStepLR(_ByFactor):
    """Times `gamma` at each of the milestones.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        milestones (list of int): epochs.
        gamma (float): Default: 0.1.
    """

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1):
        check_type(milestones, (list, tuple), "milestones", "MultiStepLR")
        for milestone in milestones:
            check_int(milestone, "milestones", "MultiStepLR")
        self.gamma: float = check_float(gamma, "gamma", "MultiStepLR")
        self.milestones = Counter(milestones)
        super().__init__(optimizer, last_epoch)

    def _change(self):
        return self.gamma ** self.milestones[self.last_epoch]

    def _total(self):
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class _ByFunction(LRScheduler):
    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]], last_epoch: int = -1
    ):
        who = type(self).__name__
        check_optimizer(optimizer, who)
        self.lr_lambdas: list[Any] = per_group(optimizer, lr_lambda, "lr_lambda", who)
        for function in self.lr_lambdas:
            check_kind(function, callable(function), "be a function or list of functions", "lr_lambda", who)
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunction):
    """base * lr_lambda(epoch).

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        lr_lambda (callable or list): a function of the epoch, or one for each group.
    """

    def get_lr(self) -> Sequence[float | Tensor]:
        return [base * f(self.last_epoch) for base, f in zip(self._bases(), self.lr_lambdas)]


class MultiplicativeLR(_ByFunction):
    """Times lr_lambda(epoch) after every epoch.

    Args:
        optimizer, lr_lambda, last_epoch: as in `LambdaLR`.
    """

    def get_lr(self) -> Sequence[float | Tensor]:
        if self.last_epoch == 0:
            return self._rates()
        return [rate * f(self.last_epoch) for rate, f in zip(self._rates(), self.lr_lambdas)]
