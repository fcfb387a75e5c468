"""Densely connected layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import HeUniform, Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import InitLike
from msjax.core.base.checks import check_bool, check_kind, check_positive_int, check_shape, check_type
from msjax.engine.autograd.op import apply
from msjax.nn.cell.base import Cell
from msjax.nn.layer.activation import get_activation
from msjax.ops.function.linalg_func import linear

__all__ = ["BiDense", "Dense", "Linear"]


class Dense(Cell):
    """A fully connected layer: activation(x @ weight.T + bias).

    Args:
        in_channels (int): the size of the last axis of the input.
        out_channels (int): the size of the last axis of the output.
        weight_init: an Initializer, its name, a number or a Tensor of shape (out_channels, in_channels). By default
            uniform, scaled by the inputs.
        bias_init: likewise, of shape (out_channels,).
        has_bias (bool): whether there is a bias. Default: True.
        activation (str, Cell or Primitive, optional): applied to the result.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (*, in_channels).

    Outputs:
        Tensor, of shape (*, out_channels).

    Raises:
        TypeError: a size is not an int, `has_bias` no bool, or `activation` of a wrong type.
        ValueError: a size is not positive, or a Tensor given for a Parameter has another shape.

    Example:
        >>> fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        >>> print(fc(Tensor([[1.0, 2.0, 3.0]])))
        [[6. 6.]]
    """

    # MindSpore's layer has these operators as attributes; subclasses that override construct use them.
    matmul = ops.MatMul(transpose_b=True)
    bias_add = ops.BiasAdd()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: InitLike | None = None,
        bias_init: InitLike | None = None,
        has_bias: bool = True,
        activation: str | Cell | Callable[..., Any] | None = None,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        self.in_channels: int = check_positive_int(in_channels, "in_channels", "Dense")
        self.out_channels: int = check_positive_int(out_channels, "out_channels", "Dense")
        self.has_bias: bool = check_bool(has_bias, "has_bias", "Dense")
        self.weight, self.bias = _weights(
            "Dense", (out_channels, in_channels), in_channels, weight_init, bias_init, has_bias, dtype
        )
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        fits = self.activation is None or callable(self.activation)
        check_kind(activation, fits, "be a name, Cell or Primitive", "activation", "Dense")
        self.activation_flag: bool = self.activation is not None

    def construct(self, x: Tensor) -> Tensor:
        x = apply(linear.dense.op, (x, self.weight, self.bias))
        return self.activation(x) if self.activation_flag else x  # pyright: ignore[reportOptionalCall]

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        if self.activation_flag:
            text += f", activation={self.activation}"
        return text


def _weights(who, shape, fan_in, weight_init, bias_init, has_bias, dtype):
    """The weight and the bias, or None, of a fully connected layer."""
    if isinstance(weight_init, Tensor):
        check_shape(weight_init, shape, "weight_init", who)
    weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
    weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
    if not has_bias:
        return weight, None
    if isinstance(bias_init, Tensor):
        check_shape(bias_init, shape[:1], "bias_init", who)
    bias_init = Uniform(1 / math.sqrt(fan_in)) if bias_init is None else bias_init
    return weight, Parameter(initializer(bias_init, shape[:1], dtype), name="bias")


class Linear(Cell):
    """A fully connected layer: x @ weight.T + bias; `Dense` with the argument names of mint; also `mint.nn.Linear`.

    Args:
        in_features (int): the size of the last axis of the input.
        out_features (int): the size of the last axis of the output.
        bias (bool): whether there is a bias. Default: True.
        weight_init, bias_init: as in `Dense`.
        dtype (ms.dtype, optional): of the Parameters. Default: None, for ms.float32.

    Inputs, Outputs:
        As in `Dense`.

    Example:
        >>> print(nn.Linear(3, 2, weight_init="ones", bias_init="zeros")(Tensor([[1.0, 2.0, 3.0]])))
        [[6. 6.]]
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: InitLike | None = None,
        bias_init: InitLike | None = None,
        dtype: Type | None = None,
    ):
        super().__init__()
        self.in_features: int = check_positive_int(in_features, "in_features", "Linear")
        self.out_features: int = check_positive_int(out_features, "out_features", "Linear")
        self.has_bias: bool = check_bool(bias, "bias", "Linear")
        dtype = mstype.float32 if dtype is None else dtype
        self.weight, self.bias = _weights("Linear", (out_features, in_features), in_features, weight_init, bias_init, bias, dtype)

    def construct(self, x: Tensor) -> Tensor:
        return apply(linear.dense.op, (x, self.weight, self.bias))

    def extend_repr(self) -> str:
        text = f"input_features={self.in_features}, output_features={self.out_features}"
        return text + (f", has_bias={self.has_bias}" if self.has_bias else "")


class BiDense(Cell):
    """A bilinear layer: output k is x1 @ weight[k] @ x2 + bias[k].

    Args:
        in1_channels (int): the size of the last axis of the first input.
        in2_channels (int): that of the second.
        out_channels (int): that of the output.
        weight_init: an Initializer, its name, a number or a Tensor of shape (out_channels, in1_channels, in2_channels).
            By default uniform in +-1/sqrt(in1_channels).
        bias_init, has_bias, dtype: as in `Dense`.

    Inputs:
        - **input1** (Tensor) - of shape (*, in1_channels).
        - **input2** (Tensor) - of shape (*, in2_channels).

    Outputs:
        Tensor, of shape (*, out_channels).

    Raises:
        TypeError: a size is not an int, `has_bias` no bool, or an input no Tensor.
        ValueError: a size is not positive, or shapes don't fit.

    Example:
        >>> net = nn.BiDense(2, 3, 1, weight_init="ones", bias_init="zeros")
        >>> print(net(ops.ones((1, 2), float32), ops.ones((1, 3), float32)))
        [[6.]]
    """

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: InitLike | None = None,
        bias_init: InitLike | None = None,
        has_bias: bool = True,
        dtype: Type = mstype.float32,
    ):
        super().__init__()
        self.in1_channels: int = check_positive_int(in1_channels, "in1_channels", "BiDense")
        self.in2_channels: int = check_positive_int(in2_channels, "in2_channels", "BiDense")
        self.out_channels: int = check_positive_int(out_channels, "out_channels", "BiDense")
        self.has_bias: bool = check_bool(has_bias, "has_bias", "BiDense")
        bound = 1 / math.sqrt(in1_channels)
        shape = (out_channels, in1_channels, in2_channels)
        weight_init = Uniform(bound) if weight_init is None else weight_init
        self.weight, self.bias = _weights("BiDense", shape, in1_channels, weight_init, bias_init, has_bias, dtype)

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        for x, name, size in ((input1, "input1", self.in1_channels), (input2, "input2", self.in2_channels)):
            check_type(x, Tensor, name, "BiDense")
            if x.ndim == 0 or x.shape[-1] != size:
                raise ValueError(f"For 'BiDense', the last axis of '{name}' should have size {size}, but its shape is {x.shape}.")
        if input1.shape[:-1] != input2.shape[:-1]:
            raise ValueError(
                f"For 'BiDense', the inputs should agree in all axes but the last, but have shapes {input1.shape} and {input2.shape}."
            )
        return linear.bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self) -> str:
        text = f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, output_channels={self.out_channels}"
        return text + (f", has_bias={self.has_bias}" if self.has_bias else "")
