"""Callbacks that watch a metric, and stop a run or change its learning rate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_bool, check_in_range, check_kind, check_one_of, check_str, check_value, is_number
from msjax.core.base.errors import describe
from msjax.train.callback.callback import Callback, RunContext, loss_of

# The names by which mode "auto" tells measures of which less is better.
_LESS_IS_BETTER = (
    "eval_loss",
    "hausdorff_distance",
    "loss",
    "mae",
    "mean_surface_distance",
    "mse",
    "perplexity",
    "root_mean_square_distance",
)


class _Watching(Callback):
    """Tracks a metric from epoch to epoch."""

    def __init__(self, monitor: str, min_delta: float, patience: int, verbose: bool, mode: str):
        super().__init__()
        who = type(self).__name__
        check_str(monitor, "monitor", who)
        check_one_of(mode, ("auto", "min", "max"), "mode", who)
        for name, value, kind in (("min_delta", min_delta, (int, float)), ("patience", patience, int)):
            check_kind(value, not isinstance(value, bool) and isinstance(value, kind), "be a number", name, who)
        check_in_range(patience, "patience", who, low=0)
        check_bool(verbose, "verbose", who)
        self.monitor, self.min_delta, self.patience, self.verbose, self.mode = monitor, abs(min_delta), patience, verbose, mode
        self._sign = -1 if mode == "min" or (mode == "auto" and monitor in _LESS_IS_BETTER) else 1
        self.wait = 0
        self.best: float = -self._sign * np.inf

    def _improved(self, value, best) -> bool:
        return self._sign * (value - best) > self.min_delta

    def _value(self, params):
        if self.monitor == "loss":
            return loss_of(params.net_outputs)
        results = params.get("eval_results") or {}
        if self.monitor not in results:
            warnings.warn(
                f"{type(self).__name__} looks at {self.monitor!r}, but there are only {', '.join(['loss', *results])}.",
                stacklevel=2,
            )
            return None
        return float(np.asarray(results[self.monitor]))


class EarlyStopping(_Watching):
    """Stops a run when a measure hasn't become better for `patience` epochs.

    Args:
        monitor (str): "loss"; with `Model.fit` also "eval_loss" or the name of a metric. Default: "eval_loss".
        min_delta (float): how much better counts. Default: 0.
        patience (int): with 0, as in MindSpore, the first epoch is the last. Default: 0.
        verbose (bool): whether it tells of it. Default: False.
        mode (str): "min" if less is better, "max" if more is; "auto" for the former of losses, "mae", "mse", "perplexity"
            and distances by their metrics' names, else for the latter. Default: "auto".
        baseline (float, optional): what the measure has to be better than.
        restore_best_weights (bool): whether the best epoch's Parameters are set again. Default: False.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ):
        super().__init__(monitor, min_delta, patience, verbose, mode)
        check_kind(baseline, baseline is None or isinstance(baseline, (int, float)), "be a number", "baseline", "EarlyStopping")
        check_bool(restore_best_weights, "restore_best_weights", "EarlyStopping")
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self.stopped_epoch: int = 0
        self.best_weights = None

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait = self.stopped_epoch = 0
        self.best = -self._sign * np.inf
        self.best_weights = None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        value = self._value(params)
        if value is None:
            return
        network = params.train_network
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights = _values(network)
        self.wait += 1
        if self._improved(value, self.best):
            self.best: float = value
            if self.restore_best_weights:
                self.best_weights = _values(network)
            if self.baseline is None or self._improved(value, self.baseline):
                self.wait: int = 0
        if self.wait >= self.patience:
            self.stopped_epoch = params.cur_epoch_num
            run_context.request_stop()
            if self.restore_best_weights:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.", flush=True)
                for parameter, best in zip(network.get_parameters(), self.best_weights or ()):
                    parameter.set_data(best)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)


def _values(network):
    return [wrap(p._value) for p in network.get_parameters()]


def _rate(params):
    """The Parameter of the learning rate."""
    optimizer = params.get("optimizer")
    if optimizer is None:
        optimizer = params.train_network.optimizer
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Parameter) or rate.ndim:
        raise ValueError("The learning rate can be changed by a callback if the optimizer has one for all steps and groups.")
    return rate


class ReduceLROnPlateau(_Watching):
    """Times `factor` the learning rate when a measure hasn't become better for `patience` epochs.

    Args:
        monitor, verbose, mode: as in `EarlyStopping`.
        factor (float): from 0 to 1. Default: 0.1.
        patience (int): Default: 10.
        min_delta (float): how much better counts. Default: 1e-4.
        cooldown (int): how many epochs to wait after a change. Default: 0.
        min_lr (float): the smallest learning rate. Default: 0.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ):
        super().__init__(monitor, min_delta, patience, verbose, mode)
        fits = isinstance(factor, float) and 0 < factor < 1
        check_value(factor, fits, "be a float between 0 and 1", "factor", "ReduceLROnPlateau")
        for name, value in (("cooldown", cooldown), ("min_lr", min_lr)):
            check_value(value, is_number(value) and value >= 0, "be a number, not negative", name, "ReduceLROnPlateau")
        self.factor, self.cooldown, self.min_lr = factor, cooldown, min_lr
        self.cooldown_counter = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait = self.cooldown_counter = 0
        self.best = -self._sign * np.inf

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        value = self._value(params)
        if value is None:
            return
        rate = _rate(params)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._improved(value, self.best):
            self.best: float = value
            self.wait = 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait < self.patience:
                return
            old = rate.asnumpy()[()]
            if old > np.float32(self.min_lr):
                new = max(old * np.float32(self.factor), self.min_lr)
                rate.set_data(Tensor(new, mstype.float32))
                if self.verbose:
                    print(f"Epoch {params.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to {new!s}.", flush=True)
            self.cooldown_counter: int = self.cooldown
            self.wait: int = 0


class LearningRateScheduler(Callback):
    """Sets the learning rate before each step.

    Args:
        learning_rate_function (callable): from the learning rate and the number of the step to the new learning rate.
    """

    def __init__(self, learning_rate_function: Callable[..., Any]):
        super().__init__()
        if not callable(learning_rate_function):
            raise TypeError(f"For 'LearningRateScheduler', a function is expected, but got {describe(learning_rate_function)}.")
        self.learning_rate_function = learning_rate_function

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        rate = _rate(params)
        rate.set_data(Tensor(float(self.learning_rate_function(float(rate.asnumpy()), params.cur_step_num)), mstype.float32))
