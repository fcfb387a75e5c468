"""What tests of compiled code share."""

import warnings

import numpy as np

import msjax as ms
from msjax import nn

GRAPH, PYNATIVE = ms.GRAPH_MODE, ms.PYNATIVE_MODE


def f32(*values):
    return ms.Tensor(np.array(values, np.float32))


class Calls(nn.Cell):
    """A cell whose construct is a function that it is given; further arguments become attributes."""

    def __init__(self, function, **attributes):
        super().__init__()
        self.function = function
        for name, value in attributes.items():
            setattr(self, name, value)

    def construct(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def in_graph_mode(function):
    def call(*args, **kwargs):
        ms.set_context(mode=GRAPH)
        try:
            return function(*args, **kwargs)
        finally:
            ms.set_context(mode=PYNATIVE)

    return call


def warned(function, *args):
    """(result, messages of warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [str(w.message) for w in caught]
