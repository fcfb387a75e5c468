"""mint's layers and losses without Parameters: a function and its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.typing import Axes, Number
from msjax.mint.nn import functional as F
from msjax.nn import function_layer
from msjax.nn.layer import basic
from msjax.ops.function.nn_func.pads import pad
from msjax.ops.primitive import REQUIRED

__all__ = [
    "ReLU", "ReLU6", "SiLU", "ELU", "GLU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LogSigmoid",
    "LogSoftmax", "Mish", "SELU", "Sigmoid", "Softmax", "Tanh", "Threshold", "Dropout", "Dropout2d", "Flatten", "Identity",
    "PixelShuffle", "Fold", "Unfold", "Upsample", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "UpsamplingNearest2d",
    "UpsamplingBilinear2d", "MaxPool2d", "MaxUnpool2d", "ConstantPad1d", "ZeroPad1d", "ReflectionPad1d", "ReplicationPad1d",
    "ConstantPad2d", "ZeroPad2d", "ReflectionPad2d", "ReplicationPad2d", "ConstantPad3d", "ZeroPad3d", "ReflectionPad3d",
    "ReplicationPad3d", "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss",
    "MSELoss", "NLLLoss", "SmoothL1Loss", "SoftMarginLoss",
]  # fmt: skip


class Layer(function_layer.Layer):
    """The base of mint's layers without Parameters, whose settings `repr` shows."""

    def __init_subclass__(cls, of: Callable[..., Any] | None = None, **checks: Any) -> None:
        super().__init_subclass__(of, **checks)
        cls._in_repr = tuple(cls._defaults)
        if cls.__module__.startswith("msjax.mint.nn"):
            cls.__module__ = "msjax.mint.nn"
            if cls._defaults:
                shown = (f"{k}" if v is REQUIRED else f"{k}: Default: {v!r}." for k, v in cls._defaults.items())
                cls.__doc__ = "\n        ".join([f"{cls.__doc__}\n\n    Args:", *shown])


class OfX(Layer, function_layer.OfX):
    """The same, of an input called x."""


class _Inplace(Layer):
    inplace: bool = False


class _AlongDim(Layer):
    dim: int | None = None


# fmt: off
class ReLU(_Inplace, of=F.relu): """max(x, 0), elementwise."""
class ReLU6(_Inplace, of=F.relu6): """min(max(x, 0), 6), elementwise."""
class SiLU(_Inplace, of=F.silu): """x * sigmoid(x), elementwise."""
class Hardsigmoid(Layer, of=F.hardsigmoid): """A sigmoid of straight lines."""
class Hardswish(Layer, of=F.hardswish): """x times a sigmoid of straight lines."""
class LogSigmoid(OfX, of=F.logsigmoid): """log(sigmoid(x)), elementwise."""
class LogSoftmax(_AlongDim, of=F.log_softmax): """log(softmax(x)) along an axis."""
class Mish(OfX, of=F.mish): """x * tanh(softplus(x)), elementwise."""
class Sigmoid(Layer, of=F.sigmoid): """1 / (1 + exp(-x)), elementwise."""
class Softmax(_AlongDim, of=F.softmax): """exp(x) / sum(exp(x)) along an axis."""
class Tanh(Layer, of=F.tanh): """The hyperbolic tangent, elementwise."""
class SELU(Layer, function_layer.OfInputX, of=F.selu): """A scaled exponential linear unit."""
# fmt: on


class ELU(Layer, of=F.elu):
    """x, or alpha * (exp(x) - 1) where x is negative."""

    alpha: float = 1.0
    inplace: bool = False


class GLU(Layer, of=F.glu):
    """The first half along an axis times the sigmoid of the second."""

    dim: int = -1


class GELU(OfX, of=F.gelu):
    """x times the normal distribution's probability of less than x."""

    approximate: str = "none"


class Hardshrink(Layer, of=F.hardshrink):
    """x where |x| exceeds lambd, 0 elsewhere."""

    lambd: float = 0.5


class Hardtanh(Layer, of=F.hardtanh):
    """Values limited to [min_val, max_val]."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False


class Threshold(Layer, of=F.threshold):
    """x where it exceeds a threshold, a value elsewhere."""

    threshold: Number | Tensor
    value: Number | Tensor
    inplace: bool = False


class _Dropout(Layer):
    p: float = 0.5
    inplace: bool = False

    def construct(self, x: Tensor) -> Tensor:
        return self._function(x, self.p, self.training, self.inplace)


# fmt: off
class Dropout(_Dropout, of=F.dropout): """In training, elements set to zero."""
class Dropout2d(_Dropout, of=F.dropout2d): """In training, channels set to zero."""
# fmt: on


class Flatten(Layer, of=F.flatten):
    """The axes from start_dim to end_dim as one."""

    start_dim: int = 1
    end_dim: int = -1


class Identity(basic.Identity):
    """Returns its input; takes any arguments."""


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


class _Upsampling(OfX):
    size: Axes | None = None
    scale_factor: float | Sequence[float] | None = None


def _interpolating(*how):
    return lambda x, size, scale_factor: F.interpolate(x, size, scale_factor, *how)


# fmt: off
class UpsamplingNearest2d(_Upsampling, of=_interpolating("nearest")): """Images in another size, each pixel the nearest one."""
class UpsamplingBilinear2d(_Upsampling, of=_interpolating("bilinear", True)): """Images in another size, by straight lines between pixels."""
# fmt: on


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


class _Loss(Layer):
    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return self._function(input, target, *self._values())


class _Reduced(_Loss):
    reduction: str = "mean"


# fmt: off
class L1Loss(_Reduced, of=F.l1_loss): """The absolute error."""
class MSELoss(_Reduced, of=F.mse_loss): """The squared error."""
class SoftMarginLoss(_Reduced, of=F.soft_margin_loss): """log(1 + exp(-y * x))."""
# fmt: on


class BCELoss(Layer, of=F.binary_cross_entropy):
    """The cross entropy of probabilities and targets."""

    weight: Tensor | None = None
    reduction: str = "mean"

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self._function(logits, labels, *self._values())


class BCEWithLogitsLoss(_Loss, of=F.binary_cross_entropy_with_logits):
    """The cross entropy of sigmoid(x) and targets."""

    weight: Tensor | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class CosineEmbeddingLoss(Layer):
    """How far the cosine of two vectors is from what the target, 1 or -1, says."""

    margin: float = 0.0
    reduction: str = "mean"

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class CrossEntropyLoss(_Loss, of=F.cross_entropy):
    """The cross entropy of logits and classes."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


class KLDivLoss(_Reduced, of=F.kl_div):
    """The Kullback-Leibler divergence of a target from log probabilities."""

    log_target: bool = False


class NLLLoss(_Loss, of=F.nll_loss):
    """Minus the log probability of the target's classes."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"


class SmoothL1Loss(_Reduced, of=F.smooth_l1_loss):
    """A squared error near 0, an absolute one elsewhere."""

    beta: float = 1.0
