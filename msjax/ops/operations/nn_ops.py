"""Operator classes of neural networks: convolution, pooling, normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from msjax.autograd.op import apply
from msjax.base.errors import describe
from msjax.base.typing import Shape, TensorLike
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.nn_func import convolution, local_response, normalization, pooling, unpooling
from msjax.ops.function.nn_func.convolution import conv_pads
from msjax.ops.function.nn_func.convolution_kernels import CONV, CONV_TRANSPOSE
from msjax.ops.function.nn_func.sliding import n_ints, same_pads
from msjax.ops.primitive import REQUIRED, class_form, name_classes, operator_class

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


# ---- convolution


def _last(values, n, name, who):
    """n numbers from one, n or those of all axes of MindSpore's attributes."""
    values = freeze(values)
    if isinstance(values, tuple) and len(values) == n + 2:
        values = values[2:]
    return n_ints(values, n, name, who)


def _check_format(self, formats=("NCHW", "NCDHW")):
    if self.data_format not in formats:
        raise ValueError(f"For '{self.name}', 'data_format' should be {formats[0]!r}, but got {self.data_format!r}.")


def _pairs(self, n, *keys):
    """The attributes of these names, each as n ints."""
    return (_last(getattr(self, key), n, key, self.name) for key in keys)


def _convolve(self, n, x, weight):
    _check_format(self)
    stride, dilation = _pairs(self, n, "stride", "dilation")
    kernel = n_ints(self.kernel_size, n, "kernel_size", self.name)
    if weight.shape[0] != self.out_channel or weight.shape[2:] != kernel:
        raise RuntimeError(
            f"For '{self.name}', the weight should have {self.out_channel} output channels and a kernel of {kernel}, but its "
            f"shape is {weight.shape}."
        )
    if x.ndim != n + 2:
        raise ValueError(f"For '{self.name}', the input should have {n + 2} axes, but its shape is {x.shape}.")
    pads = conv_pads(self.pad_mode, self.pad, x.shape[2:], kernel, stride, dilation, self.name)
    return apply(CONV, (x, weight, None), (stride, pads, dilation, self.group))


_CONV = {"mode": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "group": 1}


@operator_class(out_channel=REQUIRED, kernel_size=REQUIRED, **_CONV, data_format="NCHW")
def Conv2D(self: PrimitiveSelf, x: Tensor, weight: Tensor) -> Tensor:
    """A 2-D convolution of (N, C, H, W) with a weight (out_channel, C / group, h, w); see `ops.conv2d`.

    Args:
        out_channel (int): the output's channels.
        kernel_size (int or tuple): of the weight.
        mode (int): accepted for compatibility with MindSpore, without effect.
        pad_mode (str): "valid" (the default), "same" or "pad".
        pad (int or tuple): with "pad", one int or (top, bottom, left, right).
        stride, dilation (int or tuple): Default: 1.
        group (int): Default: 1.
        data_format (str): "NCHW".

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> ops.Conv2D(4, 3)(ops.ones((1, 2, 5, 5)), ops.ones((4, 2, 3, 3))).shape
        (1, 4, 3, 3)
    """
    return _convolve(self, 2, x, weight)


@operator_class(out_channel=REQUIRED, kernel_size=REQUIRED, **_CONV, data_format="NCDHW")
def Conv3D(self: PrimitiveSelf, x: Tensor, weight: Tensor) -> Tensor:
    """A 3-D convolution of (N, C, D, H, W) with a weight (out_channel, C / group, d, h, w); see `Conv2D`."""
    return _convolve(self, 3, x, weight)


def _conv_backprop_input(self, dout: Tensor, weight: Tensor, input_size: Shape) -> Tensor:
    """The gradient of a 2-D convolution with respect to its input: of (dout, weight, input_size).

    Args:
        out_channel, kernel_size, pad_mode, pad, stride, dilation, group: those of the convolution.
        pad_list (tuple, optional): used instead of `pad`.
        mode (int): accepted for compatibility with MindSpore, without effect.
    """
    _check_format(self)
    sizes = freeze(input_size)
    stride, dilation = _pairs(self, 2, "stride", "dilation")
    pad = self.pad if self.pad_list is None else self.pad_list
    pads = conv_pads(self.pad_mode, pad, sizes[2:], weight.shape[2:], stride, dilation, self.name)
    return apply(CONV_TRANSPOSE, (dout, weight, None), (stride, pads, dilation, self.group, sizes[2:]))


Conv2DTranspose, Conv2DBackpropInput = (
    operator_class(
        out_channel=REQUIRED, kernel_size=REQUIRED, pad_mode="valid", pad=0, pad_list=None, mode=1,
        stride=1, dilation=1, group=1, data_format="NCHW",
    )(_conv_backprop_input)
    for _ in range(2)
)  # fmt: skip


@operator_class(in_channel=REQUIRED, out_channel=REQUIRED, kernel_size=REQUIRED, **_CONV, output_padding=0, data_format="NCDHW")
def Conv3DTranspose(self: PrimitiveSelf, dout: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """The transpose of a 3-D convolution; see `ops.conv3d_transpose`."""
    _check_format(self)
    if bias is not None:
        raise NotImplementedError("For 'Conv3DTranspose', a bias is not offered: add it with ops.bias_add.")
    stride, dilation = _pairs(self, 3, "stride", "dilation")
    return convolution.conv3d_transpose(dout, weight, self.pad_mode, self.pad, stride, dilation, self.group, self.output_padding)


@operator_class(data_format="NCHW")
def BiasAdd(self: PrimitiveSelf, input_x: TensorLike, bias: TensorLike) -> Tensor:
    """x + bias, with one number for each channel; see `ops.bias_add`."""
    axis = {"NCHW": 1, "NCDHW": 1, "NHWC": -1}.get(self.data_format)
    if axis is None:
        raise ValueError(f"For 'BiasAdd', 'data_format' should be 'NCHW', 'NHWC' or 'NCDHW', but got {self.data_format!r}.")
    return convolution._bias_add(input_x, bias, axis)


# ---- pooling

_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid"}


def _window(self, n, x, pad):
    """Kernel, strides and padding of a pooling operator, after checks."""
    _check_format(self)
    kernel, stride = _pairs(self, n, "kernel_size", "strides")
    mode = self.pad_mode.upper() if isinstance(self.pad_mode, str) else self.pad_mode
    if mode not in ("SAME", "VALID", "PAD"):
        raise ValueError(f"For '{self.name}', 'pad_mode' should be 'same', 'valid' or 'pad', but got {self.pad_mode!r}.")
    pooling.check_tensor(x, "x", (n + 2,), self.name)
    if mode == "SAME":
        return kernel, stride, same_pads(x.shape[2:], kernel, stride)
    return kernel, stride, conv_pads(mode.lower(), pad, x.shape[2:], kernel, stride, (1,) * n, self.name)


def _largest(self, n, x, pad=0, ceil_mode=None, indices=False):
    return pooling.max_pool(x, *_window(self, n, x, pad), (1,) * n, bool(ceil_mode), indices, self.name)


@operator_class(**_POOL, data_format="NCHW")
def MaxPool(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The largest value of each window of (N, C, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default) or "same".
        data_format (str): "NCHW".
    """
    return _largest(self, 2, x)


@operator_class(**_POOL | {"pad_mode": "VALID"}, pad_list=0, ceil_mode=None, data_format="NCDHW")
def MaxPool3D(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The largest value of each window of (N, C, D, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default), "same" or "pad" with the padding `pad_list`.
        ceil_mode (bool, optional): whether the last window may be incomplete. Default: None, for False.
        data_format (str): "NCDHW".
    """
    return _largest(self, 3, x, self.pad_list, self.ceil_mode)


@operator_class(**_POOL, data_format="NCHW")
def MaxPoolWithArgmax(self: PrimitiveSelf, x: Tensor) -> tuple[Tensor, Tensor]:
    """The largest value of each window of (N, C, H, W), and its number, which counts over channels, too, as Int32.

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default) or "same".
        data_format (str): "NCHW".
    """
    out, index = _largest(self, 2, x, indices=True)
    c, h, w = x.shape[1:]  # pyright: ignore[reportAssignmentType]
    return out, (index + Tensor(np.arange(c).reshape(1, c, 1, 1) * (h * w))).int()


@operator_class(**_POOL | {"pad_mode": "VALID"}, data_format="NCHW")
def AvgPool(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The mean of each window of (N, C, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default) or "same".
        data_format (str): "NCHW".
    """
    return pooling.avg_pool(x, *_window(self, 2, x, 0), False, self.pad_mode.upper() != "SAME", None, self.name)


@operator_class(**_POOL, pad=0, ceil_mode=False, count_include_pad=True, divisor_override=0, data_format="NCDHW")
def AvgPool3D(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The mean of each window of (N, C, D, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default), "same" or "pad" with the padding `pad`.
        ceil_mode (bool): whether the last window may be incomplete. Default: False.
        count_include_pad (bool): whether padding counts in the divisor. Default: True.
        divisor_override (int): the divisor, if not 0. Default: 0.
        data_format (str): "NCDHW".
    """
    window = _window(self, 3, x, self.pad)
    return pooling.avg_pool(x, *window, self.ceil_mode, self.count_include_pad, self.divisor_override or None, self.name)


@operator_class(kernel_size=REQUIRED, strides=None, pads=0, dilation=(1, 1), ceil_mode=False, argmax_type=mstype.int64)
def MaxPoolWithArgmaxV2(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, Tensor]:
    """The largest value of each window of (N, C, H, W), and its number; see `ops.max_pool2d`."""
    window = (self.kernel_size, self.strides, self.pads, self.dilation)
    out, index = pooling.max_pool2d(x, *window, return_indices=True, ceil_mode=self.ceil_mode)
    return out, index.astype(self.argmax_type)


@operator_class(
    ksize=REQUIRED, strides=REQUIRED, pads=REQUIRED, dilation=(1, 1, 1), ceil_mode=False,
    data_format="NCDHW", argmax_type=mstype.int64,
)  # fmt: skip
def MaxPool3DWithArgmax(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, Tensor]:
    """The largest value of each window of (N, C, D, H, W), and its number; see `ops.max_pool3d`."""
    window = (self.ksize, self.strides, self.pads, self.dilation)
    out, index = pooling.max_pool3d(x, *window, return_indices=True, ceil_mode=self.ceil_mode)
    return out, index.astype(self.argmax_type)


def _unpool(function, data_format):
    def call(self, x: Tensor, argmax: Tensor) -> Tensor:
        return function(x, argmax, self.ksize, self.strides or None, self.pads, self.output_shape or None)

    call.__doc__ = f"The inverse of max-pooling; see `ops.{function.__name__}`."
    return operator_class(ksize=REQUIRED, strides=0, pads=0, output_shape=(), data_format=data_format)(call)


MaxUnpool2D = _unpool(unpooling.max_unpool2d, "NCHW")
MaxUnpool3D = _unpool(unpooling.max_unpool3d, "NCDHW")
AdaptiveAvgPool2D = class_form(pooling.adaptive_avg_pool2d, output_size=REQUIRED)
AdaptiveAvgPool3D = class_form(pooling.adaptive_avg_pool3d, output_size=REQUIRED)


@operator_class(output_size=REQUIRED)
def AdaptiveMaxPool2D(self: PrimitiveSelf, input: Tensor) -> tuple[Tensor, Tensor]:
    """The maxima and their numbers; see `ops.adaptive_max_pool2d`."""
    if not isinstance(self.output_size, (tuple, list)):
        raise TypeError(f"For 'AdaptiveMaxPool2D', 'output_size' should be a tuple, but got {describe(self.output_size)}.")
    return pooling.adaptive_max_pool2d(input, self.output_size, True)


@operator_class()
def AdaptiveMaxPool3D(self: PrimitiveSelf, x: Tensor, output_size: Shape) -> tuple[Tensor, Tensor]:
    """The maxima and their numbers; see `ops.adaptive_max_pool3d`."""
    return pooling.adaptive_max_pool3d(x, output_size, True)


# ---- normalization

LRN = class_form(local_response.lrn, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS")


@operator_class(epsilon=1e-6)
def RmsNorm(self: PrimitiveSelf, x: TensorLike, gamma: TensorLike) -> tuple[Tensor, Tensor]:
    """x divided by its root mean square; see `ops.rms_norm`."""
    return normalization.rms_norm(x, gamma, float(self.epsilon))


@operator_class(is_training=False, epsilon=1e-5, momentum=0.1, data_format="NCHW")
def BatchNorm(
    self: PrimitiveSelf, input_x: TensorLike, scale: TensorLike, bias: TensorLike, mean: Tensor, variance: Tensor
) -> tuple[Tensor, ...]:
    """Batch normalization of (input, scale, bias, mean, variance).

    Returns a tuple of the output and, in training, of the new mean and variance and those of the batch; else of zeros.

    Args:
        is_training (bool): whether to use the batch's statistics and to move mean and variance towards them.
        epsilon (float): added to the variance. Default: 1e-5.
        momentum (float): the share of the batch in mean and variance. Default: 0.1.
        data_format (str): "NCHW".
    """
    if self.data_format != "NCHW":
        raise ValueError(f"For 'BatchNorm', 'data_format' should be 'NCHW', but got {self.data_format!r}.")
    training = bool(self.is_training)
    old = 1 - float(self.momentum)
    out = normalization.batch_norm_outputs(input_x, scale, bias, mean, variance, float(self.epsilon), old, 1 - old, training)
    if training:
        mean._value, variance._value = out[1]._value, out[2]._value
    return out


@operator_class(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)
def LayerNorm(self: PrimitiveSelf, input_x: TensorLike, gamma: TensorLike, beta: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
    """Normalization over the last axes of (input, gamma, beta); returns the output, the mean and the variance.

    Args:
        begin_norm_axis, begin_params_axis (int): the first axis to normalize, and that of gamma and beta. Default: 1.
        epsilon (float): added to the variance. Default: 1e-7.
    """
    axes = (self.begin_norm_axis, self.begin_params_axis)
    return normalization.layer_norm_outputs(input_x, gamma, beta, *axes, float(self.epsilon))


name_classes(globals())
