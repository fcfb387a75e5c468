"""Steps of training, under settings with which jax looks for faults: they compute what they compute without these."""

import contextlib

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops

RNG = np.random.RandomState(0)
IMAGES, SERIES = RNG.rand(2, 4, 6, 6).astype(np.float32), RNG.rand(2, 5, 4).astype(np.float32)

# The layers whose gradients are msjax's own, in some of their variants.
LAYERS = {
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), IMAGES),
    "Conv1d": (lambda: nn.Conv1d(5, 3, 2), SERIES),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3), IMAGES),
    "Conv2d of groups": (lambda: nn.Conv2d(4, 8, 3, group=2), IMAGES),
    "Conv2d of each channel": (lambda: nn.Conv2d(4, 4, 3, group=4), IMAGES),
    "Conv2dTranspose": (lambda: nn.Conv2dTranspose(4, 3, 3), IMAGES),
    "Dense": (lambda: nn.Dense(6, 3, activation="relu"), IMAGES),
    "GRU": (lambda: nn.GRU(4, 3, bidirectional=True), SERIES),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), IMAGES),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4), IMAGES),
    "LSTM": (lambda: nn.LSTM(4, 3, num_layers=2), SERIES),
    "LayerNorm": (lambda: nn.LayerNorm((4,)), SERIES),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, 2), IMAGES),
    "MultiheadAttention": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), SERIES),
    "PReLU": (lambda: nn.PReLU(4), IMAGES),
}


def step_of(make, compiled):
    ms.set_seed(1)
    net = make()
    net.set_train()
    seen = []
    net.register_forward_hook(lambda cell, inputs, output: seen.append(1))

    def loss(x):
        out = net(x)
        return ops.tanh(out[0] if isinstance(out, tuple) else out).sum()

    step = ms.value_and_grad(loss, 0, net.trainable_params())
    return ms.jit(step) if compiled else step, seen


def numbers(found):
    return [
        np.asarray(leaf)
        for leaf in jax.tree.leaves(jax.tree.map(ms.Tensor.asnumpy, found, is_leaf=lambda v: isinstance(v, ms.Tensor)))
    ]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("setting", [jax.checking_leaks, jax.disable_jit])
@pytest.mark.parametrize("layer", LAYERS)
def test_table_of_layers(layer, setting, compiled):
    make, x = LAYERS[layer]
    # Of a shape that no test had before, so that everything is traced under the setting.
    x, answers = np.concatenate([x] * (5 + 2 * compiled + (setting is jax.disable_jit))), []
    for context in (setting(), contextlib.nullcontext()):
        step, seen = step_of(make, compiled)
        with context:
            answers.append(numbers(step(ms.Tensor(x))))
            assert len(seen) == 1
    for under, alone in zip(*answers, strict=True):
        np.testing.assert_allclose(under, alone, rtol=1e-4, atol=1e-6)


def test_a_program_of_many_equations_without_jit():
    def many(x):
        for n in range(300):
            x = ops.sin(x) * (1 + n / 1000)
        return x.sum()

    gradient, x = ms.jit(ms.grad(many)), ms.Tensor(SERIES)
    with jax.disable_jit():
        under = gradient(x).asnumpy()
    np.testing.assert_allclose(under, ms.grad(many)(x).asnumpy(), rtol=1e-4)
