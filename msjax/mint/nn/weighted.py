"""mint's layers with Parameters."""

from __future__ import annotations

import math
from typing import Any

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import HeUniform, Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_one_of, check_positive_int, check_value
from msjax.core.base.typing import Axes
from msjax.mint.nn import functional as F
from msjax.nn.cell.base import Cell
from msjax.nn.layer.activation import PReLUExt
from msjax.nn.layer.dense import Linear
from msjax.nn.layer.embedding import EmbeddingExt
from msjax.nn.layer.layer_norm import LayerNormExt
from msjax.ops.function.nn_func.pads import pad as _pad

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "Embedding", "GroupNorm",
    "LayerNorm", "Linear", "PReLU", "SyncBatchNorm",
]  # fmt: skip


def _type(dtype):
    return mstype.float32 if dtype is None else dtype


def _scale_and_shift(size, affine, dtype) -> tuple[Parameter | None, Parameter | None]:
    """A norm's weight and bias, or None for each."""
    if not affine:
        return None, None
    weight, bias = (initializer(init, (size,), _type(dtype)) for init in ("ones", "zeros"))
    return Parameter(weight, name="weight"), Parameter(bias, name="bias")


def _sizes(value, n, name, who):
    sizes = (value,) * n if isinstance(value, int) else tuple(value)
    check_value(value, len(sizes) == n and all(isinstance(s, int) and s >= 0 for s in sizes), f"be an int or {n} ints", name, who)
    return sizes


_PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class _Conv(Cell):
    """Base of convolutions; subclasses set `axes`."""

    axes = 2
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Axes, stride: Axes = 1, padding: Axes | str = 0, dilation: Axes = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Type | None = None,
    ):  # fmt: skip
        super().__init__()
        who, n = type(self).__name__, self.axes
        self.in_channels: int = check_positive_int(in_channels, "in_channels", who)
        self.out_channels: int = check_positive_int(out_channels, "out_channels", who)
        self.groups: int = check_positive_int(groups, "groups", who)
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"For '{who}', the channels {in_channels} and {out_channels} should be multiples of 'groups', {groups}."
            )
        check_one_of(padding_mode, _PADDING_MODES, "padding_mode", who)
        self.kernel_size = _sizes(kernel_size, n, "kernel_size", who)
        self.stride = _sizes(stride, n, "stride", who)
        self.padding: str | tuple[int, ...] = padding if isinstance(padding, str) else _sizes(padding, n, "padding", who)
        self.dilation = _sizes(dilation, n, "dilation", who)
        self.padding_mode: str = padding_mode
        pair = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        weight = initializer(HeUniform(math.sqrt(5)), (*pair, *self.kernel_size), _type(dtype))
        self.weight: Parameter = Parameter(weight, name="weight")
        self.bias: Parameter | None = None
        if bias:
            init = Uniform(1 / math.sqrt(pair[1] * math.prod(self.kernel_size)))
            self.bias = Parameter(initializer(init, (out_channels,), _type(dtype)), name="bias")

    def construct(self, input):
        padding = self.padding
        if self.padding_mode != "zeros" and not isinstance(padding, str):
            widths = [w for size in reversed(padding) for w in (size, size)]
            input, padding = _pad(input, tuple(widths), _PADDING_MODES[self.padding_mode]), 0
        function = (None, F.conv1d, F.conv2d, F.conv3d)[self.axes]
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)  # pyright: ignore[reportOptionalCall]

    def extend_repr(self):
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, dilation={self.dilation}, groups={self.groups}, "
            f"bias={self.bias is not None}"
        )


def _conv(n):
    doc = f"""A convolution over the last {n} axes.

    Args:
        in_channels, out_channels (int): the sizes of axis 1 before and after.
        kernel_size (int or tuple): of the window.
        stride, dilation (int or tuple): Default: 1.
        padding (int, tuple or str): added on both sides, or "same" or "valid". Default: 0.
        groups (int): Default: 1.
        bias (bool): whether there is a bias. Default: True.
        padding_mode (str): "zeros", "reflect", "replicate" or "circular". Default: "zeros".
        dtype (ms.dtype, optional): of the Parameters; Float32 by default.
    """
    return type(f"Conv{n}d", (_Conv,), {"axes": n, "__doc__": doc, "__module__": "msjax.mint.nn"})


Conv1d, Conv2d, Conv3d = _conv(1), _conv(2), _conv(3)


class ConvTranspose2d(_Conv):
    """The transpose of a convolution over the last two axes.

    Args:
        in_channels, out_channels, kernel_size, stride, dilation, groups, bias, dtype: as in `Conv2d`.
        padding, output_padding (int or tuple): what is cut off on both sides, and added at the end. Default: 0.
        padding_mode (str): only "zeros".
    """

    transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Axes,
        stride: Axes = 1,
        padding: Axes = 0,
        output_padding: Axes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Axes = 1,
        padding_mode: str = "zeros",
        dtype: Type | None = None,
    ):
        check_one_of(padding_mode, ("zeros",), "padding_mode", "ConvTranspose2d")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype)
        self.output_padding = _sizes(output_padding, 2, "output_padding", "ConvTranspose2d")

    def construct(self, input: TensorLike) -> Tensor:
        return ops.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class _BatchNorm(Cell):
    """Channels minus their mean, divided by their standard deviation, scaled and shifted.

    Args:
        num_features (int): the number of channels, the size of axis 1.
        eps (float): added to the variance. Default: 1e-5.
        momentum (float): the share of the new statistics in the running ones; None for their mean. Default: 0.1.
        affine (bool): whether there are a weight and a bias. Default: True.
        track_running_stats (bool): whether running statistics are kept. Default: True.
        dtype (ms.dtype, optional): of the Parameters; Float32 by default.
    """

    ndims = (2, 3)
    _in_repr = ("num_features", "eps", "momentum", "affine", "track_running_stats")

    def __init__(self, num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, dtype=None):
        super().__init__()
        self.num_features: int = check_positive_int(num_features, "num_features", type(self).__name__)
        self.eps, self.momentum = eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight, self.bias = _scale_and_shift(num_features, affine, dtype)
        self.running_mean = self.running_var = None
        if track_running_stats:
            shape, kind = (num_features,), _type(dtype)
            self.running_mean = Parameter(initializer("zeros", shape, kind), name="running_mean", requires_grad=False)
            self.running_var = Parameter(initializer("ones", shape, kind), name="running_var", requires_grad=False)
            self.num_batches_tracked: Parameter = Parameter(
                Tensor(0, mstype.int64), name="num_batches_tracked", requires_grad=False
            )

    def construct(self, input):
        check_value(input, input.ndim in self.ndims, f"have {self.ndims} axes", "the input", type(self).__name__)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            ops.assign_add(self.num_batches_tracked, 1)
            if momentum is None:
                momentum = 1.0 / self.num_batches_tracked.value().astype(mstype.float32)
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, self.training, momentum or 0.0, self.eps
        )


class BatchNorm1d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__


class BatchNorm2d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ndims = (4,)


class BatchNorm3d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    __doc__ = (
        _BatchNorm.__doc__ or ""
    ) + "        process_group: accepted for compatibility with MindSpore: jax's programs see the whole batch.\n"
    ndims = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: Any,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        dtype: Type | None = None,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)


class GroupNorm(Cell):
    """Groups of channels minus their mean, divided by their standard deviation, scaled and shifted.

    Args:
        num_groups, num_channels (int): how many.
        eps (float): added to the variance. Default: 1e-5.
        affine (bool): whether there are a weight and a bias. Default: True.
        dtype (ms.dtype, optional): of the Parameters; Float32 by default.
    """

    _in_repr = ("num_groups", "num_channels", "eps", "affine")

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, dtype: Type | None = None):
        super().__init__()
        self.num_groups: int = check_positive_int(num_groups, "num_groups", "GroupNorm")
        self.num_channels: int = check_positive_int(num_channels, "num_channels", "GroupNorm")
        if num_channels % num_groups:
            raise ValueError(f"For 'GroupNorm', {num_channels} channels can't be split into {num_groups} groups.")
        self.eps, self.affine = eps, affine
        self.weight, self.bias = _scale_and_shift(num_channels, affine, dtype)

    def construct(self, input: TensorLike) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LayerNorm(LayerNormExt):
    __doc__ = LayerNormExt.__doc__


class Embedding(EmbeddingExt):
    __doc__ = EmbeddingExt.__doc__


class PReLU(PReLUExt):
    __doc__ = PReLUExt.__doc__
