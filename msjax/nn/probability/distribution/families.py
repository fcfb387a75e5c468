"""More families of distributions, each by its formulas."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind
from msjax.nn.probability.distribution.base import Distribution, shape_of, unit_uniform

__all__ = ["Beta", "Cauchy", "Gamma", "Geometric", "Gumbel", "HalfNormal", "Laplace", "Logistic", "Poisson", "StudentT"]

_EULER = 0.5772156649015329


class Family(Distribution):
    """The base of distributions whose constructor takes the parameters, each None for one that each call is given, `seed`, `dtype` and `name`.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: a parameter is out of its range, or the shapes don't fit.
    """

    _positive: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[tuple[float, ...]] = ()
    _counts: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any):
        who, names = type(self).__name__, [*self.parameters, "seed", "dtype", "name"]
        check_kind(args, len(args) <= len(names), f"be at most {len(names)}", "the arguments", who)
        given = {**dict(zip(self.parameters, self._defaults)), **dict(zip(names, args)), **kwargs}
        for name in given:
            if name not in names:
                raise TypeError(f"For '{who}', there is no argument {name!r}; there are {', '.join(names)}.")
        seed, dtype = given.get("seed"), given.get("dtype", mstype.int32 if self._counts else mstype.float32)
        super().__init__(seed, dtype, given.get("name", who), {name: given.get(name) for name in self.parameters})
        known = {name: value.asnumpy() for name, value in self._given.items() if value is not None}
        for name in self._positive:
            if name in known and not (known[name] > 0).all():
                raise ValueError(f"For '{who}', '{name}' should be positive, but got {known[name]}.")
            if name == "probs" and name in known and not (known[name] < 1).all():
                raise ValueError(f"For '{who}', '{name}' should be below 1, but got {known[name]}.")
        np.broadcast_shapes(*[value.shape for value in known.values()])


class _Located(Family):
    """Families with a location and a scale: the formulas "standard" and the like are of location 0 and scale 1; of "standard_sample",
    the argument, uniform between 0 and 1, is the cdf of the result."""

    parameters = {"loc": "loc", "scale": "scale"}
    _positive = ("scale",)

    def _standard(self, name, *values):
        return self._formulas[f"standard_{name}"](*values) if f"standard_{name}" in self._formulas else self._missing(name)

    def _log_prob(self, value: Tensor, *parameters: Tensor) -> Tensor:
        *shape, loc, scale = parameters
        return self._standard("log_prob", (value - loc) / scale, *shape) - ops.log(scale)

    def _cdf(self, value: Tensor, *parameters: Tensor) -> Tensor:
        *_, loc, scale = parameters
        return self._standard("cdf", (value - loc) / scale)

    def _mode(self, *parameters: Tensor) -> Tensor:
        *_, loc, scale = parameters
        return loc + ops.zeros_like(scale)

    def _sample(self, shape: tuple[int, ...], *parameters: Tensor) -> Tensor:
        *_, loc, scale = parameters
        return loc + scale * self._standard("sample", unit_uniform((*shape, *shape_of(*parameters)), self))


class Cauchy(_Located):
    """The Cauchy distribution, of `loc` and `scale`. It has no mean and no variance: asking for them is a ValueError."""

    _formulas = {
        "standard_log_prob": lambda z: -ops.log1p(z**2) - math.log(math.pi),
        "standard_cdf": lambda z: ops.atan(z) / math.pi + 0.5,
        "standard_sample": lambda u: ops.tan((u - 0.5) * math.pi),
        "entropy": lambda loc, scale: ops.log(scale) + math.log(4 * math.pi),
        "kl": lambda loc_b, scale_b, loc, scale: ops.log(((scale + scale_b) ** 2 + (loc - loc_b) ** 2) / (4 * scale * scale_b)),
    }

    def _mean(self, *parameters: Tensor) -> Tensor:
        raise ValueError("For 'Cauchy', the mean, the variance and the standard deviation are undefined.")

    _var = _mean


class Logistic(_Located):
    """The logistic distribution, of `loc` and `scale`."""

    _formulas = {
        "standard_log_prob": lambda z: -z - 2 * ops.logaddexp(-z, ops.zeros_like(z)),
        "standard_cdf": ops.sigmoid,
        "standard_sample": lambda u: ops.log(u) - ops.log1p(-u),
        "mean": lambda loc, scale: loc + ops.zeros_like(scale),
        "var": lambda loc, scale: scale**2 * (math.pi**2 / 3),
        "entropy": lambda loc, scale: ops.log(scale) + 2,
    }


class Gumbel(_Located):
    """The Gumbel distribution of largest numbers, of `loc` and `scale`."""

    _formulas = {
        "standard_log_prob": lambda z: -z - ops.exp(-z),
        "standard_cdf": lambda z: ops.exp(-ops.exp(-z)),
        "standard_sample": lambda u: -ops.log(-ops.log(u)),
        "mean": lambda loc, scale: loc + scale * _EULER,
        "var": lambda loc, scale: scale**2 * (math.pi**2 / 6),
        "entropy": lambda loc, scale: ops.log(scale) + (1 + _EULER),
    }

    def _kl(self, loc_b: Tensor, scale_b: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        ratio, distance = scale / scale_b, (loc - loc_b) / scale_b
        return ops.log(scale_b / scale) + _EULER * (ratio - 1) + distance + ops.expm1(ops.lgamma(ratio + 1) - distance)


class Laplace(_Located):
    """The Laplace distribution, of `mean` and `sd`, by which differences from the mean are divided."""

    parameters = {"mean": "mean", "sd": "sd"}
    _positive = ("sd",)
    _formulas = {"standard_log_prob": lambda z: -ops.abs(z) - math.log(2)}


class HalfNormal(_Located):
    """The distribution of the size of normal numbers of a standard deviation `sd`, from `mean` on."""

    parameters = {"mean": "mean", "sd": "sd"}
    _positive = ("sd",)
    _formulas = {"standard_log_prob": lambda z: ops.where(z < 0, -math.inf, 0.5 * math.log(2 / math.pi) - z**2 / 2)}


def _standard_student(z: Tensor, df: Tensor) -> Tensor:
    constant = ops.lgamma((df + 1) / 2) - ops.lgamma(df / 2) - 0.5 * ops.log(df * math.pi)
    return constant - (df + 1) / 2 * ops.log1p(z**2 / df)


class StudentT(_Located):
    """Student's t distribution, of `df` degrees of freedom, `mean` and `sd`."""

    parameters = {"df": "df", "mean": "mean", "sd": "sd"}
    _positive = ("df", "sd")
    _formulas = {"standard_log_prob": _standard_student}


class Gamma(Family):
    """The gamma distribution, of `concentration` and `rate`."""

    parameters = {"concentration": "concentration", "rate": "rate"}
    _positive = ("concentration", "rate")
    _formulas = {
        "log_prob": lambda value, a, rate: a * ops.log(rate) + (a - 1) * ops.log(value) - rate * value - ops.lgamma(a),
        "cdf": lambda value, a, rate: ops.igamma(a + ops.zeros_like(value), rate * value),
        "mean": lambda a, rate: a / rate,
        "var": lambda a, rate: a / rate**2,
        "mode": lambda a, rate: ops.where(a > 1, (a - 1) / rate, math.nan),
        "entropy": lambda a, rate: a - ops.log(rate) + ops.lgamma(a) + (1 - a) * ops.digamma(a),
    }

    def _kl(self, a_b: Tensor, rate_b: Tensor, a: Tensor, rate: Tensor) -> Tensor:
        logs = ops.lgamma(a_b) - ops.lgamma(a) + a_b * ops.log(rate / rate_b)
        return (a - a_b) * ops.digamma(a) + logs + a * (rate_b / rate - 1)

    def _sample(self, shape: tuple[int, ...], *parameters: Tensor) -> Tensor:
        return ops.gamma(tuple(shape), *parameters, self.seed)


class Beta(Family):
    """The beta distribution, of `concentration1` and `concentration0`."""

    parameters = {"concentration1": "concentration1", "concentration0": "concentration0"}
    _positive = ("concentration1", "concentration0")
    _formulas = {
        "log_prob": lambda value, a, b: (a - 1) * ops.log(value) + (b - 1) * ops.log1p(-value) - _log_beta(a, b),
        "mean": lambda a, b: a / (a + b),
        "var": lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
        "mode": lambda a, b: ops.where(ops.logical_and(a > 1, b > 1), (a - 1) / (a + b - 2), math.nan),
    }

    def _entropy(self, a: Tensor, b: Tensor) -> Tensor:
        return _log_beta(a, b) - (a - 1) * ops.digamma(a) - (b - 1) * ops.digamma(b) + (a + b - 2) * ops.digamma(a + b)

    def _kl(self, a_b: Tensor, b_b: Tensor, a: Tensor, b: Tensor) -> Tensor:
        turned = (a - a_b) * ops.digamma(a) + (b - b_b) * ops.digamma(b) + (a_b - a + b_b - b) * ops.digamma(a + b)
        return _log_beta(a_b, b_b) - _log_beta(a, b) + turned

    def _sample(self, shape: tuple[int, ...], *parameters: Tensor) -> Tensor:
        one = ops.ones_like(parameters[0] + parameters[1])
        first, second = (ops.gamma(tuple(shape), p * one, one, self.seed + n) for n, p in enumerate(parameters))
        return first / (first + second)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


class Geometric(Family):
    """How many trials fail before one succeeds, whose probability is `probs`."""

    parameters = {"probs": "probs"}
    _positive = ("probs",)
    _counts = True
    _formulas = {
        "log_prob": lambda value, p: ops.where(value < 0, -math.inf, ops.log(p) + ops.floor(value) * ops.log1p(-p)),
        "cdf": lambda value, p: ops.where(value < 0, 0.0, -ops.expm1((ops.floor(value) + 1) * ops.log1p(-p))),
        "mean": lambda p: 1 / p - 1,
        "var": lambda p: (1 - p) / p**2,
        "entropy": lambda p: (-p * ops.log(p) - (1 - p) * ops.log1p(-p)) / p,
        "kl": lambda p_b, p: ops.log(p / p_b) + (1 - p) / p * (ops.log1p(-p) - ops.log1p(-p_b)),
    }

    def _mode(self, p: Tensor) -> Tensor:
        return ops.zeros_like(p).astype(self.dtype)

    def _sample(self, shape: tuple[int, ...], p: Tensor) -> Tensor:
        uniform = unit_uniform((*shape, *p.shape), self)
        return ops.floor(ops.log1p(-uniform) / ops.log1p(-p))


class Poisson(Family):
    """How many independent events happen where `rate` are expected."""

    parameters = {"rate": "rate"}
    _positive = ("rate",)
    _formulas = {
        "log_prob": lambda value, rate: ops.where(value < 0, -math.inf, ops.log(rate) * value - rate - ops.lgamma(value + 1)),
        "cdf": lambda value, rate: ops.where(value < 0, 0.0, ops.igammac(ops.floor(value) + 1, rate + ops.zeros_like(value))),
        "mean": lambda rate: rate,
        "var": lambda rate: rate,
        "mode": ops.floor,
    }

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return ops.random_poisson(Tensor(list(shape), mstype.int32), rate, self.seed)
