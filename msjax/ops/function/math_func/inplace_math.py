"""In-place operators: elementwise functions and random fills."""

from __future__ import annotations

from functools import partial
from typing import Final

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.random import Generator
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_in_range, check_order
from msjax.core.base.typing import Number
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.promotion import to_float
from msjax.ops.dispatch.random_keys import next_key, wrap
from msjax.ops.function.math_func import elementary, elementwise, special
from msjax.ops.function.nn_func.activations import sigmoid
from msjax.ops.methods.inplace import inplace

__all__ = ["bernoulli_", "clamp_", "erfinv_", "exponential_", "inplace_sigmoid", "normal_", "random_", "tanh_", "uniform_"]

clamp_: Final = inplace(elementwise.clamp)
erfinv_: Final = inplace(special.erfinv)
tanh_: Final = inplace(elementary.tanh)
inplace_sigmoid: Final = inplace(sigmoid)


def _like(x, draw):
    """Numbers drawn in Float32 at least, in the shape of x; without a gradient to what was there."""
    wide = jnp.promote_types(to_float(x).dtype, jnp.float32)
    return draw(x.shape, wide).astype(x.dtype)


_fill = partial(Op, differentiable=False)
_NORMAL = _fill("normal_", lambda x, mean, std, key: _like(x, lambda s, d: mean + std * jax.random.normal(wrap(key), s, d)))
_UNIFORM = _fill(
    "uniform_", lambda x, low, high, key: _like(x, lambda s, d: low + (high - low) * jax.random.uniform(wrap(key), s, d))
)
_EXPONENTIAL = _fill("exponential_", lambda x, rate, key: _like(x, lambda s, d: jax.random.exponential(wrap(key), s, d) / rate))
_BERNOULLI = _fill(
    "bernoulli_", lambda x, p, key: jax.random.bernoulli(wrap(key), jnp.broadcast_to(to_float(p), x.shape)).astype(x.dtype)
)
_RANDOM = _fill(
    "random_",
    lambda x, low, high, key: jax.random.randint(wrap(key), x.shape, low, high, mstype.to_jax(mstype.int64)).astype(x.dtype),
)


@inplace
def normal_(input: Tensor, mean: Number | Tensor = 0, std: Number | Tensor = 1, *, generator: Generator | None = None) -> Tensor:
    """Filled with random numbers of a normal distribution.

    Args:
        input (Tensor): is changed.
        mean, std (number or Tensor): Default: 0 and 1.
        generator (ms.Generator, optional): Default: None, for the default generator.

    Example:
        >>> x = Tensor([0.0, 0.0])
        >>> print(ops.normal_(x, 5.0, 0.0) is x, x)
        True [5. 5.]
    """
    return apply(_NORMAL, (input, mean, std, next_key(generator=generator)))


@inplace
def uniform_(input: Tensor, from_: Number = 0, to: Number = 1, *, generator: Generator | None = None) -> Tensor:
    """Filled with random numbers, uniform in [from_, to).

    Args:
        input, generator: as in `normal_`.
        from_, to (number): the limits. Default: 0 and 1.

    Example:
        >>> print(ops.uniform_(Tensor([1.0, 2.0])).shape)
        (2,)
    """
    check_order(from_, to, ("from_", "to"), "uniform_", equal=True)
    return apply(_UNIFORM, (input, from_, to, next_key(generator=generator)))


@inplace
def exponential_(input: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Filled with random numbers of an exponential distribution.

    Args:
        input, generator: as in `normal_`.
        lambd (float): the rate, positive. Default: 1.

    Example:
        >>> print(ops.exponential_(Tensor([1.0, 2.0])).shape)
        (2,)
    """
    check_in_range(lambd, "lambd", "exponential_", above=0)
    return apply(_EXPONENTIAL, (input, float(lambd), next_key(generator=generator)))


@inplace
def bernoulli_(input: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Filled with ones, with probability p, and zeros.

    Args:
        input, generator: as in `normal_`.
        p (float or Tensor): how likely a one is. Default: 0.5.

    Example:
        >>> print(ops.bernoulli_(Tensor([5.0, 5.0]), 1.0))
        [1. 1.]
    """
    return apply(_BERNOULLI, (input, p, next_key(generator=generator)))


@inplace
def random_(input: Tensor, from_: int = 0, to: int | None = None, *, generator: Generator | None = None) -> Tensor:
    """Filled with random integers, uniform in [from_, to).

    Args:
        input, generator: as in `normal_`.
        from_ (int): the lower limit. Default: 0.
        to (int, optional): the upper limit. Default: None, for what the dtype holds exactly.

    Example:
        >>> print(ops.random_(Tensor([1.0, 2.0]), 3, 4))
        [3. 3.]
    """
    if to is None:
        dtype = input.dtype.np
        to = 2 ** (jnp.finfo(dtype).nmant + 1) if input.dtype.kind == "f" else int(jnp.iinfo(dtype).max)
        # With 64-bit types off, draw Int32.
        to = min(to, int(jnp.iinfo(mstype.to_jax(mstype.int64)).max))
    check_order(from_, to, ("from_", "to"), "random_")
    return apply(_RANDOM, (input, int(from_), int(to), next_key(generator=generator)))
