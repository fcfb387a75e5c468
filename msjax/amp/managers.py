"""Loss scale managers, for `Model` and `build_train_network`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msjax.core.base.checks import check_value, is_int, is_number
from msjax.nn.wrap.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

if TYPE_CHECKING:
    from msjax.common.tensor import Tensor


class LossScaleManager:
    """Base of loss scale managers."""

    def get_loss_scale(self) -> Any:
        """The current scale."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'get_loss_scale'.")

    def update_loss_scale(self, overflow: bool | Tensor) -> Any:
        """Update the scale after a step; `overflow` says whether it overflowed."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'update_loss_scale'.")

    def get_update_cell(self) -> Any:
        """The cell that `nn.TrainOneStepWithLossScaleCell` updates the scale with; None for none."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'get_update_cell'.")


class FixedLossScaleManager(LossScaleManager):
    """One scale for all steps.

    Args:
        loss_scale (float): at least one. Default: 128.0. Where steps that overflow are not left out, the optimizer has to
            be made with the same `loss_scale`.
        drop_overflow_update (bool): whether they are left out. Default: True.
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True):
        check_value(loss_scale, is_number(loss_scale) and loss_scale >= 1, "be at least 1", "loss_scale", "FixedLossScaleManager")
        self._loss_scale = loss_scale
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> float | int:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps that overflow are left out."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool | Tensor) -> None:
        """Nothing: the scale stays."""

    def get_update_cell(self) -> Any:
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that falls after steps that overflow, and rises again.

    Args:
        init_loss_scale (float): the scale at the beginning, at least one. Default: 2 ** 24.
        scale_factor (int): what it is divided and multiplied by. Default: 2.
        scale_window (int): the number of steps without overflow after which it rises. Default: 2000.

    Example:
        >>> import msjax as ms
        >>> manager = ms.amp.DynamicLossScaleManager(init_loss_scale=16)
        >>> manager.update_loss_scale(True)
        >>> manager.get_loss_scale()
        8.0
    """

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000):
        fits = is_number(init_loss_scale) and init_loss_scale >= 1
        self.loss_scale: float = check_value(init_loss_scale, fits, "be at least 1", "init_loss_scale", "DynamicLossScaleManager")
        for name, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            check_value(value, is_int(value) and value > 0, "be a positive int", name, "DynamicLossScaleManager")
        self.scale_factor = scale_factor
        self.scale_window = scale_window
        self.increase_ratio = scale_factor
        self.decrease_ratio: float = 1 / scale_factor
        self.cur_iter: int = 1
        self.last_overflow_iter = 0

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def update_loss_scale(self, overflow: bool | Tensor) -> None:
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter: int = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.loss_scale *= self.increase_ratio
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """True: steps that overflow are left out."""
        return True

    def get_update_cell(self) -> Any:
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
