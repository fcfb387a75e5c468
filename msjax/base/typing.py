"""Types for annotations: what operators, layers and hooks take and return.

A leaf: it imports nothing of msjax at run time, so that every file may import it. The aliases are text at run time,
and types for a type checker.

Example:
    >>> import msjax as ms
    >>> from msjax.base.typing import ForwardHook
    >>> def report(cell: ms.nn.Cell, args: tuple, output: ms.Tensor) -> None:
    ...     print(output.shape)
    >>> hook: ForwardHook = report
    >>> handle = ms.nn.ReLU().register_forward_hook(hook)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    import jax
    import numpy as np

    from msjax.common.dtype import Type
    from msjax.common.initializer import Initializer
    from msjax.common.parameter import Parameter
    from msjax.common.tensor import Tensor
    from msjax.nn.learning_rate_schedule import LearningRateSchedule

__all__ = [
    "Any",
    "ArrayLike",
    "Attribute",
    "Axes",
    "BackwardHook",
    "BackwardPreHook",
    "BinaryMethod",
    "BinaryOperator",
    "Callable",
    "CompiledFunction",
    "DTypeLike",
    "ForwardHook",
    "ForwardHookWithKwargs",
    "ForwardPreHook",
    "ForwardPreHookWithKwargs",
    "InitLike",
    "Iterable",
    "Iterator",
    "JaxArray",
    "JaxArrays",
    "JaxNumber",
    "KernelDecorator",
    "LearningRate",
    "Mapping",
    "MethodOfManyNames",
    "Number",
    "PadWidths",
    "ParametersLike",
    "PyTree",
    "PyTreeDef",
    "Sequence",
    "SettableAttribute",
    "Shape",
    "TensorHook",
    "TensorLike",
    "UnaryOperator",
    "UnaryOperatorOfX",
]

JaxArray: TypeAlias = "jax.Array"
JaxArrays: TypeAlias = "tuple[jax.Array, ...]"
# A number in a compiled formula: a constant or a 0-d array.
JaxNumber: TypeAlias = "jax.Array | float"
# bool is an int to a type checker, and an int is taken where a float is asked for.
Number: TypeAlias = "float"
# What an operator takes for an operand.
TensorLike: TypeAlias = "Tensor | jax.Array | np.ndarray[Any, Any] | np.generic[Any] | complex"
# What Tensor() and msjax.numpy take for data: operands, and nested lists of them.
ArrayLike: TypeAlias = "TensorLike | Sequence[Any]"
Axes: TypeAlias = "int | Sequence[int]"
# What fills a Parameter: an initializer or its name, data, or one number.
InitLike: TypeAlias = "Initializer | ArrayLike | str"
# (before, after) for each axis.
PadWidths: TypeAlias = "tuple[tuple[int, int], ...]"
# The structure of a pytree; jax publishes only the constructor.
PyTreeDef: TypeAlias = Any
# Nested tuples, lists and dicts of Tensors, arrays and other values.
PyTree: TypeAlias = Any
Shape: TypeAlias = "int | Sequence[int] | Tensor"
# What an optimizer updates: Parameters, or groups of them with their settings.
ParametersLike: TypeAlias = "Iterable[Parameter] | Iterable[dict[str, Any]]"
# A number, one for each step, or what computes it from the step.
LearningRate: TypeAlias = "float | Iterable[float] | Tensor | LearningRateSchedule"
DTypeLike: TypeAlias = "Type | np.dtype[Any] | type[Any] | str"


# The first argument of a cell's hook is the cell; in the dialect "mindspore-1" backward hooks get its name and id, a str.
# It is Any here, so that a hook may name the class of its cell. Gradients are Tensors, or None where none arrives.


class ForwardPreHook(Protocol):
    """A function for `Cell.register_forward_pre_hook`."""

    def __call__(self, cell: Any, args: tuple[Any, ...], /) -> Any: ...


class ForwardPreHookWithKwargs(Protocol):
    """A function for `Cell.register_forward_pre_hook` with ``with_kwargs=True``."""

    def __call__(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...


class ForwardHook(Protocol):
    """A function for `Cell.register_forward_hook`."""

    def __call__(self, cell: Any, args: tuple[Any, ...], output: Any, /) -> Any: ...


class ForwardHookWithKwargs(Protocol):
    """A function for `Cell.register_forward_hook` with ``with_kwargs=True``."""

    def __call__(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, /) -> Any: ...


class BackwardPreHook(Protocol):
    """A function for `Cell.register_backward_pre_hook`."""

    def __call__(self, cell: Any, grad_output: tuple[Any, ...], /) -> Any: ...


class BackwardHook(Protocol):
    """A function for `Cell.register_backward_hook`."""

    def __call__(self, cell: Any, grad_input: tuple[Any, ...], grad_output: tuple[Any, ...], /) -> Any: ...


class TensorHook(Protocol):
    """A function for `Tensor.register_hook`: it takes the gradient, and returns another one or None."""

    def __call__(self, grad: Tensor, /) -> Tensor | None: ...


_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
_V = TypeVar("_V")


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


class Attribute(Protocol[_R]):
    """What a class gives its instances under a name: a property's value, or the call of a method."""

    def __get__(self, instance: Any, owner: Any = None, /) -> _R: ...


class SettableAttribute(Protocol[_V]):
    """A property that can be set."""

    def __get__(self, instance: Any, owner: Any = None, /) -> _V: ...
    def __set__(self, instance: Any, value: _V, /) -> None: ...


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


class CompiledFunction(Protocol[_P, _R]):
    """A function that `ms.jit` has made: it has the same arguments, and a method that says how often it was compiled."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> CompiledFunction[..., _R]: ...
    def compilations(self) -> int:
        """The number of programs that were made, one for each combination of shapes, dtypes and other arguments."""
        ...
