"""Activation layers."""

from msjax.nn.cell import Cell
from msjax.ops import activations as ops
from msjax.ops import elementwise

__all__ = ["GELU", "LeakyReLU", "LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh", "get_activation"]


class ReLU(Cell):
    """max(x, 0), elementwise; its gradient at 0 is 0.

    Inputs:
        - **x** (Tensor) - of any shape and numeric dtype.

    Outputs:
        Tensor, of the same shape and dtype.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.ReLU()(ms.Tensor([-1.0, 2.0])))
        [0. 2.]
    """

    def construct(self, x):
        return ops.relu(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)), elementwise."""

    def construct(self, x):
        return ops.sigmoid(x)


class Tanh(Cell):
    """The hyperbolic tangent, elementwise."""

    def construct(self, x):
        return elementwise.tanh(x)


class Softmax(Cell):
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): the axis. Default: -1.
    """

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def construct(self, x):
        return ops.softmax(x, self.axis)


class LogSoftmax(Cell):
    """log(softmax(x)) along an axis.

    Args:
        axis (int): the axis. Default: -1.
    """

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def construct(self, x):
        return ops.log_softmax(x, self.axis)


class GELU(Cell):
    """x * Phi(x), elementwise.

    Args:
        approximate (bool): True, the default, for the tanh formula; False for the exact one.
    """

    def __init__(self, approximate=True):
        super().__init__()
        self.approximate = approximate

    def construct(self, x):
        return ops.gelu(x, "tanh" if self.approximate else "none")


class LeakyReLU(Cell):
    """x where positive, alpha * x elsewhere.

    Args:
        alpha (float): the slope for negative values. Default: 0.2.
    """

    def __init__(self, alpha=0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x):
        return ops.leaky_relu(x, self.alpha)


ACTIVATIONS = {
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
    "gelu": GELU,
    "leakyrelu": LeakyReLU,
}


def get_activation(name, prim_name=None):
    """The activation layer of a name; None for None.

    Raises:
        KeyError: an unknown name.
    """
    if name is None:
        return None
    if name not in ACTIVATIONS:
        raise KeyError(f"There is no activation {name!r}; there are {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]()
