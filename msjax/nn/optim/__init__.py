"""Optimizers. Each step is one compiled program for all Parameters."""

from msjax.nn.optim.adam import *
from msjax.nn.optim.adaptive import *
from msjax.nn.optim.layerwise import *
from msjax.nn.optim.momentum import *
from msjax.nn.optim.optimizer import Optimizer
from msjax.nn.optim.signed import *

__all__ = [
    "ASGD", "AdaFactor", "AdaMax", "Adadelta", "Adagrad", "Adam", "AdamOffload", "AdamWeightDecay", "FTRL", "LARS", "Lamb",
    "LazyAdam", "Momentum", "Optimizer", "ProximalAdagrad", "RMSProp", "Rprop", "SGD",
]  # fmt: skip
