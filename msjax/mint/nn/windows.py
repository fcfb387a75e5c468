"""mint's layers of windows and sizes of images: pooling, folding, resizing, padding."""

from __future__ import annotations

from collections.abc import Sequence

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import Axes
from msjax.mint.nn import functional as F
from msjax.mint.nn.layers import Layer
from msjax.ops.function.nn_func.pads import pad

__all__ = [
    "PixelShuffle", "Fold", "Unfold", "Upsample", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "UpsamplingNearest2d",
    "UpsamplingBilinear2d", "MaxPool2d", "MaxUnpool2d", "ConstantPad1d", "ZeroPad1d", "ReflectionPad1d", "ReplicationPad1d",
    "ConstantPad2d", "ZeroPad2d", "ReflectionPad2d", "ReplicationPad2d", "ConstantPad3d", "ZeroPad3d", "ReflectionPad3d",
    "ReplicationPad3d",
]  # fmt: skip


class PixelShuffle(Layer):
    """Blocks of channels as squares of pixels."""

    upscale_factor: int

    def construct(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class Fold(Layer):
    """Images from sliding windows, added where they overlap."""

    output_size: Axes
    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    stride: int | tuple[int, ...] = 1

    def construct(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Layer):
    """Sliding windows of images, each as a column."""

    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    stride: int | tuple[int, ...] = 1

    def construct(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Upsample(Layer):
    """Images in another size."""

    size: int | tuple[int, ...] | None = None
    scale_factor: float | tuple[float, ...] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def construct(self, input: Tensor) -> Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)


class AvgPool1d(Layer):
    """The mean of each window."""

    kernel_size: int
    stride: int | None = None
    padding: int = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def construct(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(Layer):
    kernel_size: Axes
    stride: Axes | None = None
    padding: Axes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


class AvgPool2d(_AvgPool):
    """The mean of each window."""

    def construct(self, input: Tensor) -> Tensor:
        window = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
        return F.avg_pool2d(input, *window)


class AvgPool3d(_AvgPool):
    """The mean of each window."""

    def construct(self, input: TensorLike) -> Tensor:
        window = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
        return F.avg_pool3d(input, *window)


class AdaptiveAvgPool1d(Layer):
    """Means of a given number of windows."""

    output_size: int

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(Layer):
    """Means of a given number of windows."""

    output_size: int | tuple[int, ...]

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(Layer):
    """Means of a given number of windows."""

    output_size: int | tuple[int, ...]

    def construct(self, input: TensorLike) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(Layer):
    """Largest values of a given number of windows."""

    output_size: int
    return_indices: bool = False

    def construct(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(Layer):
    """Largest values of a given number of windows."""

    output_size: int | tuple[int, ...]
    return_indices: bool = False

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class UpsamplingNearest2d(Layer):
    """Images in another size, each pixel the nearest one."""

    size: Axes | None = None
    scale_factor: float | Sequence[float] | None = None

    def construct(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, "nearest")


class UpsamplingBilinear2d(Layer):
    """Images in another size, by straight lines between pixels."""

    size: Axes | None = None
    scale_factor: float | Sequence[float] | None = None

    def construct(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, "bilinear", True)


class MaxPool2d(Layer):
    """The largest value of each window."""

    kernel_size: Axes
    stride: Axes | None = None
    padding: Axes = 0
    dilation: Axes = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def construct(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)


class MaxUnpool2d(Layer):
    """Values put back where a max-pooling took them from, zeros elsewhere."""

    kernel_size: Axes
    stride: Axes | None = None
    padding: Axes = 0

    def construct(self, x: Tensor, indices: Tensor, output_size: tuple[int, ...] | None = None) -> Tensor:
        return F.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class _Pad(Layer):
    padding: Axes

    def _around(self, x: Tensor, axes: int, mode: str, value: float | None = None) -> Tensor:
        return pad(x, (self.padding,) * (2 * axes) if isinstance(self.padding, int) else tuple(self.padding), mode, value)


class ConstantPad1d(_Pad):
    """A value added around the last 1 axes."""

    value: float

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 1, "constant", self.value)


class ZeroPad1d(_Pad):
    """Zeros added around the last 1 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 1, "constant")


class ReflectionPad1d(_Pad):
    """The Tensor mirrored, without its edge, added around the last 1 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 1, "reflect")


class ReplicationPad1d(_Pad):
    """The Tensor's edges added around the last 1 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 1, "replicate")


class ConstantPad2d(_Pad):
    """A value added around the last 2 axes."""

    value: float

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 2, "constant", self.value)


class ZeroPad2d(_Pad):
    """Zeros added around the last 2 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 2, "constant")


class ReflectionPad2d(_Pad):
    """The Tensor mirrored, without its edge, added around the last 2 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 2, "reflect")


class ReplicationPad2d(_Pad):
    """The Tensor's edges added around the last 2 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 2, "replicate")


class ConstantPad3d(_Pad):
    """A value added around the last 3 axes."""

    value: float

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 3, "constant", self.value)


class ZeroPad3d(_Pad):
    """Zeros added around the last 3 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 3, "constant")


class ReflectionPad3d(_Pad):
    """The Tensor mirrored, without its edge, added around the last 3 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 3, "reflect")


class ReplicationPad3d(_Pad):
    """The Tensor's edges added around the last 3 axes."""

    def construct(self, x: Tensor) -> Tensor:
        return self._around(x, 3, "replicate")
