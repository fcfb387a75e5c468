"""Normalization layers without moving statistics."""

from __future__ import annotations

from collections.abc import Sequence

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import InitLike, TensorLike
from msjax.core.base.checks import check_bool, check_kind, check_number, check_positive_int, check_value
from msjax.engine.autograd.op import apply
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import OfInputX, PrimitiveAttribute
from msjax.ops.function.nn_func import local_response, normalization as ops
from msjax.ops.operations import nn_ops

__all__ = ["GroupNorm", "LRN", "LayerNorm", "LayerNormExt"]


class LayerNorm(Cell):
    """Normalization over the last axes.

    Args:
        normalized_shape (tuple or list): the shape of gamma and beta.
        begin_norm_axis (int): the first axis to normalize. Default: -1.
        begin_params_axis (int): the first axis of gamma and beta. Default: -1.
        gamma_init, beta_init: initializers, names, numbers or Tensors.
        epsilon (float): added to the variance. Default: 1e-7.
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - whose shape from axis `begin_params_axis` on is `normalized_shape`.

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError: `normalized_shape` is not a tuple or list.
        ValueError: it is empty, or doesn't fit the input.

    Example:
        >>> print(nn.LayerNorm((2,), epsilon=0.0)(Tensor([[1.0, 3.0]])))
        [[-1.  1.]]
    """

    layer_norm: PrimitiveAttribute = PrimitiveAttribute(
        lambda cell: nn_ops.LayerNorm(cell.begin_norm_axis, cell.begin_params_axis, cell.epsilon)
    )

    def __init__(
        self, normalized_shape: Sequence[int], begin_norm_axis: int = -1, begin_params_axis: int = -1,
        gamma_init: InitLike = "ones", beta_init: InitLike = "zeros", epsilon: float = 1e-7, dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__()
        fits = isinstance(normalized_shape, (tuple, list))
        check_kind(normalized_shape, fits, "be a tuple or list", "normalized_shape", "LayerNorm")
        check_value(normalized_shape, normalized_shape, "not be empty", "normalized_shape", "LayerNorm")
        self.normalized_shape: tuple[int, ...] = tuple(normalized_shape)
        self.begin_norm_axis = begin_norm_axis
        self.begin_params_axis = begin_params_axis
        self.epsilon = epsilon
        self.gamma: Parameter = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta: Parameter = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")

    def construct(self, input_x: Tensor) -> Tensor:
        operands = (input_x, self.gamma, self.beta, float(self.epsilon))
        return apply(ops.LAYER_NORM, operands, (self.begin_norm_axis, self.begin_params_axis))

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma}, beta={self.beta}"
        )


class LayerNormExt(Cell):
    """Normalization over the last axes, with the parameters `weight` and `bias`.

    Args:
        normalized_shape (int, tuple or list): the shape of the last axes.
        eps (float): added to the variance. Default: 1e-5.
        elementwise_affine (bool): whether there are weight and bias. Default: True.
        bias (bool): whether there is a bias. Default: True.
        dtype (ms.dtype, optional): of the Parameters. Default: ms.float32.
    """

    _in_repr = ("normalized_shape", "eps", "elementwise_affine")

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Type | None = None,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        fits = isinstance(shape, (tuple, list))
        check_kind(normalized_shape, fits, "be an int, tuple or list", "normalized_shape", type(self).__name__)
        self.normalized_shape: tuple[int, ...] = tuple(shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = self.bias = None
        dtype = dtype or mstype.float32
        if elementwise_affine:
            self.weight = Parameter(initializer("ones", self.normalized_shape, dtype), name="weight")
            if bias:
                self.bias = Parameter(initializer("zeros", self.normalized_shape, dtype), name="bias")

    def construct(self, input: TensorLike) -> Tensor:
        return ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(Cell):
    """Normalization over groups of channels.

    Args:
        num_groups (int): how many groups; has to divide `num_channels`.
        num_channels (int): the channels C.
        eps (float): added to the variance. Default: 1e-5.
        affine (bool): whether gamma and beta are trained. Default: True.
        gamma_init, beta_init: initializers, names, numbers or Tensors (C,).
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (N, C, ...).

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value, or an input with other channels.

    Example:
        >>> nn.GroupNorm(2, 4)(ops.ones((1, 4, 3, 3))).shape
        (1, 4, 3, 3)
    """

    _in_repr = ("num_groups", "num_channels")

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, gamma_init: InitLike = "ones",
        beta_init: InitLike = "zeros", dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__()
        self.num_groups: int = check_positive_int(num_groups, "num_groups", "GroupNorm")
        self.num_channels: int = check_positive_int(num_channels, "num_channels", "GroupNorm")
        fits = not num_channels % num_groups
        check_value(num_groups, fits, f"divide 'num_channels', {num_channels}", "num_groups", "GroupNorm")
        self.eps: float = check_number(eps, "eps", "GroupNorm")
        check_bool(affine, "affine", "GroupNorm")
        self.gamma: Parameter = Parameter(initializer(gamma_init, num_channels, dtype), name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(initializer(beta_init, num_channels, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        fits = x.ndim >= 2 and x.shape[1] == self.num_channels
        check_value(x, fits, f"have {self.num_channels} channels (axis 1)", "the input", "GroupNorm")
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)


class LRN(OfInputX, of=local_response.lrn):
    depth_radius: int = 5
    bias: float = 1.0
    alpha: float = 1.0
    beta: float = 0.5
    norm_region: str = "ACROSS_CHANNELS"

    def _check_settings(self) -> None:
        local_response.check_lrn(*self._values(), "LRN")
