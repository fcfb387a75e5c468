"""mint's layers without Parameters: a function and its settings."""

from __future__ import annotations

import inspect
from typing import Any

from msjax.common.tensor import Tensor
from msjax.mint.nn import functional as F
from msjax.nn.cell.base import Cell
from msjax.ops.function.nn_func.pads import pad as _pad

__all__ = [
    "ReLU", "ReLU6", "SiLU", "ELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LogSigmoid", "LogSoftmax",
    "Mish", "SELU", "Sigmoid", "Softmax", "Tanh", "Threshold", "Flatten", "PixelShuffle", "Fold", "Unfold", "Upsample",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss",
    "MSELoss", "NLLLoss", "SmoothL1Loss", "SoftMarginLoss", "GELU", "UpsamplingNearest2d", "UpsamplingBilinear2d",
    "MaxPool2d", "MaxUnpool2d", "Dropout", "Dropout2d", "ConstantPad1d", "ZeroPad1d", "ReflectionPad1d", "ReplicationPad1d",
    "ConstantPad2d", "ZeroPad2d", "ReflectionPad2d", "ReplicationPad2d", "ConstantPad3d", "ZeroPad3d", "ReflectionPad3d",
    "ReplicationPad3d", "Identity",
]  # fmt: skip

REQUIRED = inspect.Parameter.empty


def _layer(name, attributes, call, doc, function=None):
    """A Cell class with settings; `call` is called as ``call(self, *inputs)``. The stub layers.pyi has its types."""
    signature = inspect.Signature(
        [inspect.Parameter(k, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v) for k, v in attributes.items()]
    )

    def __init__(self, *args, **kwargs):
        Cell.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"For '{name}': {error}; it takes {signature}.") from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            setattr(self, key, value)

    def construct(self, *inputs):
        return call(self, *inputs)

    def extend_repr(self):
        return ", ".join(f"{key}={getattr(self, key)}" for key in attributes)

    settings = "".join(f"\n        {k}" + ("" if v is REQUIRED else f": Default: {v!r}.") for k, v in attributes.items())
    body = {
        "__init__": __init__,
        "construct": construct,
        "extend_repr": extend_repr,
        "__doc__": doc + (f"\n\n    Args:{settings}" if settings else ""),
        "__module__": "msjax.mint.nn",
        # For tests/typing/class_forms.py, which writes the stub.
        "_function": staticmethod(function or call),
        "_settings": attributes,
    }
    return type(name, (Cell,), body)


def _function_layer(name, function, attributes, doc):
    """A layer that calls a function on the inputs and then the settings, in their order."""

    def call(self, *inputs):
        return function(*inputs, *[getattr(self, key) for key in attributes])

    return _layer(name, attributes, call, doc, function)


_INPLACE = {"inplace": False}
_MEAN = {"reduction": "mean"}
_POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
_SIZE = {"output_size": REQUIRED}

ReLU = _function_layer("ReLU", F.relu, _INPLACE, "max(x, 0), elementwise.")
ReLU6 = _function_layer("ReLU6", F.relu6, _INPLACE, "min(max(x, 0), 6), elementwise.")
SiLU = _function_layer("SiLU", F.silu, _INPLACE, "x * sigmoid(x), elementwise.")
ELU = _function_layer("ELU", F.elu, {"alpha": 1.0, **_INPLACE}, "x, or alpha * (exp(x) - 1) where x is negative.")
GLU = _function_layer("GLU", F.glu, {"dim": -1}, "The first half along an axis times the sigmoid of the second.")
Hardshrink = _function_layer("Hardshrink", F.hardshrink, {"lambd": 0.5}, "x where |x| exceeds lambd, 0 elsewhere.")
Hardsigmoid = _function_layer("Hardsigmoid", F.hardsigmoid, {}, "A sigmoid of straight lines.")
Hardswish = _function_layer("Hardswish", F.hardswish, {}, "x times a sigmoid of straight lines.")
Hardtanh = _function_layer(
    "Hardtanh", F.hardtanh, {"min_val": -1.0, "max_val": 1.0, **_INPLACE}, "Values limited to [min_val, max_val]."
)
LogSigmoid = _function_layer("LogSigmoid", F.logsigmoid, {}, "log(sigmoid(x)), elementwise.")
LogSoftmax = _function_layer("LogSoftmax", F.log_softmax, {"dim": None}, "log(softmax(x)) along an axis.")
Mish = _function_layer("Mish", F.mish, {}, "x * tanh(softplus(x)), elementwise.")
SELU = _function_layer("SELU", F.selu, {}, "A scaled exponential linear unit.")
Sigmoid = _function_layer("Sigmoid", F.sigmoid, {}, "1 / (1 + exp(-x)), elementwise.")
Softmax = _function_layer("Softmax", F.softmax, {"dim": None}, "exp(x) / sum(exp(x)) along an axis.")
Tanh = _function_layer("Tanh", F.tanh, {}, "The hyperbolic tangent, elementwise.")
Threshold = _function_layer(
    "Threshold",
    F.threshold,
    {"threshold": REQUIRED, "value": REQUIRED, **_INPLACE},
    "x where it exceeds a threshold, a value elsewhere.",
)
Flatten = _function_layer("Flatten", F.flatten, {"start_dim": 1, "end_dim": -1}, "The axes from start_dim to end_dim as one.")
PixelShuffle = _function_layer(
    "PixelShuffle", F.pixel_shuffle, {"upscale_factor": REQUIRED}, "Blocks of channels as squares of pixels."
)
Fold = _function_layer(
    "Fold",
    F.fold,
    {**_SIZE, "kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
    "Images from sliding windows, added where they overlap.",
)
Unfold = _function_layer(
    "Unfold",
    F.unfold,
    {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
    "Sliding windows of images, each as a column.",
)
Upsample = _function_layer(
    "Upsample",
    F.interpolate,
    {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None, "recompute_scale_factor": None},
    "Images in another size.",
)
AvgPool1d = _function_layer("AvgPool1d", F.avg_pool1d, _POOL, "The mean of each window.")
AvgPool2d = _function_layer("AvgPool2d", F.avg_pool2d, {**_POOL, "divisor_override": None}, "The mean of each window.")
AvgPool3d = _function_layer("AvgPool3d", F.avg_pool3d, {**_POOL, "divisor_override": None}, "The mean of each window.")
AdaptiveAvgPool1d = _function_layer("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, _SIZE, "Means of a given number of windows.")
AdaptiveAvgPool2d = _function_layer("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, _SIZE, "Means of a given number of windows.")
AdaptiveAvgPool3d = _function_layer("AdaptiveAvgPool3d", F.adaptive_avg_pool3d, _SIZE, "Means of a given number of windows.")
AdaptiveMaxPool1d = _function_layer(
    "AdaptiveMaxPool1d", F.adaptive_max_pool1d, {**_SIZE, "return_indices": False}, "Largest values of a given number of windows."
)
AdaptiveMaxPool2d = _function_layer(
    "AdaptiveMaxPool2d", F.adaptive_max_pool2d, {**_SIZE, "return_indices": False}, "Largest values of a given number of windows."
)
BCELoss = _function_layer(
    "BCELoss", F.binary_cross_entropy, {"weight": None, **_MEAN}, "The cross entropy of probabilities and targets."
)
BCEWithLogitsLoss = _function_layer(
    "BCEWithLogitsLoss",
    F.binary_cross_entropy_with_logits,
    {"weight": None, **_MEAN, "pos_weight": None},
    "The cross entropy of sigmoid(x) and targets.",
)
CosineEmbeddingLoss = _function_layer(
    "CosineEmbeddingLoss",
    F.cosine_embedding_loss,
    {"margin": 0.0, **_MEAN},
    "How far the cosine of two vectors is from what the target, 1 or -1, says.",
)
CrossEntropyLoss = _function_layer(
    "CrossEntropyLoss",
    F.cross_entropy,
    {"weight": None, "ignore_index": -100, **_MEAN, "label_smoothing": 0.0},
    "The cross entropy of logits and classes.",
)
KLDivLoss = _function_layer(
    "KLDivLoss", F.kl_div, {**_MEAN, "log_target": False}, "The Kullback-Leibler divergence of a target from log probabilities."
)
L1Loss = _function_layer("L1Loss", F.l1_loss, _MEAN, "The absolute error.")
MSELoss = _function_layer("MSELoss", F.mse_loss, _MEAN, "The squared error.")
NLLLoss = _function_layer(
    "NLLLoss", F.nll_loss, {"weight": None, "ignore_index": -100, **_MEAN}, "Minus the log probability of the target's classes."
)
SmoothL1Loss = _function_layer(
    "SmoothL1Loss", F.smooth_l1_loss, {**_MEAN, "beta": 1.0}, "A squared error near 0, an absolute one elsewhere."
)
SoftMarginLoss = _function_layer("SoftMarginLoss", F.soft_margin_loss, _MEAN, "log(1 + exp(-y * x)).")

# Those whose function takes something else than the inputs and the settings in their order.
GELU = _layer(
    "GELU",
    {"approximate": "none"},
    lambda self, x: F.gelu(x, approximate=self.approximate),
    "x times the normal distribution's probability of less than x.",
)
UpsamplingNearest2d = _layer(
    "UpsamplingNearest2d",
    {"size": None, "scale_factor": None},
    lambda self, x: F.interpolate(x, self.size, self.scale_factor, "nearest"),
    "Images in another size, each pixel the nearest one.",
)
UpsamplingBilinear2d = _layer(
    "UpsamplingBilinear2d",
    {"size": None, "scale_factor": None},
    lambda self, x: F.interpolate(x, self.size, self.scale_factor, "bilinear", True),
    "Images in another size, by straight lines between pixels.",
)
MaxPool2d = _layer(
    "MaxPool2d",
    {"kernel_size": REQUIRED, "stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False},
    lambda self, x: F.max_pool2d(
        x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
    ),
    "The largest value of each window.",
)
MaxUnpool2d = _layer(
    "MaxUnpool2d",
    {"kernel_size": REQUIRED, "stride": None, "padding": 0},
    lambda self, x, indices, output_size=None: F.max_unpool2d(
        x, indices, self.kernel_size, self.stride, self.padding, output_size
    ),
    "Values put back where a max-pooling took them from, zeros elsewhere.",
)
Dropout = _layer(
    "Dropout",
    {"p": 0.5, **_INPLACE},
    lambda self, x: F.dropout(x, self.p, self.training, self.inplace),
    "In training, elements set to zero.",
)
Dropout2d = _layer(
    "Dropout2d",
    {"p": 0.5, **_INPLACE},
    lambda self, x: F.dropout2d(x, self.p, self.training, self.inplace),
    "In training, channels set to zero.",
)


def _padding(name, n, mode, doc, value=False):
    def call(self, x):
        widths = (self.padding,) * (2 * n) if isinstance(self.padding, int) else tuple(self.padding)
        return _pad(x, widths, mode, getattr(self, "value", None) if mode == "constant" else None)

    attributes = {"padding": REQUIRED} | ({"value": REQUIRED} if value else {})
    return _layer(name, attributes, call, f"{doc} added around the last {n} axes.")


ConstantPad1d = _padding("ConstantPad1d", 1, "constant", "A value", value=True)
ZeroPad1d = _padding("ZeroPad1d", 1, "constant", "Zeros")
ReflectionPad1d = _padding("ReflectionPad1d", 1, "reflect", "The Tensor mirrored, without its edge,")
ReplicationPad1d = _padding("ReplicationPad1d", 1, "replicate", "The Tensor's edges")
ConstantPad2d = _padding("ConstantPad2d", 2, "constant", "A value", value=True)
ZeroPad2d = _padding("ZeroPad2d", 2, "constant", "Zeros")
ReflectionPad2d = _padding("ReflectionPad2d", 2, "reflect", "The Tensor mirrored, without its edge,")
ReplicationPad2d = _padding("ReplicationPad2d", 2, "replicate", "The Tensor's edges")
ConstantPad3d = _padding("ConstantPad3d", 3, "constant", "A value", value=True)
ZeroPad3d = _padding("ZeroPad3d", 3, "constant", "Zeros")
ReflectionPad3d = _padding("ReflectionPad3d", 3, "reflect", "The Tensor mirrored, without its edge,")
ReplicationPad3d = _padding("ReplicationPad3d", 3, "replicate", "The Tensor's edges")


class Identity(Cell):
    """Returns its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        return input
