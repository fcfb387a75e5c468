"""Python's operators of one or two Tensors."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

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


_add: Final = _binary_of_lists(arithmetic.add)
_radd: Final = _reflected_of_lists(arithmetic.add)
_sub: Final = _binary_of_lists(arithmetic.sub_method)
_rsub: Final = _reflected_of_lists(arithmetic.sub_method)
_mul: Final = _binary(arithmetic.mul)
_rmul: Final = _reflected(arithmetic.mul)
_truediv: Final = _binary(arithmetic.true_divide)
_rtruediv: Final = _reflected(arithmetic.true_divide)
_floordiv: Final = _binary_of_lists(arithmetic.floor_divide)
_rfloordiv: Final = _reflected_of_lists(arithmetic.floor_divide)
_mod: Final = _binary(arithmetic.floor_mod)
_rmod: Final = _reflected(arithmetic.floor_mod)
_pow: Final = _binary(arithmetic.pow)
_rpow: Final = _reflected(arithmetic.pow)
_matmul: Final = _binary(linear.matmul)
_rmatmul: Final = _reflected(linear.matmul)
_gt: Final = _comparison(comparison.greater)
_ge: Final = _comparison(comparison.greater_equal)
_lt: Final = _comparison(comparison.less)
_le: Final = _comparison(comparison.less_equal)
_neg: Final = _unary(elementary.neg)
_pos: Final = _unary(elementary.positive)
_abs: Final = _unary(elementary.abs)
# As in MindSpore, of numbers, too: `ops.bitwise_not` inverts bits.
_invert: Final = _unary(logic.logical_not)
_rand: Final = _swapped(logic.bitwise_and)
_ror: Final = _swapped(logic.bitwise_or)
_rxor: Final = _swapped(logic.bitwise_xor)


@attached_to(Tensor)
class OperatorMethods:
    """Python's operators of one or two Tensors."""

    __add__ = _add
    __radd__ = _radd
    __sub__ = _sub
    __rsub__ = _rsub
    __mul__ = _mul
    __rmul__ = _rmul
    __truediv__ = _truediv
    __rtruediv__ = _rtruediv
    __floordiv__ = _floordiv
    __rfloordiv__ = _rfloordiv
    __mod__ = _mod
    __rmod__ = _rmod
    __pow__ = _pow
    __rpow__ = _rpow
    __matmul__ = _matmul
    __rmatmul__ = _rmatmul
    __eq__: ClassVar[Callable[[Tensor, TensorLike | None], Tensor]] = _comparison(comparison.equal)
    __ne__: ClassVar[Callable[[Tensor, TensorLike | None], Tensor]] = _comparison(comparison.not_equal)
    __gt__ = _gt
    __ge__ = _ge
    __lt__ = _lt
    __le__ = _le
    __neg__ = _neg
    __pos__ = _pos
    __abs__ = _abs
    __invert__ = _invert
    from msjax.ops.function.math_func.logic import bitwise_and as __and__, bitwise_or as __or__, bitwise_xor as __xor__

    __rand__ = _rand
    __ror__ = _ror
    __rxor__ = _rxor
