"""Layers that pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_number, check_one_of, check_value, is_int
from msjax.core.base.typing import PadWidths
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import OfAxes
from msjax.ops.function.nn_func.pads import pad_constant, pad_mirrored, widths_from_last

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Pad", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad2d",
]  # fmt: skip


class Pad(Cell):
    """Elements added at the edges of a Tensor.

    Args:
        paddings (tuple): for each axis a pair: how many elements to add before and after.
        mode (str): "CONSTANT" (zeros, the default), "REFLECT" or "SYMMETRIC" (mirrored, without or with the edge itself).

    Raises:
        TypeError: `paddings` is not a tuple.
        ValueError: an unknown mode, or pairs that don't fit the input.

    Example:
        >>> print(nn.Pad(((1, 2),))(Tensor([1.0, 2.0])))
        [0. 1. 2. 0. 0.]
    """

    def __init__(self, paddings: PadWidths, mode: str = "CONSTANT"):
        super().__init__()
        self.paddings: PadWidths = check_kind(paddings, isinstance(paddings, tuple), "be a tuple of pairs", "paddings", "Pad")
        if any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in paddings):
            raise ValueError(f"For 'Pad', 'paddings' should hold a pair for each axis, but got {paddings}.")
        self.mode: str = check_one_of(mode, ("CONSTANT", "REFLECT", "SYMMETRIC"), "mode", "Pad")

    def construct(self, x: Tensor) -> Tensor:
        fits = len(self.paddings) == x.ndim
        check_value(self.paddings, fits, f"have {x.ndim} pairs for an input of shape {x.shape}", "paddings", "Pad")
        if self.mode == "CONSTANT":
            return pad_constant(x, 0, self.paddings)
        return pad_mirrored(x, self.paddings, self.mode.lower())


class _Around(OfAxes, axes=1):
    """Base of layers that pad their last `axes`."""

    _negative = True  # whether it takes negative widths, too

    def __init__(self, padding: int | Sequence[int]):
        super().__init__()
        who, n = type(self).__name__, self.axes
        fits = not isinstance(padding, bool) and isinstance(padding, (int, tuple))
        check_kind(padding, fits, "be an int or a tuple of ints", "padding", who)
        widths = (padding,) * (2 * n) if isinstance(padding, int) else padding
        check_kind(padding, all(map(is_int, widths)), "be ints", "padding", who)
        check_value(padding, not len(widths) % 2 and len(widths) <= 2 * n, f"be an int or {2 * n} ints", "padding", who)
        check_value(padding, self._negative or all(w >= 0 for w in widths), "not be negative", "padding", who)
        self.padding = widths


class _ConstantPad(_Around):
    def __init__(self, padding: int | Sequence[int], value: float):
        super().__init__(padding)
        self.value: Any = check_number(value, "value", type(self).__name__)

    def construct(self, x):
        return pad_constant(x, self.value, widths_from_last(self.padding, x.ndim, type(self).__name__))


class ConstantPad1d(_ConstantPad):
    """A number added at both ends of the last axis.

    Args:
        padding (int or tuple): how often, or (left, right); of more axes (left, right, top, bottom, front, back); negative numbers cut off.
        value (int or float): the number.

    Example:
        >>> print(nn.ConstantPad1d((1, 2), 0.5)(Tensor([[1.0, 2.0]])))
        [[0.5 1.  2.  0.5 0.5]]
    """


class ZeroPad2d(_ConstantPad, axes=2):
    """Zeros added around the last two axes.

    Args:
        padding (int or tuple): how many, or (left, right, top, bottom); negative numbers cut off.
    """

    def __init__(self, padding: int | Sequence[int]):
        super().__init__(padding, 0)


class _MirroredPad(_Around):
    _mode = ""

    def construct(self, x):
        check_value(x, x.ndim > self.axes, f"have more than {self.axes} axes", "the input", type(self).__name__)
        return pad_mirrored(x, widths_from_last(self.padding, x.ndim, type(self).__name__), self._mode)


class _ReflectionPad(_MirroredPad):
    _mode, _negative = "reflect", False


class ReflectionPad1d(_ReflectionPad):
    """The last axis, mirrored at its ends.

    Args:
        padding (int or tuple): how many elements, or (left, right), of more axes as in `ConstantPad1d`; less than an axis has.

    Example:
        >>> print(nn.ReflectionPad1d(1)(Tensor([[1.0, 2.0, 3.0]])))
        [[2. 1. 2. 3. 2.]]
    """


class _ReplicationPad(_MirroredPad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """The last axis, with its outermost elements repeated.

    Args:
        padding (int or tuple): how often, or (left, right), of more axes as in `ConstantPad1d`.

    Example:
        >>> print(nn.ReplicationPad1d(1)(Tensor([[1.0, 2.0, 3.0]])))
        [[1. 1. 2. 3. 3.]]
    """


# fmt: off
class ConstantPad2d(_ConstantPad, axes=2): """A number added around the last two axes; see `ConstantPad1d`."""
class ConstantPad3d(_ConstantPad, axes=3): """A number added around the last three axes; see `ConstantPad1d`."""
class ReflectionPad2d(_ReflectionPad, axes=2): """The last two axes, mirrored at their ends; see `ReflectionPad1d`."""
class ReflectionPad3d(_ReflectionPad, axes=3): """The last three axes, mirrored at their ends; see `ReflectionPad1d`."""
class ReplicationPad2d(_ReplicationPad, axes=2): """The last two axes, with their outermost elements repeated; see `ReplicationPad1d`."""
class ReplicationPad3d(_ReplicationPad, axes=3): """The last three axes, with their outermost elements repeated; see `ReplicationPad1d`."""
# fmt: on
