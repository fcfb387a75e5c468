"""Softmax layers."""

from __future__ import annotations

from collections.abc import Callable

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind, check_rank
from msjax.core.base.typing import Axes
from msjax.nn.cell.base import Cell
from msjax.ops.function.nn_func import softmaxes

__all__ = ["LogSoftmax", "LogSoftmaxExt", "Softmax", "Softmax2d", "Softmin"]


class Softmax(Cell):
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): the axis. Default: -1.

    Raises:
        TypeError: `axis` is neither an int nor a tuple.

    Example:
        >>> print(nn.Softmax()(Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    def __init__(self, axis: Axes = -1):
        super().__init__()
        fits = not isinstance(axis, bool) and isinstance(axis, (int, tuple, list))
        check_kind(axis, fits, "be an int or a tuple", "axis", "Softmax")
        self.axis = axis

    def construct(self, input: Tensor) -> Tensor:
        return softmaxes.softmax(input, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of an input (N, C, H, W) or (C, H, W)."""

    def construct(self, x: Tensor) -> Tensor:
        check_rank(x, (3, 4), "the input", "Softmax2d")
        return softmaxes.softmax(x, -3)


class _AlongAxis(Cell):
    """The operator `function` along an axis."""

    function: Callable[..., Tensor]

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: TensorLike) -> Tensor:
        return type(self).function(x, self.axis)


class Softmin(_AlongAxis):
    """exp(-x) / sum(exp(-x)) along an axis.

    Args:
        axis (int): the axis. Default: -1.
    """

    function = staticmethod(softmaxes.softmin)


class LogSoftmax(_AlongAxis):
    """log(softmax(x)) along an axis; the argument is that of `Softmin`."""

    function = staticmethod(softmaxes.log_softmax)


class LogSoftmaxExt(Cell):
    """log(softmax(x)) along an axis.

    Args:
        dim (int, optional): the axis; by default 0 for inputs of 0, 1 or 3 axes, 1 for others.
    """

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def construct(self, x: Tensor) -> Tensor:
        dim = self.dim if self.dim is not None else 0 if x.ndim in (0, 1, 3) else 1
        return softmaxes.log_softmax(x, dim)
