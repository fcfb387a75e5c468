"""Convolution layers: Parameters, sizes, values, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops

X = np.random.default_rng(0).normal(size=(2, 3, 7, 8)).astype(np.float32)


def test_parameters():
    assert nn.Conv2d(4, 6, (3, 2), group=2).weight.shape == (6, 2, 3, 2)
    assert nn.Conv1d(4, 6, 3).weight.shape == (6, 4, 1, 3)
    assert nn.Conv3d(4, 6, 3).weight.shape == (6, 4, 3, 3, 3)
    assert nn.Conv2dTranspose(4, 6, 3, group=2).weight.shape == (4, 3, 3, 3)
    assert nn.Conv1dTranspose(4, 6, 3).weight.shape == (4, 6, 1, 3)
    assert [p.name for p in nn.Conv2d(3, 4, 3, has_bias=True).trainable_params()] == ["weight", "bias"]
    assert nn.Conv1d(3, 4, 3, weight_init=ops.ones((4, 3, 3))).weight.shape == (4, 3, 1, 3)


@pytest.mark.parametrize("mode", ["same", "valid", "pad"])
def test_value(mode):
    net = nn.Conv2d(3, 4, 3, 2, mode, 1 if mode == "pad" else 0, has_bias=True)
    pads = {"same": ((1, 1), (0, 1)), "valid": ((0, 0), (0, 0)), "pad": ((1, 1), (1, 1))}[mode]
    want = jax.lax.conv_general_dilated(jnp.asarray(X), net.weight.asnumpy(), (2, 2), pads)
    np.testing.assert_allclose(
        net(ms.Tensor(X)).asnumpy(), want + net.bias.asnumpy()[:, None, None], rtol=1e-4, atol=1e-5
    )  # fmt: skip


# Kernel, stride, dilation, and the output's height and width in "same", "valid" and "pad", of an input of (7, 8).
TRANSPOSED = [
    (1, 2, 1, (14, 16), (14, 16), (13, 15)),
    (2, 3, 1, (21, 24), (21, 24), (20, 23)),
    (2, 3, 2, (21, 24), (21, 24), (21, 24)),
    (3, 1, 2, (7, 8), (11, 12), (11, 12)),
    (3, 2, 1, (14, 16), (15, 17), (15, 17)),
    (4, 3, 2, (21, 24), (25, 28), (25, 28)),
]


@pytest.mark.parametrize("kernel, stride, dilation, same, valid, pad", TRANSPOSED)
def test_transposed_sizes(kernel, stride, dilation, same, valid, pad):
    for mode, want in (("same", same), ("valid", valid), ("pad", pad)):
        net = nn.Conv2dTranspose(3, 4, kernel, stride, mode, dilation=dilation)
        assert net(ms.Tensor(X)).shape == (2, 4, *want)


def test_output_padding_as_the_real_mindspore_has_it():
    ones = {"weight_init": "ones", "stride": 2, "pad_mode": "pad", "padding": 1, "output_padding": 1}
    flat = nn.Conv2dTranspose(1, 1, 3, has_bias=True, bias_init=0.5, **ones)(ops.ones((1, 1, 2, 2)))
    assert flat.asnumpy()[0, 0].tolist() == [[1.5, 2.5, 1.5, 0], [2.5, 4.5, 2.5, 0], [1.5, 2.5, 1.5, 0], [0, 0, 0, 0]]
    deep = nn.Conv3dTranspose(1, 1, 3, **ones)(ops.ones((1, 1, 2, 2, 2)))
    assert deep.asnumpy()[0, 0, -1].tolist() == [[1, 2, 1, 1], [2, 4, 2, 2], [1, 2, 1, 1], [1, 2, 1, 1]]


def test_blocks():
    block = nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation="leakyrelu", alpha=0.5)
    assert [p.name for p in block.get_parameters()][:2] == ["conv.weight", "batchnorm.moving_mean"]
    assert block(ms.Tensor(X)).shape == (2, 4, 7, 8) and block.activation.alpha == 0.5
    dense = nn.DenseBnAct(8, 5, has_bn=True, activation="relu")
    assert (dense(ms.Tensor(X[0, 0])).asnumpy() >= 0).all()


def test_repr():
    text = str(nn.Conv1d(3, 4, 3, weight_init="normal", bias_init="zeros"))
    assert text == (
        "Conv1d(input_channels=3, output_channels=4, kernel_size=(1, 3), stride=(1, 1), pad_mode=same, "
        "padding=(0, 0, 0, 0), dilation=(1, 1), group=1, has_bias=False, weight_init=normal, bias_init=zeros, format=NCHW)"
    )


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nn.Conv2d(3, 4, (3,)), TypeError),
        (lambda: nn.Conv2d(3, 4, "3"), TypeError),
        (lambda: nn.Conv2d(3, 4, 3.0), TypeError),
        (lambda: nn.Conv2d(3, 4, 0), ValueError),
        (lambda: nn.Conv2d(0, 4, 1), ValueError),
        (lambda: nn.Conv2d(3, 4, 3, stride=(1, 2, 3)), TypeError),
        (lambda: nn.Conv2d(3, 4, 3, padding=1), ValueError),
        (lambda: nn.Conv2d(3, 4, 3, pad_mode="pad", padding=-1), ValueError),
        (lambda: nn.Conv2d(3, 4, 3, pad_mode="pad", padding=(1, 2)), ValueError),
        (lambda: nn.Conv2d(3, 4, 3, pad_mode="xx"), ValueError),
        (lambda: nn.Conv2d(4, 4, 3, group=3), ValueError),
        (lambda: nn.Conv2d(3, 4, 3, has_bias=1), TypeError),
        (lambda: nn.Conv2d(3, 4, 3, data_format="NHWC"), ValueError),
        (lambda: nn.Conv1d(3, 4, 3, stride=(2,)), TypeError),
        (lambda: nn.Conv1d(3, 4, 3, pad_mode="pad", padding=(1, 2)), TypeError),
        (lambda: nn.Conv2dTranspose(3, 4, 3, output_padding=1), ValueError),
        (lambda: nn.Conv2d(3, 4, 3)(ms.Tensor(X[0])), ValueError),
        (lambda: nn.Conv2d(2, 4, 3)(ms.Tensor(X)), RuntimeError),
        (lambda: nn.Conv2d(3, 4, 9, pad_mode="valid")(ms.Tensor(X)), ValueError),
    ],
)
def test_refuses(make, error):
    with pytest.raises(error):
        make()
