"""mint's layers of windows and sizes of images: pooling, folding, resizing, padding."""

from __future__ import annotations

from collections.abc import Sequence

from msjax.common.tensor import Tensor
from msjax.core.base.typing import Axes
from msjax.mint.nn import functional as F
from msjax.mint.nn.layers import Layer, OfX
from msjax.ops.function.nn_func.pads import pad

__all__ = [
    "PixelShuffle", "Fold", "Unfold", "Upsample", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "UpsamplingNearest2d",
    "UpsamplingBilinear2d", "MaxPool2d", "MaxUnpool2d", "ConstantPad1d", "ZeroPad1d", "ReflectionPad1d", "ReplicationPad1d",
    "ConstantPad2d", "ZeroPad2d", "ReflectionPad2d", "ReplicationPad2d", "ConstantPad3d", "ZeroPad3d", "ReflectionPad3d",
    "ReplicationPad3d",
]  # fmt: skip


class PixelShuffle(Layer, of=F.pixel_shuffle):
    """Blocks of channels as squares of pixels."""

    upscale_factor: int


class Fold(Layer, of=F.fold):
    """Images from sliding windows, added where they overlap."""

    output_size: Axes
    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    stride: int | tuple[int, ...] = 1


class Unfold(Layer, of=F.unfold):
    """Sliding windows of images, each as a column."""

    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    stride: int | tuple[int, ...] = 1


class Upsample(Layer, of=F.interpolate):
    """Images in another size."""

    size: int | tuple[int, ...] | None = None
    scale_factor: float | tuple[float, ...] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None


class AvgPool1d(Layer, of=F.avg_pool1d):
    """The mean of each window."""

    kernel_size: int
    stride: int | None = None
    padding: int = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


class _AvgPool(Layer):
    kernel_size: Axes
    stride: Axes | None = None
    padding: Axes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


class _AdaptiveAvgPool(Layer):
    output_size: int | tuple[int, ...]


# fmt: off
class AvgPool2d(_AvgPool, of=F.avg_pool2d): """The mean of each window."""
class AvgPool3d(_AvgPool, of=F.avg_pool3d): """The mean of each window."""
class AdaptiveAvgPool2d(_AdaptiveAvgPool, of=F.adaptive_avg_pool2d): """Means of a given number of windows."""
class AdaptiveAvgPool3d(_AdaptiveAvgPool, of=F.adaptive_avg_pool3d): """Means of a given number of windows."""
# fmt: on


class AdaptiveAvgPool1d(Layer, of=F.adaptive_avg_pool1d):
    """Means of a given number of windows."""

    output_size: int


class AdaptiveMaxPool1d(Layer, of=F.adaptive_max_pool1d):
    """Largest values of a given number of windows."""

    output_size: int
    return_indices: bool = False


class AdaptiveMaxPool2d(Layer, of=F.adaptive_max_pool2d):
    """Largest values of a given number of windows."""

    output_size: int | tuple[int, ...]
    return_indices: bool = False


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


class MaxPool2d(OfX, of=F.max_pool2d):
    """The largest value of each window."""

    kernel_size: Axes
    stride: Axes | None = None
    padding: Axes = 0
    dilation: Axes = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxUnpool2d(Layer):
    """Values put back where a max-pooling took them from, zeros elsewhere."""

    kernel_size: Axes
    stride: Axes | None = None
    padding: Axes = 0

    def construct(self, x: Tensor, indices: Tensor, output_size: tuple[int, ...] | None = None) -> Tensor:
        return F.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


def _around(axes, mode):
    """The function of a layer that pads so many axes, from the last one on."""

    def function(x, padding, value=None):
        return pad(x, (padding,) * (2 * axes) if isinstance(padding, int) else tuple(padding), mode, value)

    return function


class _Pad(OfX):
    padding: Axes


class _ConstantPad(_Pad):
    value: float


# fmt: off
class ConstantPad1d(_ConstantPad, of=_around(1, "constant")): """A value added around the last 1 axes."""
class ConstantPad2d(_ConstantPad, of=_around(2, "constant")): """A value added around the last 2 axes."""
class ConstantPad3d(_ConstantPad, of=_around(3, "constant")): """A value added around the last 3 axes."""
class ZeroPad1d(_Pad, of=_around(1, "constant")): """Zeros added around the last 1 axes."""
class ZeroPad2d(_Pad, of=_around(2, "constant")): """Zeros added around the last 2 axes."""
class ZeroPad3d(_Pad, of=_around(3, "constant")): """Zeros added around the last 3 axes."""
class ReflectionPad1d(_Pad, of=_around(1, "reflect")): """The Tensor mirrored, without its edge, added around the last 1 axes."""
class ReflectionPad2d(_Pad, of=_around(2, "reflect")): """The Tensor mirrored, without its edge, added around the last 2 axes."""
class ReflectionPad3d(_Pad, of=_around(3, "reflect")): """The Tensor mirrored, without its edge, added around the last 3 axes."""
class ReplicationPad1d(_Pad, of=_around(1, "replicate")): """The Tensor's edges added around the last 1 axes."""
class ReplicationPad2d(_Pad, of=_around(2, "replicate")): """The Tensor's edges added around the last 2 axes."""
class ReplicationPad3d(_Pad, of=_around(3, "replicate")): """The Tensor's edges added around the last 3 axes."""
# fmt: on
