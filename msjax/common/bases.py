"""Empty base classes of Tensor and Cell, by which code below them recognizes their instances."""

from __future__ import annotations


class TensorBase:
    """Base of Tensor; `_value` is the jax array (or tracer) that it holds."""

    __slots__ = ()


class CellBase:
    """Base of nn.Cell."""

    __slots__ = ()


def is_cell(value: object) -> bool:
    """True for a Cell; False for anything else, a class of cells included."""
    return isinstance(value, CellBase)
