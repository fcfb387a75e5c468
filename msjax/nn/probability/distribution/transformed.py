"""Distributions of functions of random numbers."""

from __future__ import annotations

from typing import Any

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type
from msjax.nn.probability.bijector import Bijector, read_only
from msjax.nn.probability.distribution.base import Distribution, shape_of
from msjax.nn.probability.distribution.continuous import Normal
from msjax.nn.probability.distribution.families import Family

__all__ = ["LogNormal", "TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of a bijector's results, where its values have another one.

    Args:
        bijector (Bijector): the function.
        distribution (Distribution): of its values; calls take the parameters that it has not been given.
        seed (int, optional): of the samples. Default: that of the distribution.
        name (str): the name. Default: "transformed_distribution".

    Raises:
        TypeError: an argument of a wrong type.

    Example:
        >>> import msjax as ms
        >>> from msjax.nn.probability import bijector as msb, distribution as msd
        >>> made = msd.TransformedDistribution(msb.Exp(), msd.Normal(0.0, 1.0))
        >>> print(made.cdf(ms.Tensor([1.0])))
        [0.5]
    """

    def __init__(
        self, bijector: Bijector, distribution: Distribution, seed: int | None = None, name: str = "transformed_distribution"
    ):
        check_type(bijector, Bijector, "bijector", "TransformedDistribution")
        check_type(distribution, Distribution, "distribution", "TransformedDistribution")
        super().__init__(distribution.seed if seed is None else seed, distribution.dtype, name, distribution._given)
        self.parameters: dict[str, str] = distribution.parameters
        self._bijector, self._distribution = bijector, distribution
        self.is_linear_transformation: bool = bijector.is_constant_jacobian

    bijector: Bijector = read_only("_bijector", "The function.")
    distribution: Distribution = read_only("_distribution", "The distribution of its values.")

    def _log_prob(self, value: Tensor, *parameters: Any, **named: Any) -> Tensor:
        before = self._bijector.inverse(value)
        return self._distribution.log_prob(before, *parameters, **named) + self._bijector.inverse_log_jacobian(value)

    def _cdf(self, value: Tensor, *parameters: Any, **named: Any) -> Tensor:
        return self._distribution.cdf(self._bijector.inverse(value), *parameters, **named)

    def _mean(self, *parameters: Any, **named: Any) -> Tensor:
        if not self.is_linear_transformation:
            return self._missing("mean")
        return self._bijector.forward(self._distribution.mean(*parameters, **named))

    def _entropy(self, *parameters: Any, **named: Any) -> Tensor:
        if not self.is_linear_transformation:
            return self._missing("entropy")
        entropy = self._distribution.entropy(*parameters, **named)
        return entropy + self._bijector.forward_log_jacobian(ops.zeros_like(entropy))

    def _sample(self, shape: tuple[int, ...], *parameters: Any, **named: Any) -> Tensor:
        return self._bijector.forward(self._distribution.sample(shape, *parameters, **named))


def _transformed(bijector, distribution):
    check_type(distribution, Distribution, "the argument", bijector.name)
    return TransformedDistribution(bijector, distribution, name=f"transformed_{distribution.name}")


Bijector.transformed = staticmethod(_transformed)


class LogNormal(Family):
    """The distribution of numbers whose logarithms have a normal distribution.

    Args:
        loc (number or Tensor, optional): the mean of the logarithm. Default: 0.0.
        scale (number or Tensor, optional): the standard deviation of the logarithm. Default: 1.0.
        seed, dtype, name: as in `Normal`.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: `scale` is not positive, or the shapes don't fit.
    """

    parameters = {"loc": "loc", "scale": "scale"}
    _positive = ("scale",)
    _defaults = (0.0, 1.0)
    _formulas = {
        "log_prob": lambda value, loc, scale: Normal._formulas["log_prob"](ops.log(value), loc, scale) - ops.log(value),
        "cdf": lambda value, loc, scale: Normal._formulas["cdf"](ops.log(value), loc, scale),
        "mean": lambda loc, scale: ops.exp(loc + scale**2 / 2),
        "var": lambda loc, scale: ops.expm1(scale**2) * ops.exp(2 * loc + scale**2),
        "mode": lambda loc, scale: ops.exp(loc - scale**2),
        "entropy": lambda loc, scale: Normal._formulas["entropy"](loc, scale) + loc,
    }
    _kl: Any = Normal._kl

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(loc + scale * ops.standard_normal((*shape, *shape_of(loc, scale)), self.seed))
