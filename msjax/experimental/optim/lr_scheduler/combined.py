"""SequentialLR, which runs schedulers in turn, and ReduceLROnPlateau, which watches a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_in_range, check_one_of, check_value
from msjax.experimental.optim.lr_scheduler.scheduler import as_float, check_optimizer, per_group, rates_of, set_rates
from msjax.experimental.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau", "SequentialLR"]


class SequentialLR:
    """One scheduler after another.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        schedulers (list): schedulers of that optimizer.
        milestones (list of int): the epochs at which the next one takes over, one fewer than schedulers.
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1):
        check_optimizer(optimizer, "SequentialLR")
        if len(schedulers) != len(milestones) + 1:
            raise ValueError(
                f"For 'SequentialLR', there should be one scheduler more than milestones, but got {len(schedulers)} and "
                f"{len(milestones)}."
            )
        fits = all(s.optimizer is optimizer for s in schedulers)
        check_value(schedulers, fits, "all be of the optimizer given", "schedulers", "SequentialLR")
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch: int = last_epoch + 1
        # Each scheduler made its first step when it was created: reset the rates, and take the first scheduler's.
        set_rates(optimizer, [group["initial_lr"] for group in optimizer.param_groups])
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

    def get_last_lr(self) -> list[Any]:
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
        check_optimizer(optimizer, "ReduceLROnPlateau")
        check_in_range(factor, "factor", "ReduceLROnPlateau", below=1)
        check_one_of(mode, ("min", "max"), "mode", "ReduceLROnPlateau")
        check_one_of(threshold_mode, ("rel", "abs"), "threshold_mode", "ReduceLROnPlateau")
        self.min_lrs: list[Any] = per_group(optimizer, min_lr, "min_lr", "ReduceLROnPlateau")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.last_epoch = self.wait = self.cooldown_counter = 0
        self._last_lr = rates_of(optimizer)

    def step(self, metrics: float | Tensor) -> None:
        """Take the metric of an epoch, a number or 0-d Tensor."""
        current = as_float(metrics)
        self.last_epoch += 1
        if self._is_improvement(current):
            self.best: float = current
            self.wait = 0
        else:
            self.wait += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.wait > self.patience:
            self._reduce_lr()
            self.cooldown_counter: int = self.cooldown
            self.wait: int = 0
        self._last_lr = rates_of(self.optimizer)

    @property
    def in_cooldown(self) -> bool:
        """True during the cooldown after a change."""
        return self.cooldown_counter > 0

    def _is_improvement(self, current) -> bool:
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" and math.isfinite(self.best) else 1.0)
        return current < self.best - margin if self.mode == "min" else current > self.best + margin

    def _reduce_lr(self):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            old = as_float(group["lr"])
            new = max(old * self.factor, as_float(least))
            if old - new > self.eps:
                group["lr"].set_data(Tensor(new, mstype.float32))

    def get_last_lr(self) -> list[Any]:
        """The learning rates last set: one Tensor for each parameter group."""
        return self._last_lr
