"""Operator classes of neural networks: convolution, pooling, normalization, losses."""

import numpy as np

from msjax.autograd.op import apply
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.math_func.arithmetic import true_divide
from msjax.ops.function.math_func.reduction import sum as reduce_sum
from msjax.ops.function.nn_func import classification, convolution, ctc, losses, normalization, pooling, unpooling
from msjax.ops.function.nn_func.convolution import CONV, CONV_TRANSPOSE, conv_pads
from msjax.ops.function.nn_func.sliding import n_ints, same_pads
from msjax.ops.operations import image_ops, optim_ops
from msjax.ops.operations.image_ops import *
from msjax.ops.operations.optim_ops import *
from msjax.ops.primitive import REQUIRED, primitive_class

__all__ = [*image_ops.__all__, *optim_ops.__all__]


def _ctc_loss(self, x, labels_indices, labels_values, sequence_length):
    if self.preprocess_collapse_repeated or not self.ctc_merge_repeated or self.ignore_longer_outputs_than_inputs:
        raise NotImplementedError("msjax offers CTCLoss with its default arguments only.")
    return ctc.ctc_loss_of_logits(x, labels_indices, labels_values, sequence_length)


def _offer(name, attributes, call, doc):
    globals()[name] = primitive_class(name, attributes, call, doc)
    __all__.append(name)


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


def _conv(n):
    def call(self, x, weight):
        _check_format(self)
        stride, dilation = (_last(getattr(self, key), n, key, self.name) for key in ("stride", "dilation"))
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

    return call


def _conv_backprop_input(self, dout, weight, input_size):
    _check_format(self)
    sizes = freeze(input_size)
    stride, dilation = (_last(getattr(self, key), 2, key, self.name) for key in ("stride", "dilation"))
    pad = self.pad if self.pad_list is None else self.pad_list
    pads = conv_pads(self.pad_mode, pad, sizes[2:], weight.shape[2:], stride, dilation, self.name)
    return apply(CONV_TRANSPOSE, (dout, weight, None), (stride, pads, dilation, self.group, sizes[2:]))


def _conv3d_transpose(self, dout, weight, bias=None):
    _check_format(self)
    if bias is not None:
        raise NotImplementedError("For 'Conv3DTranspose', a bias is not offered: add it with ops.bias_add.")
    stride, dilation = (_last(getattr(self, key), 3, key, self.name) for key in ("stride", "dilation"))
    return convolution.conv3d_transpose(
        dout, weight, self.pad_mode, self.pad, stride, dilation, self.group, self.output_padding
    )  # fmt: skip


_CONV = {"mode": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "group": 1}
_offer(
    "Conv2D", {"out_channel": REQUIRED, "kernel_size": REQUIRED, **_CONV, "data_format": "NCHW"}, _conv(2),
    """A 2-D convolution of (N, C, H, W) with a weight (out_channel, C / group, h, w); see `ops.conv2d`.

    Args:
        out_channel (int): the output's channels.
        kernel_size (int or tuple): of the weight.
        mode (int): kept for MindSpore's programs, without effect.
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
    """,
)  # fmt: skip
_offer(
    "Conv3D", {"out_channel": REQUIRED, "kernel_size": REQUIRED, **_CONV, "data_format": "NCDHW"}, _conv(3),
    "A 3-D convolution of (N, C, D, H, W) with a weight (out_channel, C / group, d, h, w); see `Conv2D`.",
)  # fmt: skip
for _name in ("Conv2DTranspose", "Conv2DBackpropInput"):
    _offer(
        _name,
        {
            "out_channel": REQUIRED, "kernel_size": REQUIRED, "pad_mode": "valid", "pad": 0, "pad_list": None, "mode": 1,
            "stride": 1, "dilation": 1, "group": 1, "data_format": "NCHW",
        },
        _conv_backprop_input,
        """The gradient of a 2-D convolution with respect to its input: of (dout, weight, input_size).

    Args:
        out_channel, kernel_size, pad_mode, pad, stride, dilation, group: those of the convolution.
        pad_list (tuple, optional): in the place of `pad`.
        mode (int): kept for MindSpore's programs, without effect.
    """,
    )  # fmt: skip
_offer(
    "Conv3DTranspose",
    {
        "in_channel": REQUIRED, "out_channel": REQUIRED, "kernel_size": REQUIRED, **_CONV, "output_padding": 0,
        "data_format": "NCDHW",
    },
    _conv3d_transpose,
    "The transpose of a 3-D convolution; see `ops.conv3d_transpose`.",
)  # fmt: skip


def _bias_add(self, input_x, bias):
    axis = {"NCHW": 1, "NCDHW": 1, "NHWC": -1}.get(self.data_format)
    if axis is None:
        raise ValueError(f"For 'BiasAdd', 'data_format' should be 'NCHW', 'NHWC' or 'NCDHW', but got {self.data_format!r}.")
    return convolution._bias_add(input_x, bias, axis)


_offer("BiasAdd", {"data_format": "NCHW"}, _bias_add, "x + bias, with one number for each channel; see `ops.bias_add`.")

# ---- pooling


def _pads_for(self, x, kernel, stride, pad, n):
    mode = self.pad_mode.upper() if isinstance(self.pad_mode, str) else self.pad_mode
    if mode not in ("SAME", "VALID", "PAD"):
        raise ValueError(f"For '{self.name}', 'pad_mode' should be 'same', 'valid' or 'pad', but got {self.pad_mode!r}.")
    if mode == "SAME":
        return same_pads(x.shape[2:], kernel, stride)
    return conv_pads(mode.lower(), pad, x.shape[2:], kernel, stride, (1,) * n, self.name)


def _max_pool(n, indices=False):
    def call(self, x):
        _check_format(self)
        kernel, stride = (_last(getattr(self, key), n, key, self.name) for key in ("kernel_size", "strides"))
        pads = _pads_for(self, x, kernel, stride, getattr(self, "pad_list", 0), n)
        pooling.check_tensor(x, "x", (n + 2,), self.name)
        return pooling.max_pool(
            x, kernel, stride, pads, (1,) * n, bool(getattr(self, "ceil_mode", False)), indices, self.name
        )  # fmt: skip

    return call


def _avg_pool(n):
    def call(self, x):
        _check_format(self)
        kernel, stride = (_last(getattr(self, key), n, key, self.name) for key in ("kernel_size", "strides"))
        pads = _pads_for(self, x, kernel, stride, getattr(self, "pad", 0), n)
        include = getattr(self, "count_include_pad", self.pad_mode.upper() != "SAME")
        pooling.check_tensor(x, "x", (n + 2,), self.name)
        divisor = getattr(self, "divisor_override", 0) or None
        return pooling.avg_pool(x, kernel, stride, pads, getattr(self, "ceil_mode", False), include, divisor, self.name)

    return call


def _max_pool_with_argmax(self, x):
    """Numbers count over channels, too, as Int32."""
    out, index = _max_pool(2, True)(self, x)
    c, h, w = x.shape[1:]
    return out, (index + Tensor(np.arange(c).reshape(1, c, 1, 1) * (h * w))).int()


def _max_pool_v2(n):
    def call(self, x):
        window = [getattr(self, key) for key in ("kernel_size" if n == 2 else "ksize", "strides", "pads", "dilation")]
        pool = pooling.max_pool2d if n == 2 else pooling.max_pool3d
        out, index = pool(x, *window, return_indices=True, ceil_mode=self.ceil_mode)
        return out, index.astype(self.argmax_type)

    return call


_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid"}
_POOL_DOC = """{what} of each window of (N, C, {sizes}).

    Args:
        kernel_size, strides (int or tuple): Default: 1.
        pad_mode (str): "valid" (the default){modes}.
        data_format (str): "{data_format}".
    """
for _name, _attributes, _call, _what in (
    ("MaxPool", {**_POOL, "data_format": "NCHW"}, _max_pool(2), "The largest value"),
    ("AvgPool", {**_POOL, "pad_mode": "VALID", "data_format": "NCHW"}, _avg_pool(2), "The mean"),
    ("MaxPoolWithArgmax", {**_POOL, "data_format": "NCHW"}, _max_pool_with_argmax, "The largest value, and its number,"),
):
    _doc = _POOL_DOC.format(what=_what, sizes="H, W", modes=' or "same"', data_format="NCHW")
    _offer(_name, _attributes, _call, _doc)
_DOC_3D = {"sizes": "D, H, W", "modes": ', "same" or "pad" with the padding `{}`', "data_format": "NCDHW"}
_offer(
    "MaxPool3D", {**_POOL, "pad_mode": "VALID", "pad_list": 0, "ceil_mode": None, "data_format": "NCDHW"}, _max_pool(3),
    _POOL_DOC.format(what="The largest value", **{**_DOC_3D, "modes": _DOC_3D["modes"].format("pad_list")}),
)  # fmt: skip
_offer(
    "AvgPool3D",
    {**_POOL, "pad": 0, "ceil_mode": False, "count_include_pad": True, "divisor_override": 0, "data_format": "NCDHW"},
    _avg_pool(3),
    _POOL_DOC.format(what="The mean", **{**_DOC_3D, "modes": _DOC_3D["modes"].format("pad")}),
)
_offer(
    "MaxPoolWithArgmaxV2",
    {
        "kernel_size": REQUIRED, "strides": None, "pads": 0, "dilation": (1, 1), "ceil_mode": False, "argmax_type": mstype.int64,
    },
    _max_pool_v2(2),
    "The largest value of each window of (N, C, H, W), and its number; see `ops.max_pool2d`.",
)  # fmt: skip
_offer(
    "MaxPool3DWithArgmax",
    {
        "ksize": REQUIRED, "strides": REQUIRED, "pads": REQUIRED, "dilation": (1, 1, 1), "ceil_mode": False,
        "data_format": "NCDHW", "argmax_type": mstype.int64,
    },
    _max_pool_v2(3),
    "The largest value of each window of (N, C, D, H, W), and its number; see `ops.max_pool3d`.",
)  # fmt: skip


def _unpool(unpool):
    def call(self, x, argmax):
        return unpool(x, argmax, self.ksize, self.strides or None, self.pads, self.output_shape or None)

    return call


for _name, _function, _format in (
    ("MaxUnpool2D", unpooling.max_unpool2d, "NCHW"),
    ("MaxUnpool3D", unpooling.max_unpool3d, "NCDHW"),
):
    _attributes = {"ksize": REQUIRED, "strides": 0, "pads": 0, "output_shape": (), "data_format": _format}
    _offer(_name, _attributes, _unpool(_function), f"The inverse of max-pooling; see `ops.{_function.__name__}`.")

_offer(
    "AdaptiveAvgPool2D", {"output_size": REQUIRED}, lambda self, x: pooling.adaptive_avg_pool2d(x, self.output_size),
    "See `ops.adaptive_avg_pool2d`.",
)  # fmt: skip
_offer(
    "AdaptiveAvgPool3D", {"output_size": REQUIRED}, lambda self, x: pooling.adaptive_avg_pool3d(x, self.output_size),
    "See `ops.adaptive_avg_pool3d`.",
)  # fmt: skip


def _adaptive_max_pool2d(self, input):
    if not isinstance(self.output_size, (tuple, list)):
        raise TypeError(f"For 'AdaptiveMaxPool2D', 'output_size' should be a tuple, but got {describe(self.output_size)}.")
    return pooling.adaptive_max_pool2d(input, self.output_size, True)


_offer(
    "AdaptiveMaxPool2D", {"output_size": REQUIRED}, _adaptive_max_pool2d,
    "The maxima and their numbers; see `ops.adaptive_max_pool2d`.",
)  # fmt: skip
_offer(
    "AdaptiveMaxPool3D", {}, lambda self, x, output_size: pooling.adaptive_max_pool3d(x, output_size, True),
    "The maxima and their numbers; see `ops.adaptive_max_pool3d`.",
)  # fmt: skip

# ---- normalization


def _batch_norm(self, input_x, scale, bias, mean, variance):
    if self.data_format != "NCHW":
        raise ValueError(f"For 'BatchNorm', 'data_format' should be 'NCHW', but got {self.data_format!r}.")
    training = bool(self.is_training)
    out = normalization.batch_norm_outputs(
        input_x, scale, bias, mean, variance, training, float(self.epsilon), float(self.momentum)
    )  # fmt: skip
    if training:
        mean._value, variance._value = out[1]._value, out[2]._value
    return out


_offer(
    "BatchNorm", {"is_training": False, "epsilon": 1e-5, "momentum": 0.1, "data_format": "NCHW"}, _batch_norm,
    """Batch normalization of (input, scale, bias, mean, variance).

    Returns a tuple of the output and, in training, of the new mean and variance and those of the batch; else of zeros.

    Args:
        is_training (bool): whether to use the batch's statistics and to move mean and variance towards them.
        epsilon (float): added to the variance. Default: 1e-5.
        momentum (float): the share of the batch in mean and variance. Default: 0.1.
        data_format (str): "NCHW".
    """,
)  # fmt: skip
_offer(
    "LayerNorm", {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7},
    lambda self, input_x, gamma, beta: normalization.layer_norm_outputs(
        input_x, gamma, beta, self.begin_norm_axis, self.begin_params_axis, float(self.epsilon)
    ),
    """Normalization over the last axes of (input, gamma, beta); returns the output, the mean and the variance.

    Args:
        begin_norm_axis, begin_params_axis (int): the first axis to normalize, and that of gamma and beta. Default: 1.
        epsilon (float): added to the variance. Default: 1e-7.
    """,
)  # fmt: skip


_offer(
    "LRN", {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5, "norm_region": "ACROSS_CHANNELS"},
    lambda self, x: normalization.lrn(x, self.depth_radius, self.bias, self.alpha, self.beta, self.norm_region),
    "Local response normalization; see `ops.lrn`.",
)  # fmt: skip
_offer(
    "RmsNorm", {"epsilon": 1e-6}, lambda self, x, gamma: normalization.rms_norm(x, gamma, float(self.epsilon)),
    "x divided by its root mean square; see `ops.rms_norm`.",
)  # fmt: skip

# ---- losses


def _nll_loss(self, logits, labels, weight):
    if labels.dtype.kind not in "iu":
        raise TypeError(f"For 'NLLLoss', the labels should be integers, but got {describe(labels)}.")
    loss = classification.nll_loss(
        logits, labels, weight, self.ignore_index, "sum" if self.reduction == "mean" else self.reduction
    )
    total = reduce_sum(classification.weights_of(weight, labels, self.ignore_index))
    return (true_divide(loss, total) if self.reduction == "mean" else loss), total


_REDUCED = {"reduction": "mean"}
for _name, _attributes, _call, _doc in (
    (
        "SoftmaxCrossEntropyWithLogits", {},
        lambda self, logits, labels: classification.softmax_cross_entropy_and_gradient(logits, labels),
        "The cross entropies of logits and probabilities (N, C), and their gradients.",
    ),
    (
        "SparseSoftmaxCrossEntropyWithLogits", {"is_grad": False},
        lambda self, logits, labels: classification.sparse_softmax_cross_entropy(logits, labels, bool(self.is_grad)),
        "The mean cross entropy of logits (N, C) and class numbers (N,), or with `is_grad` its gradient.",
    ),
    (
        "SigmoidCrossEntropyWithLogits", {},
        lambda self, logits, label: classification.binary_cross_entropy_with_logits(logits, label, reduction="none"),
        "Elementwise binary cross entropies of sigmoid(logits).",
    ),
    (
        "BCEWithLogitsLoss", _REDUCED,
        lambda self, predict, target, weight=None, pos_weight=None: classification.binary_cross_entropy_with_logits(
            predict, target, weight, pos_weight, self.reduction
        ),
        "See `ops.binary_cross_entropy_with_logits`.",
    ),
    (
        "BinaryCrossEntropy", _REDUCED,
        lambda self, logits, labels, weight=None: classification.binary_cross_entropy(logits, labels, weight, self.reduction),
        "See `ops.binary_cross_entropy`.",
    ),
    (
        "KLDivLoss", _REDUCED, lambda self, logits, labels: losses.kl_div(logits, labels, self.reduction), "See `ops.kl_div`.",
    ),
    ("NLLLoss", {**_REDUCED, "ignore_index": -100}, _nll_loss, "The loss and the sum of the weights; see `ops.nll_loss`."),
    (
        "SmoothL1Loss", {"beta": 1.0, "reduction": "none"},
        lambda self, logits, labels: losses.smooth_l1_loss(logits, labels, self.beta, self.reduction),
        "See `ops.smooth_l1_loss`.",
    ),
    (
        "SoftMarginLoss", _REDUCED, lambda self, logits, labels: losses.soft_margin_loss(logits, labels, self.reduction),
        "See `ops.soft_margin_loss`.",
    ),
    (
        "MultiMarginLoss", {"p": 1, "margin": 1.0, **_REDUCED},
        lambda self, x, target, weight=None: classification.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction),
        "See `ops.multi_margin_loss`.",
    ),
    (
        "MultilabelMarginLoss", _REDUCED,
        lambda self, x, target: classification.multilabel_margin_loss(x, target, self.reduction),
        "See `ops.multilabel_margin_loss`.",
    ),
    (
        "TripletMarginLoss", {"p": 2, "swap": False, "eps": 1e-6, **_REDUCED},
        lambda self, x, positive, negative, margin: losses.triplet_margin_loss(
            x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction
        ),
        "See `ops.triplet_margin_loss`.",
    ),
    (
        "CTCLossV2", {"blank": 0, "reduction": "none", "zero_infinity": False},
        lambda self, log_probs, targets, input_lengths, target_lengths: ctc.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        ),
        "See `ops.ctc_loss`.",
    ),
    (
        "CTCLoss", {"preprocess_collapse_repeated": False, "ctc_merge_repeated": True, "ignore_longer_outputs_than_inputs": False},
        _ctc_loss,
        """The loss of connectionist temporal classification, and its gradient with respect to the inputs.

    Args:
        preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs (bool): other values than the
            defaults are not offered. Default: False, True and False.

    Inputs:
        x (Tensor): shape (T, N, C), logits, of which the last class is the blank one.
        labels_indices (Tensor): shape (labels, 2), of each label the number of its sequence and its place there.
        labels_values (Tensor): shape (labels,), the labels.
        sequence_length (Tensor): shape (N,), how many of the T steps count.

    Outputs:
        The losses (N,), and the gradient of their sum (T, N, C).
    """,
    ),
    (
        "CTCGreedyDecoder", {"merge_repeated": True},
        lambda self, inputs, sequence_length: ctc.ctc_greedy_decoder(inputs, sequence_length, self.merge_repeated),
        "See `ops.ctc_greedy_decoder`.",
    ),
):  # fmt: skip
    _offer(_name, _attributes, _call, _doc)
