"""Activation layers."""

from __future__ import annotations

from typing import Any

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_kind, check_number, check_order, check_positive_int, check_shape
from msjax.nn.cell.base import Cell
from msjax.nn.layer.softmax import LogSoftmax, Softmax, Softmax2d, Softmin
from msjax.ops.function.math_func import elementary
from msjax.ops.function.nn_func import activations as ops, gated

__all__ = [
    "CELU", "ELU", "FastGelu", "GELU", "GLU", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU", "LogSigmoid", "Mish",
    "PReLU", "PReLUExt", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold", "get_activation",
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


class ReLU6(Cell):
    """min(max(x, 0), 6), elementwise.

    Example:
        >>> print(nn.ReLU6()(Tensor([-1.0, 2.0, 8.0])))
        [0. 2. 6.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu6(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)), elementwise."""

    def construct(self, x: TensorLike) -> Tensor:
        return ops.sigmoid(x)


class LogSigmoid(Cell):
    """log(sigmoid(x)), elementwise."""

    def construct(self, input_x: TensorLike) -> Tensor:
        return ops.logsigmoid(input_x)


class Tanh(Cell):
    """The hyperbolic tangent, elementwise."""

    def construct(self, x: Tensor) -> Tensor:
        return elementary.tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x), elementwise."""

    def construct(self, x: TensorLike) -> Tensor:
        return ops.tanhshrink(x)


class Hardtanh(Cell):
    """x limited to [min_val, max_val], elementwise.

    Args:
        min_val (int or float): Default: -1.0.
        max_val (int or float): Default: 1.0.

    Raises:
        TypeError: a limit is not a number.
        ValueError: `min_val` is not below `max_val`.
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        super().__init__()
        self.min_val: Any = check_number(min_val, "min_val", "Hardtanh")
        self.max_val: Any = check_number(max_val, "max_val", "Hardtanh")
        check_order(min_val, max_val, ("min_val", "max_val"), "Hardtanh")

    def construct(self, x: TensorLike) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)


class Softsign(Cell):
    """x / (1 + |x|), elementwise."""

    def construct(self, x: TensorLike) -> Tensor:
        return ops.softsign(x)


class GELU(Cell):
    """x * Phi(x), elementwise.

    Args:
        approximate (bool): True, the default, for the tanh formula; False for the exact one.

    Raises:
        TypeError: `approximate` is not a bool.
    """

    def __init__(self, approximate: bool = True):
        super().__init__()
        self.approximate: bool = check_bool(approximate, "approximate", "GELU")

    def construct(self, x: TensorLike) -> Tensor:
        return ops.gelu(x, "tanh" if self.approximate else "none")


class FastGelu(Cell):
    """A faster approximation of GELU, elementwise: x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|))."""

    def construct(self, x: TensorLike) -> Tensor:
        return ops.fast_gelu(x)


class SiLU(Cell):
    """x * sigmoid(x), elementwise."""

    def construct(self, x: TensorLike) -> Tensor:
        return ops.silu(x)


class Mish(Cell):
    """x * tanh(log(1 + exp(x))), elementwise."""

    def construct(self, input_x: TensorLike) -> Tensor:
        return ops.mish(input_x)


class HSigmoid(Cell):
    """max(0, min(1, (x + 3) / 6)), elementwise."""

    def construct(self, input: TensorLike) -> Tensor:
        return ops.hardsigmoid(input)


class HSwish(Cell):
    """x * hsigmoid(x), elementwise."""

    def construct(self, input: TensorLike) -> Tensor:
        return ops.hardswish(input)


class GLU(Cell):
    """a * sigmoid(b), where a and b are the two halves of the input along an axis.

    Args:
        axis (int): the axis, of an even size. Default: -1.
    """

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: TensorLike) -> Tensor:
        return gated.glu(x, self.axis)


class ELU(Cell):
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    Args:
        alpha (float): MindSpore's operator takes 1.0 only. Default: 1.0.
    """

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: TensorLike) -> Tensor:
        return ops.elu(x, self.alpha)


class CELU(Cell):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), elementwise.

    Args:
        alpha (float): Default: 1.0.
    """

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: TensorLike) -> Tensor:
        return ops.celu(x, self.alpha)


class SeLU(Cell):
    """scale * x where positive, scale * alpha * (exp(x) - 1) elsewhere, with the scale and alpha that preserve the variance."""

    def construct(self, input_x: TensorLike) -> Tensor:
        return ops.selu(input_x)


class LeakyReLU(Cell):
    """x where positive, alpha * x elsewhere.

    Args:
        alpha (float): the slope for negative values. Default: 0.2.

    Example:
        >>> print(nn.LeakyReLU()(Tensor([-1.0, 2.0])))
        [-0.2  2. ]
    """

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.leaky_relu(x, self.alpha)


class RReLU(Cell):
    """x where positive, a random slope from [lower, upper] times x elsewhere.

    Args:
        lower (int or float): Default: 1/8.
        upper (int or float): Default: 1/3.

    Raises:
        TypeError: a limit is not a number.
        ValueError: `lower` is above `upper`.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3):
        super().__init__()
        self.lower: Any = check_number(lower, "lower", "RReLU")
        self.upper: Any = check_number(upper, "upper", "RReLU")
        check_order(lower, upper, ("lower", "upper"), "RReLU", equal=True)

    def construct(self, x: TensorLike) -> Tensor:
        return ops.rrelu(x, self.lower, self.upper)


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


class HShrink(Cell):
    """x where |x| > lambd, 0 elsewhere.

    Args:
        lambd (float): Default: 0.5.
    """

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd: Any = check_number(lambd, "lambd", "HShrink")

    def construct(self, input: TensorLike) -> Tensor:
        return ops.hardshrink(input, self.lambd)


class SoftShrink(Cell):
    """x moved towards 0 by `lambd`, and 0 where |x| <= lambd.

    Args:
        lambd (float): not negative. Default: 0.5.
    """

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd: Any = check_number(lambd, "lambd", "SoftShrink")

    def construct(self, input: TensorLike) -> Tensor:
        return ops.softshrink(input, self.lambd)


class Threshold(Cell):
    """x where x > threshold, `value` elsewhere.

    Args:
        threshold (int or float): the threshold.
        value (int or float): the replacement of smaller elements.
    """

    def __init__(self, threshold: float, value: float):
        super().__init__()
        self.threshold = threshold
        self.value = value

    def construct(self, input_x: TensorLike) -> Tensor:
        return ops.threshold(input_x, self.threshold, self.value)


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
