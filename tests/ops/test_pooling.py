"""Pooling: values and gradients as XLA's windows have them, and numbers of the real MindSpore."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import ops
from msjax.ops.function.nn_func.pooling import max_pool
from msjax.ops.function.nn_func.pooling_kernels import _max_pool  # the kernel: it has derivatives of its own for jax
from tests.ops.harness import Case, check_gradient

RNG = np.random.default_rng(0)
X = RNG.permutation(2 * 3 * 7 * 8).reshape(2, 3, 7, 8).astype(np.float32) / 10


def windows(x, kernel, stride, pads, dilation):
    lead = (1,) * (x.ndim - len(kernel))
    return jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, lead + kernel, lead + stride, ((0, 0),) * len(lead) + pads, window_dilation=lead + dilation
    )


POOLS = [
    ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    ((7, 4), (7, 4), ((0, 0), (0, 0)), (1, 1)),
    ((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
    ((3, 2), (1, 3), ((0, 1), (1, 0)), (1, 1)),
    ((2, 3), (1, 1), ((1, 1), (1, 1)), (2, 1)),
]


@pytest.mark.parametrize("static", POOLS, ids=str)
def test_max_pool_agrees_with_xla(static):
    x = jnp.asarray(X)

    def value_and_gradient(x):
        out, pull = jax.vjp(lambda x: _max_pool(x, *static), x)
        return out, pull(jnp.ones_like(out))[0]

    got, gradient = jax.jit(value_and_gradient)(x)
    np.testing.assert_array_equal(got, windows(x, *static))
    out, index = max_pool(ms.Tensor(X), *static, False, True)
    np.testing.assert_array_equal(out.asnumpy(), got)
    flat = X.reshape(2, 3, -1)
    picked = np.take_along_axis(flat, index.asnumpy().reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(picked.reshape(got.shape), got)
    # All elements differ, so that each window's gradient belongs at its number.
    want = np.zeros_like(flat)
    np.add.at(want.reshape(6, -1), (np.arange(6)[:, None], index.asnumpy().reshape(6, -1)), 1.0)
    np.testing.assert_allclose(gradient.reshape(flat.shape), want)
    assert jax.eval_shape(lambda x: jax.jvp(lambda x: _max_pool(x, *static), (x,), (x,))[1], x).shape == got.shape
    assert jax.eval_shape(jax.vmap(lambda x: _max_pool(x, *static)), x[None]).shape[1:] == got.shape


@pytest.mark.parametrize("shape", [(1, 2, 8, 12), (20, 8, 8, 12)], ids=["one example", "many elements"])
@pytest.mark.parametrize("kernel, stride", [((2, 2), (2, 2)), ((4, 3), (4, 3)), ((3, 3), (2, 2)), ((8, 6), (8, 6))])
def test_the_forms_for_one_example_and_for_many_elements(shape, kernel, stride):
    """The maxima are computed in another way, and the gradient by the place in the window: jax's derivative agrees."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32))
    static = kernel, stride, ((0, 0), (0, 0)), (1, 1)
    out, pull = jax.vjp(lambda x: windows(x, *static), x)
    ct = jnp.asarray(rng.normal(size=out.shape).astype(np.float32))

    @jax.jit
    def own(x, ct):
        (out, pull), (kept, rule) = jax.vjp(lambda x: _max_pool(x, *static), x), _max_pool.gradient((0,), x, *static)
        return out, kept, pull(ct)[0], rule(ct)[0]

    for got, want in zip(own(x, ct), (out, out, pull(ct)[0], pull(ct)[0])):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("stride", [1, 2])
def test_first_maximum_gets_the_gradient(stride):
    x = ms.Tensor(np.ones((1, 1, 2, 2), np.float32))
    grad = ms.grad(lambda x: ops.max_pool2d(x, 2, stride).sum())(x)
    assert grad.asnumpy().ravel().tolist() == [1, 0, 0, 0]


def test_max_pool_of_nan_and_of_infinities():
    x = np.full((1, 1, 3, 3), -np.inf, np.float32)
    out, index = ops.max_pool2d(ms.Tensor(x), 3, 1, 1, return_indices=True)
    assert (out.asnumpy() == -np.inf).all() and (index.asnumpy() >= 0).all() and (index.asnumpy() < 9).all()
    x[0, 0, 1, 1] = np.nan
    assert np.isnan(ops.max_pool2d(ms.Tensor(x), 3, 1, 1).asnumpy()).all()


def test_average_counts_as_mindspore_does():
    ones = ops.ones((1, 1, 7, 8))
    pooled = ops.avg_pool2d(ones, 3, 2, 1, ceil_mode=True)
    row = [0.6666667, 1.0, 1.0, 1.0, 0.5]
    np.testing.assert_allclose(pooled.asnumpy()[0, 0, 1], row, rtol=1e-6)
    np.testing.assert_allclose(ops.avg_pool2d(ones, 3, 2, 1, True, False).asnumpy(), 1, rtol=1e-6)
    np.testing.assert_allclose(ops.avg_pool2d(ones, 2, 2, divisor_override=3).asnumpy(), 4 / 3, rtol=1e-6)


def test_fractional_windows_of_the_real_mindspore():
    x = (np.arange(112) * 37 % 101).reshape(1, 2, 7, 8).astype(np.float32)
    samples = ms.Tensor(np.array([[[0.2, 0.7], [0.9, 0.1]]], np.float32))
    out, index = ops.fractional_max_pool2d(ms.Tensor(x), 2, output_size=(3, 4), return_indices=True, _random_samples=samples)
    assert out.asnumpy()[0, 0].tolist() == [[94, 74, 84, 57], [80, 90, 63, 100], [96, 76, 49, 86]]
    assert index.asnumpy()[0, 1].tolist() == [[1, 3, 4, 6], [17, 19, 20, 23], [41, 42, 53, 47]]


def test_unpool_inverts():
    x = ms.Tensor(X)
    out, index = ops.max_pool2d(x, 2, return_indices=True)
    back = ops.max_unpool2d(out, index, 2, output_size=(7, 8)).asnumpy()
    assert np.isin(back[back != 0], X).all() and (back != 0).sum() == out.size - (out.asnumpy() == 0).sum()
    with pytest.raises(ValueError):
        ops.max_unpool2d(out, index, 2, output_size=(70, 8))


G = X[:1, :2, :5, :6]
CASES = [
    Case("avg_pool1d", lambda x: ops.avg_pool1d(x, 3, 2, 1), (G[0],)),
    Case("avg_pool2d", lambda x: ops.avg_pool2d(x, 3, 2, 1), (G,)),
    Case("avg_pool3d", lambda x: ops.avg_pool3d(x, 2, 2), (G[None],)),
    Case("adaptive_avg", lambda x: ops.adaptive_avg_pool2d(x, (3, 4)), (G,)),
    Case("adaptive_max", lambda x: ops.adaptive_max_pool2d(x, (3, 4)), (G,)),
    Case("max_pool3d", lambda x: ops.max_pool3d(x, 2, 1), (G[None],)),
    Case("lp_pool2d", lambda x: ops.lp_pool2d(x + 1, 2, 2), (G,)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case):
    check_gradient(case)


def test_lp_pool_of_integers_is_float32():
    pooled = ops.lp_pool1d(ms.Tensor(np.array([[3, 4, 0, 5]], np.int32)), 2, 2)
    assert pooled.dtype == ms.float32 and pooled.asnumpy().tolist() == [[5.0, 5.0]]


def test_adaptive_windows():
    x = np.arange(7.0, dtype=np.float32)[None, None, None]
    mean = ops.adaptive_avg_pool2d(ms.Tensor(x), (1, 3)).asnumpy().ravel()
    top = ops.adaptive_max_pool2d(ms.Tensor(x), (1, 3)).asnumpy().ravel()
    parts = [x.ravel()[a:b] for a, b in ((0, 3), (2, 5), (4, 7))]
    np.testing.assert_allclose(mean, [p.mean() for p in parts], rtol=1e-6)
    assert top.tolist() == [p.max() for p in parts]
