"""Networks that process a batch in parts."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_positive_int
from msjax.nn.cell.base import Cell

__all__ = ["GradAccumulationCell", "MicroBatchInterleaved", "PipelineCell"]


def _pieces(inputs, number, who):
    """The arguments of each of `number` calls: Tensors cut along their first axis, everything else as it is."""
    for x in inputs:
        if isinstance(x, Tensor) and x.ndim and x.shape[0] % number:
            raise ValueError(f"For '{who}', the first axis should be a multiple of {number}, but the shape is {x.shape}.")
    for i in range(number):
        yield [_piece(x, i, number) if isinstance(x, Tensor) and x.ndim else x for x in inputs]


def _piece(x, i, number):
    length = x.shape[0] // number
    return x[i * length : (i + 1) * length]


class MicroBatchInterleaved(Cell):
    """Calls a network on parts of the batch, and returns the sum of what it returns.

    Args:
        network (Cell): the network, which returns the loss.
        interleave_num (int): the number of parts. Default: 2.
    """

    def __init__(self, network: Cell, interleave_num: int = 2):
        super().__init__(auto_prefix=False)
        self.network = network
        self.interleave_num: int = check_positive_int(interleave_num, "the number of parts", type(self).__name__)

    def construct(self, *inputs: Any) -> Any:
        total = None
        for piece in _pieces(inputs, self.interleave_num, type(self).__name__):
            out = self.network(*piece)
            total = out if total is None else total + out
        return total


class GradAccumulationCell(MicroBatchInterleaved):
    """Calls a network on `micro_size` parts of the batch, and returns the sum of the losses.

    Args:
        network (Cell): the network, which returns the loss.
        micro_size (int): the number of parts.
    """

    def __init__(self, network: Cell, micro_size: int):
        super().__init__(network, micro_size)


class PipelineCell(GradAccumulationCell):
    """The same as `GradAccumulationCell`: jax places the stages.

    Args:
        network, micro_size: as in `GradAccumulationCell`.
        stage_config, segment_config: accepted for compatibility with MindSpore, without effect.
    """

    def __init__(self, network: Cell, micro_size: int, stage_config: object = None, segment_config: object = None):
        super().__init__(network, micro_size)
