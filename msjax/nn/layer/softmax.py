"""Softmax layers."""

from __future__ import annotations

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_rank
from msjax.core.base.typing import Axes
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer, OfX
from msjax.ops.function.nn_func import softmaxes

__all__ = ["LogSoftmax", "LogSoftmaxExt", "Softmax", "Softmax2d", "Softmin"]


class Softmax(Layer, of=softmaxes.softmax):
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): the axis. Default: -1.

    Raises:
        TypeError: `axis` is neither an int nor a tuple.

    Example:
        >>> print(nn.Softmax()(Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    axis: Axes = -1

    def _check_settings(self) -> None:
        fits = not isinstance(self.axis, bool) and isinstance(self.axis, (int, tuple, list))
        check_kind(self.axis, fits, "be an int or a tuple", "axis", "Softmax")


class Softmax2d(Cell):
    """Softmax over the channels of an input (N, C, H, W) or (C, H, W)."""

    def construct(self, x: Tensor) -> Tensor:
        check_rank(x, (3, 4), "the input", "Softmax2d")
        return softmaxes.softmax(x, -3)


class Softmin(OfX, of=softmaxes.softmin):
    """exp(-x) / sum(exp(-x)) along an axis.

    Args:
        axis (int): the axis. Default: -1.
    """

    axis: int = -1


class LogSoftmax(OfX, of=softmaxes.log_softmax):
    """log(softmax(x)) along an axis; the argument is that of `Softmin`."""

    axis: int = -1


class LogSoftmaxExt(OfX):
    """log(softmax(x)) along an axis.

    Args:
        dim (int, optional): the axis; by default 0 for inputs of 0, 1 or 3 axes, 1 for others.
    """

    dim: int | None = None

    def construct(self, x: Tensor) -> Tensor:
        dim = self.dim if self.dim is not None else 0 if x.ndim in (0, 1, 3) else 1
        return softmaxes.log_softmax(x, dim)
