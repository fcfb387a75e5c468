"""Convolution layers."""

from __future__ import annotations

import math

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializer import HeUniform, Uniform, initializer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import InitLike
from msjax.core.base.checks import check_bool, check_kind, check_positive_int, check_rank, check_str, check_value
from msjax.core.base.errors import describe
from msjax.core.base.typing import Axes
from msjax.engine.autograd.op import apply
from msjax.nn.function_layer import OfAxes, PrimitiveAttribute
from msjax.ops.function.nn_func.convolution import conv_pads, grown_pads, transposed_layout
from msjax.ops.function.nn_func.convolution_kernels import CONV, CONV_1D, CONV_TRANSPOSE, CONV_TRANSPOSE_1D
from msjax.ops.function.nn_func.sliding import n_ints
from msjax.ops.operations import nn_ops

__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"]


_FORMATS = {1: "NCHW", 2: "NCHW", 3: "NCDHW"}


def _spatial(value, n, name, who):
    """Check a size: a positive int, or n of them."""
    check_kind(value, n != 1 or (isinstance(value, int) and not isinstance(value, bool)), "be an int", name, who)
    if isinstance(value, (tuple, list)) and len(value) != n:
        raise (ValueError if n == 3 else TypeError)(
            f"For '{who}', '{name}' should be an int or {n} ints, but got {describe(value)}."
        )
    return n_ints(value, n, name, who)


def _primitive(operator_class):
    """The operator of a layer, as an attribute; a transposed convolution's is called by the channels of its input."""

    def make(cell):
        known = {
            "out_channel": cell.in_channels if cell.transposed else cell.out_channels,
            "kernel_size": cell.kernel_size,
            "pad_mode": cell.pad_mode,
            "pad": (0, 0, cell.padding[2], cell.padding[3]) if cell.axes == 1 else cell.padding,
            "stride": cell.stride,
            "dilation": cell.dilation,
            "group": cell.group,
            "data_format": cell.data_format,
        }
        if cell.transposed and cell.axes == 3:
            known |= {"in_channel": cell.in_channels, "out_channel": cell.out_channels, "output_padding": cell.output_padding}
        return operator_class(**known)

    return PrimitiveAttribute(make)


class _Conv(OfAxes):
    """Base of 1-D, 2-D and 3-D convolutions; subclasses set `transposed`."""

    transposed = False
    bias_add: PrimitiveAttribute = PrimitiveAttribute(lambda cell: nn_ops.BiasAdd(cell.data_format))

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
        bias_init, data_format, dtype, output_padding: Axes = 0,
    ):  # fmt: skip
        super().__init__()
        who, n = type(self).__name__, self.axes
        self.in_channels: int = check_positive_int(in_channels, "in_channels", who)
        self.out_channels: int = check_positive_int(out_channels, "out_channels", who)
        self.group: int = check_positive_int(group, "group", who)
        self._kernel = _spatial(kernel_size, n, "kernel_size", who)
        self._strides = _spatial(stride, n, "stride", who)
        self._dilations = _spatial(dilation, n, "dilation", who)
        self._extra = n_ints(output_padding, n, "output_padding", who, lowest=0)
        # As in MindSpore, a 1-D convolution is stored and shown as a 2-D one with a first axis of size 1.
        lead = (1,) if n == 1 else ()
        self.kernel_size = lead + self._kernel
        self.stride = lead + self._strides
        self.dilation = lead + self._dilations
        self.data_format: str = check_value(data_format, data_format == _FORMATS[n], f"be '{_FORMATS[n]}'", "data_format", who)
        check_kind(padding, n != 1 or (isinstance(padding, int) and not isinstance(padding, bool)), "be an int", "padding", who)
        fits = not isinstance(padding, (tuple, list)) or len(padding) == 2 * n
        check_value(padding, fits, f"be an int or {2 * n} ints", "padding", who)
        check_str(pad_mode, "pad_mode", who)
        self._padding = padding
        self._pads = conv_pads(pad_mode, padding, n, who)
        check_value(pad_mode, not any(self._extra) or pad_mode == "pad", "be 'pad' with an 'output_padding'", "pad_mode", who)
        grown_pads(((0, 0),) * n, self._strides, self._dilations, self._extra, who)
        self.pad_mode = pad_mode
        self.padding = (0, 0, padding, padding) if n == 1 else padding
        self.output_padding: Axes = output_padding
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{who}', 'group' should divide 'in_channels' and 'out_channels', but got group {group}, "
                f"in_channels {in_channels} and out_channels {out_channels}."
            )
        self.has_bias: bool = check_bool(has_bias, "has_bias", who)
        self._make_parameters(weight_init, bias_init, dtype, who)

    def _make_parameters(self, weight_init, bias_init, dtype, who):
        ins, outs = (self.in_channels, self.out_channels)[:: -1 if self.transposed else 1]
        shape = (outs, ins // self.group, *self.kernel_size)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        elif self.axes == 1 and isinstance(weight_init, Tensor):
            check_value(weight_init, weight_init.ndim == 3, f"be a Tensor of shape {shape[:2] + shape[3:]}", "weight_init", who)
            weight_init = weight_init.expand_dims(2)
        self.weight_init = weight_init
        self.weight: Parameter = Parameter(initializer(weight_init, shape, dtype), name="weight")
        if self.has_bias and bias_init is None:
            bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
        self.bias_init = bias_init
        self.bias = None
        if self.has_bias:
            self.bias = Parameter(initializer(bias_init, (self.out_channels,), dtype), name="bias")

    def construct(self, x):
        n = self.axes
        if not self.transposed:  # its kernel checks the shapes, once for each
            op = CONV_1D if n == 1 else CONV
            return apply(op, (x, self.weight, self.bias), (self._strides, self._pads, self._dilations, self.group))
        who = type(self).__name__
        check_rank(x, n + 2, "the input", who)
        # MindSpore extends a 2-D output with zeros, and a 3-D one with the convolution's own values.
        extra, tail = (self._extra, ()) if n == 3 else ((0,) * n, self._extra)
        layout = (self._strides, self.pad_mode, self._padding, self._dilations)
        pads, sizes = transposed_layout(x.shape[2:], self._kernel, *layout, extra, who)
        op = CONV_TRANSPOSE_1D if n == 1 else CONV_TRANSPOSE
        return apply(op, (x, self.weight, self.bias), (self._strides, pads, self._dilations, self.group, sizes, tail))

    def extend_repr(self):
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, "
            f"group={self.group}, has_bias={self.has_bias}, weight_init={self.weight_init}, bias_init={self.bias_init}, "
            f"format={self.data_format}"
        )


class _Conv1d(_Conv, axes=1):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, pad_mode: str = "same",
        padding: int = 0, dilation: int = 1, group: int = 1, has_bias: bool = False, weight_init: InitLike | None = None,
        bias_init: InitLike | None = None, dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, "NCHW", dtype,
        )  # fmt: skip


class Conv1d(_Conv1d):
    """A 1-D convolution of inputs (N, C, L); see `Conv2d` for the other arguments.

    Args:
        kernel_size, stride, dilation (int): of the one axis.
        padding (int): with the pad_mode "pad", at both sides.
        weight_init: an Initializer, its name, a number or a Tensor (out_channels, in_channels / group, kernel_size); the weight itself
            has shape (out_channels, in_channels / group, 1, kernel_size).

    Inputs:
        - **x** (Tensor) - of shape (N, in_channels, L).

    Outputs:
        Tensor, of shape (N, out_channels, L').

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.

    Example:
        >>> nn.Conv1d(3, 8, 3)(ops.ones((1, 3, 5))).shape
        (1, 8, 5)
    """

    conv2d: PrimitiveAttribute = _primitive(nn_ops.Conv2D)


class Conv2d(_Conv):
    """A 2-D convolution of inputs (N, C, H, W).

    Args:
        in_channels (int): channels of the input.
        out_channels (int): channels of the output.
        kernel_size (int or tuple): (height, width) of the kernel.
        stride (int or tuple): Default: 1.
        pad_mode (str): "same" (the default: the output has size ceil(size / stride)), "valid" (no padding) or "pad".
        padding (int or tuple): with "pad", one int or (top, bottom, left, right).
        dilation (int or tuple): the distance of neighbouring elements in a window. Default: 1.
        group (int): channels are convolved in so many groups. Default: 1.
        has_bias (bool): Default: False.
        weight_init, bias_init: an Initializer, its name, a number or a Tensor; the weight has shape (out_channels,
            in_channels / group, height, width). By default uniform, scaled by the inputs of one output.
        data_format (str): "NCHW".
        dtype (ms.dtype): of the Parameters. Default: ms.float32.

    Inputs:
        - **x** (Tensor) - of shape (N, in_channels, H, W).

    Outputs:
        Tensor, of shape (N, out_channels, H', W').

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
        RuntimeError: the input has other channels.

    Example:
        >>> nn.Conv2d(3, 8, 3)(ops.ones((1, 3, 5, 5))).shape
        (1, 8, 5, 5)
    """

    conv2d: PrimitiveAttribute = _primitive(nn_ops.Conv2D)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, group: int = 1,
        has_bias: bool = False, weight_init: InitLike | None = None, bias_init: InitLike | None = None,
        data_format: str = "NCHW", dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, data_format, dtype,
        )  # fmt: skip


class Conv3d(_Conv, axes=3):
    """A 3-D convolution of inputs (N, C, D, H, W); see `Conv2d` for the arguments.

    Args:
        kernel_size, stride, dilation (int or tuple): for all axes, or (depth, height, width).
        padding (int or tuple): with pad_mode "pad", one int or (front, back, top, bottom, left, right).
        data_format (str): "NCDHW".

    Example:
        >>> nn.Conv3d(3, 8, 3)(ops.ones((1, 3, 4, 5, 5))).shape
        (1, 8, 4, 5, 5)
    """

    conv3d: PrimitiveAttribute = _primitive(nn_ops.Conv3D)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, group: int = 1,
        has_bias: bool = False, weight_init: InitLike | None = None, bias_init: InitLike | None = None,
        data_format: str = "NCDHW", dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, data_format, dtype,
        )  # fmt: skip


class Conv1dTranspose(_Conv1d):
    """The transpose of a 1-D convolution, as its gradient computes it, of inputs (N, C, L).

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, group, has_bias, weight_init, bias_init,
            dtype: as of `Conv1d`; the weight has shape (in_channels, out_channels / group, 1, kernel_size).
        pad_mode (str): "same" (the default: the output has size L * stride), "valid" or "pad".

    Example:
        >>> nn.Conv1dTranspose(3, 8, 3, stride=2)(ops.ones((1, 3, 5))).shape
        (1, 8, 10)
    """

    transposed = True
    conv2d_transpose: PrimitiveAttribute = _primitive(nn_ops.Conv2DBackpropInput)


class Conv2dTranspose(_Conv):
    """The transpose of a 2-D convolution, as its gradient computes it, of inputs (N, C, H, W).

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, group, has_bias, weight_init, bias_init,
            dtype: as of `Conv2d`; the weight has shape (in_channels, out_channels / group, height, width).
        pad_mode (str): "same" (the default: the output has size H * stride), "valid" or "pad".
        output_padding (int or tuple): with "pad", how many zeros are appended to height and width. Default: 0.

    Example:
        >>> nn.Conv2dTranspose(3, 8, 3, stride=2)(ops.ones((1, 3, 5, 5))).shape
        (1, 8, 10, 10)
    """

    transposed = True
    conv2d_transpose: PrimitiveAttribute = _primitive(nn_ops.Conv2DTranspose)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1, group: int = 1, has_bias: bool = False, weight_init: InitLike | None = None,
        bias_init: InitLike | None = None, dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, "NCHW", dtype, output_padding,
        )  # fmt: skip


class Conv3dTranspose(_Conv, axes=3):
    """The transpose of a 3-D convolution, as its gradient computes it, of inputs (N, C, D, H, W).

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, group, has_bias, weight_init, bias_init,
            dtype: as of `Conv3d`; the weight has shape (in_channels, out_channels / group, depth, height, width).
        pad_mode (str): "same" (the default: the output has size D * stride), "valid" or "pad".
        output_padding (int or tuple): with "pad", how much larger the output is. Default: 0.

    Example:
        >>> nn.Conv3dTranspose(3, 8, 3, stride=2)(ops.ones((1, 3, 2, 2, 2))).shape
        (1, 8, 4, 4, 4)
    """

    transposed = True
    conv3d_transpose: PrimitiveAttribute = _primitive(nn_ops.Conv3DTranspose)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, group: int = 1,
        output_padding: int | tuple[int, ...] = 0, has_bias: bool = False, weight_init: InitLike | None = None,
        bias_init: InitLike | None = None, data_format: str = "NCDHW", dtype: Type = mstype.float32,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, data_format, dtype, output_padding,
        )  # fmt: skip
