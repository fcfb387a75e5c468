"""Learning rates as lists, one for each step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msjax.core.base.checks import check_bool, check_float, check_order, check_positive_int, check_type
from msjax.ops.dispatch.docs import titled

__all__ = [
    "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr", "piecewise_constant_lr",
    "polynomial_decay_lr", "warmup_lr",
]  # fmt: skip


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[Any]:
    """A learning rate that stays the same between milestones.

    Args:
        milestone (list or tuple of int): the steps at which each learning rate ends, growing.
        learning_rates (list or tuple of float): one for each milestone.

    Raises:
        TypeError: an argument or element of a wrong type.
        ValueError: different lengths, or milestones that don't grow.

    Example:
        >>> from msjax import nn
        >>> nn.piecewise_constant_lr([2, 5], [0.1, 0.05])
        [0.1, 0.1, 0.05, 0.05, 0.05]
    """
    for name, given in (("milestone", milestone), ("learning_rates", learning_rates)):
        check_type(given, (list, tuple), name, "piecewise_constant_lr")
    if len(milestone) != len(learning_rates):
        raise ValueError(
            f"For 'piecewise_constant_lr', there should be one learning rate for each milestone, but got {len(learning_rates)} "
            f"for {len(milestone)}."
        )
    rates, last = [], 0
    for i, (end, rate) in enumerate(zip(milestone, learning_rates)):
        check_positive_int(end, f"milestone[{i}]", "piecewise_constant_lr")
        if end < last:
            raise ValueError(f"For 'piecewise_constant_lr', milestones should grow, but {end} follows {last}.")
        check_float(rate, f"learning_rates[{i}]", "piecewise_constant_lr")
        rates += [rate] * (end - last)
        last = end
    return rates


def _epochs(who, total_step, step_per_epoch, per):
    """The epoch of each step."""
    check_positive_int(total_step, "total_step", who)
    check_positive_int(step_per_epoch, "step_per_epoch", who)
    check_positive_int(per[1], per[0], who)
    return [i // step_per_epoch for i in range(total_step)]


_DECAYING = """{summary}

    Args:
        learning_rate (float): positive.
        decay_rate (float): positive.
        total_step (int): the number of steps.
        step_per_epoch (int): the number of steps in an epoch.
        decay_epoch (int): positive.
        is_stair (bool): whether epoch / decay_epoch is rounded down. Default: False.

    Example:
        >>> from msjax import nn
        >>> nn.{name}({example[0]})
        {example[1]}
    """


def _decaying(name, formula, summary, example):
    def decay_lr(
        learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int, is_stair: bool = False
    ) -> list[Any]:
        check_float(learning_rate, "learning_rate", name, above=0)
        check_float(decay_rate, "decay_rate", name, above=0)
        check_bool(is_stair, "is_stair", name)
        epochs = _epochs(name, total_step, step_per_epoch, ("decay_epoch", decay_epoch))
        shares = [epoch // decay_epoch if is_stair else epoch / decay_epoch for epoch in epochs]
        return [formula(learning_rate, decay_rate, p, decay_epoch) for p in shares]

    return titled(decay_lr, name, _DECAYING.format(name=name, summary=summary, example=example))


exponential_decay_lr = _decaying(
    "exponential_decay_lr", lambda rate, decay, p, _: rate * decay**p,
    "learning_rate * decay_rate ** (epoch / decay_epoch) for each step.", ("0.1, 0.5, 4, 2, 1", "[0.1, 0.1, 0.05, 0.05]"),
)  # fmt: skip
natural_exp_decay_lr = _decaying(
    "natural_exp_decay_lr", lambda rate, decay, p, length: rate * math.e ** (-decay * p * length),
    "learning_rate * exp(-decay_rate * epoch) for each step; with `is_stair`, of the last multiple of `decay_epoch`.",
    ("0.1, 0.9, 2, 2, 1", "[0.1, 0.1]"),
)  # fmt: skip
inverse_decay_lr = _decaying(
    "inverse_decay_lr", lambda rate, decay, p, _: rate / (1 + decay * p),
    "learning_rate / (1 + decay_rate * epoch / decay_epoch) for each step.", ("0.1, 1.0, 2, 1, 1", "[0.1, 0.05]"),
)  # fmt: skip


def cosine_decay_lr(min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int) -> list[Any]:
    """From `max_lr` down to `min_lr` in `decay_epoch` epochs, along a half wave of the cosine.

    Args:
        min_lr (float): not negative.
        max_lr (float): greater than `min_lr`.
        total_step, step_per_epoch, decay_epoch (int): as in `exponential_decay_lr`.

    Example:
        >>> from msjax import nn
        >>> nn.cosine_decay_lr(0.0, 0.5, 3, 1, 2)
        [0.5, 0.25, 0.0]
    """
    check_float(min_lr, "min_lr", "cosine_decay_lr", low=0)
    check_float(max_lr, "max_lr", "cosine_decay_lr", above=0)
    check_order(min_lr, max_lr, ("min_lr", "max_lr"), "cosine_decay_lr")
    epochs = _epochs("cosine_decay_lr", total_step, step_per_epoch, ("decay_epoch", decay_epoch))
    half = 0.5 * (max_lr - min_lr)
    return [min_lr + half * (1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch)) for epoch in epochs]


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[Any]:
    """From `learning_rate` to `end_learning_rate` in `decay_epoch` epochs, along a polynomial.

    Args:
        learning_rate (float): positive.
        end_learning_rate (float): not negative.
        total_step, step_per_epoch, decay_epoch (int): as in `exponential_decay_lr`.
        power (float): positive.
        update_decay_epoch (bool): whether `decay_epoch` is taken times the smallest number that makes it reach the epoch.
            Default: False.

    Example:
        >>> from msjax import nn
        >>> nn.polynomial_decay_lr(0.5, 0.0, 3, 1, 2, 1.0)
        [0.5, 0.25, 0.0]
    """
    who = "polynomial_decay_lr"
    check_float(learning_rate, "learning_rate", who, above=0)
    check_float(end_learning_rate, "end_learning_rate", who, low=0)
    check_float(power, "power", who, above=0)
    check_bool(update_decay_epoch, "update_decay_epoch", who)
    rates = []
    for epoch in _epochs(who, total_step, step_per_epoch, ("decay_epoch", decay_epoch)):
        length = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        share = 1 - min(epoch, length) / length
        rates.append((learning_rate - end_learning_rate) * share**power + end_learning_rate)
    return rates


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[Any]:
    """Up to `learning_rate` in `warmup_epoch` equal steps, an epoch each.

    Args:
        learning_rate (float): not negative.
        total_step, step_per_epoch, warmup_epoch (int): positive.

    Example:
        >>> from msjax import nn
        >>> nn.warmup_lr(0.5, 4, 2, 2)
        [0.0, 0.0, 0.25, 0.25]
    """
    check_float(learning_rate, "learning_rate", "warmup_lr", low=0)
    epochs = _epochs("warmup_lr", total_step, step_per_epoch, ("warmup_epoch", warmup_epoch))
    return [learning_rate * min(epoch, warmup_epoch) / warmup_epoch for epoch in epochs]
