"""Optimizers."""

from msjax.nn.optim.basic import SGD, Adam, Momentum, RMSProp
from msjax.nn.optim.optimizer import Optimizer

__all__ = ["SGD", "Adam", "Momentum", "Optimizer", "RMSProp"]
