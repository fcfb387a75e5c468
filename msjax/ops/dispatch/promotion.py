"""MindSpore's rules of type promotion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.typing import TensorLike
from msjax.core.base.typing import JaxArray

_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def kind_of(dtype: TensorLike) -> str:
    """'b', 'u', 'i', 'f' or 'c' of a numpy dtype; bfloat16 is an 'f'."""
    return mstype.from_np(dtype).kind


def is_half(x: JaxArray) -> bool:
    """Whether an array is of half-precision numbers."""
    return kind_of(x.dtype) == "f" and x.dtype.itemsize < 4


def widened(x: JaxArray) -> JaxArray:
    """Half-precision numbers as Float32, in which sums of them neither overflow above 65,504 nor lose digits; others as they are."""
    return x.astype(jnp.float32) if is_half(x) else x


def rounded_once(function: Callable[..., JaxArray], x: JaxArray, *args: Any) -> JaxArray:
    """function(x, *args), which half-precision numbers take in Float32, and whose result is rounded to theirs."""
    return function(widened(x), *args).astype(x.dtype) if is_half(x) else function(x, *args)


def added(x: JaxArray, index: Any, updates: JaxArray, **options: Any) -> JaxArray:
    """x.at[index].add(updates); half-precision numbers are summed in Float32."""
    return rounded_once(lambda x: x.at[index].add(widened(updates), **options), x)


def quotient(x: JaxArray, y: JaxArray) -> JaxArray:
    """x / y; of half-precision numbers in Float32, since jax's slope by y has y ** -2, which Float16 can't hold from 256 on and below 1 / 256."""
    return rounded_once(jnp.divide, x, widened(y))


def is_number(value: Any) -> bool:
    """True for a Python number, also when jax traces it (then it is a weakly typed scalar)."""
    return isinstance(value, (bool, int, float, complex)) or getattr(value, "weak_type", False)


def number_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "b"
    if isinstance(value, int):
        return "i"
    if isinstance(value, float):
        return "f"
    return "c" if isinstance(value, complex) else kind_of(value.dtype)


def with_number(dtype: TensorLike, kind: str) -> Any:
    """The dtype of a tensor of `dtype` combined with a Python number of a kind: the number counts only if its kind is higher."""
    own = kind_of(dtype)
    if _RANK[kind] <= _RANK[own]:
        return dtype
    return mstype.to_jax(mstype.complex128 if kind == "c" and dtype == jnp.float64 else _OF_NUMBERS[kind])


def result_dtype(x: TensorLike, y: Any, scalar_tensors_yield: bool = False) -> Any:
    """The dtype that two operands are computed in.

    Args:
        scalar_tensors_yield: multiplication and division's rule: a 0-d tensor does not widen an n-d one of its kind.
    """
    if x is None or y is None:
        raise TypeError("the operands should be Tensors or numbers, but one is None.")
    x_number, y_number = is_number(x), is_number(y)
    if x_number and y_number:
        return jnp.promote_types(as_operand(x).dtype, as_operand(y).dtype)
    if y_number:
        return with_number(x.dtype, number_kind(y))
    if x_number:
        return with_number(y.dtype, number_kind(x))
    if scalar_tensors_yield and (x.ndim == 0) != (y.ndim == 0):
        tensor, scalar = (y, x) if x.ndim == 0 else (x, y)
        if _RANK[kind_of(scalar.dtype)] <= _RANK[kind_of(tensor.dtype)]:
            return tensor.dtype
    return jnp.promote_types(x.dtype, y.dtype)


def promote(x: TensorLike, y: Any, scalar_tensors_yield: bool = False) -> tuple[JaxArray, JaxArray]:
    """Both operands as arrays of their common dtype."""
    dtype = result_dtype(x, y, scalar_tensors_yield)
    return converted(x, dtype), converted(y, dtype)


def converted(x: TensorLike, dtype: Any) -> JaxArray:
    """The operand as an array of a dtype."""
    x = x if is_number(x) else jnp.asarray(x)
    if getattr(x, "dtype", None) == jnp.bool_ and kind_of(dtype) in "fc":
        # XLA takes the product or quotient of a Bool made a float for a choice: False times infinity was 0, not NaN.
        x = x.astype(jnp.int32)
    return jnp.asarray(x, dtype)


def broadcast(x: JaxArray, shape: tuple[int, ...]) -> JaxArray:
    """The array of another shape; the gradient of half-precision numbers is summed in Float32, and rounded once."""
    return x if x.shape == shape else jnp.broadcast_to(widened(x), shape).astype(x.dtype)


def spread(*operands: JaxArray) -> tuple[JaxArray, ...]:
    """Operands of an elementwise function; all of the result's shape where their gradients need it.

    If the result is empty, these are zeros then, not 0 times an infinity; those of half-precision numbers see `broadcast`.
    """
    shapes = {x.shape for x in operands}
    if len(shapes) == 1 or not (any(0 in shape for shape in shapes) or any(map(is_half, operands))):
        return operands
    shape = jnp.broadcast_shapes(*shapes)
    return tuple([broadcast(x, shape) for x in operands])


def alike(x: TensorLike, y: Any, scalar_tensors_yield: bool = False) -> tuple[JaxArray, ...]:
    """Both operands of an elementwise function as arrays of their common dtype, spread."""
    return spread(*promote(x, y, scalar_tensors_yield))


def require_same_dtype(
    x: TensorLike, y: TensorLike, dtypes: tuple[np.generic, np.generic] | None = None
) -> tuple[TensorLike, TensorLike]:
    """Both operands as they are, for operators that take two Tensors of one dtype and convert nothing."""
    _check_tensors(x, y)
    if x.dtype != y.dtype:
        raise TypeError(f"the operands should have one dtype, but have {mstype.from_np(x.dtype)} and {mstype.from_np(y.dtype)}.")
    return of_dtypes(x, y, dtypes)


def of_dtypes(x: TensorLike, y: TensorLike, dtypes: Any) -> tuple[TensorLike, TensorLike]:
    """Both operands, which have one dtype; a TypeError unless it is one of `dtypes`."""
    if dtypes is not None and x.dtype not in dtypes:
        names = ", ".join(str(mstype.from_np(d)) for d in dtypes)
        raise TypeError(f"the operands should be of {names}, but their dtype is {mstype.from_np(x.dtype)}.")
    return x, y


def float_tensors(x: TensorLike, y: TensorLike) -> tuple[JaxArray, JaxArray]:
    """Both operands as they are, for operators that take two Tensors of floats; else a TypeError."""
    _check_tensors(x, y)
    return need_floats(x), need_floats(y)


def _check_tensors(*operands):
    for operand in operands:
        if operand is None or is_number(operand):
            raise TypeError("both operands should be Tensors, but one is " + ("None." if operand is None else "a number."))


def promote_for_comparison(x: TensorLike, y: TensorLike) -> tuple[JaxArray, JaxArray]:
    """Both operands for a comparison: an integer Tensor and an int as Int64, so that no number wraps around."""
    for number, tensor in ((x, y), (y, x)):
        if is_number(number) and number_kind(number) == "i" and not is_number(tensor) and tensor is not None:
            if kind_of(tensor.dtype) in "iu" and tensor.dtype != jnp.uint64:
                wide = mstype.to_jax(mstype.int64)
                return jnp.asarray(x, wide), jnp.asarray(y, wide)
    return promote(x, y)


def as_operand(x: Any) -> JaxArray:
    """An operand as an array; Python floats as Float32, ints as Int64."""
    if x is None:
        raise TypeError("the operand should be a Tensor, but is None.")
    if is_number(x):
        return jnp.asarray(x, mstype.to_jax(_OF_NUMBERS[number_kind(x)]))
    return jnp.asarray(x)


def typed(x: Any, dtype: Any) -> JaxArray:
    """An operand as an array, of a msjax dtype unless that is None."""
    x = as_operand(x)
    return x if dtype is None else x.astype(mstype.to_jax(dtype))


FLOATS_OF_SPECIAL = tuple(jnp.dtype(d) for d in (jnp.float32, jnp.float64))
_OF_NUMBERS = {"b": mstype.bool_, "i": mstype.int64, "u": mstype.int64, "f": mstype.float32, "c": mstype.complex64}


def need_floats(x: TensorLike) -> JaxArray:
    """An operand of floats as an array."""
    x = as_operand(x)
    if kind_of(x.dtype) not in "fc":
        raise TypeError(f"the operand should be of floats, but its dtype is {mstype.from_np(x.dtype)}.")
    return x


def to_float(x: TensorLike) -> JaxArray:
    """Integers and bools as float32; floats as they are."""
    x = as_operand(x)
    return x if kind_of(x.dtype) in "fc" else converted(x, jnp.float32)
