"""A layer applied to each step of a sequence."""

from __future__ import annotations

from typing import Any

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_axis_of, check_kind, check_type
from msjax.nn.cell.base import Cell
from msjax.ops.primitive import Primitive

__all__ = ["TimeDistributed"]


class TimeDistributed(Cell):
    """A layer applied to each step along an axis of the input; the results are put together along the same axis.

    Args:
        layer (Cell or Primitive): the layer.
        time_axis (int): the axis of the steps.
        reshape_with_axis (int, optional): an axis into which the steps are folded, so that the layer is called once for
            all steps; None, the default, calls it once for each.

    Inputs:
        - **inputs** (Tensor) - of any shape that has the axes.

    Outputs:
        Tensor.

    Raises:
        TypeError: a wrong type of an argument.
        ValueError: the input has too few axes.

    Example:
        >>> net = nn.TimeDistributed(nn.Dense(3, 10), time_axis=1, reshape_with_axis=0)
        >>> net(ops.ones((32, 4, 3), float32)).shape
        (32, 4, 10)
    """

    def __init__(self, layer: Cell | Primitive, time_axis: int, reshape_with_axis: int | None = None):
        super().__init__()
        check_kind(layer, isinstance(layer, (Cell, Primitive)), "be a Cell or Primitive", "layer", "TimeDistributed")
        self.layer = layer
        self.time_axis: Any = check_type(time_axis, int, "time_axis", "TimeDistributed")
        if reshape_with_axis is not None:
            check_type(reshape_with_axis, int, "reshape_with_axis", "TimeDistributed")
        self.reshape_with_axis = reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        check_type(inputs, Tensor, "inputs", "TimeDistributed")
        time, other = (check_axis_of(inputs, axis, "TimeDistributed") for axis in (self.time_axis, self.reshape_with_axis or 0))
        if self.reshape_with_axis is None:
            steps = [self.layer(ops.squeeze(step, time)) for step in ops.split(inputs, 1, time)]
            return ops.stack(steps, time)
        if other == time:
            raise ValueError(f"For 'TimeDistributed', 'time_axis' and 'reshape_with_axis' should differ, but both are {time}.")
        # Move the time axis next to the axis it is merged into, which is number `into` of the remaining axes.
        into = other - (other > time)
        x = ops.movedim(inputs, time, into)
        shape = x.shape
        x = self.layer(ops.reshape(x, (*shape[:into], shape[into] * shape[into + 1], *shape[into + 2 :])))
        x = ops.reshape(x, (*x.shape[:into], shape[into], shape[into + 1], *x.shape[into + 1 :]))
        return ops.movedim(x, into, time)
