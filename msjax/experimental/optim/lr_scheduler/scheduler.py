"""LRScheduler: the base of schedulers, which change the learning rates of parameter groups once an epoch or step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.common import dtype as mstype
from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_int, check_kind
from msjax.experimental.optim.optimizer import Optimizer

__all__ = ["LRScheduler"]


def check_optimizer(optimizer: object, who: str) -> None:
    """TypeError unless it is an optimizer with parameter groups: an experimental one, or one of mint's."""
    fits = is_cell(optimizer) and isinstance(getattr(optimizer, "param_groups", None), list)
    check_kind(optimizer, fits, "be an optimizer with parameter groups", "optimizer", who)


def per_group(optimizer: Optimizer, value: Any, name: str, who: str) -> list[Any]:
    """A list with one value for each parameter group, from such a list or from one value for all."""
    groups = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ValueError(f"For '{who}', '{name}' should have {groups} entries, one for each group, but has {len(values)}.")
    return values


def as_float(value: float | Tensor) -> float:
    """A number or 0-d Tensor as a float."""
    return float(value.asnumpy()) if isinstance(value, Tensor) else float(value)


def set_rates(optimizer: Optimizer, rates: Sequence[Any]) -> None:
    """Give each parameter group its learning rate."""
    for group, rate in zip(optimizer.param_groups, rates):
        group["lr"].set_data(Tensor(as_float(rate), mstype.float32))


def rates_of(optimizer: Optimizer) -> list[Tensor]:
    """The learning rates of the parameter groups, as Tensors."""
    return [group["lr"].value() for group in optimizer.param_groups]


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
        check_optimizer(optimizer, type(self).__name__)
        self.last_epoch = check_int(last_epoch, "last_epoch", type(self).__name__)
        self.optimizer = optimizer
        self.groups_num: int = len(optimizer.param_groups)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].value())
            elif "initial_lr" not in group:
                raise KeyError(f"For '{type(self).__name__}', 'last_epoch' needs 'initial_lr' in parameter group {i}.")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> Sequence[float | Tensor]:
        """The learning rates of the present epoch, one for each parameter group."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'get_lr'.")

    def _get_closed_form_lr(self) -> Sequence[float | Tensor]:
        """The learning rates of an epoch that `step` is given; by default, `get_lr` makes them from the present ones."""
        return self.get_lr()

    def get_last_lr(self) -> list[Any]:
        """The learning rates last set: one Tensor for each parameter group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch`, and set the learning rates."""
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch: int = epoch
            rates = self._get_closed_form_lr()
        self._set(rates)

    def _set(self, rates):
        set_rates(self.optimizer, rates)
        self._last_lr = rates_of(self.optimizer)

    def _rates(self):
        return [as_float(group["lr"]) for group in self.optimizer.param_groups]

    def _bases(self):
        return [as_float(base) for base in self.base_lrs]
