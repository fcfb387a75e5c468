"""Normalization."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.arrays import of_dtype
from msjax.core.base.checks import check_int, check_kind, check_number
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze, operator, require_tensors
from msjax.ops.dispatch.platforms import on_cpu, on_explicit_axes
from msjax.ops.dispatch.promotion import widened

__all__ = ["add_layer_norm", "add_rms_norm", "batch_norm", "group_norm", "layer_norm", "rms_norm"]


def _per_channel(v, x):
    return lax.reshape(v, (1, v.size) + (1,) * (x.ndim - 2))


# By functions of jax.lax, which take a third of the time of jax.numpy's to trace:


def _sum(x, axes):
    return lax.expand_dims(lax.reduce_sum(x, axes), axes)


def _times(x, number):
    return lax.mul(x, _as(number, x))


def _as(number, x):
    """A number, which jax may trace, in the dtype of x."""
    return x.dtype.type(number) if isinstance(number, float) else lax.convert_element_type(number, x.dtype)


def _flat(v):
    return lax.reshape(v, (v.size,))


def _moments(x, axes):
    mean = jnp.mean(x, axes, keepdims=True)
    return mean, jnp.mean(jnp.square(x - mean), axes, keepdims=True)


def _inverse_root(x):
    # Not jax.lax.rsqrt, which some CPUs approximate: the last digit would depend on the machine.
    return 1 / jnp.sqrt(x)


def _same(x):
    return x


def _standardize(axes, shared):
    """A function (x, gamma, beta, eps) to gamma * (x - mean) / sqrt(variance + eps) + beta.

    Its custom derivative rule takes two sums over x in the backward pass; the derivative that jax derives takes six. With `shared`, it
    stores only the statistics.

    Args:
        axes: the axes over which statistics are computed.
        shared: True if gamma and beta have one number along these axes.
    """

    def parts(x, gamma, eps):
        """(gamma times the standardized x, what the derivative keeps of x, the inverse of its deviation)."""
        mean, variance = _moments(x, axes)
        scale = _inverse_root(variance + eps)
        if shared:
            return (x - mean) * (scale * gamma), (x, mean), scale
        # From x, XLA's programs for GPUs would take the statistics again for the sums of dgamma: a kernel more for each norm.
        unit = on_cpu(_same, jax.lax.optimization_barrier, (x - mean) * scale, tpu=_same)
        return unit * gamma, (unit,), scale

    @jax.custom_jvp
    def norm(x, gamma, beta, eps):
        return parts(x, gamma, eps)[0] + beta

    @norm.defjvp
    def norm_jvp(primals, tangents):
        x, gamma, beta, eps = primals
        out, kept, scale = parts(x, gamma, eps)

        def along(kept, scale, gamma, dx, dgamma, dbeta):
            over_1 = jnp.mean(dx, axes, keepdims=True)
            if shared:
                # What is scaled are the sums, not each element: fewer kernels, and less memory, in programs for GPUs and TPUs.
                centered, size = kept[0] - kept[1], gamma * scale
                over_x = scale * jnp.mean(centered * dx, axes, keepdims=True)
                return size * dx + centered * (scale * (dgamma - size * over_x)) + (dbeta - size * over_1)
            over_x = jnp.mean(kept[0] * dx, axes, keepdims=True)
            return gamma * (scale * (dx - over_1 - kept[0] * over_x)) + kept[0] * dgamma + dbeta

        return out + beta, jax.checkpoint(along, prevent_cse=False)(kept, scale, gamma, *tangents[:3])

    return norm


def _batch_norm_train(x, gamma, beta, mean, variance, eps, old, new):
    """Returns (output, new moving mean, new moving variance), of which `old` is the share of the old values, `new` the batch's."""
    axes = (0, *range(2, x.ndim))
    wide = widened(x)
    out = _standardize(axes, True)(wide, *(_per_channel(each, x).astype(wide.dtype) for each in (gamma, beta)), eps)
    moments = _moments(jax.lax.stop_gradient(wide), axes)
    return out.astype(x.dtype), *_moving(x, mean, variance, *moments, old, new)


def _batch_norm_gradient(slots, x, gamma, beta, mean, variance, eps, old, new):
    """The outputs of `_batch_norm_train` and their gradient (see `TracedVJP`): that of `_standardize`, quicker to trace."""
    if not set(slots) <= {0, 1, 2}:
        return None
    axes = (0, *range(2, x.ndim))
    wide, n = widened(x), x.size // x.shape[1]
    count, one = wide.dtype.type(n), wide.dtype.type(1)
    # Kept is the sum: the mean would be one more kernel to compile.
    total = _sum(wide, axes)
    batch_mean = lax.div(total, count)
    batch_var = lax.div(_sum(lax.square(lax.sub(wide, batch_mean)), axes), count)
    scale = lax.div(one, lax.sqrt(lax.add(batch_var, _as(eps, wide))))
    size = lax.mul(scale, of_dtype(_per_channel(gamma, x), wide.dtype))
    out = lax.add(lax.mul(lax.sub(wide, batch_mean), size), of_dtype(_per_channel(beta, x), wide.dtype))
    moved = _moving(x, mean, variance, batch_mean, batch_var, old, new)

    def pull(x, gamma, total, scale, cts):
        wide = widened(x)
        ct = of_dtype(cts[0], wide.dtype)
        centered = lax.sub(wide, lax.div(total, count))
        size = lax.mul(of_dtype(_per_channel(gamma, x), wide.dtype), scale)
        over_1, over_x = _sum(ct, axes), lax.mul(scale, _sum(lax.mul(centered, ct), axes))
        d_x = lax.add(lax.mul(size, ct), lax.div(lax.mul(size, lax.neg(over_1)), count))
        d_x = lax.add(d_x, lax.mul(centered, lax.mul(scale, lax.div(lax.mul(size, lax.neg(over_x)), count))))
        return d_x, _flat(over_x), _flat(over_1)

    return (of_dtype(out, x.dtype), *moved), jax.tree_util.Partial(pull, x, gamma, total, scale)


_batch_norm_train.gradient = _batch_norm_gradient


def _moving(x, mean, variance, batch_mean, batch_var, old, new):
    n = x.size // x.shape[1]
    unbiased = _times(_flat(batch_var), n / max(n - 1, 1))
    moved = []
    for before, now in ((mean, _flat(batch_mean)), (variance, unbiased)):
        kept, more = _times(before, old), _times(now, new)
        moved.append(lax.add(kept, more) if kept.dtype == more.dtype else (kept + more).astype(before.dtype))
    return moved


def _batch_norm_eval(x, gamma, beta, mean, variance, eps):
    scale = gamma * _inverse_root(variance + eps)
    wide = widened(x)
    return ((wide - _per_channel(mean, x)) * _per_channel(scale, x) + _per_channel(beta, x)).astype(x.dtype)


# Operands: input, gamma, beta, moving mean, moving variance, epsilon; in training also the shares of old and new statistics.
BATCH_NORM_TRAIN = Op("BatchNorm", _batch_norm_train)
BATCH_NORM_EVAL = Op("BatchNorm", _batch_norm_eval)


@operator(5, numbers=("eps", "old", "new"), name="BatchNorm")
def batch_norm_outputs(
    x: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    eps: float,
    old: float,
    new: float,
    is_training: bool,
) -> tuple[JaxArray, JaxArray, JaxArray, JaxArray, JaxArray]:
    """MindSpore's five outputs: in training, output, new mean and variance, and those of the batch; else output and zeros."""
    if not is_training:
        zeros = jnp.zeros_like(mean)
        return _batch_norm_eval(x, gamma, beta, mean, variance, eps), zeros, zeros, zeros, zeros
    out, new_mean, new_variance = _batch_norm_train(x, gamma, beta, mean, variance, eps, old, new)
    batch_mean, batch_var = _moments(widened(x), (0, *range(2, x.ndim)))
    return out, new_mean, new_variance, batch_mean.reshape(-1), batch_var.reshape(-1)


def batch_norm(
    input_x: Tensor,
    running_mean: Tensor | Parameter,
    running_var: Tensor | Parameter,
    weight: Tensor,
    bias: Tensor,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalization per channel (axis 1).

    Args:
        input_x (Tensor): of shape (N, C), (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        running_mean, running_var (Tensor or Parameter): of shape (C,). In training they are moved towards the batch's.
        weight, bias (Tensor): of shape (C,).
        training (bool): True for the statistics of the batch. Default: False.
        momentum (float): the share of the batch's statistics in the running ones, in [0, 1]. Default: 0.1.
        eps (float): added to the variance. Default: 1e-5.

    Raises:
        TypeError: an argument is not a Tensor.
        ValueError: `momentum` is not in [0, 1].

    Example:
        >>> one, zero = ops.ones((1,)), ops.zeros((1,))
        >>> print(ops.batch_norm(Tensor([[1.0], [2.0]]), zero, one, one, zero, eps=0.0))
        [[1.]
         [2.]]
    """
    require_tensors("batch_norm", running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    check_number(momentum, "momentum", "batch_norm", low=0, high=1)
    if not training:
        return apply(BATCH_NORM_EVAL, (input_x, weight, bias, running_mean, running_var, float(eps)))
    old = 1 - float(momentum)
    out, mean, variance = apply(BATCH_NORM_TRAIN, (input_x, weight, bias, running_mean, running_var, float(eps), old, 1 - old))
    running_mean._set_value(mean._value)
    running_var._set_value(variance._value)
    return out


def _layer_norm(x, gamma, beta, eps, axis, params_axis):
    axes = tuple(range(axis % x.ndim, x.ndim))
    first = params_axis % x.ndim
    wanted = x.shape[first:]
    if gamma.shape != wanted or beta.shape != wanted:
        raise ValueError(
            f"gamma and beta should have shape {wanted}, the input's from axis {params_axis} on, but got {gamma.shape} and {beta.shape}."
        )
    wide = widened(x)
    shape = (1,) * first + wanted
    gamma, beta = gamma.astype(wide.dtype).reshape(shape), beta.astype(wide.dtype).reshape(shape)
    return _standardize(axes, False)(wide, gamma, beta, eps).astype(x.dtype)


def _layer_norm_gradient(slots, x, gamma, beta, eps, axis, params_axis):
    """The output and its gradient (see `TracedVJP`), whose sums are products on CPUs: 0.55 to 0.7 of the time of XLA's sums there."""
    out, first = _layer_norm(x, gamma, beta, eps, axis, params_axis), axis % x.ndim
    if first != params_axis % x.ndim or not x.size or not set(slots) <= {0, 1, 2} or on_explicit_axes(x, gamma, beta):
        return None
    mean, variance = _moments(widened(x), tuple(range(first, x.ndim)))
    dtypes = x.dtype, gamma.dtype, beta.dtype

    def pull(x, gamma, mean, scale, ct):
        over = of_dtype(gamma, mean.dtype).reshape(-1)
        wide, ct = (of_dtype(a, mean.dtype).reshape(-1, over.size) for a in (x, ct))
        mean, scale = mean.reshape(-1, 1), scale.reshape(-1, 1)
        unit = (wide - mean) * scale
        products = unit * ct
        over_1, over_x = (on_cpu(_times_column, _sum_along, a, over) / over.size for a in (ct, products))
        d_x = scale * (ct * over - over_1 - unit * over_x)
        d_gamma, d_beta = (on_cpu(_ones_times, _sum_down, a).reshape(gamma.shape) for a in (products, ct))
        found = [of_dtype(d, dtype) for d, dtype in zip((d_x.reshape(x.shape), d_gamma, d_beta), dtypes)]
        return *[d if i in slots else None for i, d in enumerate(found)], None

    return out, jax.tree_util.Partial(pull, x, gamma, mean, _inverse_root(variance + eps))


def _times_column(a, over):
    return jnp.matmul(a, over[:, None])


def _sum_along(a, over):
    return jnp.sum(a * over, 1, keepdims=True)


def _ones_times(a):
    return jnp.matmul(jnp.ones((1, len(a)), a.dtype), a)


def _sum_down(a):
    return jnp.sum(a, 0, keepdims=True)


_layer_norm.gradient = _layer_norm_gradient
# Operands: input, gamma, beta, epsilon. Static: begin_norm_axis, begin_params_axis.
LAYER_NORM = Op("LayerNorm", _layer_norm)


@operator(3, numbers=("eps",), name="LayerNorm")
def layer_norm_outputs(
    x: TensorLike, gamma: TensorLike, beta: TensorLike, axis: int, params_axis: int, eps: TensorLike
) -> tuple[JaxArray, JaxArray, JaxArray]:
    """MindSpore's three outputs: the output, the mean and the variance."""
    mean, variance = _moments(widened(x), tuple(range(axis % x.ndim, x.ndim)))
    return _layer_norm(x, gamma, beta, eps, axis, params_axis), mean.astype(x.dtype), variance.astype(x.dtype)


@operator(3, numbers=("eps",), name="LayerNorm")
def _layer_norm_optional(x, weight, bias, eps, n):
    shape = x.shape[x.ndim - n :]
    weight = jnp.ones(shape, x.dtype) if weight is None else weight
    bias = jnp.zeros(shape, x.dtype) if bias is None else bias
    return _layer_norm(x, weight, bias, eps, x.ndim - n, x.ndim - n)


def _layer_norm_optional_gradient(slots, x, weight, bias, eps, n):
    if weight is None or bias is None:
        return None
    return _layer_norm_gradient(slots, x, weight, bias, eps, x.ndim - n, x.ndim - n)


_layer_norm_optional.op.fn.gradient = _layer_norm_optional_gradient


def layer_norm(
    input: TensorLike,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalization over the last axes.

    Args:
        input (Tensor): of shape (..., *normalized_shape).
        normalized_shape (int, tuple or list): the shape of the last axes.
        weight, bias (Tensor, optional): of shape `normalized_shape`; by default ones and zeros.
        eps (float): added to the variance. Default: 1e-5.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: the input's shape doesn't end with `normalized_shape`.

    Example:
        >>> print(ops.layer_norm(Tensor([[1.0, 3.0]]), (2,), eps=0.0))
        [[-1.  1.]]
    """
    shape = freeze(normalized_shape)
    shape = shape if isinstance(shape, tuple) else (shape,)
    check_kind(normalized_shape, all(type(n) is int for n in shape), "be ints", "normalized_shape", "layer_norm")
    if not shape or tuple(input.shape[input.ndim - len(shape) :]) != shape:
        raise ValueError(
            f"For 'layer_norm', the input's shape should end with 'normalized_shape', {shape}, but it is {input.shape}."
        )
    return _layer_norm_optional(input, weight, bias, float(eps), len(shape))


@operator(3, numbers=("eps",), name="GroupNorm")
def _group_norm(x, weight, bias, eps, num_groups):
    wide = widened(x)
    n, channels = x.shape[:2]
    grouped = wide.reshape(n, num_groups, channels // num_groups, *x.shape[2:])
    shape = (1, num_groups, channels // num_groups) + (1,) * (x.ndim - 2)
    gamma = jnp.ones(shape, wide.dtype) if weight is None else weight.astype(wide.dtype).reshape(shape)
    beta = jnp.zeros(shape, wide.dtype) if bias is None else bias.astype(wide.dtype).reshape(shape)
    out = _standardize(tuple(range(2, grouped.ndim)), False)(grouped, gamma, beta, eps)
    return out.reshape(x.shape).astype(x.dtype)


def group_norm(
    input: TensorLike, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalization over groups of channels.

    Args:
        input (Tensor): of shape (N, C, ...).
        num_groups (int): how many groups; has to divide C.
        weight, bias (Tensor, optional): of shape (C,); by default ones and zeros.
        eps (float): added to the variance. Default: 1e-5.

    Raises:
        TypeError: `num_groups` is not an int.
        ValueError: it doesn't divide the channels.

    Example:
        >>> print(ops.group_norm(Tensor([[1.0, 3.0, 2.0, 2.0]]), 2, eps=1.0))
        [[-0.70710677  0.70710677  0.          0.        ]]
    """
    check_int(num_groups, "num_groups", "group_norm")
    if input.ndim < 2 or num_groups <= 0 or input.shape[1] % num_groups:
        raise ValueError(f"For 'group_norm', {num_groups} groups don't fit an input of shape {input.shape}.")
    return _group_norm(input, weight, bias, float(eps), num_groups)


def _instance_norm(x, gamma, beta, eps):
    wide = widened(x)
    gamma, beta = (_per_channel(v, x).astype(wide.dtype) for v in (gamma, beta))
    return _standardize(tuple(range(2, x.ndim)), False)(wide, gamma, beta, eps).astype(x.dtype)


@partial(Op, "InstanceNorm")
def INSTANCE_NORM_TRAIN(x, gamma, beta, mean, variance, eps, old, new):
    """As `_batch_norm_train`."""
    moments = _moments(widened(jax.lax.stop_gradient(x)), (0, *range(2, x.ndim)))
    return _instance_norm(x, gamma, beta, eps), *_moving(x, mean, variance, *moments, old, new)


def _scaled_by_rms(x, gamma, eps):
    wide = widened(x)
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    scale = _inverse_root(jnp.mean(jnp.square(wide), axes, keepdims=True) + eps)
    return (wide * scale * gamma.astype(wide.dtype)).astype(x.dtype), scale


@operator(2, numbers=("epsilon",), name="RmsNorm", shape_error=ValueError)
def rms_norm(x: TensorLike, gamma: TensorLike, epsilon: float = 1e-6) -> tuple[JaxArray, JaxArray]:
    """x divided by its root mean square over the last axes, times gamma.

    Args:
        x (Tensor): of shape (..., *gamma.shape).
        gamma (Tensor): the factors; its axes are the last ones of `x`.
        epsilon (float): added to the mean square. Default: 1e-6.

    Returns:
        A tuple of the output and 1 / root mean square.

    Example:
        >>> out, scale = ops.rms_norm(Tensor([[3.0, 3.0]]), Tensor([1.0, 2.0]), 0.0)
        >>> print(out)
        [[1. 2.]]
    """
    return _scaled_by_rms(x, gamma, epsilon)


@operator(3, numbers=("epsilon",), name="AddRmsNorm")
def add_rms_norm(x1: Tensor, x2: Tensor, gamma: TensorLike, epsilon: float = 1e-6) -> tuple[JaxArray, ...]:
    """`rms_norm` of x1 + x2.

    Returns:
        A tuple of the output, 1 / root mean square, and x1 + x2.
    """
    x = x1 + x2
    return (*_scaled_by_rms(x, gamma, epsilon), x)


@operator(4, numbers=("epsilon",), name="AddLayerNorm")
def add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: TensorLike, beta: TensorLike, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[JaxArray, JaxArray, JaxArray, JaxArray]:
    """Normalization of x1 + x2 over the last axis.

    Args:
        x1, x2 (Tensor): of shape (..., D).
        gamma, beta (Tensor): of shape (D,).
        epsilon (float): added to the variance. Default: 1e-5.
        additional_output (bool): whether the last result is x1 + x2, or zeros.

    Returns:
        A tuple of the output, the mean, 1 / standard deviation, and x1 + x2.
    """
    x = x1 + x2
    mean, variance = _moments(widened(x), (-1,))
    out = _layer_norm(x, gamma, beta, epsilon, -1, -1)
    return out, mean, _inverse_root(variance + epsilon), x if additional_output else jnp.zeros_like(x)
