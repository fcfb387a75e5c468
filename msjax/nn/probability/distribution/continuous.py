"""Distributions of real numbers."""

from __future__ import annotations

import math

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike
from msjax.nn.probability.distribution.base import Distribution, shape_of, unit_uniform

__all__ = ["Exponential", "Normal", "Uniform"]


class Normal(Distribution):
    """The normal distribution.

    Args:
        mean (number or Tensor, optional): the mean. Default: given to each call.
        sd (number or Tensor, optional): the standard deviation. Default: given to each call.
        seed (int, optional): of the samples.
        dtype (ms.dtype): of floats. Default: ms.float32.
        name (str): the name. Default: that of the class.

    Raises:
        TypeError: `dtype` is no type of floats.
        ValueError: a standard deviation is not positive.

    Example:
        >>> import msjax as ms
        >>> from msjax.nn.probability import distribution as msd
        >>> print(msd.Normal(0.5, 2.0).log_prob(ms.Tensor([-0.5, 0.3])))
        [-1.7370857 -1.6170857]
        >>> msd.Normal(0.5, 2.0)
        Normal(mean = 0.5, standard deviation = 2.0)
    """

    parameters = {"mean": "mean", "sd": "standard deviation"}
    _counts = False

    def __init__(
        self, mean: ArrayLike | None = None, sd: ArrayLike | None = None, seed: int | None = None, dtype: Type = mstype.float32,
        name: str = "Normal",
    ):  # fmt: skip
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})
        deviation = self._given["sd"]
        if deviation is not None and not (deviation.asnumpy() > 0).all():
            raise ValueError(f"For 'Normal', the standard deviation should be positive, but got {deviation}.")

    _formulas = {
        "log_prob": lambda value, mean, sd: -0.5 * ((value - mean) / sd) ** 2 - ops.log(sd) - 0.5 * math.log(2 * math.pi),
        "cdf": lambda value, mean, sd: 0.5 * ops.erfc((mean - value) / (sd * math.sqrt(2))),
        "mean": lambda mean, sd: mean + ops.zeros_like(sd),
        "mode": lambda mean, sd: mean + ops.zeros_like(sd),
        "var": lambda mean, sd: sd**2 + ops.zeros_like(mean),
        "entropy": lambda mean, sd: 0.5 * math.log(2 * math.pi * math.e) + ops.log(sd),
    }

    def _kl(self, mean_b: Tensor, sd_b: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        difference = ops.log(sd) - ops.log(sd_b)
        return 0.5 * ((mean - mean_b) / sd_b) ** 2 + 0.5 * ops.expm1(2 * difference) - difference

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * ops.standard_normal((*shape, *shape_of(mean, sd)), self.seed)


class Uniform(Distribution):
    """The uniform distribution between two numbers.

    Args:
        low, high (number or Tensor, optional): the bounds. Default: given to each call.
        seed, dtype, name: as in `Normal`.

    Raises:
        TypeError: `dtype` is no type of floats.
        ValueError: `high` is not greater than `low`.

    Example:
        >>> import msjax as ms
        >>> from msjax.nn.probability import distribution as msd
        >>> print(msd.Uniform(0.0, 2.0).cdf(ms.Tensor([-0.5, 0.5, 3.0])))
        [0.   0.25 1.  ]
    """

    parameters = {"low": "low", "high": "high"}
    _counts = False

    def __init__(
        self, low: ArrayLike | None = None, high: ArrayLike | None = None, seed: int | None = None, dtype: Type = mstype.float32,
        name: str = "Uniform",
    ):  # fmt: skip
        super().__init__(seed, dtype, name, {"low": low, "high": high})
        bounds = self.low, self.high
        if bounds[0] is not None and bounds[1] is not None and not (bounds[0].asnumpy() < bounds[1].asnumpy()).all():
            raise ValueError(f"For 'Uniform', 'high' should be greater than 'low', but they are {bounds[1]} and {bounds[0]}.")

    _formulas = {
        "cdf": lambda value, low, high: ops.clip_by_value((value - low) / (high - low), 0.0, 1.0),
        "mean": lambda low, high: (low + high) / 2,
        "var": lambda low, high: (high - low) ** 2 / 12,
        "entropy": lambda low, high: ops.log(high - low),
    }

    def _log_prob(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        within = ops.logical_and(value >= low, value <= high)
        return ops.where(within, -ops.log(high - low) + ops.zeros_like(value), -math.inf)

    def _kl(self, low_b: Tensor, high_b: Tensor, low: Tensor, high: Tensor) -> Tensor:
        within = ops.logical_and(low_b <= low, high <= high_b)
        return ops.where(within, ops.log(high_b - low_b) - ops.log(high - low), math.inf)

    def _sample(self, shape: tuple[int, ...], low: Tensor, high: Tensor) -> Tensor:
        return ops.uniform((*shape, *shape_of(low, high)), low, high, self.seed)


class Exponential(Distribution):
    """The exponential distribution.

    Args:
        rate (number or Tensor, optional): the inverse of the mean. Default: given to each call.
        seed, dtype, name: as in `Normal`.

    Raises:
        TypeError: `dtype` is no type of floats.
        ValueError: a rate is not positive.

    Example:
        >>> from msjax.nn.probability import distribution as msd
        >>> print(msd.Exponential(2.0).mean())
        0.5
    """

    parameters = {"rate": "rate"}
    _counts = False

    def __init__(
        self, rate: ArrayLike | None = None, seed: int | None = None, dtype: Type = mstype.float32, name: str = "Exponential"
    ):
        super().__init__(seed, dtype, name, {"rate": rate})
        if self.rate is not None and not (self.rate.asnumpy() > 0).all():
            raise ValueError(f"For 'Exponential', the rate should be positive, but got {self.rate}.")

    _formulas = {
        "log_prob": lambda value, rate: ops.where(value < 0, -math.inf, ops.log(rate) - rate * value),
        "cdf": lambda value, rate: ops.where(value < 0, 0.0, -ops.expm1(-rate * value)),
        "mean": lambda rate: 1 / rate,
        "var": lambda rate: 1 / rate**2,
        "mode": ops.zeros_like,
        "entropy": lambda rate: 1 - ops.log(rate),
        "kl": lambda rate_b, rate: ops.log(rate) - ops.log(rate_b) + rate_b / rate - 1,
    }

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return -ops.log(unit_uniform((*shape, *rate.shape), self)) / rate
