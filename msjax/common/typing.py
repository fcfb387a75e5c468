"""Types for annotations that name Tensors, Parameters and data types: what operators and layers take and return.

The aliases are text at run time, and types for a type checker. Those that files below need stand there: `DTypeLike` with the data types,
`InitLike` with the initializers, `TensorLike`, `ArrayLike` and `Shape` with Tensor.

Example:
    >>> import msjax as ms
    >>> from msjax.common.typing import TensorHook
    >>> def halved(grad: ms.Tensor) -> ms.Tensor:
    ...     return grad / 2
    >>> hook: TensorHook = halved
    >>> handle = ms.Tensor(1.0).register_hook(hook)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import jax

from msjax.common.dtype import DTypeLike, Type
from msjax.common.initializers import InitLike
from msjax.common.parameter import Parameter
from msjax.common.tensor import ArrayLike, Shape, Tensor, TensorLike
from msjax.core.base.typing import Attribute, Axes

__all__ = [
    "ArrayLike",
    "BinaryMethod",
    "BinaryOperator",
    "DTypeLike",
    "InitLike",
    "KernelDecorator",
    "MethodOfManyNames",
    "ParametersLike",
    "Shape",
    "TensorHook",
    "TensorLike",
    "UnaryOperator",
    "UnaryOperatorOfX",
]

# What an optimizer updates: Parameters, or groups of them with their settings.
ParametersLike: TypeAlias = "Iterable[Parameter] | Iterable[dict[str, Any]]"


# A function for `Tensor.register_hook`: it takes the gradient, and returns another one or None.
TensorHook: TypeAlias = Callable[[Tensor], Tensor | None]


_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)


class KernelDecorator(Protocol):
    """A decorator, made by `operator(...)`, that makes a kernel of jax arrays a function of Tensors with the same parameters."""

    @overload
    def __call__(self, kernel: Callable[_P, jax.Array], /) -> Callable[_P, Tensor]: ...
    @overload
    def __call__(self, kernel: Callable[_P, tuple[jax.Array, jax.Array]], /) -> Callable[_P, tuple[Tensor, Tensor]]: ...
    @overload
    def __call__(
        self, kernel: Callable[_P, tuple[jax.Array, jax.Array, jax.Array]], /
    ) -> Callable[_P, tuple[Tensor, Tensor, Tensor]]: ...
    @overload
    def __call__(self, kernel: Callable[_P, tuple[jax.Array, ...]], /) -> Callable[_P, tuple[Tensor, ...]]: ...
    @overload
    def __call__(self, kernel: Callable[_P, Any], /) -> Callable[_P, Any]: ...


class UnaryOperator(Attribute["Callable[[], Tensor]"], Protocol):
    """An elementwise operator of one Tensor; as an attribute of Tensor, a method without arguments."""

    def __call__(self, input: TensorLike) -> Tensor: ...


class UnaryOperatorOfX(Attribute["Callable[[], Tensor]"], Protocol):
    """An elementwise operator of one Tensor that MindSpore calls x."""

    def __call__(self, x: TensorLike) -> Tensor: ...


class BinaryMethod(Protocol):
    """A method of a Tensor that takes another one or a number."""

    def __call__(self, other: TensorLike) -> Tensor: ...


class BinaryOperator(Attribute[BinaryMethod], Protocol):
    """An elementwise operator of two Tensors or numbers."""

    def __call__(self, input: TensorLike, other: TensorLike) -> Tensor: ...


class MethodOfManyNames(Protocol[_P, _R]):
    """A method whose arguments have other names, too; type checkers know those of the function only."""

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __call__(self, *args: TensorLike | Axes | None, **kwargs: TensorLike | Axes | Type | None) -> _R: ...
