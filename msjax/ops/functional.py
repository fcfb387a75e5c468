"""Operators as functions, under MindSpore's older name ``ops.functional``."""

from msjax import ops


def __getattr__(name):
    return getattr(ops, name)


def __dir__():
    return dir(ops)
