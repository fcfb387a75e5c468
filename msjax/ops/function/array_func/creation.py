"""Operators that create Tensors, window functions among them."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.arrays import concrete
from msjax.common.tensor import Tensor, filled_like, wrap
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_int, check_positive_int, check_value, is_int
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray, Number
from msjax.engine.programs.cache import make_array
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import as_operand

__all__ = [
    "arange", "eps", "eye", "fill", "fills", "full", "full_like", "linspace", "logspace", "ones", "ones_like", "range",
    "tensor_range", "vander", "zeros", "zeros_like", "bartlett_window", "blackman_window", "hamming_window", "hann_window",
    "kaiser_window",
]  # fmt: skip


def _size(size):
    size = freeze(size)
    size = size if isinstance(size, tuple) else (size,)
    for n in size:
        if not is_int(n):
            raise TypeError(f"A shape should be an int, or a tuple or list of ints, but got {size!r}.")
        if n < 0:
            raise ValueError(f"A shape should have no negative sizes, but got {size!r}.")
    return size


def _dtype(dtype, default=mstype.float32):
    return mstype.to_jax(default if dtype is None else dtype)


def _place(tensor):
    """The sharding of a Tensor that is tied to its devices; None for others."""
    value = tensor._value
    return value.sharding if isinstance(value, jax.Array) and not is_tracer(value) and value.committed else None


def zeros(size: int | Sequence[int] | Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of a shape.

    Args:
        size (int, tuple, list or Tensor): the shape.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.zeros((2, 2), int32))
        [[0 0]
         [0 0]]
    """
    return wrap(make_array(jnp.zeros, _size(size), _dtype(dtype)))


def ones(shape: int | Sequence[int] | Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of a shape.

    Args:
        shape (int, tuple, list or Tensor): the shape.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.ones(3))
        [1. 1. 1.]
    """
    return wrap(make_array(jnp.ones, _size(shape), _dtype(dtype)))


@operator(name="full")
def _fill(value, shape, dtype):
    return jnp.full(shape, jnp.asarray(value).astype(mstype.to_jax(dtype)))


def full(size: int | Sequence[int], fill_value: Number | Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value in a shape.

    Args:
        size (int, tuple or list): the shape.
        fill_value (number or 0-d Tensor): the value.
        dtype (ms.dtype, optional): Default: None, for the value's type.

    Example:
        >>> print(ops.full((2,), 1.5))
        [1.5 1.5]
    """
    if dtype is None:
        dtype = mstype.from_np(as_operand(fill_value._value if isinstance(fill_value, Tensor) else fill_value).dtype)
    dtype = mstype.as_dtype(dtype)
    if type(fill_value) is int and dtype.kind == "f":
        fill_value = float(fill_value)  # jax has no integers for the largest
    return _fill(fill_value, _size(size), dtype)


def fill(type: DTypeLike, shape: tuple[int, ...], value: Number | Tensor) -> Tensor:
    """One value in a shape, as a given data type.

    Args:
        type (ms.dtype): the data type.
        shape (tuple of int): the shape.
        value (number or 0-d Tensor): the value.

    Example:
        >>> print(ops.fill(float32, (2,), 3))
        [3. 3.]
    """
    return full(shape, value, dtype=type)


def fills(x: TensorLike, value: TensorLike) -> Tensor:
    """One value in the shape and dtype of `x`.

    Example:
        >>> print(ops.fills(Tensor([1.0, 2.0]), 5.0))
        [5. 5.]
    """
    check_value(value, not isinstance(value, Tensor) or not value.ndim, "be a number or a 0-d Tensor", "value", "fills")
    return full(x.shape, value, dtype=x.dtype)


def full_like(input: TensorLike, fill_value: Number | Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value in the shape and, by default, dtype of another Tensor.

    Example:
        >>> print(ops.full_like(Tensor([1.0, 2.0]), 5))
        [5. 5.]
    """
    full_of = full(input.shape, fill_value, dtype=input.dtype if dtype is None else dtype)
    place = _place(input)
    return full_of if place is None else wrap(jax.device_put(full_of._value, place))


def zeros_like(input: TensorLike, *, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of another Tensor's shape and, by default, dtype.

    Example:
        >>> print(ops.zeros_like(Tensor([1, 2])))
        [0 0]
    """
    dtype = input.dtype if dtype is None else dtype
    return zeros(input.shape, dtype) if _place(input) is None else filled_like(input._value, 0, _dtype(dtype))


def ones_like(input: TensorLike, *, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of another Tensor's shape and, by default, dtype.

    Example:
        >>> print(ops.ones_like(Tensor([1, 2])))
        [1 1]
    """
    dtype = input.dtype if dtype is None else dtype
    return ones(input.shape, dtype) if _place(input) is None else filled_like(input._value, 1, _dtype(dtype))


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    Args:
        n (int): the number of rows.
        m (int, optional): the number of columns. Default: None, for n.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.eye(2))
        [[1. 0.]
         [0. 1.]]
    """
    return wrap(make_array(jnp.eye, freeze(n), freeze(m), 0, _dtype(dtype)))


def _plain(value, what):
    """A number, and its data type, of a number or a Tensor of one element."""
    if isinstance(value, Tensor):
        return concrete(value, what).reshape(()).item(), value.dtype
    if isinstance(value, (bool, int, float)):
        return value, mstype.float32 if isinstance(value, float) else mstype.int64
    if hasattr(value, "item"):
        return value.item(), mstype.from_np(value.dtype)
    raise TypeError(f"For '{what}', numbers are expected, but got {describe(value)}.")


def arange(
    start: Number | Tensor = 0, end: Number | Tensor | None = None, step: Number | Tensor = 1, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Numbers from `start` up to but not including `end`.

    Args:
        start (number or Tensor): Default: 0.
        end (number or Tensor, optional): Default: None; then the one argument given is the end.
        step (number or Tensor): not 0. Default: 1.
        dtype (ms.dtype, optional): Default: None, for Int64, or Float32 where an argument is a float.

    Raises:
        ValueError: `step` is 0.

    Example:
        >>> print(ops.arange(1, 6, 2))
        [1 3 5]
    """
    if end is None:
        start, end = 0, start
    (start, a), (end, b), (step, c) = (_plain(v, "arange") for v in (start, end, step))
    check_value(step, step != 0, "not be 0", "step", "arange")
    floats = [t for t in (a, b, c) if t.kind == "f"]
    default = (mstype.float64 if mstype.float64 in floats else floats[0]) if floats else mstype.int64
    if floats:
        return wrap(jnp.arange(start, end, step, dtype=_dtype(dtype, default)))  # in one program, XLA would round once less
    return wrap(make_array(jnp.arange, start, end, step, _dtype(dtype, default)))


def range(start: int, end: int, step: int, maxlen: int = 1000000) -> Tensor:
    """Numbers from `start` up to but not including `end`; see `arange`.

    Raises:
        ValueError: more than `maxlen` numbers.

    Example:
        >>> print(ops.range(0, 6, 2))
        [0 2 4]
    """
    out = arange(start, end, step)
    if out.size > maxlen:
        raise ValueError(f"For 'range', there should be at most {maxlen} numbers, but there are {out.size}.")
    return out


tensor_range = range


@operator(2, name="linspace")
def _linspace(start, end, steps):
    start, end = as_operand(start), as_operand(end)
    dtype = jnp.result_type(start.dtype, end.dtype)
    dtype = jnp.float32 if dtype.kind in "biu" else jnp.promote_types(dtype, jnp.float16)
    return jnp.linspace(start.astype(dtype), end.astype(dtype), steps, dtype=dtype)


def linspace(start: Number | Tensor, end: Number | Tensor, steps: int | Tensor) -> Tensor:
    """`steps` numbers at equal distances, from `start` to `end`, both included.

    Args:
        start, end (number or Tensor): the first and the last number.
        steps (int or Tensor): how many; positive.

    Raises:
        ValueError: `steps` is not positive.

    Example:
        >>> print(ops.linspace(0, 1, 3))
        [0.  0.5 1. ]
    """
    return _linspace(start, end, check_positive_int(freeze(steps), "steps", "linspace"))


@operator(2, name="logspace")
def logspace(
    start: Number | Tensor, end: Number | Tensor, steps: int, base: float = 10, *, dtype: DTypeLike = mstype.float32
) -> JaxArray:
    """`steps` powers of `base`, with exponents at equal distances from `start` to `end`.

    Args:
        start, end (number or Tensor): the first and the last exponent.
        steps (int): how many; 0 or more.
        base (int): Default: 10.
        dtype (ms.dtype): Default: Float32.

    Example:
        >>> print(ops.logspace(Tensor(0.0), Tensor(2.0), 3))
        [  1.  10. 100.]
    """
    return jnp.logspace(as_operand(start), as_operand(end), steps, base=base, dtype=mstype.to_jax(dtype))


@operator(name="vander", int_grad=True)
def vander(x: TensorLike, N: int | None = None) -> JaxArray:
    """The Vandermonde matrix: the powers N - 1, ..., 1, 0 of each element of a vector.

    Args:
        x (Tensor): shape (n,). The powers of integers are Int64.
        N (int, optional): the number of columns. Default: None, for n.

    Example:
        >>> print(ops.vander(Tensor([1, 2, 3])))
        [[1 1 1]
         [4 2 1]
         [9 3 1]]
    """
    x = as_operand(x)
    return jnp.vander(x.astype(mstype.to_jax(mstype.int64)) if x.dtype.kind in "biu" else x, N)


def eps(x: TensorLike) -> Tensor:
    """A Tensor of the shape and dtype of `x`, filled with the least step above 1 in that dtype.

    Example:
        >>> print(ops.eps(Tensor([1.0], float16)))
        [0.000977]
    """
    return full(x.shape, float(jnp.finfo(x._value.dtype).eps), dtype=x.dtype)


# ---- windows


def _window(name, make, window_length, periodic, dtype, default=mstype.float32):
    n = check_int(freeze(window_length), "window_length", name, low=0)
    values = jnp.ones(n) if n <= 1 else make(n + 1)[:-1] if periodic else make(n)
    return wrap(values.astype(mstype.to_jax(default if dtype is None else dtype)))


def bartlett_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """The triangular window.

    Args:
        window_length (int or Tensor): the number of values.
        periodic (bool): whether the window continues evenly when repeated; else it is symmetric. Default: True.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.bartlett_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("bartlett_window", jnp.bartlett, window_length, periodic, dtype)


def blackman_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Blackman's window.

    Args:
        window_length, periodic, dtype: as in `bartlett_window`.

    Example:
        >>> print(ops.blackman_window(4).max())
        1.0
    """
    # Rounding can make the ends slightly negative.
    return _window("blackman_window", lambda n: jnp.maximum(jnp.blackman(n), 0), window_length, periodic, dtype)


def hann_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Hann's window.

    Args:
        window_length, periodic: as in `bartlett_window`.
        dtype (ms.dtype, optional): Default: None, for Float64.

    Example:
        >>> print(ops.hann_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("hann_window", jnp.hanning, window_length, periodic, dtype, mstype.float64)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Hamming's window, alpha - beta * cos.

    Args:
        window_length, periodic: as in `bartlett_window`.
        alpha, beta (float): Default: 0.54 and 0.46.
        dtype (ms.dtype, optional): Default: None, for Float32.

    Example:
        >>> print(ops.hamming_window(4))
        [0.08 0.54 1.   0.54]
    """

    def make(n):
        return alpha - beta * jnp.cos(2 * jnp.pi * jnp.arange(n) / (n - 1))

    return _window("hamming_window", make, window_length, periodic, dtype)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Kaiser's window.

    Args:
        window_length, periodic: as in `bartlett_window`.
        beta (float): how narrow it is. Default: 12.0.
        dtype (ms.dtype, optional): Default: None, for Float64.

    Example:
        >>> print(ops.kaiser_window(4).max())
        1.0
    """
    return _window("kaiser_window", lambda n: jnp.kaiser(n, beta), window_length, periodic, dtype, mstype.float64)
