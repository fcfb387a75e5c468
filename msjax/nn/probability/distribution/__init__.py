"""Distributions: their probabilities, moments, divergences and samples."""

from msjax.nn.probability.distribution.base import *
from msjax.nn.probability.distribution.continuous import *
from msjax.nn.probability.distribution.discrete import *
from msjax.nn.probability.distribution.families import *
from msjax.nn.probability.distribution.transformed import *
