"""mint's layers without Parameters: a function and its settings."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from msjax.mint.nn import functional as F
from msjax.nn.cell.base import Cell
from msjax.ops.function.nn_func.pads import pad as _pad

if TYPE_CHECKING:
    from msjax.common.tensor import Tensor


__all__ = []

REQUIRED = inspect.Parameter.empty


def _layer(name, attributes, call, doc):
    """A Cell class with settings; `call` is called as ``call(self, *inputs)``."""
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
    }
    return type(name, (Cell,), body)


def _of(function, attributes):
    """The call of a function on the inputs and then the settings, in their order."""
    return lambda self, *inputs: function(*inputs, *[getattr(self, key) for key in attributes])


_INPLACE = {"inplace": False}
_MEAN = {"reduction": "mean"}
_POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
_SIZE = {"output_size": REQUIRED}

# Each layer: the function that it calls, its settings, and a sentence.
_FUNCTIONS = {
    "ReLU": (F.relu, _INPLACE, "max(x, 0), elementwise."),
    "ReLU6": (F.relu6, _INPLACE, "min(max(x, 0), 6), elementwise."),
    "SiLU": (F.silu, _INPLACE, "x * sigmoid(x), elementwise."),
    "ELU": (F.elu, {"alpha": 1.0, **_INPLACE}, "x, or alpha * (exp(x) - 1) where x is negative."),
    "GLU": (F.glu, {"dim": -1}, "The first half along an axis times the sigmoid of the second."),
    "Hardshrink": (F.hardshrink, {"lambd": 0.5}, "x where |x| exceeds lambd, 0 elsewhere."),
    "Hardsigmoid": (F.hardsigmoid, {}, "A sigmoid of straight lines."),
    "Hardswish": (F.hardswish, {}, "x times a sigmoid of straight lines."),
    "Hardtanh": (F.hardtanh, {"min_val": -1.0, "max_val": 1.0, **_INPLACE}, "Values limited to [min_val, max_val]."),
    "LogSigmoid": (F.logsigmoid, {}, "log(sigmoid(x)), elementwise."),
    "LogSoftmax": (F.log_softmax, {"dim": None}, "log(softmax(x)) along an axis."),
    "Mish": (F.mish, {}, "x * tanh(softplus(x)), elementwise."),
    "SELU": (F.selu, {}, "A scaled exponential linear unit."),
    "Sigmoid": (F.sigmoid, {}, "1 / (1 + exp(-x)), elementwise."),
    "Softmax": (F.softmax, {"dim": None}, "exp(x) / sum(exp(x)) along an axis."),
    "Tanh": (F.tanh, {}, "The hyperbolic tangent, elementwise."),
    "Threshold": (
        F.threshold, {"threshold": REQUIRED, "value": REQUIRED, **_INPLACE}, "x where it exceeds a threshold, a value elsewhere.",
    ),
    "Flatten": (F.flatten, {"start_dim": 1, "end_dim": -1}, "The axes from start_dim to end_dim as one."),
    "PixelShuffle": (F.pixel_shuffle, {"upscale_factor": REQUIRED}, "Blocks of channels as squares of pixels."),
    "Fold": (
        F.fold, {**_SIZE, "kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
        "Images from sliding windows, added where they overlap.",
    ),
    "Unfold": (
        F.unfold, {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
        "Sliding windows of images, each as a column.",
    ),
    "Upsample": (
        F.interpolate,
        {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None, "recompute_scale_factor": None},
        "Images in another size.",
    ),
    "AvgPool1d": (F.avg_pool1d, _POOL, "The mean of each window."),
    "AvgPool2d": (F.avg_pool2d, {**_POOL, "divisor_override": None}, "The mean of each window."),
    "AvgPool3d": (F.avg_pool3d, {**_POOL, "divisor_override": None}, "The mean of each window."),
    "AdaptiveAvgPool1d": (F.adaptive_avg_pool1d, _SIZE, "Means of a given number of windows."),
    "AdaptiveAvgPool2d": (F.adaptive_avg_pool2d, _SIZE, "Means of a given number of windows."),
    "AdaptiveAvgPool3d": (F.adaptive_avg_pool3d, _SIZE, "Means of a given number of windows."),
    "AdaptiveMaxPool1d": (
        F.adaptive_max_pool1d, {**_SIZE, "return_indices": False}, "Largest values of a given number of windows.",
    ),
    "AdaptiveMaxPool2d": (
        F.adaptive_max_pool2d, {**_SIZE, "return_indices": False}, "Largest values of a given number of windows.",
    ),
    # losses
    "BCELoss": (F.binary_cross_entropy, {"weight": None, **_MEAN}, "The cross entropy of probabilities and targets."),
    "BCEWithLogitsLoss": (
        F.binary_cross_entropy_with_logits, {"weight": None, **_MEAN, "pos_weight": None},
        "The cross entropy of sigmoid(x) and targets.",
    ),
    "CosineEmbeddingLoss": (
        F.cosine_embedding_loss, {"margin": 0.0, **_MEAN},
        "How far the cosine of two vectors is from what the target, 1 or -1, says.",
    ),
    "CrossEntropyLoss": (
        F.cross_entropy, {"weight": None, "ignore_index": -100, **_MEAN, "label_smoothing": 0.0},
        "The cross entropy of logits and classes.",
    ),
    "KLDivLoss": (F.kl_div, {**_MEAN, "log_target": False}, "The Kullback-Leibler divergence of a target from log probabilities."),
    "L1Loss": (F.l1_loss, _MEAN, "The absolute error."),
    "MSELoss": (F.mse_loss, _MEAN, "The squared error."),
    "NLLLoss": (F.nll_loss, {"weight": None, "ignore_index": -100, **_MEAN}, "Minus the log probability of the target's classes."),
    "SmoothL1Loss": (F.smooth_l1_loss, {**_MEAN, "beta": 1.0}, "A squared error near 0, an absolute one elsewhere."),
    "SoftMarginLoss": (F.soft_margin_loss, _MEAN, "log(1 + exp(-y * x))."),
}  # fmt: skip
_LAYERS = {name: (attributes, _of(function, attributes), doc) for name, (function, attributes, doc) in _FUNCTIONS.items()}
# Those whose function takes something else than the inputs and the settings in their order.
_LAYERS |= {
    "GELU": (
        {"approximate": "none"},
        lambda self, x: F.gelu(x, approximate=self.approximate),
        "x times the normal distribution's probability of less than x.",
    ),
    "UpsamplingNearest2d": (
        {"size": None, "scale_factor": None},
        lambda self, x: F.interpolate(x, self.size, self.scale_factor, "nearest"),
        "Images in another size, each pixel the nearest one.",
    ),
    "UpsamplingBilinear2d": (
        {"size": None, "scale_factor": None},
        lambda self, x: F.interpolate(x, self.size, self.scale_factor, "bilinear", True),
        "Images in another size, by straight lines between pixels.",
    ),
    "MaxPool2d": (
        {"kernel_size": REQUIRED, "stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False},
        lambda self, x: F.max_pool2d(
            x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        ),
        "The largest value of each window.",
    ),
    "MaxUnpool2d": (
        {"kernel_size": REQUIRED, "stride": None, "padding": 0},
        lambda self, x, indices, output_size=None: F.max_unpool2d(
            x, indices, self.kernel_size, self.stride, self.padding, output_size
        ),
        "Values put back where a max-pooling took them from, zeros elsewhere.",
    ),
    "Dropout": (
        {"p": 0.5, **_INPLACE},
        lambda self, x: F.dropout(x, self.p, self.training, self.inplace),
        "In training, elements set to zero.",
    ),
    "Dropout2d": (
        {"p": 0.5, **_INPLACE},
        lambda self, x: F.dropout2d(x, self.p, self.training, self.inplace),
        "In training, channels set to zero.",
    ),
}


def _padding(n, mode, name, value):
    def call(self, x):
        widths = (self.padding,) * (2 * n) if isinstance(self.padding, int) else tuple(self.padding)
        return _pad(x, widths, mode, getattr(self, "value", None) if mode == "constant" else None)

    return {"padding": REQUIRED} | ({"value": REQUIRED} if value else {}), call, f"{name} added around the last {n} axes."


for _n in (1, 2, 3):
    _LAYERS[f"ConstantPad{_n}d"] = _padding(_n, "constant", "A value", True)
    _LAYERS[f"ZeroPad{_n}d"] = _padding(_n, "constant", "Zeros", False)
    _LAYERS[f"ReflectionPad{_n}d"] = _padding(_n, "reflect", "The Tensor mirrored, without its edge,", False)
    _LAYERS[f"ReplicationPad{_n}d"] = _padding(_n, "replicate", "The Tensor's edges", False)

for _name, (_attributes, _call, _doc) in _LAYERS.items():
    globals()[_name] = _layer(_name, _attributes, _call, _doc)
    __all__.append(_name)


class Identity(Cell):
    """Returns its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        return input


__all__.append("Identity")
