"""Python's operators of one or two Tensors."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import jax
import numpy as np

from msjax.common.bases import attached_to
from msjax.common.dtype import from_np
from msjax.common.tensor import Tensor
from msjax.common.typing import BinaryOperator, TensorLike, UnaryOperator
from msjax.core.base.arrays import CONCRETE
from msjax.core.base.checks import check_kind
from msjax.core.door import ACTIVITY
from msjax.engine.autograd.op import apply, refuse_recorded
from msjax.engine.autograd.op_errors import raise_op_error
from msjax.engine.programs.compiler_options import is_nested
from msjax.ops.dispatch.promotion import with_number
from msjax.ops.function.linalg_func import linear
from msjax.ops.function.math_func import arithmetic, elementary, logic

_OPERANDS = (Tensor, numbers.Number, np.ndarray, np.generic, jax.Array)
# As in MindSpore, sums, differences and floor division take sequences of numbers, too, powers as the base, and no other operator does.
_OF_LISTS = (arithmetic.add, arithmetic.sub_method, arithmetic.floor_divide)
_new = object.__new__


def _beside(tensor: Tensor, other: Any, function: Callable[..., Any], reflected: bool = False) -> Any:
    """The operand beside a Tensor: a sequence in the type that a number of its kind takes there; NotImplemented of what is none."""
    if isinstance(other, _OPERANDS):
        return other
    if isinstance(other, (list, tuple)) and function not in (logic.equal, logic.not_equal):
        # Returning NotImplemented would let Python repeat the list by an integer Tensor.
        fits = function in _OF_LISTS or (reflected and function is arithmetic.pow)
        check_kind(other, fits, "be a Tensor or a number", "other", function.__name__)
        refuse_recorded(other, function.__name__)
        numbers = Tensor(other)
        return numbers.astype(from_np(with_number(tensor.dtype.np, numbers.dtype.kind)))
    return NotImplemented


def _method(function: Callable[..., Any]) -> Callable[[Tensor, Any], Tensor]:
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
        elif not isinstance(other, _OPERANDS) and (other := _beside(self, other, function)) is NotImplemented:
            return other
        return apply(op, (self, other)) if op is not None else function(self, other)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[[Tensor, Any], Tensor]:
    def method(self, other):
        other = _beside(self, other, function, reflected=True)
        return other if other is NotImplemented else function(other, self)

    return method


# What type checkers know of an operator: it takes Tensors and numbers, also lists of numbers, or anything to compare with.
_Binary: TypeAlias = "Callable[[Tensor, TensorLike], Tensor]"
_OfLists: TypeAlias = "Callable[[Tensor, TensorLike | Sequence[Any]], Tensor]"
_Comparison: TypeAlias = "Callable[[Tensor, TensorLike | None], Tensor]"


def _swapped(function: BinaryOperator) -> Callable[[Tensor, TensorLike], Tensor]:
    def method(self: Tensor, other: TensorLike) -> Tensor:
        return function(other, self)

    method.__doc__ = function.__doc__
    return method


def _unary(function: UnaryOperator) -> Callable[[Tensor], Tensor]:
    return function


# Names for the methods: declared in the class, as ClassVars, they would not fit protocols such as those of `abs`, `sum` and `max`.
_add: Final[_OfLists] = _method(arithmetic.add)
_radd: Final[_OfLists] = _reflected(arithmetic.add)
_sub: Final[_OfLists] = _method(arithmetic.sub_method)
_rsub: Final[_OfLists] = _reflected(arithmetic.sub_method)
_mul: Final[_Binary] = _method(arithmetic.mul)
_rmul: Final[_Binary] = _reflected(arithmetic.mul)
_truediv: Final[_Binary] = _method(arithmetic.true_divide)
_rtruediv: Final[_Binary] = _reflected(arithmetic.true_divide)
_floordiv: Final[_OfLists] = _method(arithmetic.floor_divide)
_rfloordiv: Final[_OfLists] = _reflected(arithmetic.floor_divide)
_mod: Final[_Binary] = _method(arithmetic.floor_mod)
_rmod: Final[_Binary] = _reflected(arithmetic.floor_mod)
_pow: Final[_Binary] = _method(arithmetic.pow)
_rpow: Final[_Binary] = _reflected(arithmetic.pow)
_matmul: Final[_Binary] = _method(linear.matmul)
_rmatmul: Final[_Binary] = _reflected(linear.matmul)
_gt: Final[_Comparison] = _method(logic.greater)
_ge: Final[_Comparison] = _method(logic.greater_equal)
_lt: Final[_Comparison] = _method(logic.less)
_le: Final[_Comparison] = _method(logic.less_equal)
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
    __eq__: ClassVar[_Comparison] = _method(logic.equal)
    __ne__: ClassVar[_Comparison] = _method(logic.not_equal)
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
