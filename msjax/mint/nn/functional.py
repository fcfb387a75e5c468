"""mint's functional layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.arrays import concrete
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_one_of, check_value
from msjax.core.base.lazy import on_first_use
from msjax.core.base.typing import Axes, Number
from msjax.mint.arrange import flatten
from msjax.mint.reduction import norm
from msjax.mint.special import log_softmax
from msjax.ops.dispatch.docs import titled
from msjax.ops.function.nn_func.pads import pad as _pad
from msjax.ops.methods.inplace import inplace

# isort: off
# The same functions as in ops.
from msjax.ops import (
    adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool2d, binary_cross_entropy,
    conv_transpose2d, cosine_embedding_loss, cross_entropy, embedding, fold, gelu, grid_sample, group_norm, hardshrink,
    hardsigmoid, hardswish, interpolate, l1_loss, layer_norm, logsigmoid, max_unpool2d, mish, mse_loss, pixel_shuffle, prelu,
    selu, sigmoid, soft_margin_loss, softplus, softshrink, tanh, unfold, upsample,
)  # fmt: skip
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor

# isort: on


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "conv1d", "conv2d", "conv3d", "conv_transpose2d", "cosine_embedding_loss", "cross_entropy", "dropout", "dropout2d", "elu",
    "elu_", "embedding", "flatten", "fold", "gelu", "glu", "grid_sample", "group_norm", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "logsigmoid", "max_pool2d", "max_unpool2d", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pixel_shuffle", "prelu", "relu", "relu6", "relu_", "selu", "sigmoid", "sigmoid_", "silu", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softplus", "softshrink", "tanh", "threshold", "threshold_", "unfold", "upsample",
]  # fmt: skip


# ---- activations


def _put(target, result, wanted):
    return inplace(lambda _: result)(target) if wanted else result


def relu(input: TensorLike, inplace: bool = False) -> Tensor:
    """max(input, 0), elementwise; with `inplace`, written to the input."""
    return _put(input, ops.relu(input), inplace)


def relu6(input: TensorLike, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6), elementwise; with `inplace`, written to the input."""
    return _put(input, ops.relu6(input), inplace)


def silu(input: TensorLike, inplace: bool = False) -> Tensor:
    """input * sigmoid(input), elementwise; with `inplace`, written to the input."""
    return _put(input, ops.silu(input), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input, or alpha * (exp(input) - 1) where that is negative; with `inplace`, written to the input."""
    return _put(input, ops.elu(input, alpha), inplace)


def hardtanh(input: TensorLike, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Values limited to [min_val, max_val]; with `inplace`, written to the input."""
    return _put(input, ops.hardtanh(input, min_val, max_val), inplace)


def leaky_relu(input: TensorLike, negative_slope: float = 0.01) -> Tensor:
    """input, or negative_slope * input where that is negative."""
    return ops.leaky_relu(input, negative_slope)


def threshold(input: TensorLike, threshold: Number | Tensor, value: Number | Tensor, inplace: bool = False) -> Tensor:
    """input where it exceeds a threshold, `value` elsewhere; with `inplace`, written to the input."""
    return _put(input, ops.threshold(input, threshold, value), inplace)


def glu(input: TensorLike, dim: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    return ops.glu(input, dim)


def softmax(input: TensorLike, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along an axis; the last by default."""
    return ops.softmax(input, -1 if dim is None else dim, dtype=dtype)


relu_ = inplace(ops.relu)
sigmoid_ = inplace(ops.sigmoid)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In place: `elu`."""
    return elu(input, alpha, True)


def hardtanh_(input: TensorLike, min_val: float = -1, max_val: float = 1) -> Tensor:
    """In place: `hardtanh`."""
    return hardtanh(input, min_val, max_val, True)


def threshold_(input: TensorLike, threshold: Number | Tensor, value: Number | Tensor) -> Tensor:
    """In place: `threshold`."""
    return _put(input, ops.threshold(input, threshold, value), True)


# ---- linear


def linear(input: TensorLike, weight: Parameter | Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, over the last axis.

    Example:
        >>> from msjax import Tensor, mint
        >>> print(mint.nn.functional.linear(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])))
        [[11.]]
    """
    return ops.dense(input, weight, bias)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last axis with 1 at the position that the index names, 0 elsewhere, as Int64.

    Args:
        tensor (Tensor): of integers.
        num_classes (int): the size of the new axis; by default one more than the greatest index.
    """
    if num_classes == -1:
        num_classes = int(np.asarray(concrete(tensor, "one_hot without 'num_classes'")).max(initial=-1)) + 1
    return ops.one_hot(tensor, num_classes).astype(mstype.int64)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Vectors along an axis, divided by their p-norm, or by `eps` where that is larger."""
    length = norm(input, p, dim, True)
    return input / ops.clamp(length, eps, None)


# ---- convolution and pooling


def _both_sides(padding, n):
    """The padding in the form of ops' average pooling: where it has one number for each axis, the same at both its sides."""
    if isinstance(padding, (tuple, list)) and len(padding) == n:
        return tuple(p for p in padding for _ in range(2))
    return padding


class _Convolution(Protocol):
    def __call__(
        self,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Axes = 1,
        padding: Axes | str = 0,
        dilation: Axes = 1,
        groups: int = 1,
    ) -> Tensor: ...


def _batched(n, function, input, *args):
    """Call a function of (N, C, ...) with `n` further axes with such an input, or one without N."""
    if input.ndim != n + 1:
        return function(input, *args)
    out = function(ops.expand_dims(input, 0), *args)
    return tuple([ops.squeeze(each, 0) for each in out]) if isinstance(out, tuple) else ops.squeeze(out, 0)


def _conv(function: Callable[..., Tensor], n: int) -> _Convolution:
    def call(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Axes = 1,
        padding: Axes | str = 0,
        dilation: Axes = 1,
        groups: int = 1,
    ) -> Tensor:
        if isinstance(padding, str):
            check_value(padding, padding in ("same", "valid"), "be 'same', 'valid' or ints", "padding")
        else:
            # Pad here: each of ops' convolutions takes the padding in another form.
            sizes = (padding,) * n if isinstance(padding, int) else tuple(padding)
            widths = [w for size in reversed(sizes) for w in (size, size)]
            input, padding = _pad(input, tuple(widths)) if any(widths) else input, "valid"
        return _batched(n, function, input, weight, bias, stride, padding, 0, dilation, groups)

    doc = f"""The convolution of Tensors of shape (N, C, ...) with {n} further axes.

    Args:
        input (Tensor): of shape (N, C, ...), or without N.
        weight (Tensor): of shape (out channels, C / groups, ...).
        bias (Tensor, optional): of shape (out channels,).
        stride, dilation (int or tuple): Default: 1.
        padding (int, tuple or str): zeros added on both sides, or "same" or "valid". Default: 0.
        groups (int): Default: 1.
    """
    return titled(call, f"conv{n}d", doc)


conv1d: _Convolution = _conv(ops.conv1d, 1)
conv2d: _Convolution = _conv(ops.conv2d, 2)
conv3d: _Convolution = _conv(ops.conv3d, 3)


def max_pool2d(
    input: Tensor,
    kernel_size: Axes,
    stride: Axes | None = None,
    padding: Axes = 0,
    dilation: Axes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest value of each window; with `return_indices`, also where it was."""
    return _batched(2, ops.max_pool2d, input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def avg_pool1d(
    input: Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window; `stride` is the window's size by default."""
    stride = kernel_size if stride is None else stride
    return _batched(1, ops.avg_pool1d, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Axes,
    stride: Axes | None = None,
    padding: Axes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum divided by `divisor_override`; `stride` is the window's size by default."""
    stride, padding = kernel_size if stride is None else stride, _both_sides(padding, 2)
    return _batched(2, ops.avg_pool2d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or 0)


def avg_pool3d(
    input: TensorLike,
    kernel_size: Axes,
    stride: Axes | None = None,
    padding: Axes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum divided by `divisor_override`; `stride` is the window's size by default."""
    stride, padding = kernel_size if stride is None else stride, _both_sides(padding, 3)
    return _batched(3, ops.avg_pool3d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or 0)


def adaptive_avg_pool1d(input: Tensor, output_size: int) -> Tensor:
    """The mean of each of `output_size` windows, which needn't divide the last axis."""
    return ops.squeeze(ops.adaptive_avg_pool2d(ops.expand_dims(input, -2), (1, output_size)), -2)


def adaptive_max_pool1d(input: Tensor, output_size: int, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The largest value of each of `output_size` windows, which needn't divide the last axis; with `return_indices`, also where it was."""
    values, indices = ops.adaptive_max_pool2d(ops.expand_dims(input, -2), (1, output_size), True)
    return (ops.squeeze(values, -2), ops.squeeze(indices, -2)) if return_indices else ops.squeeze(values, -2)


def pad(input: Tensor, pad: Sequence[int] | Tensor, mode: str = "constant", value: Number | None = None) -> Tensor:
    """The Tensor with elements added at its edges, from the last axis on; see `ops.pad`."""
    return _pad(input, pad, mode, value)


# ---- normalization and dropout


def batch_norm(
    input: Tensor,
    running_mean: Parameter | None,
    running_var: Parameter | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Each channel (axis 1) minus its mean, divided by its standard deviation, times `weight`, plus `bias`.

    Args:
        input (Tensor): of shape (N, C, ...).
        running_mean, running_var (Tensor or None): of shape (C,); updated in place in training.
        weight, bias (Tensor, optional): of shape (C,).
        training (bool): take mean and variance from the input. Default: False.
        momentum (float): the share of the new statistics in the running ones. Default: 0.1.
        eps (float): added to the variance. Default: 1e-5.
    """
    shape = (1, -1) + (1,) * (input.ndim - 2)
    wide = ops.cast(input, mstype.float32) if input.itemsize < 4 else input  # Float16 can't hold variances above 65,504
    if training or running_mean is None:
        axes = tuple(i for i in range(input.ndim) if i != 1)
        mean, var = ops.mean(wide, axes), ops.var(wide, axes)
        if training and running_mean is not None and running_var is not None:
            count = input.size // input.shape[1]
            unbiased = var * (count / max(count - 1, 1))
            for running, now in ((running_mean, mean), (running_var, unbiased)):
                ops.assign(running, ops.stop_gradient(running * (1 - momentum) + now * momentum))
    else:
        mean, var = running_mean, running_var
    scale = ops.rsqrt(var + eps)  # pyright: ignore[reportOptionalOperand]
    if weight is not None:
        scale = scale * weight
    out = (wide - ops.reshape(mean, shape)) * ops.reshape(scale, shape)
    out = out if bias is None else out + ops.reshape(bias, shape)
    return out if wide is input else ops.cast(out, input.dtype)


def dropout(input: TensorLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to zero with probability `p`, the others scaled by 1 / (1 - p)."""
    return _put(input, ops.dropout(input, p, training), inplace)


def dropout2d(input: TensorLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channels set to zero with probability `p`, the others scaled by 1 / (1 - p)."""
    return _put(input, ops.dropout2d(input, p, training) if training else input, inplace)


# ---- losses


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Half the squared error over `beta` where the error is below `beta`, the error minus half of `beta` elsewhere."""
    return ops.smooth_l1_loss(input, target, beta, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The cross entropy of sigmoid(input) and a target between 0 and 1."""
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log probability that `input` gives the target's classes."""
    return ops.nll_loss(input, target, weight, ignore_index, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of a target from log probabilities.

    Args:
        input (Tensor): log probabilities.
        target (Tensor): probabilities, or their logarithms with `log_target`.
        reduction (str): "none", "mean", "batchmean" or "sum". Default: "mean".
        log_target (bool): Default: False.
    """
    if log_target:
        loss = ops.exp(target) * (target - input)
    else:
        loss = ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return ops.sum(loss) / input.shape[0]
    check_one_of(reduction, ("none", "mean", "sum"), "reduction", "kl_div")
    return loss if reduction == "none" else ops.mean(loss) if reduction == "mean" else ops.sum(loss)


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
