"""Activation and softmax layers."""

from __future__ import annotations

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_kind, check_number, check_order, check_positive_int, check_rank, check_shape
from msjax.core.base.typing import Axes
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer, OfInputX, OfX
from msjax.ops.function.math_func import elementary
from msjax.ops.function.nn_func import activations as ops

__all__ = [
    "CELU", "ELU", "FastGelu", "GELU", "GLU", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "Mish", "PReLU", "PReLUExt", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold", "get_activation", "LogSoftmax", "LogSoftmaxExt", "Softmax", "Softmax2d", "Softmin",
]  # fmt: skip


class ReLU(Cell):
    """max(x, 0), elementwise; its gradient at 0 is 0.

    Inputs:
        - **x** (Tensor) - of any shape and numeric dtype.

    Outputs:
        Tensor, of the same shape and dtype.

    Example:
        >>> print(nn.ReLU()(Tensor([-1.0, 2.0])))
        [0. 2.]
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.relu(input)


# fmt: off
class Sigmoid(OfX, of=ops.sigmoid): ...
class LogSigmoid(OfInputX, of=ops.logsigmoid): ...
class Tanh(OfX, of=elementary.tanh): ...
class Tanhshrink(OfX, of=ops.tanhshrink): ...
class Softsign(OfX, of=ops.softsign): ...
class SiLU(OfX, of=ops.silu): ...
class Mish(OfInputX, of=ops.mish): ...
class HSigmoid(Layer, of=ops.hardsigmoid): ...
class HSwish(Layer, of=ops.hardswish): ...
class SeLU(OfInputX, of=ops.selu): ...
class FastGelu(OfX, of=ops.fast_gelu): ...
class CELU(OfX, of=ops.celu): alpha: float = 1.0
class ELU(OfX, of=ops.elu): alpha: float = 1.0
class GLU(OfX, of=ops.glu): axis: int = -1
class Softmin(OfX, of=ops.softmin): axis: int = -1
class LogSoftmax(OfX, of=ops.log_softmax): axis: int = -1
class HShrink(Layer, of=ops.hardshrink, lambd=check_number): lambd: float = 0.5
# fmt: on


class ReLU6(OfX, of=ops.relu6):
    """Example:
    >>> print(nn.ReLU6()(Tensor([-1.0, 2.0, 8.0])))
    [0. 2. 6.]
    """


class Hardtanh(OfX, of=ops.hardtanh, min_val=check_number, max_val=check_number):
    """x limited to [min_val, max_val], elementwise.

    Args:
        min_val (int or float): Default: -1.0.
        max_val (int or float): Default: 1.0.

    Raises:
        TypeError: a limit is not a number.
        ValueError: `min_val` is not below `max_val`.
    """

    min_val: float = -1.0
    max_val: float = 1.0

    def _check_settings(self) -> None:
        check_order(self.min_val, self.max_val, ("min_val", "max_val"), "Hardtanh")


class GELU(OfX, approximate=check_bool):
    """x * Phi(x), elementwise.

    Args:
        approximate (bool): True, the default, for the tanh formula; False for the exact one.

    Raises:
        TypeError: `approximate` is not a bool.
    """

    approximate: bool = True

    def construct(self, x: TensorLike) -> Tensor:
        return ops.gelu(x, "tanh" if self.approximate else "none")


class LeakyReLU(OfX, of=ops.leaky_relu):
    """Example:
    >>> print(nn.LeakyReLU()(Tensor([-1.0, 2.0])))
    [-0.2  2. ]
    """

    alpha: float = 0.2


class RReLU(OfX, of=ops.rrelu, lower=check_number, upper=check_number):
    """x where positive, a random slope from [lower, upper] times x elsewhere.

    Args:
        lower (int or float): Default: 1/8.
        upper (int or float): Default: 1/3.

    Raises:
        TypeError: a limit is not a number.
        ValueError: `lower` is above `upper`.
    """

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3

    def _check_settings(self) -> None:
        check_order(self.lower, self.upper, ("lower", "upper"), "RReLU", equal=True)


class SoftShrink(Layer, of=ops.softshrink, lambd=check_number):
    """x moved towards 0 by `lambd`, and 0 where |x| <= lambd.

    Args:
        lambd (float): not negative. Default: 0.5.
    """

    lambd: float = 0.5


class Threshold(OfInputX, of=ops.threshold):
    """x where x > threshold, `value` elsewhere.

    Args:
        threshold (int or float): the threshold.
        value (int or float): the replacement of smaller elements.
    """

    threshold: float
    value: float


class PReLU(Cell):
    """x where positive, a slope that is learnt times x elsewhere.

    Args:
        channel (int): 1 for one slope, or the number of channels (axis 1). Default: 1.
        w (float, list or Tensor): the slopes to begin with. Default: 0.25.

    Inputs:
        - **x** (Tensor) - of shape (N, C, ...).

    Raises:
        TypeError, ValueError: an argument of a wrong type, or a Tensor of a wrong shape.

    Example:
        >>> print(nn.PReLU()(Tensor([[-1.0, 2.0]])))
        [[-0.25  2.  ]]
    """

    def __init__(self, channel: int = 1, w: float | list[float] | Tensor = 0.25):
        super().__init__()
        check_positive_int(channel, "channel", "PReLU")
        check_kind(w, isinstance(w, (float, list, Tensor)), "be a float, a list or a Tensor", "w", "PReLU")
        values = [w] * channel if isinstance(w, float) else w
        start = values if isinstance(values, Tensor) else Tensor(values, mstype.float32)
        self.w: Parameter = Parameter(check_shape(start, (channel,), "w", "PReLU"), name="a")

    def construct(self, x: Tensor) -> Tensor:
        return ops.prelu(x, self.w)


class PReLUExt(Cell):
    """x where positive, a slope that is learnt times x elsewhere.

    Args:
        num_parameters (int): 1 for one slope, or the number of channels (axis 1). Default: 1.
        init (float): the slope to begin with. Default: 0.25.
        dtype (ms.dtype, optional): of the slopes. Default: ms.float32.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Type | None = None):
        super().__init__()
        shape = (check_positive_int(num_parameters, "num_parameters", type(self).__name__),)
        self.weight: Parameter = Parameter(initializer(init, shape, dtype or mstype.float32), name="weight")

    def construct(self, input: TensorLike) -> Tensor:
        return ops.prelu(input, self.weight)


class Softmax(Layer, of=ops.softmax):
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): the axis. Default: -1.

    Raises:
        TypeError: `axis` is neither an int nor a tuple.

    Example:
        >>> print(nn.Softmax()(Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    axis: Axes = -1

    def _check_settings(self) -> None:
        fits = not isinstance(self.axis, bool) and isinstance(self.axis, (int, tuple, list))
        check_kind(self.axis, fits, "be an int or a tuple", "axis", "Softmax")


class Softmax2d(Cell):
    """Softmax over the channels of an input (N, C, H, W) or (C, H, W)."""

    def construct(self, x: Tensor) -> Tensor:
        check_rank(x, (3, 4), "the input", "Softmax2d")
        return ops.softmax(x, -3)


class LogSoftmaxExt(OfX):
    """log(softmax(x)) along an axis.

    Args:
        dim (int, optional): the axis; by default 0 for inputs of 0, 1 or 3 axes, 1 for others.
    """

    dim: int | None = None

    def construct(self, x: Tensor) -> Tensor:
        dim = self.dim if self.dim is not None else 0 if x.ndim in (0, 1, 3) else 1
        return ops.log_softmax(x, dim)


ACTIVATIONS = {
    "softmin": Softmin, "softmax": Softmax, "softmax2d": Softmax2d, "logsoftmax": LogSoftmax, "relu": ReLU, "relu6": ReLU6,
    "rrelu": RReLU, "silu": SiLU, "tanh": Tanh, "tanhshrink": Tanhshrink, "hardtanh": Hardtanh, "gelu": GELU, "fast_gelu":
    FastGelu, "elu": ELU, "sigmoid": Sigmoid, "softsign": Softsign, "prelu": PReLU, "leakyrelu": LeakyReLU, "hswish": HSwish,
    "hsigmoid": HSigmoid, "logsigmoid": LogSigmoid, "softshrink": SoftShrink, "hshrink": HShrink, "threshold": Threshold,
    "mish": Mish,
}  # fmt: skip

_activation = ACTIVATIONS  # MindSpore's name, which libraries import


def get_activation(name: str, prim_name: str | None = None) -> Cell | None:
    """The activation layer of a name, with its default arguments; None for None.

    Args:
        name (str, optional): such as "relu" or "leakyrelu".
        prim_name (str, optional): the caller, for the error message.

    Raises:
        KeyError: an unknown name.

    Example:
        >>> from msjax import nn
        >>> nn.get_activation("relu")
        ReLU()
    """
    if name is None:
        return None
    if name not in ACTIVATIONS:
        who = f"For '{prim_name}', " if prim_name else ""
        raise KeyError(f"{who}there is no activation {name!r}; there are {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]()
