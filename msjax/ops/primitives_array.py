"""Operator classes that arrange, pick and put elements."""

from msjax.ops import arrange
from msjax.ops.primitive import Primitive, plain_primitives

__all__ = ["Concat", "Stack"]

_PLAIN = plain_primitives(
    {
        "Reshape": arrange.reshape,
        "Transpose": arrange.transpose,
        "ExpandDims": arrange.expand_dims,
        "Cast": arrange.cast,
        "Select": arrange.where,
    }
)
globals().update(_PLAIN)
__all__ += list(_PLAIN)


class Concat(Primitive):
    """Tensors joined along an axis that they have.

    Args:
        axis (int): Default: 0.
    """

    def __init__(self, axis=0):
        super().__init__("Concat")
        self.axis = axis

    def __call__(self, tensors):
        return arrange.concat(tensors, self.axis)


class Stack(Primitive):
    """Tensors joined along a new axis.

    Args:
        axis (int): Default: 0.
    """

    def __init__(self, axis=0):
        super().__init__("Stack")
        self.axis = axis

    def __call__(self, tensors):
        return arrange.stack(tensors, self.axis)
