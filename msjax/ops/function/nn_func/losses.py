"""Loss functions of regression, margins and distributions; those of classes are in classification.py."""

from __future__ import annotations

import inspect
import math
from typing import cast

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import KernelDecorator, TensorLike
from msjax.core.base.checks import Bounds, check_in_range, check_number, check_one_of, check_type
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator, require_tensors
from msjax.ops.dispatch.promotion import quotient, rounded_once, to_float, widened
from msjax.ops.function.math_func.elementary import magnitude, softplus_of

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
    "margin_ranking_loss", "mse_loss", "mse_loss_ext", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip


def check_reduction(reduction: str, who: str) -> None:
    """ValueError unless it is one of the three."""
    check_one_of(reduction, ("mean", "sum", "none"), "reduction", who)


def reduce_loss(x: TensorLike, reduction: str) -> JaxArray:
    """The mean, the sum or all of elementwise losses, as jax arrays."""
    if reduction == "mean":
        return jnp.mean(to_float(x))
    return jnp.sum(x) if reduction == "sum" else x


def loss(operands: int = 2, name: str | None = None, *, arrays: bool = False, **numbers: Bounds) -> KernelDecorator:
    """Decorator: `operator` for a loss. Operands without a default have to be Tensors, but for `arrays`; `numbers`, of these ranges, become floats."""

    def decorate(kernel):
        who, parameters = kernel.__name__, inspect.signature(kernel).parameters

        def prepare(values):
            for key, value in zip(required, values):
                check_type(value, Tensor, key, who)
            check_reduction(values[place], who)
            values = list(values) if numbers else values
            for key, i in settings:
                values[i] = float(check_number(values[i], key, who, **numbers[key]))
            return values

        places = {key: i for i, key in enumerate(parameters)}
        place, settings = places["reduction"], [(key, places[key]) for key in numbers]
        required = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and not arrays]
        return operator(operands, numbers=[*numbers], name=name, prepare=prepare)(kernel)

    return cast(KernelDecorator, decorate)


# ---- differences


@loss()
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> JaxArray:
    """(input - target) squared.

    Args:
        input, target (Tensor): of shapes that can be broadcast.
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        TypeError: an argument is not a Tensor.
        ValueError: an unknown reduction, or the shapes don't fit.

    Example:
        >>> print(ops.mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        2.0
    """
    return reduce_loss(jnp.square(input - target), reduction)


mse_loss_ext = mse_loss


@loss()
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> JaxArray:
    """|input - target|.

    Args:
        input, target (Tensor): of shapes that can be broadcast.
        reduction (str): "mean" (the default), "sum" or "none".
    """
    return reduce_loss(magnitude(input - target), reduction)


@operator(2, numbers=("beta", "slope"), name="SmoothL1Loss")
def _smooth_l1_loss(input, target, beta, slope, reduction):
    """`slope` is that of the gradient near 0, 1 / beta; None without a smooth part."""
    size = magnitude(input - target)
    if slope is None:
        return reduce_loss(size, reduction)
    near = jnp.where(size >= beta, 0, size)  # so that 0 is not multiplied by an infinite distance in the gradient
    return reduce_loss(jnp.where(size < beta, 0.5 * slope * near * near, size - 0.5 * beta), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """|input - target|, made smooth near 0: (input - target)^2 / (2 beta) where that is less than `beta` away.

    Args:
        input, target (Tensor): of the same shape.
        beta (float): not negative. Default: 1.0.
        reduction (str): "none" (the default), "mean" or "sum".

    Raises:
        TypeError: an argument of a wrong type.
        RuntimeError: `beta` is negative.
        ValueError: an unknown reduction.

    Example:
        >>> print(ops.smooth_l1_loss(Tensor([0.5, 3.0]), Tensor([0.0, 0.0])))
        [0.125 2.5  ]
    """
    require_tensors("smooth_l1_loss", input=input, target=target)
    check_reduction(reduction, "smooth_l1_loss")
    if check_number(beta, "beta", "smooth_l1_loss") < 0:
        raise RuntimeError(f"For 'smooth_l1_loss', 'beta' should not be negative, but got {beta}.")
    return _smooth_l1_loss(input, target, float(beta), 1 / float(beta) if beta else None, reduction)


@loss(delta={"above": 0})
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> JaxArray:
    """(input - target)^2 / 2 up to a distance of `delta`, and linear beyond.

    Args:
        input, target (Tensor): of shapes that can be broadcast.
        reduction (str): "mean" (the default), "sum" or "none".
        delta (int or float): positive. Default: 1.0.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
    """
    size = magnitude(input - target)
    near = jnp.where(size > delta, 0, size)
    return reduce_loss(jnp.where(size <= delta, 0.5 * near * near, delta * (size - 0.5 * delta)), reduction)


# ---- distributions


@operator(2, name="KLDivLoss")
def _kl_div(logits, labels, reduction):
    # 0 * log(0) is 0, also for the gradient.
    positive = labels > 0
    own = jnp.where(positive, labels * jnp.log(jnp.where(positive, labels, 1)), 0)
    losses = own - labels * logits
    if reduction == "batchmean":
        return jnp.sum(losses) / (logits.shape[0] if logits.ndim else 1)
    return reduce_loss(losses, reduction)


def kl_div(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """The Kullback-Leibler divergence: labels * (log(labels) - logits), where the logits are logarithms.

    Args:
        logits, labels (Tensor): of the same shape.
        reduction (str): "mean" (the default), "batchmean" (the sum divided by the first axis' size), "sum" or "none".

    Raises:
        ValueError: an unknown reduction.
    """
    require_tensors("kl_div", logits=logits, labels=labels)
    check_one_of(reduction, ("mean", "batchmean", "sum", "none"), "reduction", "kl_div")
    return _kl_div(logits, labels, reduction)


@operator(3, numbers=("eps",))
def _gaussian_nll_loss(x, target, var, full, eps, reduction):
    var = jnp.maximum(var, eps)
    losses = 0.5 * (jnp.log(var) + quotient(jnp.square(x - target), var))
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduce_loss(losses, reduction)


def gaussian_nll_loss(
    x: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative logarithm of a normal distribution's density at `target`.

    Args:
        x (Tensor): the means.
        target (Tensor): of a shape that can be broadcast with x's.
        var (Tensor): the variances; likewise, or one for all of x's last axis.
        full (bool): whether to add the constant, log(2 pi) / 2. Default: False.
        eps (float): the least variance; positive. Default: 1e-6.
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
    """
    require_tensors("gaussian_nll_loss", x=x, target=target, var=var)
    if var.ndim and var.shape == x.shape[:-1]:
        var = var.expand_dims(-1)
    check_type(eps, float, "eps", "gaussian_nll_loss")
    check_in_range(eps, "eps", "gaussian_nll_loss", above=0)
    check_reduction(reduction, "gaussian_nll_loss")
    return _gaussian_nll_loss(x, target, var, bool(full), eps, reduction)


@operator(2, numbers=("eps",))
def poisson_nll_loss(input: TensorLike, target: TensorLike, log_input: bool, full: bool, eps: float, reduction: str) -> JaxArray:
    """The negative logarithm of a Poisson distribution's probability of `target`."""
    losses = jnp.exp(input) - target * input if log_input else input - target * jnp.log(input + eps)
    if full:
        large = target > 1
        safe = jnp.where(large, target, 2)
        losses = losses + jnp.where(large, safe * jnp.log(safe) - safe + 0.5 * jnp.log(2 * math.pi * safe), 0)
    return reduce_loss(losses, reduction)


# ---- margins


@loss(3, margin={})
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> JaxArray:
    """max(0, margin - target * (input1 - input2)), where the target is 1 if input1 should be the larger one, else -1.

    Args:
        input1, input2, target (Tensor): of shapes that can be broadcast.
        margin (float): Default: 0.0.
        reduction (str): "mean" (the default), "sum" or "none".
    """
    losses = -target * (input1 - input2) + margin
    # The slope is 1 at 0, where that of jnp.maximum is 0.5.
    rest = jnp.where(losses < 0, 0, jax.lax.stop_gradient(losses))  # NaN has no slope
    return reduce_loss(jnp.where(losses >= 0, losses, rest), reduction)


@loss(margin={})
def hinge_embedding_loss(inputs: Tensor, targets: Tensor, margin: float = 1.0, reduction: str = "mean") -> JaxArray:
    """Distances where the target is 1, max(0, margin - distance) where it is -1.

    Args:
        inputs, targets (Tensor): of shapes that can be broadcast.
        margin (int or float): Default: 1.0.
        reduction (str): "mean" (the default), "sum" or "none".
    """
    zero = jnp.zeros((), inputs.dtype)
    near = jnp.where(targets > 0, inputs, zero)
    return reduce_loss(near + jnp.where(targets < 0, jnp.maximum(margin - inputs, 0), zero), reduction)


@loss()
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> JaxArray:
    """log(1 + exp(-target * input)), where targets are 1 or -1.

    Args:
        input, target (Tensor): of the same shape.
        reduction (str): "mean" (the default), "sum" or "none".
    """
    return reduce_loss(softplus_of(-target * input), reduction)


@operator(2, numbers=("least",), name="cosine_similarity")
def _cosine(x1, x2, dim, least):
    x1, x2 = to_float(x1), to_float(x2)
    dtype, x1, x2 = jnp.result_type(x1, x2), widened(x1), widened(x2)
    dot = jnp.sum(x1 * x2, dim)
    square = jnp.sum(x1 * x1, dim) * jnp.sum(x2 * x2, dim)
    return (dot / jnp.sqrt(jnp.maximum(square, least))).astype(dtype)


def cosine_similarity(x1: TensorLike, x2: TensorLike, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis.

    Args:
        x1, x2 (Tensor): of shapes that can be broadcast.
        dim (int): the axis. Default: 1.
        eps (float): the least product of their lengths. Default: 1e-8.

    Example:
        >>> print(ops.cosine_similarity(Tensor([[1.0, 0.0]]), Tensor([[1.0, 1.0]])))
        [0.70710677]
    """
    return _cosine(x1, x2, dim, eps * eps)


@loss(3, margin={"low": -1, "high": 1})
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> JaxArray:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; cos is that of the angle between two vectors.

    Args:
        input1, input2 (Tensor): of shape (N, D).
        target (Tensor): of shape (N,), of 1 and -1.
        margin (float): in [-1, 1]. Default: 0.0.
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
    """
    x1, x2 = widened(input1), widened(input2)
    tiny = jnp.asarray(1e-12, x1.dtype)
    lengths = jnp.sum(jnp.square(x1), 1) + tiny, jnp.sum(jnp.square(x2), 1) + tiny
    cos = (jnp.sum(x1 * x2, 1) / jnp.sqrt(lengths[0] * lengths[1])).astype(input1.dtype)
    zero = jnp.zeros((), cos.dtype)
    losses = jnp.where(target == 1, 1 - cos, zero) + jnp.where(target == -1, jnp.maximum(cos - margin, 0), zero)
    return reduce_loss(losses, reduction)


def _distance(a, b, p, eps):
    return rounded_once(lambda x: jnp.sum(magnitude(x) ** p, -1) ** (1.0 / p), a - b + eps)


@operator(3, numbers=("margin", "eps"))
def _triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction):
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = jnp.minimum(far, _distance(positive, negative, p, eps))
    return reduce_loss(jnp.maximum(near - far + margin, 0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float | Tensor = 1.0,
    p: int = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), where d is the p-norm of the difference.

    Args:
        anchor, positive, negative (Tensor): of shape (N, D).
        margin (float): Default: 1.0.
        p (int): the norm. Default: 2.
        eps (float): added to differences. Default: 1e-6.
        swap (bool): whether d(positive, negative) counts where it is less than d(anchor, negative). Default: False.
        reduction (str): "mean" (the default), "sum" or "none".
    """
    require_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    check_reduction(reduction, "triplet_margin_loss")
    margin = float(margin) if isinstance(margin, Tensor) else float(check_number(margin, "margin", "triplet_margin_loss"))
    return _triplet_margin_loss(anchor, positive, negative, margin, p, float(eps), bool(swap), reduction)
