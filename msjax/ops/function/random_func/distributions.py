"""Random numbers of the normal, gamma, Poisson and other distributions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike
from msjax.core.base.typing import Number
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.promotion import as_operand, to_float
from msjax.ops.dispatch.random_keys import next_key, wrap
from msjax.ops.function.random_func.sampling import seeded_integers, seeded_normal, seeded_uniform, seeded_units, shape_of

__all__ = ["gamma", "laplace", "normal", "poisson", "random_gamma", "random_poisson", "standard_laplace", "uniform"]


def _wide_shape(shape, *others):
    return jnp.broadcast_shapes(shape, *[jnp.shape(o) for o in others])


@partial(Op, "uniform")
def _UNIFORM(low, high, key, shape, dtype):
    low, high = as_operand(low), as_operand(high)
    shape = _wide_shape(shape, low, high)
    dtype = mstype.to_jax(dtype)
    if dtype.kind in "iu":
        return jax.random.randint(wrap(key), shape, low, high, dtype)
    drawn = jax.random.uniform(wrap(key), shape, dtype)
    return low.astype(dtype) + (high - low).astype(dtype) * drawn


@partial(Op, "uniform")
def _UNIFORM_OF(low, high, drawn):
    low, high = as_operand(low), as_operand(high)
    return drawn * (high - low).astype(jnp.float32) + low.astype(jnp.float32)


def uniform(
    shape: Sequence[int],
    minval: Tensor | Number,
    maxval: Tensor | Number,
    seed: int | None = None,
    dtype: DTypeLike = mstype.float32,
) -> Tensor:
    """Random numbers, uniform in [minval, maxval).

    Args:
        shape (tuple): the shape, broadcast with those of the limits.
        minval, maxval (Tensor or number): the limits; integers for an integer `dtype`.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.
        dtype (ms.dtype): Float32 or an integer type. Default: Float32.

    Example:
        >>> print(ops.uniform((3, 1), Tensor([0.0, 1.0]), Tensor(2.0)).shape)
        (3, 2)
    """
    sizes, kind = shape_of(shape, "uniform"), mstype.as_dtype(dtype)
    if kind is mstype.float32:
        drawn = seeded_uniform("uniform", seed, sizes)
        if drawn is not None:
            return apply(_UNIFORM_OF, (minval, maxval, drawn))
    elif kind is mstype.int32:
        drawn = seeded_integers("uniform", seed, minval, maxval, sizes)
        if drawn is not None:
            return drawn
    return apply(_UNIFORM, (minval, maxval, next_key(seed)), (sizes, kind))


@partial(Op, "normal")
def _NORMAL(mean, stddev, key, shape):
    mean, stddev = to_float(mean).astype(jnp.float32), to_float(stddev).astype(jnp.float32)
    return mean + stddev * jax.random.normal(wrap(key), _wide_shape(shape, mean, stddev), jnp.float32)


@partial(Op, "normal")
def _NORMAL_OF(mean, stddev, drawn):
    return to_float(mean).astype(jnp.float32) + to_float(stddev).astype(jnp.float32) * drawn


def normal(shape: Sequence[int], mean: Tensor | Number, stddev: Tensor | Number, seed: int | None = None) -> Tensor:
    """Random numbers of a normal distribution, as Float32; differentiable in its parameters.

    Args:
        shape (tuple): the shape, broadcast with those of the parameters.
        mean (Tensor or number): the mean.
        stddev (Tensor or number): the standard deviation.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> print(ops.normal((3, 1), Tensor([0.0, 1.0]), 1.0).shape)
        (3, 2)
    """
    return _drawn(seeded_normal, _NORMAL_OF, _NORMAL, "normal", shape, (mean, stddev), seed)


def _drawn(seeded, of_drawn, by_key, name, shape, parameters, seed):
    sizes = shape_of(shape, name)
    drawn = seeded(name, seed, sizes)
    if drawn is not None:
        return apply(of_drawn, (*parameters, drawn))
    return apply(by_key, (*parameters, next_key(seed)), (sizes,))


@partial(Op, "laplace")
def LAPLACE(mean, scale, key, shape):
    mean, scale = to_float(mean), to_float(scale)
    return mean + scale * jax.random.laplace(wrap(key), _wide_shape(shape, mean, scale), mean.dtype)


@partial(Op, "laplace")
def _LAPLACE_OF(mean, scale, units):
    lowest = np.nextafter(np.float32(-1), np.float32(0))  # so that no number is infinite
    from_middle = units * (1 - lowest) + lowest
    return to_float(mean) - to_float(scale) * jnp.sign(from_middle) * jnp.log1p(-jnp.abs(from_middle))


def laplace(shape: Sequence[int], mean: Tensor | Number, lambda_param: Tensor | Number, seed: int | None = None) -> Tensor:
    """Random numbers of a Laplace distribution, of density exp(-|x - mean| / lambda_param) / (2 * lambda_param).

    Args:
        shape (tuple): the shape, broadcast with those of the parameters.
        mean (Tensor or number): the mean.
        lambda_param (Tensor or number): the scale.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> print(ops.laplace((2, 3), 0.0, 1.0).shape)
        (2, 3)
    """
    return _drawn(seeded_units, _LAPLACE_OF, LAPLACE, "laplace", shape, (mean, lambda_param), seed)


def standard_laplace(shape: Sequence[int], seed: int | None = None) -> Tensor:
    """Random numbers of the Laplace distribution of mean 0 and scale 1, as Float32; see `laplace`.

    Example:
        >>> print(ops.standard_laplace((2, 3)).shape)
        (2, 3)
    """
    return _drawn(seeded_units, _LAPLACE_OF, LAPLACE, "standard_laplace", shape, (0.0, 1.0), seed)


@partial(Op, "gamma")
def GAMMA(alpha, beta, key, shape):
    alpha, beta = to_float(alpha), to_float(beta)
    return jax.random.gamma(wrap(key), alpha, _wide_shape(shape, alpha, beta), alpha.dtype) / beta


def gamma(shape: Sequence[int], alpha: Tensor, beta: Tensor, seed: int | None = None) -> Tensor:
    """Random numbers of a gamma distribution; differentiable in its parameters.

    Args:
        shape (tuple): the shape, broadcast with those of the parameters.
        alpha (Tensor): the shape parameter.
        beta (Tensor): the inverse scale.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> print(ops.gamma((3, 1), Tensor([1.0, 2.0]), Tensor([1.0])).shape)
        (3, 2)
    """
    return apply(GAMMA, (alpha, beta, next_key(seed)), (shape_of(shape, "gamma"),))


def random_gamma(shape: Sequence[int] | Tensor, alpha: Tensor, seed: int | None = None) -> Tensor:
    """Random numbers of gamma distributions of scale 1, of the shape `shape` followed by that of `alpha`.

    Args:
        shape (tuple or Tensor): how many of each.
        alpha (Tensor): the shape parameters.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> print(ops.random_gamma((2,), Tensor([1.0, 2.0])).shape)
        (2, 2)
    """
    return apply(GAMMA, (alpha, 1.0, next_key(seed)), (shape_of(shape, "random_gamma") + np.shape(alpha),))


@partial(Op, "poisson", differentiable=False)
def POISSON(rate, key, shape, dtype):
    rate = to_float(rate)
    return jax.random.poisson(wrap(key), rate, shape).astype(mstype.to_jax(dtype))


def poisson(shape: Sequence[int], mean: Tensor, seed: int | None = None) -> Tensor:
    """Random numbers of a Poisson distribution, as Float32.

    Args:
        shape (tuple): the shape, broadcast with that of `mean`.
        mean (Tensor): the mean, positive.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.

    Example:
        >>> print(ops.poisson((3, 1), Tensor([1.0, 5.0])).shape)
        (3, 2)
    """
    full = jnp.broadcast_shapes(shape_of(shape, "poisson"), np.shape(mean))
    return apply(POISSON, (mean, next_key(seed)), (full, mstype.float32))


def random_poisson(
    shape: Sequence[int] | Tensor, rate: Tensor, seed: int | None = None, dtype: DTypeLike = mstype.float32
) -> Tensor:
    """Random numbers of Poisson distributions, of the shape `shape` followed by that of `rate`.

    Args:
        shape (tuple or Tensor): how many of each.
        rate (Tensor): the means.
        seed (int, optional): makes the numbers the same in every run of the program. Default: None.
        dtype (ms.dtype): Default: Float32.

    Example:
        >>> print(ops.random_poisson((2,), Tensor([1.0, 2.0])).shape)
        (2, 2)
    """
    full = shape_of(shape, "random_poisson") + np.shape(rate)
    return apply(POISSON, (rate, next_key(seed)), (full, mstype.as_dtype(dtype)))


@partial(Op, "Cauchy", differentiable=False)
def CAUCHY(key, median, sigma, shape):
    return median + sigma * jax.random.cauchy(wrap(key), shape, jnp.float32)


@partial(Op, "LogNormalReverse", differentiable=False)
def LOG_NORMAL(x, key, mean, std):
    return jnp.exp(mean + std * jax.random.normal(wrap(key), x.shape, x.dtype))
