"""Operator classes of convolution, normalization and activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, Shape, TensorLike
from msjax.core.base.checks import check_one_of, check_rank, check_value
from msjax.core.base.typing import Axes
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import casting
from msjax.ops.function.nn_func import activations, attention, convolution, local_response, normalization
from msjax.ops.function.nn_func.convolution import conv_pads
from msjax.ops.function.nn_func.convolution_kernels import CONV, CONV_TRANSPOSE
from msjax.ops.function.nn_func.sliding import n_ints
from msjax.ops.primitive import Form, OfInput, OfInputX, OfX

__all__ = [
    "Conv2D", "Conv3D", "Conv2DTranspose", "Conv2DBackpropInput", "Conv3DTranspose", "BiasAdd", "LRN", "RmsNorm",
    "BatchNorm", "LayerNorm", "FlashAttentionScore", "ReLU", "ReLU6", "Sigmoid", "Softsign", "HSigmoid", "HSwish", "SeLU",
    "Mish", "FastGeLU", "FastGelu", "PReLU", "Elu", "CeLU", "HShrink", "SoftShrink", "GLU", "Softmax", "LogSoftmax", "GeLU",
    "Gelu", "Softplus", "LogSoftmaxExt", "SiLU",
]  # fmt: skip


# ---- convolution


def _last(values, n, name, who):
    """n numbers from one, n or those of all axes of MindSpore's attributes."""
    values = freeze(values)
    if isinstance(values, tuple) and len(values) == n + 2:
        values = values[2:]
    return n_ints(values, n, name, who)


def check_format(self):
    """Raises for another data format than a class takes."""
    check_value(self.data_format, self.data_format in ("NCHW", "NCDHW"), "be 'NCHW'", "data_format", self.name)


def attributes_of(self, n, *keys):
    """The attributes of these names, each as n ints."""
    return (_last(getattr(self, key), n, key, self.name) for key in keys)


def _convolve(self, n, x, weight):
    check_format(self)
    stride, dilation = attributes_of(self, n, "stride", "dilation")
    kernel = n_ints(self.kernel_size, n, "kernel_size", self.name)
    if weight.shape[0] != self.out_channel or weight.shape[2:] != kernel:
        raise RuntimeError(
            f"For '{self.name}', the weight should have {self.out_channel} output channels and a kernel of {kernel}, but its "
            f"shape is {weight.shape}."
        )
    check_rank(x, n + 2, "the input", self.name)
    pads = conv_pads(self.pad_mode, self.pad, n, self.name)
    return apply(CONV, (x, weight, None), (stride, pads, dilation, self.group))


class _Conv(Form):
    out_channel: int
    kernel_size: Axes
    mode: int = 1
    pad_mode: str = "valid"
    pad: Axes = 0
    stride: Axes = 1
    dilation: Axes = 1
    group: int = 1
    data_format: str = "NCHW"


class Conv2D(_Conv):
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
        >>> from msjax import ops
        >>> ops.Conv2D(4, 3)(ops.ones((1, 2, 5, 5)), ops.ones((4, 2, 3, 3))).shape
        (1, 4, 3, 3)
    """

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        return _convolve(self, 2, x, weight)


class Conv3D(_Conv):
    """A 3-D convolution of (N, C, D, H, W) with a weight (out_channel, C / group, d, h, w); see `Conv2D`."""

    data_format: str = "NCDHW"

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        return _convolve(self, 3, x, weight)


class _ConvBackpropInput(Form):
    """The gradient of a 2-D convolution with respect to its input: of (dout, weight, input_size).

    Args:
        out_channel, kernel_size, pad_mode, pad, stride, dilation, group: those of the convolution.
        pad_list (tuple, optional): used instead of `pad`.
        mode (int): accepted for compatibility with MindSpore, without effect.
    """

    out_channel: int
    kernel_size: Axes
    pad_mode: str = "valid"
    pad: Axes = 0
    pad_list: Axes | None = None
    mode: int = 1
    stride: Axes = 1
    dilation: Axes = 1
    group: int = 1
    data_format: str = "NCHW"

    def __call__(self, dout: Tensor, weight: Tensor, input_size: Shape) -> Tensor:
        check_format(self)
        sizes = freeze(input_size)
        stride, dilation = attributes_of(self, 2, "stride", "dilation")
        pad = self.pad if self.pad_list is None else self.pad_list
        pads = conv_pads(self.pad_mode, pad, 2, self.name)
        return apply(CONV_TRANSPOSE, (dout, weight, None), (stride, pads, dilation, self.group, sizes[2:]))


# fmt: off
class Conv2DTranspose(_ConvBackpropInput): __doc__ = _ConvBackpropInput.__doc__
class Conv2DBackpropInput(_ConvBackpropInput): __doc__ = _ConvBackpropInput.__doc__
# fmt: on


class Conv3DTranspose(Form):
    """The transpose of a 3-D convolution; see `ops.conv3d_transpose`."""

    in_channel: int
    out_channel: int
    kernel_size: Axes
    mode: int = 1
    pad_mode: str = "valid"
    pad: Axes = 0
    stride: Axes = 1
    dilation: Axes = 1
    group: int = 1
    output_padding: int = 0
    data_format: str = "NCDHW"

    def __call__(self, dout: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
        check_format(self)
        if bias is not None:
            raise NotImplementedError("For 'Conv3DTranspose', a bias is not offered: add it with ops.bias_add.")
        stride, dilation = attributes_of(self, 3, "stride", "dilation")
        return convolution.conv3d_transpose(
            dout, weight, self.pad_mode, self.pad, stride, dilation, self.group, self.output_padding
        )


class BiasAdd(Form):
    """x + bias, with one number for each channel; see `ops.bias_add`."""

    data_format: str = "NCHW"

    def __call__(self, input_x: TensorLike, bias: TensorLike) -> Tensor:
        axis = {"NCHW": 1, "NCDHW": 1, "NHWC": -1}.get(self.data_format)
        check_value(self.data_format, axis is not None, "be 'NCHW', 'NHWC' or 'NCDHW'", "data_format", "BiasAdd")
        return convolution._bias_add(input_x, bias, axis)


# ---- normalization


class LRN(OfX, of=local_response.lrn):
    depth_radius: int = 5
    bias: float = 1.0
    alpha: float = 1.0
    beta: float = 0.5
    norm_region: str = "ACROSS_CHANNELS"


class RmsNorm(Form):
    """x divided by its root mean square; see `ops.rms_norm`."""

    epsilon: float = 1e-6

    def __call__(self, x: TensorLike, gamma: TensorLike) -> tuple[Tensor, Tensor]:
        return normalization.rms_norm(x, gamma, float(self.epsilon))


class BatchNorm(Form):
    """Batch normalization of (input, scale, bias, mean, variance).

    Returns a tuple of the output and, in training, of the new mean and variance and those of the batch; else of zeros.

    Args:
        is_training (bool): whether to use the batch's statistics and to move mean and variance towards them.
        epsilon (float): added to the variance. Default: 1e-5.
        momentum (float): the share of the batch in mean and variance. Default: 0.1.
        data_format (str): "NCHW".
    """

    is_training: bool = False
    epsilon: float = 1e-5
    momentum: float = 0.1
    data_format: str = "NCHW"

    def __call__(
        self, input_x: TensorLike, scale: TensorLike, bias: TensorLike, mean: Tensor, variance: Tensor
    ) -> tuple[Tensor, ...]:
        check_one_of(self.data_format, ("NCHW",), "data_format", "BatchNorm")
        training = bool(self.is_training)
        old = 1 - float(self.momentum)
        out = normalization.batch_norm_outputs(input_x, scale, bias, mean, variance, float(self.epsilon), old, 1 - old, training)
        if training:
            mean._set_value(out[1]._value)
            variance._set_value(out[2]._value)
        return out


class LayerNorm(Form):
    """Normalization over the last axes of (input, gamma, beta); returns the output, the mean and the variance.

    Args:
        begin_norm_axis, begin_params_axis (int): the first axis to normalize, and that of gamma and beta. Default: 1.
        epsilon (float): added to the variance. Default: 1e-7.
    """

    begin_norm_axis: int = 1
    begin_params_axis: int = 1
    epsilon: float = 1e-7

    def __call__(self, input_x: TensorLike, gamma: TensorLike, beta: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
        axes = (self.begin_norm_axis, self.begin_params_axis)
        return normalization.layer_norm_outputs(input_x, gamma, beta, *axes, float(self.epsilon))


class FlashAttentionScore(Form):
    """Attention of queries to keys and values, which are projected already; see `ops.flash_attention_score`.

    Args:
        head_num (int): the number of heads of the query.
        keep_prob (float): 1.0; no weights are dropped.
        scale_value (float): what scores are multiplied with. Default: 1.0.
        pre_tokens, next_tokens (int): not limited.
        inner_precise (int): without effect.
        input_layout (str): "BSH", "SBH", "BSND" or "BNSD". Default: "BSH".
        sparse_mode (int): 0 to 3. Default: 0.

    Outputs:
        Tuple of the greatest scores and the sums of exponentials, each Float32 of shape (B, N, S, 8), an empty Tensor, and the output.
    """

    head_num: int
    keep_prob: float = 1.0
    scale_value: float = 1.0
    pre_tokens: int = attention.UNLIMITED
    next_tokens: int = attention.UNLIMITED
    inner_precise: int = 0
    input_layout: str = "BSH"
    sparse_mode: int = 0

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        real_shift: Tensor | None = None,
        drop_mask: Tensor | None = None,
        padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        prefix: Any = None,
        actual_seq_qlen: Any = None,
        actual_seq_kvlen: Any = None,
    ) -> Any:
        greatest, total, out = attention.flash_outputs(
            "FlashAttentionScore", query, key, value, self.head_num, real_shift, padding_mask, attn_mask, self.scale_value,
            self.input_layout, self.sparse_mode, (drop_mask, prefix, actual_seq_qlen, actual_seq_kvlen), self.keep_prob,
            min(self.pre_tokens, self.next_tokens),
        )  # fmt: skip
        return greatest, total, Tensor(np.zeros(0, np.float32)), out


# ---- activations


def _gelu_by_tanh(input: TensorLike) -> Tensor:
    """input * Phi(input), Phi the normal distribution function, by its approximation with tanh."""
    return activations.gelu(input, "tanh")


# fmt: off
class ReLU(Form): __call__ = staticmethod(activations.relu)
class ReLU6(Form): __call__ = staticmethod(activations.relu6)
class Sigmoid(Form): __call__ = staticmethod(activations.sigmoid)
class Softsign(Form): __call__ = staticmethod(activations.softsign)
class HSigmoid(Form): __call__ = staticmethod(activations.hardsigmoid)
class HSwish(Form): __call__ = staticmethod(activations.hardswish)
class SeLU(Form): __call__ = staticmethod(activations.selu)
class Mish(Form): __call__ = staticmethod(activations.mish)
class FastGeLU(Form): __call__ = staticmethod(activations.fast_gelu)
class FastGelu(Form): __call__ = staticmethod(activations.fast_gelu)
class PReLU(Form): __call__ = staticmethod(activations.prelu)
class SiLU(Form): __call__ = staticmethod(activations.silu)
class GeLU(Form): __call__ = staticmethod(_gelu_by_tanh)
class Gelu(Form): __call__ = staticmethod(_gelu_by_tanh)
class Elu(OfInputX, of=activations.elu): alpha: float = 1.0
class CeLU(OfX, of=activations.celu): alpha: float = 1.0
class HShrink(OfInput, of=activations.hardshrink): lambd: float = 0.5
class SoftShrink(OfInput, of=activations.softshrink): lambd: float = 0.5
class GLU(OfX, of=activations.glu): axis: int = -1
# fmt: on


class Softmax(Form, of=activations.softmax):
    axis: int = -1

    def __call__(self, input: TensorLike, *, dtype: Type | None = None) -> Tensor:
        return activations.softmax(input, self.axis, dtype=dtype)


class LogSoftmax(Form, of=activations.log_softmax):
    axis: int = -1

    def __call__(self, logits: TensorLike) -> Tensor:
        return activations.log_softmax(logits, self.axis)


class Softplus(Form):
    """log(1 + exp(x)): ``ops.Softplus()(x)``."""

    def __call__(self, x: TensorLike) -> Tensor:
        return activations.softplus(x, 1, 1e30)


class LogSoftmaxExt(Form):
    """log(softmax(input)) along an axis, the last by default: ``ops.LogSoftmaxExt()(input, dim)``."""

    def __call__(self, input: TensorLike, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        return activations.log_softmax(input if dtype is None else casting.cast(input, dtype), -1 if dim is None else dim)
