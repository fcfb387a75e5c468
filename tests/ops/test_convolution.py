"""Convolutions: all ways of computing them agree with XLA's own, values and gradients."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import ops
from msjax.ops.function.nn_func import convolution_kernels
from tests.ops.harness import Case, check_gradient

RNG = np.random.default_rng(0)


def plain(x, w, stride, padding, dilation, group):
    layout = {3: ("NCH", "OIH", "NCH"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}[x.ndim]
    return jax.lax.conv_general_dilated(
        x, w, stride, padding, rhs_dilation=dilation, dimension_numbers=layout, feature_group_count=group
    )


def value_and_gradients(convolve, x, w, static):
    def run(x, w):
        out, pull = jax.vjp(lambda x, w: convolve(x, w, *static), x, w)
        return out, pull(jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape))

    return jax.jit(run)(x, w)


# Input shape, weight shape, stride, pads, dilation, group, and the way that is chosen on CPUs.
WAYS = [
    ((2, 17, 7, 8), (4, 17, 3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, None),
    ((2, 3, 7, 8), (4, 3, 3, 3), (2, 1), ((1, 0), (0, 1)), (1, 2), 1, "_few_columns"),
    ((2, 6, 7, 8), (4, 6, 3, 2), (2, 1), ((1, 2), (0, 1)), (1, 2), 1, "_rows"),
    ((2, 20, 2, 2), (4, 20, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, "_columns"),
    ((2, 20, 4, 4), (4, 20, 3, 3), (2, 2), ((0, 1), (0, 1)), (1, 1), 1, "_columns"),
    ((2, 5, 6, 7), (4, 5, 1, 1), (2, 3), ((0, 0), (0, 0)), (1, 1), 1, "_tiles"),
    ((2, 3, 7, 9), (4, 3, 3, 4), (3, 4), ((0, 1), (0, 0)), (1, 1), 1, "_tiles"),
    ((2, 3, 5, 5), (4, 3, 5, 5), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, "_tiles"),
    ((2, 4, 6, 6), (8, 1, 3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 4, "_shifted_sums"),
    ((2, 4, 6, 6), (6, 2, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 2, "_split_groups"),
    ((1, 20, 5, 5), (30, 2, 3, 3), (1, 2), ((1, 1), (1, 1)), (1, 1), 10, "_grouped_columns"),
    ((2, 5, 9), (4, 5, 3), (2,), ((1, 1),), (1,), 1, "_rows"),
    ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), (1, 1, 1), ((0, 1),) * 3, (1, 1, 1), 1, "_few_columns"),
    ((1, 2, 4, 4, 4), (4, 1, 2, 2, 2), (2, 2, 2), ((0, 0),) * 3, (1, 1, 1), 2, "_shifted_sums"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda w: f"{w[6] or 'xla'}-{'x'.join(map(str, w[1]))}")
def test_every_way_agrees_with_xla(way):
    x_shape, w_shape, stride, pads, dilation, group, name = way
    # Which way is taken shows in the speed only, and each way has to be taken here.
    chosen = convolution_kernels._cpu_rewrite(x_shape, w_shape, stride, pads, dilation, group)
    assert (chosen.__name__ if chosen else None) == name
    x, w = jnp.asarray(RNG.normal(size=x_shape)), jnp.asarray(RNG.normal(size=w_shape))
    static = (stride, pads, dilation, group)
    want, gradients = value_and_gradients(plain, x, w, static)
    got, own = value_and_gradients(convolution_kernels.convolve, x, w, static)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    for g, t in zip(own, gradients):
        np.testing.assert_allclose(g, t, rtol=1e-9, atol=1e-9)
    # Forward mode and vmap go through the rewritten ways, too.
    tangent = jax.jit(lambda x: jax.jvp(lambda x: convolution_kernels.convolve(x, w, *static), (x,), (x,))[1])(x)
    np.testing.assert_allclose(tangent, want, rtol=1e-9, atol=1e-9)
    batched = jax.jit(jax.vmap(lambda x: convolution_kernels.convolve(x, w, *static)))(x[None])
    np.testing.assert_allclose(batched[0], want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", [4, 7])
def test_columns_of_a_few_examples_at_a_time_agree_with_xla(batch, monkeypatch):
    monkeypatch.setattr(convolution_kernels, "_AT_ONCE", 2 * 27 * 12)
    monkeypatch.setattr(convolution_kernels, "_MANY_COLUMNS", 1)
    x, w = jnp.asarray(RNG.normal(size=(batch, 3, 5, 6))), jnp.asarray(RNG.normal(size=(4, 3, 3, 3)))
    static = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    assert convolution_kernels._examples_at_once(x.shape, w.shape, *static) == 2
    want, gradients = value_and_gradients(plain, x, w, static)
    got, own = value_and_gradients(convolution_kernels.convolve, x, w, static)
    written = jax.jit(lambda x, w, ct: convolution_kernels._gradients(x, w, ct, (True, True), *static))
    by_hand = written(x, w, jnp.cos(jnp.arange(got.size, dtype=got.dtype)).reshape(got.shape))
    for a, b in zip((got, *own, *by_hand), (want, *gradients, *gradients), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("way", WAYS, ids=lambda w: f"{w[6] or 'xla'}-{'x'.join(map(str, w[1]))}")
def test_transpose_is_the_gradient(way):
    x_shape, w_shape, stride, pads, dilation, group, _ = way
    x, w = jnp.asarray(RNG.normal(size=x_shape)), jnp.asarray(RNG.normal(size=w_shape))
    out, pull = jax.vjp(lambda x: plain(x, w, stride, pads, dilation, group), x)
    got = convolution_kernels.deconvolve(out, w, stride, pads, dilation, group, x_shape[2:])
    np.testing.assert_allclose(got, pull(out)[0], rtol=1e-9, atol=1e-9)


X = RNG.normal(size=(1, 2, 4, 5)).astype(np.float32)
W = RNG.normal(size=(3, 2, 2, 2)).astype(np.float32)
B = RNG.normal(size=(3,)).astype(np.float32)
GRADIENTS = [
    Case("conv2d", lambda x, w, b: ops.conv2d(x, w, b, stride=2, pad_mode="same"), (X, W, B)),
    Case("conv1d", lambda x, w: ops.conv1d(x, w, pad_mode="pad", padding=1), (X[:, :, 0], W[:, :, 0])),
    Case("conv3d", lambda x, w: ops.conv3d(x, w), (X[..., None].repeat(2, -1), W[..., None].repeat(2, -1))),
    Case("conv_transpose2d", lambda x, w: ops.conv_transpose2d(x, w, stride=2, output_padding=1), (X, W.swapaxes(0, 1))),
    Case("bias_add", ops.bias_add, (X, B[:2])),
]


@pytest.mark.parametrize("case", GRADIENTS, ids=str)
def test_gradient(case):
    check_gradient(case)


def test_same_and_transposed_sizes():
    for size, kernel, stride in itertools.product((5, 8), (1, 2, 3), (1, 2, 3)):
        x, w = ops.ones((1, 1, size, size)), ops.ones((1, 1, kernel, kernel))
        assert ops.conv2d(x, w, stride=stride, pad_mode="same").shape[2] == -(-size // stride)
        up = ops.conv3d_transpose(x.expand_dims(-1), w.expand_dims(-1), "same", stride=stride)
        assert up.shape[2] == size * stride


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x, w: ops.conv2d(x, w, padding=1), ValueError),
        (lambda x, w: ops.conv2d(x, w, pad_mode="foo"), ValueError),
        (lambda x, w: ops.conv2d(x, w, stride=0), ValueError),
        (lambda x, w: ops.conv2d(x, w, stride=1.5), TypeError),
        (lambda x, w: ops.conv2d(x[0], w), ValueError),
        (lambda x, w: ops.conv2d(x, w[:, :1]), RuntimeError),
        (lambda x, w: ops.conv2d(x, w, ops.ones(2)), ValueError),
        (lambda x, w: ops.conv2d(1, w), TypeError),
        (lambda x, w: ops.conv2d(x.astype(ms.int32), w), TypeError),
        (lambda x, w: ops.bias_add(x, ops.ones(5)), ValueError),
    ],
)
def test_refuses(call, error):
    with pytest.raises(error):
        call(ms.Tensor(X), ms.Tensor(W))
