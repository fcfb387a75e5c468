"""Schedulers: they change the learning rates of an optimizer's parameter groups, once an epoch or step."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msjax.checks import check_float, check_int, check_one_of
from msjax.common import dtype as mstype
from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor
from msjax.errors import describe

if TYPE_CHECKING:
    from msjax.nn.optim.optimizer import Optimizer


__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip


def _check_optimizer(optimizer, who):
    # mint's optimizers have parameter groups, too.
    if not is_cell(optimizer) or not isinstance(getattr(optimizer, "param_groups", None), list):
        raise TypeError(f"For '{who}', 'optimizer' should be an optimizer with parameter groups, but got {describe(optimizer)}.")


def _number(value):
    return float(value.asnumpy()) if isinstance(value, Tensor) else float(value)


class LRScheduler:
    """Base of schedulers. A subclass defines ``get_lr()``, which returns one learning rate for each parameter group.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        last_epoch (int): the epoch to go on from. Default: -1, from the start.

    Attributes:
        last_epoch: the number of calls of ``step()``, or the epoch last given to it.
        base_lrs: the learning rates at the start, one for each group.

    Example:
        >>> import msjax as ms
        >>> from msjax.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> sgd = optim.SGD([w], lr=0.5)
        >>> scheduler = optim.lr_scheduler.StepLR(sgd, step_size=1, gamma=0.5)
        >>> scheduler.step()
        >>> print(sgd.param_groups[0]["lr"].value())
        0.25
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        _check_optimizer(optimizer, type(self).__name__)
        check_int(last_epoch, "last_epoch", type(self).__name__)
        self.optimizer = optimizer
        self.groups_num = len(optimizer.param_groups)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].value())
            elif "initial_lr" not in group:
                raise KeyError(f"For '{type(self).__name__}', 'last_epoch' needs 'initial_lr' in parameter group {i}.")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def get_lr(self):
        """The learning rates of the present epoch, one for each parameter group."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'get_lr'.")

    def get_last_lr(self) -> list:
        """The learning rates last set: one Tensor for each parameter group."""
        return self._last_lr

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch, or to `epoch`, and set the learning rates."""
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self._get_closed_form_lr() if hasattr(type(self), "_get_closed_form_lr") else self.get_lr()
        self._set(rates)

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"].set_data(Tensor(_number(rate), mstype.float32))
        self._last_lr = [group["lr"].value() for group in self.optimizer.param_groups]

    def _rates(self):
        return [_number(group["lr"]) for group in self.optimizer.param_groups]

    def _bases(self):
        return [_number(base) for base in self.base_lrs]


class StepLR(LRScheduler):
    """Times `gamma` after every `step_size` epochs.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        step_size (int): the number of epochs.
        gamma (float): Default: 0.1.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        check_int(step_size, "step_size", "StepLR")
        _check_gamma(gamma, "StepLR")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self._bases()]


def _check_gamma(gamma, who):
    check_float(gamma, "gamma", who)


class LinearLR(LRScheduler):
    """From base * `start_factor` to base * `end_factor` in `total_iters` equal steps.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        start_factor (float): in (0, 1]. Default: 1 / 3.
        end_factor (float): in [0, 1]. Default: 1.0.
        total_iters (int): Default: 5.
        last_epoch (int): Default: -1.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1:
            raise ValueError(f"For 'LinearLR', 'start_factor' should be in (0, 1], but got {start_factor}.")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"For 'LinearLR', 'end_factor' should be in [0, 1], but got {end_factor}.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters

    def get_lr(self):
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        ratio = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [rate * ratio for rate in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self._factor(self.last_epoch) for base in self._bases()]


class ExponentialLR(LRScheduler):
    """Times `gamma` after every epoch.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        gamma (float): the factor.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        _check_gamma(gamma, "ExponentialLR")
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._rates() if self.last_epoch == 0 else [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self._bases()]


class PolynomialLR(LRScheduler):
    """Down to zero in `total_iters` epochs: base * (1 - epoch / total_iters) ** power.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        total_iters (int): Default: 5.
        power (float): Default: 1.0.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        check_float(power, "power", "PolynomialLR")
        check_int(total_iters, "total_iters", "PolynomialLR")
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates()
        left = (1 - self.last_epoch / self.total_iters) / (1 - (self.last_epoch - 1) / self.total_iters)
        return [rate * left**self.power for rate in self._rates()]

    def _get_closed_form_lr(self):
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self._bases()]


class _ByFunction(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        who = type(self).__name__
        _check_optimizer(optimizer, who)
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(
                f"For '{who}', there should be {groups} functions, one for each group, but got {len(self.lr_lambdas)}."
            )
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"For '{who}', 'lr_lambda' should be a function or list of functions, but got {describe(function)}."
                )
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunction):
    """base * lr_lambda(epoch).

    Args:
        optimizer (Optimizer): an experimental optimizer.
        lr_lambda (callable or list): a function of the epoch, or one for each group.
        last_epoch (int): Default: -1.
    """

    def get_lr(self):
        return [base * f(self.last_epoch) for base, f in zip(self._bases(), self.lr_lambdas)]


class MultiplicativeLR(_ByFunction):
    """Times lr_lambda(epoch) after every epoch.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        lr_lambda (callable or list): a function of the epoch, or one for each group.
        last_epoch (int): Default: -1.
    """

    def get_lr(self):
        if self.last_epoch == 0:
            return self._rates()
        return [rate * f(self.last_epoch) for rate, f in zip(self._rates(), self.lr_lambdas)]


class ConstantLR(LRScheduler):
    """base * `factor` until epoch `total_iters`, then base.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        factor (float): in [0, 1]. Default: 1 / 3.
        total_iters (int): Default: 5.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise ValueError(f"For 'ConstantLR', 'factor' should be in [0, 1], but got {factor}.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch == self.total_iters:
            return [rate / self.factor for rate in self._rates()]
        return self._rates()

    def _get_closed_form_lr(self):
        return [base * (self.factor if self.last_epoch < self.total_iters else 1.0) for base in self._bases()]


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the milestones.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        milestones (list of int): epochs.
        gamma (float): Default: 0.1.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1):
        if not isinstance(milestones, (list, tuple)):
            raise TypeError(f"For 'MultiStepLR', 'milestones' should be a list, but got {describe(milestones)}.")
        for milestone in milestones:
            if isinstance(milestone, bool) or not isinstance(milestone, int):
                raise TypeError(f"For 'MultiStepLR', every milestone should be an int, but got {describe(milestone)}.")
        _check_gamma(gamma, "MultiStepLR")
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._rates()]

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self._bases()]


class SequentialLR:
    """One scheduler after another.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        schedulers (list): schedulers of that optimizer.
        milestones (list of int): the epochs at which the next one takes over, one fewer than schedulers.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1):
        _check_optimizer(optimizer, "SequentialLR")
        if len(schedulers) != len(milestones) + 1:
            raise ValueError(
                f"For 'SequentialLR', there should be one scheduler more than milestones, but got {len(schedulers)} and "
                f"{len(milestones)}."
            )
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("For 'SequentialLR', all schedulers should be of the optimizer given.")
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        # Each scheduler has made its first step already: go back to the start, and take the first one's.
        for group in optimizer.param_groups:
            group["lr"].set_data(group["initial_lr"])
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:
        """Go to the next epoch, and set the learning rates."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def get_last_lr(self) -> list:
        """The learning rates last set: one Tensor for each parameter group."""
        return self._last_lr


class ReduceLROnPlateau:
    """Times `factor` when a measure hasn't become better for `patience` epochs.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        mode (str): "min" if less is better, "max" if more is. Default: "min".
        factor (float): below one. Default: 0.1.
        patience (int): Default: 10.
        threshold (float): how much better counts. Default: 1e-4.
        threshold_mode (str): "rel" for a share of the best measure, "abs" for a difference. Default: "rel".
        cooldown (int): how many epochs to wait after a change. Default: 0.
        min_lr (float or list): the smallest learning rate, or one for each group. Default: 0.
        eps (float): a change smaller than that is left out. Default: 1e-8.
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | list[float] = 0, eps: float = 1e-8,
    ):  # fmt: skip
        _check_optimizer(optimizer, "ReduceLROnPlateau")
        if factor >= 1:
            raise ValueError(f"For 'ReduceLROnPlateau', 'factor' should be less than 1, but got {factor}.")
        check_one_of(mode, ("min", "max"), "mode", "ReduceLROnPlateau")
        check_one_of(threshold_mode, ("rel", "abs"), "threshold_mode", "ReduceLROnPlateau")
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"For 'ReduceLROnPlateau', 'min_lr' should have {groups} entries, but has {len(self.min_lrs)}.")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.last_epoch = self.wait = self.cooldown_counter = 0
        self._last_lr = [group["lr"].value() for group in optimizer.param_groups]

    def step(self, metrics: Any) -> None:
        """Take the measure of an epoch, a number or 0-d Tensor."""
        current = _number(metrics)
        self.last_epoch += 1
        if self._is_improvement(current):
            self.best = current
            self.wait = 0
        else:
            self.wait += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.wait > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.wait = 0
        self._last_lr = [group["lr"].value() for group in self.optimizer.param_groups]

    @property
    def in_cooldown(self) -> bool:
        """True while it waits after a change."""
        return self.cooldown_counter > 0

    def _is_improvement(self, current) -> bool:
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" and math.isfinite(self.best) else 1.0)
        return current < self.best - margin if self.mode == "min" else current > self.best + margin

    def _reduce_lr(self):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            old = _number(group["lr"])
            new = max(old * self.factor, _number(least))
            if old - new > self.eps:
                group["lr"].set_data(Tensor(new, mstype.float32))

    def get_last_lr(self) -> list:
        """The learning rates last set: one Tensor for each parameter group."""
        return self._last_lr


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` and down again, over and over.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        base_lr, max_lr (float or list): the bounds, for all groups or one for each.
        step_size_up (int): epochs of the way up. Default: 2000.
        step_size_down (int, optional): epochs of the way down. By default as up.
        mode (str): "triangular"; "triangular2", where the height halves with each cycle; or "exp_range", where it is times
            gamma ** epoch. Default: "triangular".
        gamma (float): Default: 1.0.
        scale_fn (callable, optional): the height, in the place of `mode`.
        scale_mode (str): whether `scale_fn` takes the "cycle" or the "iterations". Default: "cycle".
        last_epoch (int): Default: -1.
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[..., Any] | None = None, scale_mode: str = "cycle", last_epoch: int = -1,
    ):  # fmt: skip
        _check_optimizer(optimizer, "CyclicLR")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"For 'CyclicLR', 'mode' should be 'triangular', 'triangular2' or 'exp_range', but got {mode!r}.")
        low, self.max_lrs = self._per_group(optimizer, base_lr, "base_lr"), self._per_group(optimizer, max_lr, "max_lr")
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, low):
                group["lr"].set_data(Tensor(rate, mstype.float32))
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = step_size_up + down
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma = mode, gamma
        if scale_fn is None:
            scale_fn, scale_mode = {
                "triangular": (lambda x: 1.0, "cycle"),
                "triangular2": (lambda x: 1 / 2.0 ** (x - 1), "cycle"),
                "exp_range": (lambda x: gamma**x, "iterations"),
            }[mode]
        self._scale_fn, self.scale_mode = scale_fn, scale_mode
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _per_group(optimizer, value, name):
        groups = len(optimizer.param_groups)
        rates = list(value) if isinstance(value, (list, tuple)) else [value] * groups
        if len(rates) != groups:
            raise ValueError(f"For 'CyclicLR', '{name}' should have {groups} entries, but has {len(rates)}.")
        return [float(r) for r in rates]

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self._scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return [base + (high - base) * share * height for base, high in zip(self._bases(), self.max_lrs)]


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs, along a half wave of the cosine, and up again.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        T_max (int): the epochs of a half wave.
        eta_min (float): Default: 0.0.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        t, top = self.last_epoch, self.T_max
        if t == 0:
            return self._rates()
        if (t - 1 - top) % (2 * top) == 0:
            rise = (1 - math.cos(math.pi / top)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in zip(self._rates(), self._bases())]
        ratio = (1 + math.cos(math.pi * t / top)) / (1 + math.cos(math.pi * (t - 1) / top))
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _get_closed_form_lr(self):
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self._bases()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` along a half wave of the cosine, then from the top again, each time `T_mult` times as long.

    Args:
        optimizer (Optimizer): an experimental optimizer.
        T_0 (int): the epochs of the first half wave.
        T_mult (int): Default: 1.
        eta_min (float): Default: 0.
        last_epoch (int): Default: -1.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"For 'CosineAnnealingWarmRestarts', '{name}' should be a positive int, but got {describe(value)}."
                )
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self._bases()]

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch, or to `epoch`, also a fractional one, and set the learning rates."""
        if epoch is not None and epoch < 0:
            raise ValueError(f"For 'CosineAnnealingWarmRestarts', 'epoch' should not be negative, but got {epoch}.")
        epoch = self.last_epoch + 1 if epoch is None else epoch
        self.T_i, self.T_cur = self.T_0, epoch
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())
