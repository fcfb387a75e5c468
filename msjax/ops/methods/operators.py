"""Operators as methods of Tensor."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from msjax.autograd.op import apply
from msjax.autograd.op_errors import raise_op_error
from msjax.base.arrays import CONCRETE
from msjax.base.errors import describe
from msjax.base.state import ACTIVITY
from msjax.base.typing import TensorLike
from msjax.common.tensor import Tensor
from msjax.ops.function.linalg_func import linear
from msjax.ops.function.math_func import arithmetic, comparison
from msjax.ops.methods import array, math
from msjax.programs.compiler_options import is_nested

_OPERANDS = (Tensor, numbers.Number, np.ndarray, np.generic, jax.Array)
# As in MindSpore, sums, differences and floor division take sequences of numbers, too, and no other operator does.
_WITH_LISTS = (*_OPERANDS, list, tuple)
_new = object.__new__


def _refused(function: Callable[..., Any], other: TensorLike) -> Tensor:
    if isinstance(other, (list, tuple)) and function not in (comparison.equal, comparison.not_equal):
        # Returning NotImplemented would let Python repeat the list by an integer Tensor.
        raise TypeError(f"For '{function.__name__}', the operands should be Tensors or numbers, but one is {describe(other)}.")
    return NotImplemented


def _binary(function: Callable[..., Any], operands: Any) -> Any:
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
                return result
        elif not isinstance(other, operands):
            return _refused(function, other)
        return apply(op, (self, other)) if op is not None else function(self, other)

    return method


def _reflected(function: Callable[..., Any], operands: Any) -> Any:
    def method(self, other):
        return function(other, self) if isinstance(other, operands) else _refused(function, other)

    return method


_BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.sub_method,
    "mul": arithmetic.mul,
    "truediv": arithmetic.true_divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.floor_mod,
    "pow": arithmetic.pow,
    "matmul": linear.matmul,
}
_COMPARISONS = {
    "eq": comparison.equal,
    "ne": comparison.not_equal,
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
    "lt": comparison.less,
    "le": comparison.less_equal,
}


def attach(cls: Any) -> None:
    """Put the methods on a class of Tensors."""
    for name, function in _BINARY.items():
        operands = _WITH_LISTS if name in ("add", "sub", "floordiv") else _OPERANDS
        setattr(cls, f"__{name}__", _binary(function, operands))
        setattr(cls, f"__r{name}__", _reflected(function, operands))
    for name, function in _COMPARISONS.items():
        setattr(cls, f"__{name}__", _binary(function, _OPERANDS))
    for table in (math.METHODS, array.METHODS):
        for name, function in table.items():
            setattr(cls, name, function)


attach(Tensor)
