"""Whole networks: forward and backward, with the numbers that MindSpore 2.10 computes from the same weights.

MindSpore gave the losses and, for each network, the sum over its Parameters of the absolute values of their gradients' sums, weighted by
cos(0), cos(1), .... The gradients in ``tests/data/recorded/models.npz`` are msjax's, whose sums are MindSpore's to 1e-5.
"""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn
from tests.expected.arrays import assert_close
from tests.expected.recorded import arrays
from tests.nn import zoo


def fill(net):
    """Weights by formula, so that every run and every framework has the same."""
    for n, (_, p) in enumerate(sorted(net.parameters_and_names())):
        values = np.sin(np.arange(p.size) * 1.7 + n).reshape(p.shape).astype(np.float32) * (0.5 if p.ndim > 1 else 0.1)
        one = p.name.endswith(("gamma", "variance"))
        p.set_data(Tensor(values + 1 if one else values))
    return net


def run(net, x):
    """The loss, and for each trainable Parameter its gradient."""
    net.set_train()
    trained = net.trainable_params()
    criterion = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def forward(x):
        out = net(x)
        out = out[0] if isinstance(out, tuple) else out
        return criterion(out, Tensor(np.arange(out.shape[0]) % 5, ms.int32))

    loss, grads = ms.value_and_grad(forward, None, trained)(x)
    return float(loss.asnumpy()), {p.name: g.asnumpy() for p, g in zip(trained, grads)}


def image():
    return Tensor(np.sin(np.arange(2 * 3 * 8 * 8) * 0.9).reshape(2, 3, 8, 8).astype(np.float32))


def ids():
    return Tensor(np.array([[1, 7, 0, 0, 0, 0], [3, 10, 2, 2, 5, 9]], np.int32))


LOSSES = {
    "ResNet": 1.846233,
    "MobileNet": 1.668704,
    "ViT": 4.716752,
    "Swin": 1.408446,
    "UNet": 1.611727,
    "GPT": 2.300080,
    "TextNet": 1.559375,
    "Translator": 1.433177,
}


@pytest.mark.parametrize("name", LOSSES)
def test_loss_and_gradients_are_mindspores(name):
    net = fill(getattr(zoo, name)())
    loss, grads = run(net, ids() if name in ("GPT", "TextNet", "Translator") else image())
    assert loss == pytest.approx(LOSSES[name], rel=1e-5)
    records = arrays("models")[name]
    assert list(grads) == list(records)
    for path, grad in grads.items():
        assert abs(grad).max() > 0
        assert_close(grad, records[path], rtol=1e-4, atol=1e-5, name=path)


@pytest.mark.long
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
