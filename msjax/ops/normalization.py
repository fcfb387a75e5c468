"""Normalization."""

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op

__all__ = []


def _per_channel(v, x):
    return v.reshape((1, -1) + (1,) * (x.ndim - 2))


def _batch_norm_train(x, gamma, beta, mean, variance, momentum, eps):
    """Returns (output, new moving mean, new moving variance); `momentum` is the share of the old moving values."""
    axes = (0, *range(2, x.ndim))
    wide = x.astype(jnp.float32) if x.dtype != jnp.float64 else x
    batch_mean = jnp.mean(wide, axes)
    batch_var = jnp.mean(jnp.square(wide - _per_channel(batch_mean, x)), axes)
    out = _normalized(wide, gamma, beta, batch_mean, batch_var, eps).astype(x.dtype)
    n = x.size // x.shape[1]
    unbiased = batch_var * (n / max(n - 1, 1))
    stop = jax.lax.stop_gradient
    new_mean = mean * momentum + stop(batch_mean) * (1 - momentum)
    new_variance = variance * momentum + stop(unbiased) * (1 - momentum)
    return out, new_mean.astype(mean.dtype), new_variance.astype(variance.dtype)


def _batch_norm_eval(x, gamma, beta, mean, variance, eps):
    return _normalized(x, gamma, beta, mean, variance, eps).astype(x.dtype)


def _normalized(x, gamma, beta, mean, variance, eps):
    out = (x - _per_channel(mean, x)) * jax.lax.rsqrt(_per_channel(variance, x) + eps)
    return out * _per_channel(gamma, x) + _per_channel(beta, x)


BATCH_NORM_TRAIN = Op("BatchNorm", _batch_norm_train)
BATCH_NORM_EVAL = Op("BatchNorm", _batch_norm_eval)


def _layer_norm(x, gamma, beta, axis, params_axis, eps):
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = jnp.mean(x, axes, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axes, keepdims=True)
    out = (x - mean) * jax.lax.rsqrt(variance + eps)
    shape = [1] * (params_axis % x.ndim) + list(gamma.shape)
    return (out * gamma.reshape(shape) + beta.reshape(shape)).astype(x.dtype)


# Operands: input, gamma, beta. Static: begin_norm_axis, begin_params_axis, epsilon.
LAYER_NORM = Op("LayerNorm", _layer_norm)
