"""Loss functions of classification: cross entropies, margins between classes."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_int, check_number, check_one_of, check_same_shape, check_value
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator, require_tensors
from msjax.ops.function.math_func.tables import with_slopes
from msjax.ops.function.nn_func.losses import check_reduction, loss, reduce_loss

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss",
]  # fmt: skip


def _is_int(x):
    return jnp.issubdtype(x.dtype, jnp.integer)


@operator(2, name="SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(logits: TensorLike, labels: TensorLike, sparse: bool, reduction: str) -> JaxArray:
    """Cross entropy of logits (N, C) with class numbers (N,) if sparse, else with probabilities (N, C).

    The mean over class numbers is also that of logits with more axes, the classes along the last one.
    """
    if sparse != _is_int(labels):
        wanted = "integers, the classes' numbers," if sparse else "floats, the classes' probabilities,"
        raise TypeError(f"the labels should be {wanted} but their dtype is {labels.dtype}.")
    if not (logits.ndim == 2 or (logits.ndim > 2 and sparse and reduction == "mean")) or labels.shape != (
        logits.shape[:-1] if sparse else logits.shape
    ):
        raise ValueError(f"logits of shape (N, C) don't fit labels: got {logits.shape} and {labels.shape}.")
    log_p = jax.nn.log_softmax(logits, -1)
    if sparse:
        losses = -_at_classes(log_p, labels)
    else:
        losses = -jnp.sum(log_p * labels, -1)
    return reduce_loss(losses, reduction)


@operator(2, name="SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy_and_gradient(logits: TensorLike, labels: TensorLike) -> tuple[JaxArray, JaxArray]:
    """The cross entropies (N,) and their gradients (N, C)."""
    losses = -jnp.sum(jax.nn.log_softmax(logits, -1) * labels, -1)
    return losses, jax.lax.stop_gradient(jax.nn.softmax(logits, -1) - labels)


@operator(2, name="SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(logits: TensorLike, labels: TensorLike, is_grad: bool) -> JaxArray:
    """The mean cross entropy, or its gradient."""
    if is_grad:
        return (jax.nn.softmax(logits, -1) - jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)) / logits.shape[0]
    return -jnp.mean(_at_classes(jax.nn.log_softmax(logits, -1), labels))


def _at_classes(x, classes, axis=-1):
    """x at one class number along an axis."""
    index = jnp.expand_dims(classes.astype(jnp.int32), axis)
    return jnp.squeeze(jnp.take_along_axis(x, index, axis), axis)


def _nll(log_p, target, weight, share_of_target, share_of_each, ignore_index, reduction, smooth, axis):
    """Losses of class numbers; `axis` is that of the classes."""
    valid = target != ignore_index
    classes = jnp.where(valid, target, 0)
    share = valid.astype(log_p.dtype)
    if weight is not None:
        check_value(
            weight, weight.shape == (log_p.shape[axis],), f"have one number for each of {log_p.shape[axis]} classes", "weight"
        )
        share = share * jnp.take(weight, classes)
    losses = -_at_classes(log_p, classes, axis) * share
    total = jnp.sum(losses) if reduction != "none" else losses
    if smooth:
        if weight is not None:
            log_p = log_p * weight.reshape([-1 if i == axis % log_p.ndim else 1 for i in range(log_p.ndim)])
        even = jnp.where(valid, -jnp.sum(log_p, axis), 0)
        even = jnp.sum(even) if reduction != "none" else even
        total = share_of_target * total + share_of_each * even
    return total / jnp.sum(share) if reduction == "mean" else total


@operator(3, numbers=("share_of_target", "share_of_each"))
def _nll_loss(inputs, target, weight, share_of_target, share_of_each, ignore_index, reduction, smooth):
    axis = 0 if inputs.ndim == 1 else 1
    return _nll(inputs, target, weight, share_of_target, share_of_each, ignore_index, reduction, smooth, axis)


def _loss_of_classes(kernel, input, target, weight, ignore_index, reduction, label_smoothing, who):
    """What a kernel makes of its operands, the shares of the target's class and of each class in a smoothed target, and the settings."""
    require_tensors(who, input=input, target=target)
    check_int(ignore_index, "ignore_index", who)
    check_reduction(reduction, who)
    check_number(label_smoothing, "label_smoothing", who, low=0, high=1)
    wanted = input.shape[:1] + input.shape[2:] if input.ndim > 1 else ()
    check_value(target, target.dtype.kind not in "iu" or target.shape == wanted, f"have shape {wanted}", "the target", who)
    smoothing = float(label_smoothing)
    shares = (1 - smoothing, smoothing / input.shape[0 if input.ndim == 1 else 1]) if smoothing else (None, None)
    return kernel(input, target, weight, *shares, ignore_index, reduction, bool(smoothing))


@operator(2, differentiable=False)
def weights_of(weight: TensorLike, target: TensorLike, ignore_index: int) -> JaxArray:
    """The weight of each target; 0 for one that doesn't count."""
    return jnp.where(target == ignore_index, 0, jnp.take(weight, jnp.where(target == ignore_index, 0, target)))


def nll_loss(
    inputs: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative of the inputs, logarithms of probabilities, at the classes of the target.

    Args:
        inputs (Tensor): of shape (N, C), (N, C, d1, ...) or (C,).
        target (Tensor): integers, of shape (N,), (N, d1, ...) or ().
        weight (Tensor, optional): of shape (C,), the weight of each class.
        ignore_index (int): a target that doesn't count. Default: -100.
        reduction (str): "mean" (the default, weighted), "sum" or "none".
        label_smoothing (float): the weight of uniform probabilities in the target, in [0, 1]. Default: 0.0.

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> print(ops.nll_loss(Tensor([[-1.0, -2.0]]), Tensor([1])))
        2.0
    """
    return _loss_of_classes(_nll_loss, inputs, target, weight, ignore_index, reduction, label_smoothing, "nll_loss")


@operator(3, numbers=("share_of_target", "share_of_each"))
def _cross_entropy(input, target, weight, share_of_target, share_of_each, ignore_index, reduction, smooth):
    axis = 0 if input.ndim == 1 else 1
    log_p = jax.nn.log_softmax(input, axis)
    if _is_int(target):
        return _nll(log_p, target, weight, share_of_target, share_of_each, ignore_index, reduction, smooth, axis)
    if target.shape != input.shape:
        raise ValueError(f"probabilities should have the input's shape, {input.shape}, but their shape is {target.shape}.")
    if smooth:
        target = target * share_of_target + share_of_each
    if weight is not None:
        log_p = log_p * weight.reshape([-1 if i == axis else 1 for i in range(input.ndim)])
    losses = -jnp.sum(log_p * target, axis)
    return reduce_loss(losses, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of softmax(input) with the target.

    Args:
        input (Tensor): of shape (N, C), (N, C, d1, ...) or (C,).
        target (Tensor): class numbers, integers of shape (N,), (N, d1, ...) or (); or probabilities, floats of the
            input's shape.
        weight, ignore_index, reduction, label_smoothing: as in `nll_loss`; the mean of probabilities is not weighted.

    Raises:
        TypeError, ValueError: as in `nll_loss`.

    Example:
        >>> print(ops.cross_entropy(Tensor([[0.0, 0.0]]), Tensor([1])))
        0.6931472
    """
    return _loss_of_classes(_cross_entropy, input, target, weight, ignore_index, reduction, label_smoothing, "cross_entropy")


# ---- two classes

_TINY = 1e-12


def _log(p):
    return jnp.log(jnp.maximum(p, jnp.asarray(_TINY, p.dtype)))


# By MindSpore's form of the slope, which is 0, and not infinite, where a probability of 0 or 1 is right.
_bce = with_slopes(
    lambda p, label: -(label * _log(p) + (1 - label) * _log(1 - p)),
    lambda p, label, out: (p - label) / jnp.maximum(p * (1 - p), _TINY),
    lambda p, label, out: _log(1 - p) - _log(p),
)


@loss(3, "BinaryCrossEntropy")
def binary_cross_entropy(logits: Tensor, labels: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> JaxArray:
    """-(labels * log(p) + (1 - labels) * log(1 - p)) of probabilities p.

    Args:
        logits (Tensor): the probabilities, in [0, 1].
        labels (Tensor): of the same shape, in [0, 1].
        weight (Tensor, optional): of a shape that can be broadcast.
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.
    """
    check_same_shape(logits, labels, "probabilities and labels")
    losses = _bce(logits, labels.astype(logits.dtype))
    return reduce_loss(losses if weight is None else losses * weight, reduction)


@loss(4, "BCEWithLogitsLoss")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: str = "mean"
) -> JaxArray:
    """The binary cross entropy of sigmoid(input) with the target, computed without overflow.

    Args:
        input, target (Tensor): of the same shape.
        weight (Tensor, optional): of a shape that can be broadcast.
        pos_weight (Tensor, optional): the weight of targets 1, of a shape that can be broadcast.
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.
    """
    negative = jax.nn.softplus(-input)
    if pos_weight is None:
        losses = (1 - target) * input + negative
    else:
        losses = (1 - target) * input + ((pos_weight - 1) * target + 1) * negative
    losses = losses if weight is None else losses * weight
    return reduce_loss(losses.astype(jnp.result_type(input, target)), reduction)


# ---- margins


@operator(3, numbers=("margin",), name="MultiMarginLoss")
def _multi_margin_loss(input, target, weight, p, margin, reduction):
    own = jnp.take_along_axis(input, target.astype(jnp.int32)[:, None], 1)
    losses = jnp.maximum(margin - own + input, 0) ** p
    if weight is not None:
        losses = losses * jnp.take(weight, target)[:, None]
    others = jnp.arange(input.shape[1]) != target[:, None]
    return reduce_loss(jnp.sum(jnp.where(others, losses, 0), 1) / input.shape[1], reduction)


def multi_margin_loss(
    input: TensorLike, target: TensorLike, p: int = 1, margin: float = 1, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over the other classes of max(0, margin - own + other) ** p, where own is the input at the target.

    Args:
        input (Tensor): of shape (N, C).
        target (Tensor): class numbers, of shape (N,).
        p (int): 1 (the default) or 2.
        margin (int or float): Default: 1.
        weight (Tensor, optional): of shape (C,), the weight of each target.
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        ValueError: an unsupported `p` or an unknown reduction.
    """
    check_one_of(p, (1, 2), "p", "multi_margin_loss")
    check_reduction(reduction, "multi_margin_loss")
    return _multi_margin_loss(input, target, weight, int(p), float(margin), reduction)


@loss(2, "MultilabelMarginLoss", arrays=True)
def multilabel_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> JaxArray:
    """The sum, over a sample's targets and its other classes, of max(0, 1 - target + other), divided by the classes' number.

    Args:
        input (Tensor): of shape (N, C) or (C,).
        target (Tensor): class numbers, of the same shape; a sample's end at the first -1.
        reduction (str): "mean" (the default), "sum" or "none".
    """
    x, t = jnp.atleast_2d(input), jnp.atleast_2d(target)
    classes = x.shape[1]
    # The targets of a sample end at the first -1.
    named = jnp.cumprod(t >= 0, 1).astype(bool)
    safe = jnp.where(named, t, 0)
    is_target = jnp.any(jax.nn.one_hot(safe, classes, dtype=bool) & named[..., None], 1)
    gaps = jnp.maximum(1 - jnp.take_along_axis(x, safe, 1)[..., None] + x[:, None, :], 0)
    counted = named[..., None] & ~is_target[:, None, :]
    losses = jnp.sum(jnp.where(counted, gaps, 0), (1, 2)) / classes
    return reduce_loss(losses.reshape(input.shape[:-1]), reduction)


@loss(3, arrays=True)
def multilabel_soft_margin_loss(
    input: TensorLike, target: TensorLike, weight: Tensor | None = None, reduction: str = "mean"
) -> JaxArray:
    """The mean over the classes of the binary cross entropy of sigmoid(input).

    Args:
        input, target (Tensor): of shape (N, C); targets are 0 or 1.
        weight (Tensor, optional): of shape (C,).
        reduction (str): "mean" (the default), "sum" or "none".
    """
    losses = -(target * jax.nn.log_sigmoid(input) + (1 - target) * jax.nn.log_sigmoid(-input))
    return reduce_loss(jnp.mean(losses if weight is None else losses * weight, -1), reduction)
