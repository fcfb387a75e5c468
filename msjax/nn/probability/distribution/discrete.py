"""Distributions of integers."""

from __future__ import annotations

import math

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike
from msjax.nn.probability.distribution.base import Distribution, unit_uniform

__all__ = ["Bernoulli", "Categorical"]


def _times_log(x, y):
    """x log(y), and 0 where x is."""
    return ops.where(x == 0, 0.0, x * ops.log(ops.where(x == 0, 1.0, y)))


class Bernoulli(Distribution):
    """The distribution of 1, which comes with a probability, and 0.

    Args:
        probs (number or Tensor, optional): the probability of 1. Default: given to each call.
        seed (int, optional): of the samples.
        dtype (ms.dtype): of the samples. Default: ms.int32.
        name (str): the name. Default: that of the class.

    Raises:
        ValueError: a probability is not from 0 to 1.

    Example:
        >>> import msjax as ms
        >>> from msjax.nn.probability import distribution as msd
        >>> print(msd.Bernoulli(0.25).prob(ms.Tensor([0, 1])))
        [0.75 0.25]
    """

    parameters = {"probs": "probs"}

    def __init__(
        self, probs: ArrayLike | None = None, seed: int | None = None, dtype: Type = mstype.int32, name: str = "Bernoulli"
    ):
        super().__init__(seed, dtype, name, {"probs": probs})
        if self.probs is not None and not ((self.probs.asnumpy() > 0) & (self.probs.asnumpy() < 1)).all():
            raise ValueError(f"For 'Bernoulli', probabilities should be between 0 and 1, but got {self.probs}.")

    _formulas = {
        "log_prob": lambda value, p: ops.log(p) * value + ops.log1p(-p) * (1 - value),
        "mean": lambda p: p,
        "var": lambda p: p * (1 - p),
        "entropy": lambda p: -_times_log(p, p) - _times_log(1 - p, 1 - p),
        "kl": lambda other, p: _times_log(p, p) + _times_log(1 - p, 1 - p) - _times_log(p, other) - _times_log(1 - p, 1 - other),
    }

    def prob(self, value: Tensor, *args: ArrayLike, **kwargs: ArrayLike) -> Tensor:
        (p,) = self._all(args, kwargs)
        value = self._tensor(value)
        return p * value + (1 - p) * (1 - value)

    def _cdf(self, value: Tensor, p: Tensor) -> Tensor:
        whole = ops.floor(value)
        return ops.where(whole < 0, 0.0, ops.where(whole < 1, 1 - p + ops.zeros_like(value), 1.0))

    def _mode(self, p: Tensor) -> Tensor:
        return (p > 0.5).astype(self.dtype)

    def _sample(self, shape: tuple[int, ...], p: Tensor) -> Tensor:
        return unit_uniform((*shape, *p.shape), self) < p


class Categorical(Distribution):
    """The distribution of the numbers of categories.

    Args:
        probs (list or Tensor, optional): (..., n), the probability of each. Default: given to each call.
        seed, dtype, name: as in `Bernoulli`.

    Raises:
        ValueError: a probability is not from 0 to 1, or they don't add up to 1.

    Example:
        >>> import msjax as ms
        >>> from msjax.nn.probability import distribution as msd
        >>> print(msd.Categorical([0.25, 0.75]).cdf(ms.Tensor([0, 1])))
        [0.25 1.  ]
    """

    parameters = {"probs": "probs"}

    def __init__(
        self, probs: ArrayLike | None = None, seed: int | None = None, dtype: Type = mstype.int32, name: str = "Categorical"
    ):
        super().__init__(seed, dtype, name, {"probs": probs})
        if self.probs is not None and not ((self.probs.asnumpy() >= 0) & (self.probs.asnumpy() <= 1)).all():
            raise ValueError(f"For 'Categorical', probabilities should be from 0 to 1, but got {self.probs}.")
        if self.probs is not None and not (abs(self.probs.asnumpy().sum(-1) - 1) < 1e-5).all():
            raise ValueError(f"For 'Categorical', probabilities should add up to 1, but got {self.probs}.")

    _formulas = {
        "cdf": lambda value, p: ops.where(_numbers(p) <= ops.floor(value).expand_dims(-1), p, 0.0).sum(-1),
        "mean": lambda p: (p * _numbers(p)).sum(-1, keepdims=True),
        "var": lambda p: (p * (_numbers(p) - (p * _numbers(p)).sum(-1, keepdims=True)) ** 2).sum(-1, keepdims=True),
        "mode": lambda p: ops.argmax(p, -1).astype(mstype.int32),
        "entropy": lambda p: -_times_log(p, p).sum(-1),
        "kl": lambda other, p: (_times_log(p, p) - _times_log(p, other)).sum(-1),
    }

    def _log_prob(self, value: Tensor, p: Tensor) -> Tensor:
        number = ops.floor(value).expand_dims(-1)
        known = ops.logical_and(number >= 0, number < p.shape[-1]).squeeze(-1)
        found = ops.where(number == _numbers(p), ops.log(p), 0.0).sum(-1)
        return ops.where(known, found, -math.inf)

    def _sample(self, shape: tuple[int, ...], p: Tensor) -> Tensor:
        drawn = ops.multinomial(p.reshape((-1, p.shape[-1])), math.prod(shape), True)
        return drawn.T.reshape((*shape, *p.shape[:-1]))


def _numbers(p):
    """The numbers of the categories."""
    return ops.arange(p.shape[-1]).astype(p.dtype)
