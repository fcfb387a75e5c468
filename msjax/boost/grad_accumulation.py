"""Accumulates gradients over several steps before each optimizer step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.nn.cell.base import Cell

if TYPE_CHECKING:
    from msjax.nn.optim.optimizer import Optimizer


__all__ = ["GradientAccumulation", "gradient_accumulation_op", "gradient_clear_op"]

gradient_accumulation_op = ops.MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = ops.MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Number", "Tensor", "Tensor")
def _accumulate(steps, total, grad):
    return ops.assign_add(total, grad / steps)


@gradient_clear_op.register("Tensor")
def _clear(total):
    return ops.assign(total, ops.zeros_like(total))


class GradientAccumulation(Cell):
    """Calls an optimizer with the mean of the gradients of several steps, once after so many.

    Args:
        max_accumulation_step (int): after how many steps.
        optimizer (Optimizer): called with the mean gradients.

    Inputs:
        - **loss** - returned as it is.
        - **grads** (tuple[Tensor]) - the gradients of one step.

    Outputs:
        The loss.

    Example:
        >>> from msjax import Parameter, Tensor, nn
        >>> from msjax.boost import GradientAccumulation
        >>> w = Parameter([1.0], name="w")
        >>> accumulate = GradientAccumulation(2, nn.SGD([w], 0.1))
        >>> for grad in (1.0, 3.0):
        ...     _ = accumulate(Tensor(0.5), (Tensor([grad]),))
        ...     print(w.value())
        [1.]
        [0.8]
    """

    def __init__(self, max_accumulation_step: int, optimizer: Optimizer):
        super().__init__()
        self._max_accumulation_step = max_accumulation_step
        self.optimizer = optimizer
        self.hyper_map = ops.HyperMap()
        self._grad_accumulation = optimizer.parameters.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step = Parameter(Tensor(0, mstype.int32), name="accumulation_step")

    def construct(self, loss: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        self.hyper_map(ops.partial(gradient_accumulation_op, self._max_accumulation_step), self._grad_accumulation, grads)
        self._accumulation_step += 1
        if self._accumulation_step >= self._max_accumulation_step:
            self.optimizer(self._grad_accumulation)
            self.hyper_map(gradient_clear_op, self._grad_accumulation)
            ops.assign(self._accumulation_step, 0)
        return loss
