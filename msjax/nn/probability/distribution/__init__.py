"""Distributions: their probabilities, moments, divergences and samples."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.nn.probability.distribution.base import *
from msjax.nn.probability.distribution.continuous import *
from msjax.nn.probability.distribution.discrete import *

if not TYPE_CHECKING:
    _NAMES = "Beta Cauchy Gamma Geometric Gumbel HalfNormal Laplace LogNormal Logistic Poisson StudentT TransformedDistribution".split()
    _PLACEHOLDERS = dict.fromkeys(_NAMES, "lift a function of jax.scipy.stats with ms.from_jax.")
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
