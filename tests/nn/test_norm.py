"""Normalization layers, by numbers of the real MindSpore."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import msjax as ms
from msjax import nn
from msjax.ops.function.nn_func.normalization import _standardize  # the kernel: it has derivatives of its own for jax
from tests.expected.recorded import cases, check


def inputs(draw):
    return {"x": draw.F(4, 3, 5, 6), "x2": draw.F(4, 3), "x1": draw.F(4, 3, 5), "x5": draw.F(2, 3, 4, 2, 2)}


CALLS = [
    (
        lambda: nn.BatchNorm2d(3),
        "BatchNorm2d(num_features=3, eps=1e-05, momentum=0.9, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=True), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (
        lambda: nn.BatchNorm2d(3, affine=False),
        "BatchNorm2d(num_features=3, eps=1e-05, momentum=0.9, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=False), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=False), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (
        lambda: nn.BatchNorm1d(3),
        "BatchNorm1d(num_features=3, eps=1e-05, momentum=0.9, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=True), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (lambda: nn.BatchNorm3d(3), "BatchNorm3d("),
    (
        lambda: nn.SyncBatchNorm(3),
        "SyncBatchNorm(num_features=3, eps=1e-05, momentum=0.9, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=True), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (
        lambda: nn.LayerNorm((4,)),
        "LayerNorm(normalized_shape=(4,), begin_norm_axis=-1, begin_params_axis=-1, gammaParameter (name=gamma, shape=(4,), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(4,), dtype=Float32, requires_grad=True))",
    ),
    (
        lambda: nn.LayerNorm((4, 5), 1, 1),
        "LayerNorm(normalized_shape=(4, 5), begin_norm_axis=1, begin_params_axis=1, gammaParameter (name=gamma, shape=(4, 5), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(4, 5), dtype=Float32, requires_grad=True))",
    ),
    (lambda: nn.GroupNorm(2, 4), "GroupNorm(num_groups=2, num_channels=4)"),
    (lambda: nn.GroupNorm(2, 4, affine=False), "GroupNorm(num_groups=2, num_channels=4)"),
    (
        lambda: nn.InstanceNorm2d(3),
        "InstanceNorm2d(num_features=3, eps=1e-05, momentum=0.1, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=True), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (
        lambda: nn.InstanceNorm1d(3, affine=False),
        "InstanceNorm1d(num_features=3, eps=1e-05, momentum=0.1, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=False), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=False), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (lambda: nn.LRN(), "LRN()"),
    (lambda: nn.LayerNormExt(4), "LayerNormExt(normalized_shape=(4,), eps=1e-05, elementwise_affine=True)"),
    (lambda: nn.BatchNorm2d(0), ValueError),
    (lambda: nn.BatchNorm2d("3"), TypeError),
    (lambda: nn.BatchNorm2d(3, momentum=2), ValueError),
    (
        lambda: nn.BatchNorm2d(3, eps=-1),
        "BatchNorm2d(num_features=3, eps=-1, momentum=0.9, gamma=Parameter (name=gamma, shape=(3,), dtype=Float32, requires_grad=True), beta=Parameter (name=beta, shape=(3,), dtype=Float32, requires_grad=True), moving_mean=Parameter (name=mean, shape=(3,), dtype=Float32, requires_grad=False), moving_variance=Parameter (name=variance, shape=(3,), dtype=Float32, requires_grad=False))",
    ),
    (lambda: nn.BatchNorm2d(3, use_batch_statistics=1), ValueError),
    (lambda: nn.BatchNorm2d(3, data_format="NHWC"), ValueError),
    (lambda: nn.BatchNorm2d(3, data_format="X"), ValueError),
    (lambda x2: nn.BatchNorm2d(3)(x2), ValueError),
    (lambda x5: nn.BatchNorm2d(3)(x5), ValueError),
    (lambda x: nn.BatchNorm1d(3)(x), ValueError),
    lambda x1: nn.BatchNorm1d(3)(x1),
    lambda x2: nn.BatchNorm1d(3)(x2),
    (lambda x2: nn.BatchNorm1d(4)(x2), ValueError),
    lambda x5: nn.BatchNorm3d(3)(x5),
    (lambda x: nn.BatchNorm3d(3)(x), ValueError),
    lambda x: nn.BatchNorm2d(3).set_train()(x),
    lambda x: nn.BatchNorm2d(3).set_train()(x.astype(ms.float16)),
    lambda x: nn.BatchNorm2d(3)(x.astype(ms.float16)),
    (lambda: nn.LayerNorm(4), TypeError),
    (lambda: nn.LayerNorm(()), ValueError),
    lambda x: nn.LayerNorm([6])(x),
    lambda x: nn.LayerNorm([5, 6], 2, 2)(x),
    (lambda x: nn.LayerNorm([5, 6], 2, 3)(x), ValueError),
    lambda x: nn.LayerNorm([6], 1, -1)(x),
    (lambda x: nn.LayerNorm([5])(x), ValueError),
    lambda F: nn.GroupNorm(2, 4)(F(2, 4, 3, 3)),
    lambda F: nn.GroupNorm(2, 4)(F(2, 4)),
    lambda F: nn.GroupNorm(2, 4)(F(2, 4, 3)),
    (lambda F: nn.GroupNorm(2, 4)(F(2, 6, 3, 3)), ValueError),
    (lambda: nn.GroupNorm(3, 4), ValueError),
    (lambda: nn.GroupNorm(2, 4, eps="x"), TypeError),
    (lambda: nn.GroupNorm("2", 4), TypeError),
    (lambda: nn.InstanceNorm2d(3, momentum=2), TypeError),
    (lambda: nn.InstanceNorm2d("3"), TypeError),
    lambda x: nn.LRN(2)(x),
    (lambda: nn.LRN(2, norm_region="x"), ValueError),
    (lambda x2: nn.LRN(2)(x2), ValueError),
    lambda x: nn.LRN(5, 2.0, 0.5, 0.75)(x),
]


@pytest.mark.parametrize("case", cases("normalization_layers", inputs, CALLS))
def test_as_recorded(case):
    check(case)


def test_moving_statistics():
    x = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    norm = nn.BatchNorm1d(3, momentum=0.8).set_train()
    out = norm(ms.Tensor(x)).asnumpy()
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    np.testing.assert_allclose(
        out, (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5), rtol=1e-4, atol=1e-5
    )  # fmt: skip
    # The old value weighs `momentum`; the batch's variance is the unbiased one.
    np.testing.assert_allclose(norm.moving_mean.asnumpy(), 0.2 * mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(norm.moving_variance.asnumpy(), 0.8 + 0.2 * variance * 20 / 19, rtol=1e-5)
    before = norm.moving_mean.asnumpy()
    norm.set_train(False)(ms.Tensor(x))
    np.testing.assert_array_equal(norm.moving_mean.asnumpy(), before)


def test_use_batch_statistics_overrides_training():
    x = ms.Tensor(np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32))
    always, never = nn.BatchNorm1d(3, use_batch_statistics=True), nn.BatchNorm1d(3, use_batch_statistics=False).set_train()
    assert abs(always(x).asnumpy().mean(0)).max() < 1e-6
    np.testing.assert_allclose(never(x).asnumpy(), x.asnumpy(), rtol=1e-4)


def test_instance_norm():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(np.float32)
    out = nn.InstanceNorm2d(3)(ms.Tensor(x)).asnumpy()
    want = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("shared", [True, False])
def test_own_derivative_rule_is_the_plain_one(shared):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, 3, 5)))
    axes, shape = ((0, 2), (1, 3, 1)) if shared else ((2,), (1, 1, 5))
    gamma, beta = jnp.asarray(rng.normal(size=shape)), jnp.asarray(rng.normal(size=shape))

    def plain(x, gamma, beta):
        mean = x.mean(axes, keepdims=True)
        return (x - mean) / jnp.sqrt(jnp.square(x - mean).mean(axes, keepdims=True) + 1e-3) * gamma + beta

    def own(x, gamma, beta):
        return _standardize(axes, shared)(x, gamma, beta, 1e-3)

    check_grads(own, (x, gamma, beta), order=2, modes=("fwd", "rev"))
    ct = jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)
    for got, want in zip(jax.vjp(own, x, gamma, beta)[1](ct), jax.vjp(plain, x, gamma, beta)[1](ct)):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)
