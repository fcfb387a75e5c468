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


_POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}


def _avg(function, divisor):
    def call(self, x):
        more = (self.divisor_override,) if divisor else ()
        return function(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, *more)

    return call


_LAYERS = {
    "ReLU": ({"inplace": False}, lambda self, x: F.relu(x, self.inplace), "max(x, 0), elementwise."),
    "ReLU6": ({"inplace": False}, lambda self, x: F.relu6(x, self.inplace), "min(max(x, 0), 6), elementwise."),
    "SiLU": ({"inplace": False}, lambda self, x: F.silu(x, self.inplace), "x * sigmoid(x), elementwise."),
    "ELU": (
        {"alpha": 1.0, "inplace": False},
        lambda self, x: F.elu(x, self.alpha, self.inplace),
        "x, or alpha * (exp(x) - 1) where x is negative.",
    ),
    "GELU": (
        {"approximate": "none"},
        lambda self, x: F.gelu(x, approximate=self.approximate),
        "x times the normal distribution's probability of less than x.",
    ),
    "GLU": ({"dim": -1}, lambda self, x: F.glu(x, self.dim), "The first half along an axis times the sigmoid of the second."),
    "Hardshrink": ({"lambd": 0.5}, lambda self, x: F.hardshrink(x, self.lambd), "x where |x| exceeds lambd, 0 elsewhere."),
    "Hardsigmoid": ({}, lambda self, x: F.hardsigmoid(x), "A sigmoid of straight lines."),
    "Hardswish": ({}, lambda self, x: F.hardswish(x), "x times a sigmoid of straight lines."),
    "Hardtanh": (
        {"min_val": -1.0, "max_val": 1.0, "inplace": False},
        lambda self, x: F.hardtanh(x, self.min_val, self.max_val, self.inplace),
        "Values limited to [min_val, max_val].",
    ),
    "LogSigmoid": ({}, lambda self, x: F.logsigmoid(x), "log(sigmoid(x)), elementwise."),
    "LogSoftmax": ({"dim": None}, lambda self, x: F.log_softmax(x, self.dim), "log(softmax(x)) along an axis."),
    "Mish": ({}, lambda self, x: F.mish(x), "x * tanh(softplus(x)), elementwise."),
    "SELU": ({}, lambda self, x: F.selu(x), "A scaled exponential linear unit."),
    "Sigmoid": ({}, lambda self, x: F.sigmoid(x), "1 / (1 + exp(-x)), elementwise."),
    "Softmax": ({"dim": None}, lambda self, x: F.softmax(x, self.dim), "exp(x) / sum(exp(x)) along an axis."),
    "Tanh": ({}, lambda self, x: F.tanh(x), "The hyperbolic tangent, elementwise."),
    "Threshold": (
        {"threshold": REQUIRED, "value": REQUIRED, "inplace": False},
        lambda self, x: F.threshold(x, self.threshold, self.value, self.inplace),
        "x where it exceeds a threshold, a value elsewhere.",
    ),
    "Flatten": (
        {"start_dim": 1, "end_dim": -1},
        lambda self, x: F.flatten(x, self.start_dim, self.end_dim),
        "The axes from start_dim to end_dim as one.",
    ),
    "PixelShuffle": (
        {"upscale_factor": REQUIRED},
        lambda self, x: F.pixel_shuffle(x, self.upscale_factor),
        "Blocks of channels as squares of pixels.",
    ),
    "Fold": (
        {"output_size": REQUIRED, "kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
        lambda self, x: F.fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride),
        "Images from sliding windows, added where they overlap.",
    ),
    "Unfold": (
        {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
        lambda self, x: F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride),
        "Sliding windows of images, each as a column.",
    ),
    "Upsample": (
        {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None, "recompute_scale_factor": None},
        lambda self, x: F.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        ),
        "Images in another size.",
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
    "AvgPool1d": (_POOL, _avg(F.avg_pool1d, False), "The mean of each window."),
    "AvgPool2d": (_POOL | {"divisor_override": None}, _avg(F.avg_pool2d, True), "The mean of each window."),
    "AvgPool3d": (_POOL | {"divisor_override": None}, _avg(F.avg_pool3d, True), "The mean of each window."),
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
    "AdaptiveAvgPool1d": (
        {"output_size": REQUIRED},
        lambda self, x: F.adaptive_avg_pool1d(x, self.output_size),
        "Means of a given number of windows.",
    ),
    "AdaptiveAvgPool2d": (
        {"output_size": REQUIRED},
        lambda self, x: F.adaptive_avg_pool2d(x, self.output_size),
        "Means of a given number of windows.",
    ),
    "AdaptiveAvgPool3d": (
        {"output_size": REQUIRED},
        lambda self, x: F.adaptive_avg_pool3d(x, self.output_size),
        "Means of a given number of windows.",
    ),
    "AdaptiveMaxPool1d": (
        {"output_size": REQUIRED, "return_indices": False},
        lambda self, x: F.adaptive_max_pool1d(x, self.output_size, self.return_indices),
        "Largest values of a given number of windows.",
    ),
    "AdaptiveMaxPool2d": (
        {"output_size": REQUIRED, "return_indices": False},
        lambda self, x: F.adaptive_max_pool2d(x, self.output_size, self.return_indices),
        "Largest values of a given number of windows.",
    ),
    "Dropout": (
        {"p": 0.5, "inplace": False},
        lambda self, x: F.dropout(x, self.p, self.training, self.inplace),
        "In training, elements set to zero.",
    ),
    "Dropout2d": (
        {"p": 0.5, "inplace": False},
        lambda self, x: F.dropout2d(x, self.p, self.training, self.inplace),
        "In training, channels set to zero.",
    ),
    # losses
    "BCELoss": (
        {"weight": None, "reduction": "mean"},
        lambda self, x, y: F.binary_cross_entropy(x, y, self.weight, self.reduction),
        "The cross entropy of probabilities and targets.",
    ),
    "BCEWithLogitsLoss": (
        {"weight": None, "reduction": "mean", "pos_weight": None},
        lambda self, x, y: F.binary_cross_entropy_with_logits(x, y, self.weight, self.reduction, self.pos_weight),
        "The cross entropy of sigmoid(x) and targets.",
    ),
    "CosineEmbeddingLoss": (
        {"margin": 0.0, "reduction": "mean"},
        lambda self, x, y, target: F.cosine_embedding_loss(x, y, target, self.margin, self.reduction),
        "How far the cosine of two vectors is from what the target, 1 or -1, says.",
    ),
    "CrossEntropyLoss": (
        {"weight": None, "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0},
        lambda self, x, y: F.cross_entropy(x, y, self.weight, self.ignore_index, self.reduction, self.label_smoothing),
        "The cross entropy of logits and classes.",
    ),
    "KLDivLoss": (
        {"reduction": "mean", "log_target": False},
        lambda self, x, y: F.kl_div(x, y, self.reduction, self.log_target),
        "The Kullback-Leibler divergence of a target from log probabilities.",
    ),
    "L1Loss": ({"reduction": "mean"}, lambda self, x, y: F.l1_loss(x, y, self.reduction), "The absolute error."),
    "MSELoss": ({"reduction": "mean"}, lambda self, x, y: F.mse_loss(x, y, self.reduction), "The squared error."),
    "NLLLoss": (
        {"weight": None, "ignore_index": -100, "reduction": "mean"},
        lambda self, x, y: F.nll_loss(x, y, self.weight, self.ignore_index, self.reduction),
        "Minus the log probability of the target's classes.",
    ),
    "SmoothL1Loss": (
        {"reduction": "mean", "beta": 1.0},
        lambda self, x, y: F.smooth_l1_loss(x, y, self.reduction, self.beta),
        "A squared error near 0, an absolute one elsewhere.",
    ),
    "SoftMarginLoss": (
        {"reduction": "mean"},
        lambda self, x, y: F.soft_margin_loss(x, y, self.reduction),
        "log(1 + exp(-y * x)).",
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
