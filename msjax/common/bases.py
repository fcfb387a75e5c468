"""Base classes of Tensor and Cell, by which code below them recognizes their instances, and attributes that code above attaches.

The classes are empty at run time. For a type checker, they declare what that code uses of an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msjax.common.dtype import Type
from msjax.core.base.typing import Attribute, JaxArray, SettableAttribute

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_C = TypeVar("_C", bound=type)
_V = TypeVar("_V")
# What Python puts into each class.
_OF_EVERY_CLASS = frozenset(
    "__annotations__ __dict__ __doc__ __firstlineno__ __hash__ __module__ __qualname__ __static_attributes__ __weakref__".split()
)


class TensorBase:
    """Base of Tensor; `_value` is the jax array (or tracer) that it holds."""

    __slots__ = ()

    if TYPE_CHECKING:
        _value: JaxArray

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> Type: ...


class SparseBase:
    """Base of sparse tensors. They are differentiated by their `values`."""

    __slots__ = ()

    if TYPE_CHECKING:
        values: Any

        def with_values(self, values: Any) -> Any: ...


class CellBase:
    """Base of nn.Cell."""

    __slots__ = ()

    if TYPE_CHECKING:
        # Lists of Parameters, and buffers, whose classes lie above.
        def trainable_params(self, recurse: bool = True) -> list[Any]: ...
        def untrainable_params(self, recurse: bool = True) -> list[Any]: ...
        def buffers(self, recurse: bool = True) -> Iterator[Any]: ...
        def update_parameters_name(self, prefix: str = "") -> None: ...
        # The HookTable of the hooks that run when it is called, as it is at present.
        def _hooks_around(self) -> Any: ...
        def cells_and_names(self) -> Iterator[tuple[str, Any]]: ...

    _owner_noun = "cell"

    def _named_in(self, around: Sequence[Any]) -> tuple[str, str]:
        cls = type(self).__name__
        while around and around[-1] is self:
            around = around[:-1]
        if not around:
            return cls, cls
        name = next((name for name, member in around[-1].cells_and_names() if member is self and name), f"<{cls}>")
        return f"{around[-1]._named_in(around[:-1])[0]}.{name}", cls


def is_cell(value: object) -> TypeIs[CellBase]:
    """True for a Cell; False for anything else, a class of cells included."""
    return isinstance(value, CellBase)


def attached_to(cls: type) -> Callable[[_C], _C]:
    """Decorator: gives a class of a lower floor the attributes of the decorated class, where type checkers find their types."""

    def attach(attributes):
        for name, value in vars(attributes).items():
            if name not in _OF_EVERY_CLASS:
                setattr(cls, name, value)
        return attributes

    return attach


def computed(get: Callable[[Any], _V]) -> Attribute[_V]:
    """A property of a class whose attributes are attached to another one: its function takes an instance of that one."""
    return cast(Attribute[_V], property(get))


def settable(get: Callable[[Any], _V], set: Callable[[Any, _V], None]) -> SettableAttribute[_V]:
    """A `computed` that can be set."""
    return cast(SettableAttribute[_V], property(get, set))
