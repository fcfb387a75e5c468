"""Uniform, normal and integer random numbers, and permutations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.generators import minstd
from msjax.common.generators.mersenne import Mersenne32
from msjax.common.tensor import Tensor, wrap as wrap_array
from msjax.common.typing import DTypeLike, Shape, TensorLike
from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_order, check_value, is_int
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze
from msjax.ops.dispatch.random_keys import Numbers, drawn, next_key, streams_are_open, wrap
from msjax.ops.function.random_func import twister_arrays

__all__ = ["rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "standard_normal"]

_Seeded = Callable[[str, int | None, tuple[int, ...]], Tensor | None]


def shape_of(size: Shape, name: str) -> tuple[Any, ...]:
    given = freeze(size)
    sizes = given if isinstance(given, tuple) else (given,)
    for n in sizes:
        check_value(sizes, is_int(n) and n >= 0, "be made of ints that are not negative", "a shape", name)
    return sizes


def _sizes(size, name):
    """A shape given as several ints or as one tuple."""
    return shape_of(size[0] if len(size) == 1 else size, name)


def _typed(dtype, kinds, default, name):
    dtype = default if dtype is None else mstype.as_dtype(dtype)
    if dtype.kind not in kinds:
        wanted = "a float type" if kinds == "f" else "an integer type"
        raise ValueError(f"For '{name}', 'dtype' should be {wanted}, but got {dtype}.")
    return dtype


# ---- uniform


RAND = Op("rand", lambda key, shape, dtype: jax.random.uniform(wrap(key), shape, mstype.to_jax(dtype)), differentiable=False)
RANDN = Op("randn", lambda key, shape, dtype: jax.random.normal(wrap(key), shape, mstype.to_jax(dtype)), differentiable=False)
RANDINT = Op(
    "randint",
    lambda low, high, key, shape, dtype: jax.random.randint(wrap(key), shape, low, high, mstype.to_jax(dtype)),
    differentiable=False,
)


# ---- MindSpore's


@partial(Op, "rand", differentiable=False)
def _UNIFORM(state, shape):
    count = math.prod(shape)
    words, blocks = twister_arrays.words(state, 2 * count)
    return twister_arrays.unit_floats(words[::2], words[1::2]).reshape(shape), twister_arrays.after(state, blocks, 2 * count)


@partial(Op, "rand", differentiable=False)
def _UNITS(state, shape):
    values, after = minstd.units(state, math.prod(shape))
    return values.reshape(shape), after


@partial(Op, "randn", differentiable=False)
def _NORMAL(state, shape):
    values, after = minstd.normals(state, math.prod(shape))
    return values.reshape(shape), after


@partial(Op, "randint", differentiable=False)
def _INTEGERS(state, low, high, shape):
    count, size = math.prod(shape), high - low
    scale = Mersenne32.largest // size
    limit = size * scale
    # Words from the limit on are drawn again: so many lie 12 standard deviations above what is needed.
    again = count * (2**32 - limit) / limit
    words, blocks = twister_arrays.words(state, count + int(again + 12 * again**0.5) + 8)
    # As numbers of 32 bits: Python's would be Int32 without jax's 64-bit types.
    taken = jnp.flatnonzero(words < np.uint32(limit), size=count)
    values = (words[taken] // np.uint32(scale)).astype(jnp.int32) + np.int32(low)
    return values.reshape(shape), twister_arrays.after(state, blocks, taken[-1] + 1)


def _first_of_minstd(found):
    return np.uint32(minstd.first_state(found))


def _seeded(on_host: Callable[[int, int], np.ndarray], first: Callable[[int], Any], in_program: Op) -> _Seeded:
    """MindSpore's numbers of an operator's name, a seed and a shape (see `Numbers`); None where jax's generator draws (`drawn`)."""

    def numbers(name: str, seed: int | None, shape: tuple[int, ...]) -> Tensor | None:
        def draw(found):
            return on_host(found, math.prod(shape)).reshape(shape)

        return _drawn(name, seed, shape, Numbers(draw, first, in_program, (shape,)))

    return numbers


# As Float32: numbers in [0, 1), standard normal ones, and those in [0, 1) from which MindSpore makes Laplace's and indices.
seeded_uniform: _Seeded = _seeded(
    lambda found, count: Mersenne32(found).doubles(count).astype(np.float32), twister_arrays.first_state, _UNIFORM
)
seeded_normal: _Seeded = _seeded(minstd.standard_normal, _first_of_minstd, _NORMAL)
seeded_units: _Seeded = _seeded(lambda found, count: minstd.unit_floats(minstd.words(found, count)), _first_of_minstd, _UNITS)


def seeded_integers(name: str, seed: int | None, low: Any, high: Any, shape: tuple[int, ...]) -> Tensor | None:
    """MindSpore's integers in [low, high), two ints, as Int32; None where jax's generator draws, or the limits are arrays."""
    low, high = (int(v) if is_int(v) else _only_number(v) for v in (low, high))
    if low is None or high is None or not -(2**31) <= low < high <= 2**31 or high - low == 2**32:
        return None

    def draw(found):
        return (Mersenne32(found).below(np.full(math.prod(shape), high - low)) + low).reshape(shape).astype(np.int32)

    return _drawn(name, seed, shape, Numbers(draw, twister_arrays.first_state, _INTEGERS, (low, high, shape)))


def _only_number(value):
    """The int in a Tensor of one element; None if its value isn't known, or it isn't one."""
    known = isinstance(value, Tensor) and value.size == 1 and not is_tracer(value._value)
    return int(value.item()) if known else None


def _drawn(name, seed, shape, numbers):
    return drawn(name, seed, numbers) if math.prod(shape) else None


def _floats(op, seeded, name, seed, shape, dtype):
    found = seeded(name, seed, shape)
    return apply(op, (next_key(seed),), (shape, dtype)) if found is None else _typed_as(found, dtype)


_rand, _randn = partial(_floats, RAND, seeded_uniform), partial(_floats, RANDN, seeded_normal)


def _typed_as(found, dtype):
    return wrap_array(found._value.astype(mstype.to_jax(dtype)))


# ---- uniform and normal numbers


def rand(*size: int, dtype: DTypeLike | None = None, seed: int | None = None) -> Tensor:
    """Random numbers, uniform in [0, 1).

    Args:
        size (int or tuple): the shape.
        dtype (ms.dtype, optional): a float type. Default: None, for Float32.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Raises:
        ValueError: `dtype` is not a float type.

    Example:
        >>> print(ops.rand(2, 3).shape)
        (2, 3)
    """
    return _rand("rand", seed, _sizes(size, "rand"), _typed(dtype, "f", mstype.float32, "rand"))


def rand_like(input: TensorLike, seed: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """Random numbers, uniform in [0, 1), of another Tensor's shape and, by default, dtype; see `rand`.

    Example:
        >>> print(ops.rand_like(Tensor([1.0, 2.0])).shape)
        (2,)
    """
    return _rand("rand_like", seed, input.shape, _typed(dtype, "f", input.dtype, "rand_like"))


def randn(*size: int, dtype: DTypeLike | None = None, seed: int | None = None) -> Tensor:
    """Random numbers of the standard normal distribution.

    Args:
        size, dtype, seed: as in `rand`, whose errors it raises.

    Example:
        >>> print(ops.randn(2, 3).shape)
        (2, 3)
    """
    return _randn("randn", seed, _sizes(size, "randn"), _typed(dtype, "f", mstype.float32, "randn"))


def randn_like(input: TensorLike, seed: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """Random numbers of the standard normal distribution, of another Tensor's shape and, by default, dtype; see `randn`.

    Example:
        >>> print(ops.randn_like(Tensor([1.0, 2.0])).shape)
        (2,)
    """
    return _randn("randn_like", seed, input.shape, _typed(dtype, "f", input.dtype, "randn_like"))


def standard_normal(shape: int | tuple[int, ...] | Tensor, seed: int | None = None) -> Tensor:
    """Random numbers of the standard normal distribution, as Float32.

    Args:
        shape (int, tuple or Tensor): the shape.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> print(ops.standard_normal((2, 3)).shape)
        (2, 3)
    """
    return _randn("standard_normal", seed, shape_of(shape, "standard_normal"), mstype.float32)


def randint(
    low: int, high: int, size: int | tuple[int, ...], seed: int | None = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Random integers, uniform in [low, high).

    Args:
        low, high (int): the limits.
        size (int or tuple): the shape.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.
        dtype (ms.dtype, optional): an integer type. Default: None, for Int64.

    Raises:
        ValueError: low >= high, or `dtype` is not an integer type.

    Example:
        >>> print(ops.randint(3, 4, (2,)))
        [3 3]
    """
    return _randint(low, high, shape_of(size, "randint"), seed, _typed(dtype, "iu", mstype.int64, "randint"), "randint")


def _randint(low, high, shape, seed: int | None, dtype, name):
    if isinstance(low, int) and isinstance(high, int):
        check_order(low, high, ("low", "high"), name)
    found = seeded_integers(name, seed, low, high, shape)
    if found is not None:
        return _typed_as(found, dtype)
    return apply(RANDINT, (low, high, next_key(seed)), (shape, dtype))


def randint_like(input: TensorLike, low: int, high: int, seed: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """Random integers, uniform in [low, high), of another Tensor's shape and, by default, dtype; see `randint`.

    Example:
        >>> print(ops.randint_like(Tensor([1, 2]), 3, 4))
        [3 3]
    """
    return _randint(low, high, input.shape, seed, _typed(dtype, "iu", input.dtype, "randint_like"), "randint_like")


@partial(Op, "randperm", differentiable=False)
def _RANDPERM(key, n, dtype):
    return jax.random.permutation(wrap(key), n).astype(mstype.to_jax(dtype))


def _mixed(n, seed):
    order = list(range(n))
    Mersenne32(seed).shuffle(order)
    return order


def randperm(n: int | Tensor, seed: int = 0, offset: int = 0, dtype: DTypeLike = mstype.int64) -> Tensor:
    """The integers from 0 to n - 1 in random order.

    Args:
        n (int or Tensor): how many.
        seed, offset (int): if not both 0, make the order the same in every call. `offset` counts if it is not 0, else `seed`. Default: 0.
        dtype (ms.dtype): Default: Int64.

    After `set_seed`, each call gives the same order of so many integers, as in MindSpore.

    Example:
        >>> print(ops.randperm(4).sum())
        6
    """
    (n,) = shape_of(n, "randperm")
    if seed or offset or streams_are_open():
        # MindSpore counts no calls here: each one gives the same order.
        return wrap_array(jnp.asarray(_mixed(n, offset or seed), mstype.to_jax(mstype.as_dtype(dtype))))
    return apply(_RANDPERM, (next_key(),), (n, mstype.as_dtype(dtype)))
