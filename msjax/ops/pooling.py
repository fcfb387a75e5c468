"""Pooling over windows of the last axes of NC... inputs."""

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op

__all__ = []


def _windows(x, kernel, stride, padding):
    lead = x.ndim - len(kernel)
    if isinstance(padding, tuple):
        padding = [(0, 0)] * lead + list(padding)
    return (1,) * lead + kernel, (1,) * lead + stride, padding


def _disjoint(x, kernel, stride, padding):
    """True if windows neither overlap nor reach over the edge, nor leave elements out."""
    plain = padding == "VALID" or (isinstance(padding, tuple) and all(p == (0, 0) for p in padding))
    sizes = x.shape[x.ndim - len(kernel) :]
    return plain and kernel == stride and all(s % k == 0 for s, k in zip(sizes, kernel))


def _max_pool(x, kernel, stride, padding):
    if _disjoint(x, kernel, stride, padding):
        return _disjoint_max_pool(kernel)(x)
    return _max_pool_any(x, kernel, stride, padding)


def _max_pool_any(x, kernel, stride, padding):
    size, step, padding = _windows(x, kernel, stride, padding)
    lowest = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    return jax.lax.reduce_window(x, jnp.asarray(lowest, x.dtype), jax.lax.max, size, step, padding)


def _split_windows(x, kernel):
    """Windows that don't overlap as axes of their own: (..., k1*k2..., out1, out2...)."""
    lead = x.shape[: x.ndim - len(kernel)]
    shape = list(lead)
    for size, k in zip(x.shape[len(lead) :], kernel):
        shape += [size // k, k]
    n = len(lead)
    spatial = range(len(kernel))
    order = [*range(n), *(n + 2 * i + 1 for i in spatial), *(n + 2 * i for i in spatial)]
    split = x.reshape(shape).transpose(order)
    return split.reshape(*lead, -1, *split.shape[n + len(kernel) :])


def _disjoint_max_pool(kernel):
    """Max-pooling whose backward marks the first maximum of each window; select-and-scatter is many times slower on CPUs."""

    @jax.custom_jvp
    def pool(x):
        return jnp.max(_split_windows(x, kernel), axis=x.ndim - len(kernel))

    @pool.defjvp
    def pool_jvp(primals, tangents):
        (x,), (dx,) = primals, tangents
        axis = x.ndim - len(kernel)
        windows = _split_windows(x, kernel)
        first = jnp.argmax(windows, axis=axis, keepdims=True)
        positions = jax.lax.broadcasted_iota(first.dtype, windows.shape, axis)
        picked = jnp.where(positions == first, _split_windows(dx, kernel), jnp.zeros((), dx.dtype))
        return jnp.max(windows, axis=axis), jnp.sum(picked, axis=axis)

    return pool


# Static: kernel, stride, padding ("SAME", "VALID" or pairs).
MAX_POOL = Op("MaxPool", _max_pool)


def _avg_pool(x, kernel, stride, padding, count_include_pad, divisor):
    size, step, padding = _windows(x, kernel, stride, padding)
    total = jax.lax.reduce_window(x, jnp.zeros((), x.dtype), jax.lax.add, size, step, padding)
    if divisor is not None:
        return total / divisor
    if count_include_pad:
        n = 1
        for k in kernel:
            n *= k
        return total / n
    ones = jnp.ones(x.shape[x.ndim - len(kernel) :], x.dtype)
    pads = padding if isinstance(padding, str) else padding[x.ndim - len(kernel) :]
    counts = jax.lax.reduce_window(ones, jnp.zeros((), x.dtype), jax.lax.add, kernel, stride, pads)
    return total / counts


# Static: kernel, stride, padding, count_include_pad, divisor.
AVG_POOL = Op("AvgPool", _avg_pool)
