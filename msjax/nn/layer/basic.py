"""Basic layers: Dense and its kin, Flatten, Identity, OneHot and the like."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from msjax import ops
from msjax.autograd.op import apply
from msjax.checks import check_bool, check_positive_int, check_type
from msjax.common import dtype as mstype
from msjax.common.initializer import HeUniform, Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.nn.cell.base import Cell
from msjax.nn.layer.activation import get_activation
from msjax.nn.layer.checks import check_init_shape, check_tensor
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func import arrange
from msjax.ops.function.linalg_func import layers
from msjax.typing import InitLike

if TYPE_CHECKING:
    from msjax.common.dtype import Type


__all__ = ["BiDense", "Dense", "Flatten", "Identity", "L1Regularizer", "Linear", "Norm", "OneHot", "Roll", "Unflatten"]


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
        TypeError: a size is no int, `has_bias` no bool, or `activation` of a wrong type.
        ValueError: a size is not positive, or a Tensor given for a Parameter has another shape.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        >>> print(fc(ms.Tensor([[1.0, 2.0, 3.0]])))
        [[6. 6.]]
    """

    # What MindSpore's layer computes with; subclasses that define construct anew use them.
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
        self.in_channels = check_positive_int(in_channels, "in_channels", "Dense")
        self.out_channels = check_positive_int(out_channels, "out_channels", "Dense")
        self.has_bias = check_bool(has_bias, "has_bias", "Dense")
        self.weight, self.bias = _weights(
            "Dense", (out_channels, in_channels), in_channels, weight_init, bias_init, has_bias, dtype
        )
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise TypeError(f"For 'Dense', 'activation' should be a name, Cell or Primitive, but got {describe(activation)}.")
        self.activation_flag = self.activation is not None

    def construct(self, x: Tensor) -> Tensor:
        x = apply(layers.dense.op, (x, self.weight, self.bias))
        return self.activation(x) if self.activation_flag else x

    def extend_repr(self):
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        if self.activation_flag:
            text += f", activation={self.activation}"
        return text


def _weights(who, shape, fan_in, weight_init, bias_init, has_bias, dtype):
    """The weight and the bias, or None, of a fully connected layer."""
    weight_init = HeUniform(math.sqrt(5)) if weight_init is None else check_init_shape(weight_init, shape, "weight_init", who)
    weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
    if not has_bias:
        return weight, None
    out = shape[:1]
    bias_init = Uniform(1 / math.sqrt(fan_in)) if bias_init is None else check_init_shape(bias_init, out, "bias_init", who)
    return weight, Parameter(initializer(bias_init, out, dtype), name="bias")


class Linear(Cell):
    """A fully connected layer: x @ weight.T + bias; `Dense` with the argument names of `mint.nn.Linear`.

    Args:
        in_features (int): the size of the last axis of the input.
        out_features (int): the size of the last axis of the output.
        bias (bool): whether there is a bias. Default: True.
        weight_init, bias_init: as in `Dense`.
        dtype (ms.dtype, optional): of the Parameters. Default: None, for ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (*, in_features).

    Outputs:
        Tensor, of shape (*, out_features).

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.Linear(3, 2, weight_init="ones", bias_init="zeros")(ms.Tensor([[1.0, 2.0, 3.0]])))
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
        self.in_features = check_positive_int(in_features, "in_features", "Linear")
        self.out_features = check_positive_int(out_features, "out_features", "Linear")
        self.has_bias = check_bool(bias, "bias", "Linear")
        dtype = mstype.float32 if dtype is None else dtype
        self.weight, self.bias = _weights("Linear", (out_features, in_features), in_features, weight_init, bias_init, bias, dtype)

    def construct(self, x: Tensor) -> Tensor:
        return apply(layers.dense.op, (x, self.weight, self.bias))

    def extend_repr(self):
        text = f"input_features={self.in_features}, output_features={self.out_features}"
        return text + (f", has_bias={self.has_bias}" if self.has_bias else "")


@operator(4, name="BiDense")
def _bidense(x1, x2, weight, bias):
    out = jnp.einsum("...i,oij,...j->...o", x1, weight, x2)
    return out if bias is None else out + bias


class BiDense(Cell):
    """A bilinear layer: output k is x1 @ weight[k] @ x2 + bias[k].

    Args:
        in1_channels (int): the size of the last axis of the first input.
        in2_channels (int): that of the second.
        out_channels (int): that of the output.
        weight_init: an Initializer, its name, a number or a Tensor of shape (out_channels, in1_channels, in2_channels).
            By default uniform in +-1/sqrt(in1_channels).
        bias_init: likewise, of shape (out_channels,).
        has_bias (bool): whether there is a bias. Default: True.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **input1** (Tensor) - of shape (*, in1_channels).
        - **input2** (Tensor) - of shape (*, in2_channels).

    Outputs:
        Tensor, of shape (*, out_channels).

    Raises:
        TypeError: a size is no int, `has_bias` no bool, or an input no Tensor.
        ValueError: a size is not positive, or shapes don't fit.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> net = nn.BiDense(2, 3, 1, weight_init="ones", bias_init="zeros")
        >>> print(net(ops.ones((1, 2), ms.float32), ops.ones((1, 3), ms.float32)))
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
        self.in1_channels = check_positive_int(in1_channels, "in1_channels", "BiDense")
        self.in2_channels = check_positive_int(in2_channels, "in2_channels", "BiDense")
        self.out_channels = check_positive_int(out_channels, "out_channels", "BiDense")
        self.has_bias = check_bool(has_bias, "has_bias", "BiDense")
        bound = 1 / math.sqrt(in1_channels)
        shape = (out_channels, in1_channels, in2_channels)
        weight_init = Uniform(bound) if weight_init is None else weight_init
        self.weight, self.bias = _weights("BiDense", shape, in1_channels, weight_init, bias_init, has_bias, dtype)

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        for x, name, size in ((input1, "input1", self.in1_channels), (input2, "input2", self.in2_channels)):
            check_tensor(x, name, "BiDense")
            if x.ndim == 0 or x.shape[-1] != size:
                raise ValueError(f"For 'BiDense', the last axis of '{name}' should have size {size}, but its shape is {x.shape}.")
        if input1.shape[:-1] != input2.shape[:-1]:
            raise ValueError(
                f"For 'BiDense', the inputs should agree in all axes but the last, but have shapes {input1.shape} and {input2.shape}."
            )
        return _bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self):
        text = f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, output_channels={self.out_channels}"
        return text + (f", has_bias={self.has_bias}" if self.has_bias else "")


class Identity(Cell):
    """Returns its input.

    Args:
        args, kwargs: anything, without effect, so that the layer can stand for any other.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.Identity()(ms.Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        return input


class Flatten(Cell):
    """The axes from `start_dim` to `end_dim` as one; by default all but the first.

    Args:
        start_dim (int): the first axis. Default: 1.
        end_dim (int): the last axis. Default: -1.

    Inputs:
        - **x** (Tensor) - of any shape that has these axes.

    Outputs:
        Tensor.

    Raises:
        TypeError: an argument is no int, or the input is no Tensor.
        ValueError: the input lacks an axis, or `start_dim` comes after `end_dim`.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> nn.Flatten()(ops.ones((2, 3, 4), ms.float32)).shape
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim = check_type(start_dim, int, "start_dim", "Flatten")
        self.end_dim = check_type(end_dim, int, "end_dim", "Flatten")

    def construct(self, x: Tensor) -> Tensor:
        start, end = self.start_dim, self.end_dim
        n = max(check_tensor(x, "x", "Flatten").ndim, 1)
        if not (-n <= start < n and -n <= end < n):
            raise ValueError(f"For 'Flatten', axes {start} to {end} are out of range for an input of shape {x.shape}.")
        if start % n > end % n:
            raise ValueError(f"For 'Flatten', 'start_dim' should not come after 'end_dim', but they are {start} and {end}.")
        return arrange.flatten(x, start_dim=start, end_dim=end)


class Unflatten(Cell):
    """One axis as several; the opposite of `Flatten`.

    Args:
        axis (int): the axis.
        unflattened_size (tuple or list): the sizes that stand for it; one may be -1.

    Inputs:
        - **input_x** (Tensor) - of any shape that has the axis.

    Outputs:
        Tensor.

    Raises:
        TypeError: `axis` is no int, or `unflattened_size` no tuple or list.
        ValueError: the sizes don't fit.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> nn.Unflatten(1, (2, -1))(ops.ones((3, 8), ms.float32)).shape
        (3, 2, 4)
    """

    def __init__(self, axis: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.axis = check_type(axis, int, "axis", "Unflatten")
        self.unflattened_size = tuple(check_type(unflattened_size, (tuple, list), "unflattened_size", "Unflatten"))

    def construct(self, input_x: Tensor) -> Tensor:
        n = check_tensor(input_x, "input_x", "Unflatten").ndim
        if not -n <= self.axis < n:
            raise ValueError(f"For 'Unflatten', axis {self.axis} is out of range for an input of shape {input_x.shape}.")
        axis = self.axis % n
        shape = input_x.shape
        return arrange.reshape(input_x, shape[:axis] + self.unflattened_size + shape[axis + 1 :])


@operator(int_grad=True, name="Roll")
def _roll(x, shift, axis):
    return jnp.roll(x, shift, axis)


class Roll(Cell):
    """Elements moved along axes; what leaves at one end comes in at the other.

    Args:
        shift (int, tuple or list): by how many places; negative for towards the front.
        axis (int, tuple or list): along which axes, as many as there are shifts.

    Inputs:
        - **input_x** (Tensor) - of any shape that has the axes.

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError: a wrong type of `shift` or `axis`.
        ValueError: there are not as many axes as shifts.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.Roll(2, 0)(ms.Tensor([0, 1, 2, 3, 4])))
        [3 4 0 1 2]
    """

    def __init__(self, shift: int | Sequence[int], axis: int | Sequence[int]):
        super().__init__()
        check_type(shift, (int, tuple, list), "shift", "Roll")
        check_type(axis, (int, tuple, list), "axis", "Roll")
        self.shift = (shift,) if isinstance(shift, int) else tuple(shift)
        self.axis = (axis,) if isinstance(axis, int) else tuple(axis)
        if len(self.shift) != len(self.axis):
            raise ValueError(
                f"For 'Roll', there should be as many axes as shifts, but there are {len(self.shift)} shifts and {len(self.axis)} axes."
            )

    def construct(self, input_x: Tensor) -> Tensor:
        return _roll(input_x, self.shift, self.axis)


@operator(differentiable=False, name="OneHot")
def _one_hot(indices, axis, depth, on_value, off_value, dtype):
    dtype = mstype.to_jax(dtype)
    hot = jax.nn.one_hot(indices, depth, dtype=jnp.bool_, axis=axis)
    return jnp.where(hot, jnp.asarray(on_value, dtype), jnp.asarray(off_value, dtype))


class OneHot(Cell):
    """Numbers as vectors that are `on_value` at that place and `off_value` elsewhere.

    Args:
        axis (int): where the new axis is put; -1, the default, for the end.
        depth (int): the size of the new axis. Default: 1.
        on_value (float): Default: 1.0.
        off_value (float): Default: 0.0.
        dtype (ms.dtype): of the output. Default: ms.float32.

    Inputs:
        - **indices** (Tensor) - integers of any shape; those outside of [0, depth) give `off_value` throughout.

    Outputs:
        Tensor, with one more axis.

    Raises:
        TypeError: `axis` or `depth` is no int, or the indices are no integers.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.OneHot(depth=3)(ms.Tensor([0, 2])))
        [[1. 0. 0.]
         [0. 0. 1.]]
    """

    def __init__(
        self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0, dtype: Type = mstype.float32
    ):
        super().__init__()
        self.axis = check_type(axis, int, "axis", "OneHot")
        self.depth = check_type(depth, int, "depth", "OneHot")
        self.on_value = on_value
        self.off_value = off_value
        self.dtype = dtype

    def construct(self, indices: Tensor) -> Tensor:
        if not isinstance(indices, Tensor) or indices.dtype.kind not in "iu":
            raise TypeError(f"For 'OneHot', the indices should be a Tensor of integers, but got {describe(indices)}.")
        return _one_hot(indices, self.axis, self.depth, self.on_value, self.off_value, self.dtype)


@operator(name="Norm")
def _norm(x, axis, keep_dims):
    return jnp.sqrt(jnp.sum(jnp.square(x), axis or None, keepdims=keep_dims))


class Norm(Cell):
    """The square root of the sum of squares along axes.

    Args:
        axis (int or tuple): the axes; (), the default, for all.
        keep_dims (bool): whether the axes stay, with size 1. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.Norm(axis=0)(ms.Tensor([3.0, 4.0])))
        5.0
    """

    def __init__(self, axis: int | tuple[int, ...] = (), keep_dims: bool = False):
        super().__init__()
        self.axis = check_type(axis, (int, tuple, list), "axis", "Norm")
        self.keep_dims = check_bool(keep_dims, "keep_dims", "Norm")

    def construct(self, x: Tensor) -> Tensor:
        return _norm(x, (self.axis,) if isinstance(self.axis, int) else tuple(self.axis), self.keep_dims)

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


@operator(name="L1Regularizer")
def _l1(weights, scale):
    return scale * jnp.sum(jnp.abs(weights.astype(jnp.promote_types(weights.dtype, jnp.float32))))


class L1Regularizer(Cell):
    """The sum of absolute values, times a scale.

    Args:
        scale (int or float): positive and finite.

    Raises:
        TypeError: `scale` is no number.
        ValueError: it is not positive or not finite.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.L1Regularizer(0.5)(ms.Tensor([1.0, -3.0])))
        2.0
    """

    def __init__(self, scale: float):
        super().__init__()
        check_type(scale, (int, float), "scale", "L1Regularizer")
        if not scale > 0 or math.isinf(scale):
            raise ValueError(f"For 'L1Regularizer', 'scale' should be positive and finite, but got {scale}.")
        self.scale = scale

    def construct(self, weights: Tensor) -> Tensor:
        return _l1(weights, float(self.scale))
