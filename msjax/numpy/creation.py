"""Arrays from numbers, shapes and windows under numpy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import ArrayLike, DTypeLike, Shape
from msjax.core.base.typing import JaxArray
from msjax.engine.programs.cache import make_array
from msjax.numpy.lifting import as_type, lifted, number, single, tensor
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.casting import ints

__all__ = [
    "arange", "array", "array_str", "asarray", "asfarray", "bartlett", "blackman", "copy", "empty", "empty_like", "eye",
    "full", "full_like", "geomspace", "hamming", "hanning", "identity", "indices", "linspace", "logspace", "mgrid", "ogrid",
    "ones", "ones_like", "rand", "randint", "randn", "tri", "tril_indices", "tril_indices_from", "triu_indices",
    "triu_indices_from", "vander", "zeros", "zeros_like",
]  # fmt: skip


def _type(dtype, default=None):
    return default if dtype is None else mstype.as_dtype(dtype)


# ---- from data


def array(obj: ArrayLike, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A Tensor of numbers, lists, arrays or a Tensor.

    Args:
        obj (array-like): the data.
        dtype (ms.dtype, optional): by default that of the data: Float32 for Python floats, Int32 for ints.
        copy (bool): accepted for compatibility with numpy: jax arrays are immutable.
        ndmin (int): the least number of axes; new ones go in front. Default: 0.

    Example:
        >>> import msjax.numpy as mnp
        >>> print(mnp.array([1, 2, 3]))
        [1 2 3]
    """
    out = as_type(tensor(obj), _type(dtype))
    if out.ndim < ndmin:
        out = ops.reshape(out, (1,) * (ndmin - out.ndim) + out.shape)
    return ops.identity(out) if out is obj else out


def asarray(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """A Tensor of numbers, lists or arrays; a Tensor of the right type as it is."""
    return as_type(tensor(a), _type(dtype))


def asfarray(a: ArrayLike, dtype: DTypeLike = mstype.float32) -> Tensor:
    """A Tensor of floating numbers, Float32 by default."""
    dtype = mstype.as_dtype(dtype)
    return as_type(tensor(a), dtype if dtype.kind == "f" else mstype.float32)


def copy(a: ArrayLike) -> Tensor:
    """A new Tensor of the same data."""
    return ops.identity(tensor(a))


def array_str(a: ArrayLike) -> str:
    """The elements as text."""
    return str(tensor(a))


# ---- of a shape


def _filled(shape, value, dtype):
    return wrap(make_array(jnp.full, ints(shape), value, mstype.to_jax(dtype)))


def zeros(shape: Shape, dtype: DTypeLike = mstype.float32) -> Tensor:
    """Zeros of a shape, Float32 by default."""
    return _filled(shape, 0, _type(dtype, mstype.float32))


def ones(shape: Shape, dtype: DTypeLike = mstype.float32) -> Tensor:
    """Ones of a shape, Float32 by default."""
    return _filled(shape, 1, _type(dtype, mstype.float32))


def empty(shape: Shape, dtype: DTypeLike = mstype.float32) -> Tensor:
    """Zeros of a shape: jax has no uninitialized memory."""
    return zeros(shape, dtype)


def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """One value in a shape, of the value's type by default."""
    value = tensor(fill_value)
    return ops.broadcast_to(as_type(value, _type(dtype)), ints(shape))


def _like(a, value, dtype, shape):
    a = tensor(a)
    return _filled(a.shape if shape is None else shape, value, _type(dtype, a.dtype))


def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """Zeros of another array's shape and type, or of those given."""
    return _like(a, 0, dtype, shape)


def ones_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """Ones of another array's shape and type, or of those given."""
    return _like(a, 1, dtype, shape)


def empty_like(prototype: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """Zeros, since jax has no uninitialized memory, of another array's shape and type, or of those given."""
    return _like(prototype, 0, dtype, shape)


def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """One value in another array's shape, or that given; a number in the array's type, unless `dtype` says another one."""
    a = tensor(a)
    if dtype is None and isinstance(fill_value, (bool, int, float)):
        dtype = a.dtype
    return full(a.shape if shape is None else shape, fill_value, dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = mstype.float32) -> Tensor:
    """Ones on the diagonal number `k` of a matrix of shape (N, M), zeros elsewhere."""
    return wrap(make_array(jnp.eye, N, M, k, mstype.to_jax(_type(dtype, mstype.float32))))


def identity(n: int, dtype: DTypeLike = mstype.float32) -> Tensor:
    """The identity matrix of size `n`."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = mstype.float32) -> Tensor:
    """Ones on and below the diagonal number `k` of a matrix of shape (N, M), zeros elsewhere."""
    return wrap(jnp.tri(N, M, k, mstype.to_jax(_type(dtype, mstype.float32))))


# ---- ranges


def arange(start: float, stop: float | None = None, step: float | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Numbers from `start` up to but not including `stop`.

    Example:
        >>> import msjax.numpy as mnp
        >>> print(mnp.arange(0, 5, 2))
        [0 2 4]
    """
    start, stop = (0, start) if stop is None else (start, stop)
    values = [number(start), number(stop), 1 if step is None else number(step)]
    default = mstype.float32 if any(isinstance(v, float) for v in values) else mstype.int32
    return ops.arange(*values, dtype=_type(dtype, default))


@operator(2, name="linspace")
def _linspace(start, stop, num, endpoint, axis):
    return jnp.linspace(start, stop, num, endpoint, axis=axis)


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """`num` numbers at equal distances.

    Args:
        start, stop (number or array-like): the first and the last one.
        num (int): how many. Default: 50.
        endpoint (bool): whether `stop` is the last one; otherwise it would be the next. Default: True.
        retstep (bool): also the distance. Default: False.
        dtype (ms.dtype, optional): Float32 by default.
        axis (int): the position of the new axis, for arrays. Default: 0.
    """
    start, stop = single(start), single(stop)
    out = as_type(_linspace(start, stop, num, endpoint, axis), _type(dtype))
    return (out, (stop - start) / max(num - 1 if endpoint else num, 1)) if retstep else out


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """`num` powers of `base`, with exponents at equal distances from `start` to `stop`."""
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return as_type(ops.pow(Tensor(float(base), exponents.dtype), exponents), _type(dtype))


def geomspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None, axis: int = 0
) -> Tensor:
    """`num` numbers in geometric progression."""
    start, stop = single(start), single(stop)
    ratio = stop / start
    first = ops.expand_dims(start + ops.zeros_like(ratio), axis)
    powers = linspace(ops.zeros_like(ratio), ops.ones_like(ratio), num, endpoint, axis=axis)
    return as_type(first * ops.pow(ops.expand_dims(ratio, axis), powers), _type(dtype))


def indices(dimensions: Sequence[int], dtype: DTypeLike = mstype.int32, sparse: bool = False) -> tuple[Tensor, ...]:
    """The indices of a grid of a shape, a tuple of one array for each axis; with `sparse`, of arrays that broadcast."""
    return tuple(wrap(as_array(g, _type(dtype))) for g in np.indices(ints(dimensions), sparse=sparse))


class _Grid:
    """Indexed with slices, gives coordinates: ``mgrid[0:2, 0:3]``; a step such as ``5j`` is a number of points."""

    def __init__(self, dense: Any):
        self._dense = dense

    def __getitem__(self, keys: Any) -> Any:
        grid = (np.mgrid if self._dense else np.ogrid)[keys]

        def convert(a):
            return wrap(as_array(a, mstype.float32 if a.dtype.kind == "f" else mstype.int32))

        return [convert(g) for g in grid] if isinstance(grid, (list, tuple)) else convert(grid)


mgrid: _Grid = _Grid(True)
ogrid: _Grid = _Grid(False)

# ---- triangles


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """(rows, columns) of the lower triangle of a matrix of shape (n, m)."""
    return tuple(wrap(as_array(i, mstype.int32)) for i in np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """(rows, columns) of the upper triangle of a matrix of shape (n, m)."""
    return tuple(wrap(as_array(i, mstype.int32)) for i in np.triu_indices(n, k, m))


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, ...]:
    """(rows, columns) of the lower triangle of a matrix."""
    rows, columns = tensor(arr).shape[-2:]
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, ...]:
    """(rows, columns) of the upper triangle of a matrix."""
    rows, columns = tensor(arr).shape[-2:]
    return triu_indices(rows, k, columns)


@lifted(int_grad=True)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> JaxArray:
    """A matrix whose columns are powers of a vector, the highest first."""
    return jnp.vander(x, N, increasing)


# ---- windows


class _Window(Protocol):
    def __call__(self, M: int | Tensor) -> Tensor: ...


def _window(function: Callable[[int], np.ndarray], doc: str) -> _Window:
    def call(M: int | Tensor) -> Tensor:
        return wrap(jnp.asarray(function(int(number(M))), jnp.float32))

    return titled(call, function.__name__, f"{doc} window of `M` points.")


bartlett: _Window = _window(np.bartlett, "The triangular")
blackman: _Window = _window(np.blackman, "The Blackman")
hamming: _Window = _window(np.hamming, "The Hamming")
hanning: _Window = _window(np.hanning, "The Hann")

# ---- random numbers


def rand(*shape: int | Sequence[int], dtype: DTypeLike = mstype.float32) -> Tensor:
    """Random numbers between 0 and 1 in a shape."""
    return ops.rand(*(shape or (1,)), dtype=_type(dtype))


def randn(*shape: int | Sequence[int], dtype: DTypeLike = mstype.float32) -> Tensor:
    """Random numbers of the standard normal distribution in a shape."""
    return ops.randn(*(shape or (1,)), dtype=_type(dtype))


def randint(minval: int, maxval: int | None = None, shape: Shape | None = None, dtype: DTypeLike = mstype.int32) -> Tensor:
    """Random integers from `minval` up to but not including `maxval`; from 0 on with one number."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return ops.randint(low, high, (1,) if shape is None else ints(shape), dtype=_type(dtype))
