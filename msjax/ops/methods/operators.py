"""Python's operators of one or two Tensors."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from msjax.common.bases import attached_to
from msjax.common.tensor import Tensor
from msjax.common.typing import BinaryOperator, TensorLike, UnaryOperator
from msjax.core.base.arrays import CONCRETE
from msjax.core.base.errors import describe
from msjax.core.door import ACTIVITY
from msjax.engine.autograd.op import apply
from msjax.engine.autograd.op_errors import raise_op_error
from msjax.engine.programs.compiler_options import is_nested
from msjax.ops.function.linalg_func import linear
from msjax.ops.function.math_func import arithmetic, comparison, elementary, logic

_OPERANDS = (Tensor, numbers.Number, np.ndarray, np.generic, jax.Array)
# As in MindSpore, sums, differences and floor division take sequences of numbers, too, and no other operator does.
_WITH_LISTS = (*_OPERANDS, list, tuple)
_new = object.__new__


def _refused(function: Callable[..., Any], other: TensorLike) -> Tensor:
    if isinstance(other, (list, tuple)) and function not in (comparison.equal, comparison.not_equal):
        # Returning NotImplemented would let Python repeat the list by an integer Tensor.
        raise TypeError(f"For '{function.__name__}', the operands should be Tensors or numbers, but one is {describe(other)}.")
    return NotImplemented


def _method(function: Callable[..., Any], operands: tuple[type, ...]) -> Callable[[Tensor, Any], Tensor]:
    """A method for an operator of two Tensors, with a fast path where nothing is recorded."""
    op = getattr(function, "op", None)
    programs = None if op is None else op.programs

    def method(self, other):
        if programs is not None and other.__class__ is Tensor is self.__class__ and self._node is None and other._node is None:
            a, b = self._value, other._value
            if a.__class__ in CONCRETE and b.__class__ in CONCRETE and not ACTIVITY.slow_dispatch:
                try:
                    value = programs[()](a, b)
                except Exception as error:
                    if is_nested(error):
                        return apply(op, (self, other))
                    raise_op_error(error, op, (self, other))
                result = _new(Tensor)
                result._value = value
                result._node = None
                return result
        elif not isinstance(other, operands):
            return _refused(function, other)
        return apply(op, (self, other)) if op is not None else function(self, other)

    return method


def _reflected_method(function: Callable[..., Any], operands: tuple[type, ...]) -> Callable[[Tensor, Any], Tensor]:
    def method(self, other):
        return function(other, self) if isinstance(other, operands) else _refused(function, other)

    return method


# Type checkers read here what an operator takes: Tensors and numbers, also lists of numbers, or anything to compare with.


def _binary(function: Callable[..., Any]) -> Callable[[Tensor, TensorLike], Tensor]:
    return _method(function, _OPERANDS)


def _reflected(function: Callable[..., Any]) -> Callable[[Tensor, TensorLike], Tensor]:
    return _reflected_method(function, _OPERANDS)


def _binary_of_lists(function: Callable[..., Any]) -> Callable[[Tensor, TensorLike | Sequence[Any]], Tensor]:
    return _method(function, _WITH_LISTS)


def _reflected_of_lists(function: Callable[..., Any]) -> Callable[[Tensor, TensorLike | Sequence[Any]], Tensor]:
    return _reflected_method(function, _WITH_LISTS)


def _comparison(function: Callable[..., Any]) -> Callable[[Tensor, TensorLike | None], Tensor]:
    return _method(function, _OPERANDS)


def _swapped(function: BinaryOperator) -> Callable[[Tensor, TensorLike], Tensor]:
    def method(self: Tensor, other: TensorLike) -> Tensor:
        return function(other, self)

    method.__doc__ = function.__doc__
    return method


def _unary(function: UnaryOperator) -> Callable[[Tensor], Tensor]:
    return function


@attached_to(Tensor)
class OperatorMethods:
    """Python's operators of one or two Tensors."""

    __add__ = _binary_of_lists(arithmetic.add)
    __radd__ = _reflected_of_lists(arithmetic.add)
    __sub__ = _binary_of_lists(arithmetic.sub_method)
    __rsub__ = _reflected_of_lists(arithmetic.sub_method)
    __mul__ = _binary(arithmetic.mul)
    __rmul__ = _reflected(arithmetic.mul)
    __truediv__ = _binary(arithmetic.true_divide)
    __rtruediv__ = _reflected(arithmetic.true_divide)
    __floordiv__ = _binary_of_lists(arithmetic.floor_divide)
    __rfloordiv__ = _reflected_of_lists(arithmetic.floor_divide)
    __mod__ = _binary(arithmetic.floor_mod)
    __rmod__ = _reflected(arithmetic.floor_mod)
    __pow__ = _binary(arithmetic.pow)
    __rpow__ = _reflected(arithmetic.pow)
    __matmul__ = _binary(linear.matmul)
    __rmatmul__ = _reflected(linear.matmul)
    __eq__: ClassVar[Callable[[Tensor, TensorLike | None], Tensor]] = _comparison(comparison.equal)
    __ne__: ClassVar[Callable[[Tensor, TensorLike | None], Tensor]] = _comparison(comparison.not_equal)
    __gt__ = _comparison(comparison.greater)
    __ge__ = _comparison(comparison.greater_equal)
    __lt__ = _comparison(comparison.less)
    __le__ = _comparison(comparison.less_equal)
    __neg__ = _unary(elementary.neg)
    __pos__ = _unary(elementary.positive)
    __abs__ = _unary(elementary.abs)
    # As in MindSpore, of numbers, too: `ops.bitwise_not` inverts bits.
    __invert__ = _unary(logic.logical_not)
    from msjax.ops.function.math_func.logic import bitwise_and as __and__, bitwise_or as __or__, bitwise_xor as __xor__

    __rand__ = _swapped(logic.bitwise_and)
    __ror__ = _swapped(logic.bitwise_or)
    __rxor__ = _swapped(logic.bitwise_xor)
