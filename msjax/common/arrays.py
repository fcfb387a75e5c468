"""jax arrays from numbers, lists and numpy arrays; concrete values behind tracers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.bases import TensorBase
from msjax.common.dtype import DTypeLike
from msjax.common.run_state import LOCK
from msjax.core.base.arrays import TracedValueError, is_tracer, known_value
from msjax.core.base.typing import JaxArray
from msjax.core.door import STATE


def value_now(tensor: TensorBase) -> JaxArray | None:
    """The concrete array of a Tensor; None if a program is being traced that computes it.

    Raises:
        jax.errors.UnexpectedTracerError: the Tensor was written to within a transformation of jax that is over.
    """
    try:
        known = known_value(tensor._value)
    except jax.errors.UnexpectedTracerError as error:
        raise left_behind(tensor, error) from None
    if known is None and STATE.nothing_is_traced():
        with LOCK:  # a thread that traces the network has let go of it
            known = known_value(tensor._value)
    return known


def concrete(tensor: TensorBase, what: str) -> JaxArray:
    """The concrete array of a Tensor.

    Raises:
        TracedValueError: the program is being traced, so there is no value for `what` yet.
    """
    known = value_now(tensor)
    if known is None:
        error = TracedValueError(
            f"{what} needs the value of a Tensor (shape {tensor.shape}, dtype {tensor.dtype}) while the program is being "
            "compiled, when values are not known yet. Compute with Tensors instead, or run this part in PyNative mode."
        )
        if STATE.trace is not None:
            STATE.trace.lacks = STATE.trace.lacks or str(error)
        raise error
    return known


def left_behind(tensor: TensorBase, error: jax.errors.UnexpectedTracerError) -> jax.errors.UnexpectedTracerError:
    """jax's error for a Tensor that holds a value of a transformation that is over, with the ways out."""
    # Of jax's text, what says where: the function that was traced, and the line.
    lines = [line.strip() for line in str(error).splitlines()]
    place = " ".join(line for line in lines if line.startswith(("The function being traced", "The leaked intermediate value")))
    return jax.errors.UnexpectedTracerError(_LEFT_BEHIND.format(shape=list(tensor.shape), dtype=tensor.dtype, place=place))


_LEFT_BEHIND = """A Tensor (shape {shape}, dtype {dtype}) has no value: it, or a Tensor whose memory it shares, comes from outside of a function that jax
has transformed (jax.jit, jax.grad, jax.vmap, a loop of jax.lax), was written to within it, and what was written there ended with it. {place}
Ways out:
  1. return the new value from the function, and write it to the Tensor outside;
  2. let msjax transform the function (ms.jit, ms.grad, ms.vmap), which writes to Tensors from outside;
  3. make the Tensor a Parameter of a Cell: ms.functionalize returns what a call has written to those."""


def as_array(data: Any, dtype: DTypeLike | None = None) -> JaxArray:
    """A jax array of anything that Tensor() takes."""
    target = None if dtype is None else mstype.to_jax(dtype)
    if isinstance(data, TensorBase):
        data = data._value
    if isinstance(data, jax.Array):
        return data if target is None or data.dtype == target else data.astype(target)
    if isinstance(data, (bool, int, float, complex)) and not isinstance(data, np.generic):
        if type(data) is int and (target is not None or not -(2**31) <= data < 2**31):
            data = _integer(data)
            return _made(data, target or _inferred_type(data))
        python_type = next(kind for kind in (bool, int, float, complex) if isinstance(data, kind))
        return _made(data, target or mstype.to_jax(python_type))
    if isinstance(data, (list, tuple)):
        data, inferred = _from_nested(data)
        return data.astype(target) if isinstance(data, jax.Array) and target is not None else _made(data, target or inferred)
    if isinstance(data, (np.ndarray, np.generic)):
        data = in_native_order(data)
        if data.dtype.kind in "OSUMmV" and not mstype.has_counterpart(data.dtype):
            raise TypeError(f"For 'Tensor', the data should be numbers, but got a numpy array of dtype {data.dtype}.")
        return _made(data, target or mstype.to_jax(mstype.from_np(data.dtype)))
    if hasattr(data, "__jax_array__"):
        return as_array(data.__jax_array__(), dtype)
    raise TypeError(
        "For 'Tensor', 'input_data' should be a number, list, tuple, numpy or jax array or Tensor, "
        f"but got {type(data).__name__}."
    )


def in_native_order(array: Any) -> Any:
    """A numpy array in this machine's order of bytes, itself where it has that: jax knows no other one."""
    return array if array.dtype.isnative or array.dtype.kind not in "iufc" else array.astype(array.dtype.newbyteorder("="))


def _made(data, dtype) -> JaxArray:
    if not isinstance(data, np.ndarray):
        return jnp.array(data, dtype)
    # jnp.array would compile a program for each shape. The copy is for jax, which may use numpy's memory for its array.
    return jnp.asarray(np.array(data, dtype), dtype)


def _integer(value) -> np.ndarray:
    """A Python int as an array, which a cast to a smaller type wraps as in C."""
    if not -(2**63) <= value < 2**64:
        raise OverflowError(f"For 'Tensor', an integer should have 64 bits at most, but got {value}.")
    return np.array(value)


def is_leaf(value: object) -> bool:
    """For jax.tree's `is_leaf`: Tensors are leaves, and so is None, which jax would leave out."""
    return value is None or isinstance(value, TensorBase)


def _from_nested(data):
    """(array, dtype to use unless another is asked for) of nested lists of numbers, arrays or Tensors."""
    leaves = jax.tree.leaves(data, is_leaf=is_leaf)
    if any(is_tracer(v._value if isinstance(v, TensorBase) else v) for v in leaves):
        # Only jax can put traced values together, known ones, too, along which it differentiates.
        array = jnp.asarray(jax.tree.map(lambda v: v._value if isinstance(v, TensorBase) else v, data, is_leaf=is_leaf))
        return array, array.dtype
    plain = jax.tree.map(lambda v: np.asarray(v) if isinstance(v, TensorBase) else v, data, is_leaf=is_leaf)
    try:
        array = in_native_order(np.array(plain))
    except ValueError as error:
        raise TypeError(f"For 'Tensor', nested lists should have equal lengths: {error}") from error
    if array.dtype.kind not in "biufc" and not mstype.has_counterpart(array.dtype):
        raise TypeError(f"For 'Tensor', the data should be numbers, but got {str(data)[:60]}.")
    typed = any(isinstance(v, (TensorBase, np.ndarray, np.generic)) for v in leaves)
    if array.dtype.kind == "f" and not typed:
        return array, mstype.to_jax(mstype.float32)
    return array, mstype.to_jax(mstype.from_np(array.dtype)) if typed else _inferred_type(array)


def _inferred_type(array):
    """The numpy dtype for Python numbers that became an array."""
    target = mstype.to_jax(mstype.from_np(array.dtype))
    if array.dtype.kind in "iu" and target.itemsize < array.itemsize:
        limits = np.iinfo(target)
        for value in (array.min(), array.max()) if array.size else ():
            if not limits.min <= value <= limits.max:
                raise OverflowError(
                    f"For 'Tensor', an integer should fit {mstype.from_np(target)} while jax's 64-bit types are off, but got "
                    f"{value}; `jax.config.update('jax_enable_x64', True)` switches them on."
                )
    return target
