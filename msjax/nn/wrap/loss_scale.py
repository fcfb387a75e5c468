"""Loss scaling for training in mixed precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.arrays import known_value
from msjax.core.base.checks import check_kind
from msjax.engine.autograd.op import Op, apply
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.operator import map_tensors
from msjax.ops.function.control.multitype import MultitypeFuncGraph

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell"]


class DynamicLossScaleUpdateCell(Cell):
    """Makes the loss scale smaller after a step that overflowed, and larger after a number of steps that did not.

    Args:
        loss_scale_value (float): the scale at the beginning.
        scale_factor (int): what it is divided and multiplied by. It never falls below one.
        scale_window (int): the number of steps without overflow.

    Inputs:
        - **loss_scale** (Parameter) - the scale; it is changed.
        - **overflow** (Tensor) - a Bool, whether the step overflowed.

    Outputs:
        Tensor, `overflow`.

    Example:
        >>> update = nn.DynamicLossScaleUpdateCell(loss_scale_value=8.0, scale_factor=2, scale_window=1000)
        >>> scale = Parameter(Tensor(update.get_loss_scale()))
        >>> _ = update(scale, Tensor(True))
        >>> print(scale.value())
        4.0
    """

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int):
        super().__init__(auto_prefix=False)
        self.loss_scale_value = loss_scale_value
        self.scale_factor = scale_factor
        self.scale_window = scale_window
        self.cur_iter: Parameter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step")
        self.last_overflow_iter: Parameter = Parameter(Tensor(0, mstype.int32), name="last_overflow_iterator_step")

    def get_loss_scale(self) -> float:
        """The scale at the beginning."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        operands = loss_scale, overflow, self.cur_iter, self.last_overflow_iter
        scale, now, last = apply(_update, (*operands, float(self.scale_factor)), (int(self.scale_window),))
        if isinstance(loss_scale, Parameter):
            loss_scale.set_data(scale)
        self.cur_iter.set_data(now)
        self.last_overflow_iter.set_data(last)
        return overflow


@partial(Op, "UpdateLossScale", differentiable=False)
def _update(scale, overflow, now, last, factor, window):
    overflow = overflow.reshape(()).astype(bool)
    # As XLA divides by a constant: by multiplication.
    smaller = jnp.maximum(scale * (1 / jnp.asarray(factor, scale.dtype)), 1)
    grows = now - last >= window
    scale = jnp.where(overflow, smaller, jnp.where(grows, scale * factor, scale)).astype(scale.dtype)
    return scale, now + 1, jnp.where(overflow | grows, now, last)


class FixedLossScaleUpdateCell(Cell):
    """Keeps the loss scale; steps that overflow are skipped.

    Args:
        loss_scale_value (float): the scale.
    """

    def __init__(self, loss_scale_value: float):
        super().__init__(auto_prefix=False)
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Tensor, overflow: Tensor) -> Tensor:
        return overflow


# ---- parts of training steps

# What training cells of public programs call for each gradient, by `ops.HyperMap`.
grad_scale = MultitypeFuncGraph("grad_scale")
shard_grad_scale = MultitypeFuncGraph("shard_grad_scale")
_grad_overflow = MultitypeFuncGraph("_grad_overflow")


@grad_scale.register("Tensor", "Tensor", "Tensor")
@shard_grad_scale.register("Tensor", "Tensor", "Tensor")
def _take_out(scale: Tensor, _grad: Tensor, accumulated: Any) -> Any:
    """The gradient of several parts of a batch without the scale; the sum begins anew."""
    taken = accumulated / scale.astype(accumulated.dtype)
    accumulated.set_data(accumulated * 0)
    return taken


@_grad_overflow.register("Tensor")
def _overflow(grad: Tensor) -> Any:
    return overflowed([grad])


def _finite(*values):
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(v)) for v in values]))


_FINITE = Op("AllFinite", _finite, differentiable=False)


def all_finite(inputs: Sequence[Tensor]) -> Tensor:
    """A Bool Tensor: whether all elements of some Tensors are finite.

    Args:
        inputs (tuple or list of Tensor): the Tensors.

    Raises:
        TypeError: something else is in `inputs`.

    Example:
        >>> import msjax as ms
        >>> print(ms.amp.all_finite((ms.Tensor([1.0]), ms.Tensor([float("inf")]))))
        False
    """
    values = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    for value in values:
        check_kind(value, isinstance(value, Tensor), "be Tensors", "the inputs", "all_finite")
    return apply(_FINITE, values) if values else Tensor(True)


_OVERFLOWED = Op("Overflowed", lambda *values: jnp.logical_not(_finite(*values)), differentiable=False)


def overflowed(grads: Sequence[Tensor]) -> Tensor:
    """A Bool Tensor: whether an element of some gradients is infinite or NaN."""
    return apply(_OVERFLOWED, list(grads)) if len(grads) else Tensor(False)


@partial(Op, "Unscale", differentiable=False)
def _unscale(scale, *values):
    factor = (1 / scale.astype(jnp.float32)).reshape(())
    return tuple((v.astype(jnp.promote_types(v.dtype, jnp.float32)) * factor).astype(v.dtype) for v in values)


def unscale(grads: Sequence[Tensor], scale: Tensor | float) -> tuple[Tensor, ...]:
    """Tensors divided by a scale."""
    return apply(_unscale, (scale, *grads))


@jax.jit
def _select(skip, before, after):
    return [jnp.where(skip, b, a) for b, a in zip(before, after)]


def run_unless(skip: Tensor, optimizer: Callable[..., Any], grads: Sequence[Tensor]) -> None:
    """Run an optimizer step unless `skip`, a Bool Tensor, is true; in a compiled program, by selecting old or new values."""
    known = known_value(skip._value)
    if known is not None:
        if not bool(known.reshape(())):
            optimizer(grads)
        return
    state = [*optimizer.get_parameters(), *optimizer.buffers()]
    before = [p._value for p in state]
    optimizer(grads)
    for p, value in zip(state, _select(skip._value.reshape(()), before, [p._value for p in state])):
        p._set_value(value)


def to_float32(value: Tensor) -> Tensor:
    """Floating Tensors, also in tuples, lists and dicts, as Float32."""
    wide = mstype.float32
    return map_tensors(lambda t: t.astype(wide) if t.is_floating_point() and t.dtype != wide else t, value)
