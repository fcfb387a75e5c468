"""Schedulers that move the learning rates down and up again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_one_of, check_value, is_int
from msjax.experimental.optim.lr_scheduler.scheduler import LRScheduler, check_optimizer, per_group, set_rates
from msjax.experimental.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR"]


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` and down again, over and over.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        base_lr, max_lr (float or list): the bounds, for all groups or one for each.
        step_size_up (int): epochs of the way up. Default: 2000.
        step_size_down (int, optional): epochs of the way down. By default as up.
        mode (str): "triangular"; "triangular2", where the height halves with each cycle; or "exp_range", where it is times
            gamma ** epoch. Default: "triangular".
        gamma (float): Default: 1.0.
        scale_fn (callable, optional): the height, in the place of `mode`.
        scale_mode (str): whether `scale_fn` takes the "cycle" or the "iterations". Default: "cycle".
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[..., Any] | None = None, scale_mode: str = "cycle", last_epoch: int = -1,
    ):  # fmt: skip
        check_optimizer(optimizer, "CyclicLR")
        if scale_fn is None:
            check_one_of(mode, ("triangular", "triangular2", "exp_range"), "mode", "CyclicLR")
        low, self.max_lrs = (
            [float(rate) for rate in per_group(optimizer, value, name, "CyclicLR")]
            for name, value in (("base_lr", base_lr), ("max_lr", max_lr))
        )
        if last_epoch == -1:
            set_rates(optimizer, low)
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size: float = step_size_up + down
        self.step_ratio: float = step_size_up / self.total_size
        self.mode, self.gamma = mode, gamma
        if scale_fn is None:
            scale_fn, scale_mode = {
                "triangular": (lambda x: 1.0, "cycle"),
                "triangular2": (lambda x: 1 / 2.0 ** (x - 1), "cycle"),
                "exp_range": (lambda x: gamma**x, "iterations"),
            }[mode]
        self._scale_fn, self.scale_mode = scale_fn, scale_mode
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float | Tensor]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self._scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)  # pyright: ignore[reportOptionalCall]
        return [base + (high - base) * share * height for base, high in zip(self._bases(), self.max_lrs)]


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs, along a half wave of the cosine, and up again.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        T_max (int): the epochs of a half wave.
        eta_min (float): Default: 0.0.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float | Tensor]:
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
        optimizer, last_epoch: as in `LRScheduler`.
        T_0 (int): the epochs of the first half wave.
        T_mult (int): Default: 1.
        eta_min (float): Default: 0.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            check_value(value, is_int(value) and value >= 1, "be a positive int", name, "CosineAnnealingWarmRestarts")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float | Tensor]:
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self._bases()]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, also a fractional one, and set the learning rates."""
        check_value(epoch, epoch is None or epoch >= 0, "not be negative", "epoch", "CosineAnnealingWarmRestarts")
        epoch = self.last_epoch + 1 if epoch is None else epoch
        self.T_i, self.T_cur = self.T_0, epoch
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())
