"""Operators that layers offer as attributes: with the layer's Parameters they compute what the layer does."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops

X = np.linspace(-1.0, 1.0, 2 * 2 * 6 * 6, dtype=np.float32).reshape(2, 2, 6, 6) ** 2


@pytest.mark.parametrize("layout", [{}, {"pad_mode": "pad", "padding": 1}, {"pad_mode": "valid", "stride": 2}], ids=str)
@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "Conv3d", "Conv1dTranspose", "Conv2dTranspose", "Conv3dTranspose"])
def test_convolutions(name, layout):
    net = getattr(nn, name)(2, 3, 3, **layout)
    axes = int(name[4])
    x = ms.Tensor(X[:, :, 0] if axes == 1 else X if axes == 2 else np.stack([X] * 4, 2))
    expected = net(x)
    flat = x.expand_dims(2) if axes == 1 else x
    if name in ("Conv1dTranspose", "Conv2dTranspose"):
        n, c, *sizes = expected.shape
        out = net.conv2d_transpose(flat, net.weight, (n, c, *(1,) * (2 - axes), *sizes))
    elif name == "Conv3dTranspose":
        out = net.conv3d_transpose(x, net.weight)
    else:
        out = getattr(net, "conv3d" if axes == 3 else "conv2d")(flat, net.weight)
    np.testing.assert_allclose(out.reshape(expected.shape).numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_bias_add():
    net = nn.Conv2d(2, 3, 3, has_bias=True)
    x = ms.Tensor(X)
    np.testing.assert_allclose(
        net.bias_add(net.conv2d(x, net.weight), net.bias).numpy(), net(x).numpy(), rtol=1e-5, atol=1e-5
    )  # fmt: skip


@pytest.mark.parametrize("name", ["MaxPool2d", "AvgPool2d"])
@pytest.mark.parametrize("mode", ["valid", "same"])
def test_pooling(name, mode):
    net = getattr(nn, name)(3, 2, mode)
    x = ms.Tensor(X)
    pool = net.max_pool if name == "MaxPool2d" else net.avg_pool
    np.testing.assert_allclose(pool(x).numpy(), net(x).numpy(), rtol=1e-6)


def test_layer_norm():
    net = nn.LayerNorm((6,))
    x = ms.Tensor(X)
    y, mean, variance = net.layer_norm(x, net.gamma, net.beta)
    assert [o.shape for o in (y, mean, variance)] == [(2, 2, 6, 6), (2, 2, 6, 1), (2, 2, 6, 1)]
    np.testing.assert_allclose(y.numpy(), net(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(training):
    nets = [nn.BatchNorm2d(2).set_train(training) for _ in range(2)]
    x = ms.Tensor(X)
    net = nets[0]
    operator = net.bn_train if training else net.bn_infer
    y = operator(x, net.gamma, net.beta, net.moving_mean, net.moving_variance)[0]
    np.testing.assert_allclose(y.numpy(), nets[1](x).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(net.moving_mean.numpy(), nets[1].moving_mean.numpy(), rtol=1e-6)
    np.testing.assert_allclose(net.moving_variance.numpy(), nets[1].moving_variance.numpy(), rtol=1e-6)


def test_a_layer_may_assign_its_own():
    class Own(nn.LayerNorm):
        def __init__(self):
            super().__init__((6,))
            self.layer_norm = ops.LayerNorm(2, 2)

    net = Own()
    assert net.layer_norm is net.layer_norm
    assert net.layer_norm.begin_norm_axis == 2
