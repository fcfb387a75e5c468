"""Loss scaling in training loops written by hand."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_value, is_number
from msjax.core.base.errors import describe
from msjax.core.base.typing import PyTree
from msjax.engine.autograd.op import Op, apply


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
        check_value(scale_value, is_number(scale_value) and scale_value >= 1, "be at least 1", "scale_value", type(self).__name__)
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
