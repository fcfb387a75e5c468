"""Base classes of Tensor and Cell, by which code below them recognizes their instances; empty at run time.

For a type checker, they declare what that code uses of an instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from msjax.base.typing import JaxArray
    from msjax.common.dtype import Type


class TensorBase:
    """Base of Tensor; `_value` is the jax array (or tracer) that it holds."""

    __slots__ = ()

    if TYPE_CHECKING:
        _value: JaxArray

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> Type: ...


class CellBase:
    """Base of nn.Cell."""

    __slots__ = ()

    if TYPE_CHECKING:
        # Lists of Parameters, and buffers, whose classes lie above.
        def trainable_params(self, recurse: bool = True) -> list[Any]: ...
        def untrainable_params(self, recurse: bool = True) -> list[Any]: ...
        def buffers(self, recurse: bool = True) -> Iterator[Any]: ...


def is_cell(value: object) -> TypeIs[CellBase]:
    """True for a Cell; False for anything else, a class of cells included."""
    return isinstance(value, CellBase)
