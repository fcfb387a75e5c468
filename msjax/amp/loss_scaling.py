"""Loss scaling: managers of the scale for `Model` and `build_train_network`, and scalers for training loops written by hand."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_value, is_int, is_number
from msjax.core.base.errors import describe
from msjax.core.base.typing import PyTree
from msjax.engine.autograd.op import Op, apply
from msjax.nn.wrap.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell


def _check_scale(value, name, who):
    return check_value(value, is_number(value) and value >= 1, "be at least 1", name, who)


# ---- managers


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
        self._loss_scale = _check_scale(loss_scale, "loss_scale", "FixedLossScaleManager")
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
        self.loss_scale: float = _check_scale(init_loss_scale, "init_loss_scale", "DynamicLossScaleManager")
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


# ---- scalers


def _scaled(factor, value):
    return value * factor.astype(value.dtype)


def _map(fn, value):
    if isinstance(value, Tensor):
        return fn(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_map(fn, v) for v in value)
    raise TypeError(f"A loss scaler takes Tensors, or tuples and lists of them, but got {describe(value)}.")


class LossScaler:
    """Base of loss scalers: `scale` a loss before its gradient is taken, `unscale` the gradients, `adjust` the scale."""

    def scale(self, inputs: PyTree) -> Any:
        """The inputs times the scale."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'scale'.")

    def unscale(self, inputs: PyTree) -> Any:
        """The inputs divided by the scale."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'unscale'.")

    def adjust(self, grads_finite: Tensor | bool) -> Any:
        """Update the scale after a step; returns whether the scale is dynamic."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'adjust'.")


_SCALE = Op("ScaleLoss", _scaled)
_UNSCALE = Op("UnscaleGradient", lambda factor, value: _scaled(1 / factor, value))


class StaticLossScaler(LossScaler):
    """A scale that stays.

    Args:
        scale_value (float): at least one.

    Example:
        >>> import msjax as ms
        >>> scaler = ms.amp.StaticLossScaler(8.0)
        >>> print(scaler.scale(ms.Tensor(2.0)), scaler.unscale((ms.Tensor(16.0),)))
        16.0 (Tensor(shape=[], dtype=Float32, value= 2),)
    """

    def __init__(self, scale_value: float):
        _check_scale(scale_value, "scale_value", type(self).__name__)
        self.scale_value: Parameter = Parameter(Tensor(scale_value, mstype.float32), name="scale_value")

    def scale(self, inputs: PyTree) -> Any:
        return _map(lambda v: apply(_SCALE, (self.scale_value.value(), v)), inputs)

    def unscale(self, inputs: PyTree) -> Any:
        return _map(lambda v: apply(_UNSCALE, (self.scale_value.value(), v)), inputs)

    def adjust(self, grads_finite: Tensor | bool) -> bool:
        return False


def _adjust(scale, counter, finite, factor, window):
    finite = jnp.asarray(finite).reshape(()).astype(bool)
    full = finite & (counter == window - 1)
    # As XLA divides by a constant: by multiplication.
    lower = jnp.maximum(1, scale * (1 / jnp.asarray(factor, scale.dtype)))
    higher = jnp.where(full, scale * factor, scale)
    # Do not raise the scale to infinity.
    higher = jnp.where(jnp.isfinite(higher), higher, scale)
    return jnp.where(finite, higher, lower), jnp.where(finite & ~full, counter + 1, 0)


_ADJUST = Op("AdjustLossScale", _adjust, differentiable=False)


class DynamicLossScaler(StaticLossScaler):
    """A scale that falls when gradients overflow, and rises after a number of times that they did not.

    Args:
        scale_value (float): the scale at the beginning, at least one.
        scale_factor (int): what it is divided and multiplied by. It never falls below one.
        scale_window (int): the number of times.

    Example:
        >>> import msjax as ms
        >>> scaler = ms.amp.DynamicLossScaler(8.0, scale_factor=2, scale_window=1000)
        >>> _ = scaler.adjust(ms.Tensor(False))
        >>> print(scaler.scale_value.value())
        4.0
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int):
        super().__init__(scale_value)
        for name, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            check_value(value, is_number(value) and value > 0, "be positive", name, "DynamicLossScaler")
        self.scale_factor = scale_factor
        self.scale_window = scale_window
        self.counter: Parameter = Parameter(Tensor(0, mstype.int32), name="counter")

    def adjust(self, grads_finite: Tensor | bool) -> bool:
        operands = self.scale_value.value(), self.counter.value(), grads_finite
        scale, counter = apply(_ADJUST, (*operands, float(self.scale_factor)), (int(self.scale_window),))
        self.scale_value.set_data(scale)
        self.counter.set_data(counter)
        return True
