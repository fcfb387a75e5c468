"""mint's functions that create Tensors, random ones included."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.random import Generator
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import Number
from msjax.numpy.lifting import number
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.arrange import shape_of

__all__ = [
    "bernoulli", "empty", "empty_like", "linspace", "multinomial", "normal", "ones",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "zeros",
]  # fmt: skip


def zeros(*size: Any, dtype: Type | None = None) -> Tensor:
    """Zeros of a shape, given as ints or a tuple; Float32 by default.

    Example:
        >>> from msjax import mint
        >>> mint.zeros((2, 3)).shape
        (2, 3)
    """
    return ops.zeros(shape_of(size), dtype)


def ones(*size: Any, dtype: Type | None = None) -> Tensor:
    """Ones of a shape, given as ints or a tuple; Float32 by default."""
    return ops.ones(shape_of(size), dtype)


def empty(*size: Any, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Zeros of a shape: jax has no uninitialized memory."""
    return ops.zeros(shape_of(size), dtype)


def empty_like(input: TensorLike, *, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Zeros of another Tensor's shape and, by default, type: jax has no uninitialized memory."""
    return ops.zeros_like(input, dtype=dtype)


@operator(2, name="linspace")
def _linspace(start, end, steps, dtype):
    return jnp.linspace(start, end, steps, dtype=mstype.to_jax(dtype))


def linspace(start: int, end: int, steps: int, *, dtype: Type | None = None) -> Tensor:
    """`steps` numbers at equal distances, from `start` to `end`; Float32 by default."""
    return _linspace(start, end, number(steps), mstype.float32 if dtype is None else dtype)


# ---- random numbers; all draw from msjax's own generator, whatever generator is passed


def rand(*size: Any, generator: Generator | None = None, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Random numbers between 0 and 1 in a shape."""
    return ops.rand(*size, dtype=dtype)


def randn(*size: Any, generator: Generator | None = None, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Random numbers of the standard normal distribution in a shape."""
    return ops.randn(*size, dtype=dtype)


def rand_like(input: TensorLike, *, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Random numbers between 0 and 1 in another Tensor's shape and, by default, type."""
    return ops.rand_like(input, dtype=dtype)


def randn_like(input: TensorLike, *, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Random numbers of the standard normal distribution in another Tensor's shape and, by default, type."""
    return ops.randn_like(input, dtype=dtype)


def randint(*args: Any, generator: Generator | None = None, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Random integers: ``randint(low, high, size)``, or ``randint(high, size)`` from 0 on; Int64 by default."""
    low, high, size = args if len(args) == 3 else (0, *args)
    return ops.randint(low, high, size, dtype=mstype.int64 if dtype is None else dtype)


def randint_like(input: Tensor, *args: Any, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Random integers in another Tensor's shape and, by default, type: ``randint_like(input, low, high)`` or ``(input, high)``."""
    low, high = args if len(args) == 2 else (0, *args)
    dtype = input.dtype if dtype is None else dtype
    return ops.cast(ops.randint(low, high, input.shape, dtype=dtype if dtype.kind in "iu" else mstype.int64), dtype)


def randperm(n: int, *, generator: Generator | None = None, dtype: Type = mstype.int64) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    return ops.cast(ops.shuffle(ops.arange(n)), dtype)


def normal(
    mean: Number | Tensor = 0.0,
    std: Number | Tensor = 1.0,
    size: tuple[int, ...] | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Random numbers of normal distributions.

    Args:
        mean, std (number or Tensor): of each; shapes are broadcast.
        size (tuple, optional): the shape, for numbers.
    """
    if size is None:
        size = ops.add(mean, std).shape
    return ops.randn(*size) * std + mean


def bernoulli(input: TensorLike, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element is, 0 otherwise."""
    return ops.bernoulli_ext(input)


def multinomial(input: TensorLike, num_samples: int, replacement: bool = False, *, generator: Generator | None = None) -> Tensor:
    """Indices drawn from rows of weights, Int64."""
    return ops.cast(ops.multinomial(input, num_samples, replacement), mstype.int64)
