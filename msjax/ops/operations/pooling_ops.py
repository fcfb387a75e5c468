"""Operator classes of pooling."""

from __future__ import annotations

import numpy as np

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, Shape, TensorLike
from msjax.core.base.checks import check_kind, check_value
from msjax.core.base.typing import Axes
from msjax.ops.function.nn_func import pooling
from msjax.ops.function.nn_func.convolution import conv_pads
from msjax.ops.operations.nn_ops import attributes_of, check_format
from msjax.ops.primitive import Form, OfInput

__all__ = [
    "MaxPool", "MaxPool3D", "MaxPoolWithArgmax", "AvgPool", "AvgPool3D", "MaxPoolWithArgmaxV2", "MaxPool3DWithArgmax",
    "MaxUnpool2D", "MaxUnpool3D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D",
]  # fmt: skip


def _window(self, n, x, pad):
    """Kernel, strides and padding of a pooling operator, after checks."""
    check_format(self)
    kernel, stride = attributes_of(self, n, "kernel_size", "strides")
    mode = self.pad_mode.upper() if isinstance(self.pad_mode, str) else self.pad_mode
    check_value(self.pad_mode, mode in ("SAME", "VALID", "PAD"), "be 'same', 'valid' or 'pad'", "pad_mode", self.name)
    pooling.check_tensor(x, "x", (n + 2,), self.name)
    return kernel, stride, "same" if mode == "SAME" else conv_pads(mode, pad, n, self.name)


def _largest(self, n, x, pad=0, ceil_mode=None, indices=False):
    return pooling.max_pool(x, *_window(self, n, x, pad), (1,) * n, bool(ceil_mode), indices)


class _Pool(Form):
    """The base of pooling over (N, C, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default) or "same".
        data_format (str): "NCHW".
    """

    kernel_size: Axes = 1
    strides: Axes = 1
    pad_mode: str = "valid"
    data_format: str = "NCHW"


class MaxPool(_Pool):
    """The largest value of each window of (N, C, H, W)."""

    def __call__(self, x: Tensor) -> Tensor:
        return _largest(self, 2, x)


class MaxPool3D(Form):
    """The largest value of each window of (N, C, D, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default), "same" or "pad" with the padding `pad_list`.
        ceil_mode (bool, optional): whether the last window may be incomplete. Default: None, for False.
        data_format (str): "NCDHW".
    """

    kernel_size: Axes = 1
    strides: Axes = 1
    pad_mode: str = "VALID"
    pad_list: Axes = 0
    ceil_mode: bool | None = None
    data_format: str = "NCDHW"

    def __call__(self, x: Tensor) -> Tensor:
        return _largest(self, 3, x, self.pad_list, self.ceil_mode)


class MaxPoolWithArgmax(_Pool):
    """The largest value of each window of (N, C, H, W), and its number, which counts over channels, too, as Int32."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out, index = _largest(self, 2, x, indices=True)
        c, h, w = x.shape[1:]
        return out, (index + Tensor(np.arange(c).reshape(1, c, 1, 1) * (h * w))).int()


class AvgPool(_Pool):
    """The mean of each window of (N, C, H, W)."""

    pad_mode: str = "VALID"

    def __call__(self, x: Tensor) -> Tensor:
        return pooling.avg_pool(x, *_window(self, 2, x, 0), False, self.pad_mode.upper() != "SAME", None, self.name)


class AvgPool3D(Form):
    """The mean of each window of (N, C, D, H, W).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default), "same" or "pad" with the padding `pad`.
        ceil_mode (bool): whether the last window may be incomplete. Default: False.
        count_include_pad (bool): whether padding counts in the divisor. Default: True.
        divisor_override (int): the divisor, if not 0. Default: 0.
        data_format (str): "NCDHW".
    """

    kernel_size: Axes = 1
    strides: Axes = 1
    pad_mode: str = "valid"
    pad: Axes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int = 0
    data_format: str = "NCDHW"

    def __call__(self, x: Tensor) -> Tensor:
        window = _window(self, 3, x, self.pad)
        return pooling.avg_pool(x, *window, self.ceil_mode, self.count_include_pad, self.divisor_override or None, self.name)


class MaxPoolWithArgmaxV2(Form):
    """The largest value of each window of (N, C, H, W), and its number; see `ops.max_pool2d`."""

    kernel_size: Axes
    strides: Axes | None = None
    pads: Axes = 0
    dilation: Axes = (1, 1)
    ceil_mode: bool = False
    argmax_type: DTypeLike = mstype.int64

    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        window = (self.kernel_size, self.strides, self.pads, self.dilation)
        out, index = pooling.max_pool2d(x, *window, return_indices=True, ceil_mode=self.ceil_mode)
        return out, index.astype(self.argmax_type)


class MaxPool3DWithArgmax(Form):
    """The largest value of each window of (N, C, D, H, W), and its number; see `ops.max_pool3d`."""

    ksize: Axes
    strides: Axes
    pads: Axes
    dilation: Axes = (1, 1, 1)
    ceil_mode: bool = False
    data_format: str = "NCDHW"
    argmax_type: DTypeLike = mstype.int64

    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        window = (self.ksize, self.strides, self.pads, self.dilation)
        out, index = pooling.max_pool3d(x, *window, return_indices=True, ceil_mode=self.ceil_mode)
        return out, index.astype(self.argmax_type)


class _MaxUnpool(Form):
    ksize: Axes
    strides: Axes = 0
    pads: Axes = 0
    output_shape: Axes = ()
    data_format: str = "NCHW"

    def __call__(self, x: Tensor, argmax: Tensor) -> Tensor:
        return self._function(x, argmax, self.ksize, self.strides or None, self.pads, self.output_shape or None)


class MaxUnpool2D(_MaxUnpool, of=pooling.max_unpool2d):
    """The inverse of max-pooling; see `ops.max_unpool2d`."""


class MaxUnpool3D(_MaxUnpool, of=pooling.max_unpool3d):
    """The inverse of max-pooling; see `ops.max_unpool3d`."""

    data_format: str = "NCDHW"


# fmt: off
class AdaptiveAvgPool2D(OfInput, of=pooling.adaptive_avg_pool2d): output_size: int | tuple[int, ...]
class AdaptiveAvgPool3D(OfInput, of=pooling.adaptive_avg_pool3d): output_size: int | tuple[int, ...]
# fmt: on


class AdaptiveMaxPool2D(Form):
    """The maxima and their numbers; see `ops.adaptive_max_pool2d`."""

    output_size: Axes

    def __call__(self, input: Tensor) -> tuple[Tensor, Tensor]:
        check_kind(
            self.output_size, isinstance(self.output_size, (tuple, list)), "be a tuple", "output_size", "AdaptiveMaxPool2D"
        )
        return pooling.adaptive_max_pool2d(input, self.output_size, True)


class AdaptiveMaxPool3D(Form):
    """The maxima and their numbers; see `ops.adaptive_max_pool3d`."""

    def __call__(self, x: Tensor, output_size: Shape) -> tuple[Tensor, Tensor]:
        return pooling.adaptive_max_pool3d(x, output_size, True)
