"""Types for annotations that name no class of msjax; `msjax.common.typing` has those of Tensors and data types.

A leaf: it imports nothing of msjax, so that every file may import it. The aliases that name classes of jax are text at run time, and types
for a type checker.

Example:
    >>> import msjax as ms
    >>> from msjax.core.base.typing import ForwardHook
    >>> def report(cell: ms.nn.Cell, args: tuple, output: ms.Tensor) -> None:
    ...     print(output.shape)
    >>> hook: ForwardHook = report
    >>> handle = ms.nn.ReLU().register_forward_hook(hook)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import jax


JaxArray: TypeAlias = "jax.Array"
JaxArrays: TypeAlias = "tuple[jax.Array, ...]"
# A number in a compiled formula: a constant or a 0-d array.
JaxNumber: TypeAlias = "jax.Array | float"
# bool is an int to a type checker, and an int is taken where a float is asked for.
Number: TypeAlias = "float"
Axes: TypeAlias = "int | Sequence[int]"
# (before, after) for each axis.
PadWidths: TypeAlias = "tuple[tuple[int, int], ...]"
# The structure of a pytree; jax publishes only the constructor.
PyTreeDef: TypeAlias = Any
# Nested tuples, lists and dicts of Tensors, arrays and other values.
PyTree: TypeAlias = Any


# Functions for `Cell.register_forward_pre_hook` and its kin, the second one for ``with_kwargs=True``. The first argument of a cell's hook is the
# cell; in the dialect "mindspore-1" backward hooks get its name and id, a str. It is Any here, so that a hook may name the class of its cell.
# Gradients are Tensors, or None where none arrives.
# (cell, args)
ForwardPreHook: TypeAlias = Callable[[Any, tuple[Any, ...]], Any]
# (cell, args, kwargs)
ForwardPreHookWithKwargs: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
# (cell, args, output)
ForwardHook: TypeAlias = Callable[[Any, tuple[Any, ...], Any], Any]
# (cell, args, kwargs, output)
ForwardHookWithKwargs: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], Any]
# (cell, grad_output)
BackwardPreHook: TypeAlias = Callable[[Any, tuple[Any, ...]], Any]
# (cell, grad_input, grad_output)
BackwardHook: TypeAlias = Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any]


_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
_V = TypeVar("_V")


class Attribute(Protocol[_R]):
    """A descriptor of a class: a property, or a method."""

    def __get__(self, instance: Any, owner: Any = None, /) -> _R: ...


class SettableAttribute(Protocol[_V]):
    """A property that can be set."""

    def __get__(self, instance: Any, owner: Any = None, /) -> _V: ...
    def __set__(self, instance: Any, value: _V, /) -> None: ...


class CompiledFunction(Protocol[_P, _R]):
    """A function that `ms.jit` has made: it has the same arguments, and a method that says how often it was compiled."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> CompiledFunction[..., _R]: ...
    def compilations(self) -> int:
        """The number of programs that were made, one for each combination of shapes, dtypes and other arguments."""
        ...
