"""Whole networks: forward and backward, with the numbers that MindSpore 2.10 computes from the same weights."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn

from . import zoo


def fill(net):
    """Weights by formula, so that every run and every framework has the same."""
    for n, (_, p) in enumerate(sorted(net.parameters_and_names())):
        values = np.sin(np.arange(p.size) * 1.7 + n).reshape(p.shape).astype(np.float32) * (0.5 if p.ndim > 1 else 0.1)
        one = p.name.endswith(("gamma", "variance"))
        p.set_data(Tensor(values + 1 if one else values))
    return net


def run(net, x):
    """The loss, and for each trainable Parameter the weighted sum of its gradient."""
    net.set_train()
    trained = net.trainable_params()
    criterion = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def forward(x):
        out = net(x)
        out = out[0] if isinstance(out, tuple) else out
        return criterion(out, Tensor(np.arange(out.shape[0]) % 5, ms.int32))

    loss, grads = ms.value_and_grad(forward, None, trained)(x)
    sums = {p.name: float((g.asnumpy() * np.cos(np.arange(g.size)).reshape(g.shape)).sum()) for p, g in zip(trained, grads)}
    return float(loss.asnumpy()), sums, grads


def image():
    return Tensor(np.sin(np.arange(2 * 3 * 8 * 8) * 0.9).reshape(2, 3, 8, 8).astype(np.float32))


def ids():
    return Tensor(np.array([[1, 7, 0, 0, 0, 0], [3, 10, 2, 2, 5, 9]], np.int32))


# What the real MindSpore 2.10.0 (CPU, PyNative) gives: the loss, the sum over Parameters of |weighted sum|, their number.
REAL = {
    "ResNet": (1.846233, 6.58158, 20),
    "MobileNet": (1.668704, 2.26591, 14),
    "ViT": (4.716752, 31.36627, 20),
    "Swin": (1.408446, 3.80190, 12),
    "UNet": (1.611727, 0.58954, 11),
    "GPT": (2.300080, 8.79767, 16),
    "TextNet": (1.559375, 1.31911, 11),
    "Translator": (1.433177, 5.09075, 37),
}


@pytest.mark.parametrize("name", REAL)
def test_loss_and_gradients_are_mindspores(name):
    net = fill(getattr(zoo, name)())
    loss, sums, grads = run(net, ids() if name in ("GPT", "TextNet", "Translator") else image())
    assert all(abs(g.asnumpy()).max() > 0 for g in grads)
    assert loss == pytest.approx(REAL[name][0], rel=1e-4)
    assert sum(map(abs, sums.values())) == pytest.approx(REAL[name][1], rel=1e-3)
    assert len(sums) == REAL[name][2]


def test_keys_and_values_kept_give_what_the_whole_sequence_gives():
    net = fill(zoo.GPT())
    whole, _ = net(ids())
    first, past = net(ids()[:, :4])
    rest, _ = net(ids()[:, 4:], past)
    whole = whole.asnumpy().reshape(2, 6, -1)
    np.testing.assert_allclose(first.asnumpy().reshape(2, 4, -1), whole[:, :4], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rest.asnumpy().reshape(2, 2, -1), whole[:, 4:], rtol=1e-5, atol=1e-6)


def test_networks_made_from_one_seed_are_equal():
    made = []
    for _ in range(2):
        ms.set_seed(7)
        made.append([p.asnumpy() for p in zoo.ResNet().get_parameters()])
    for a, b in zip(*made):
        np.testing.assert_array_equal(a, b)
