"""detect_anomaly: errors and NaN of the backward pass name the forward line and the cell."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.tools import detect_anomaly


class Root(nn.Cell):
    def construct(self, x):
        return ops.sqrt(x * 0) + x  # the planted line


class Raises(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        raise KeyError("planted")


def step(cell):
    net = nn.SequentialCell(nn.Dense(2, 2), cell)
    return lambda x: ms.value_and_grad(net, None, net.trainable_params())(x)


X = ms.Tensor(np.ones((1, 2), "float32"))


@pytest.mark.parametrize("compiled", [False, True])
def test_nan(compiled):
    run = ms.jit(step(Root())) if compiled else step(Root())
    with detect_anomaly(), pytest.raises(FloatingPointError) as raised:
        run(X)
    text = str(raised.value)
    assert "a NaN came from the gradient of Mul of float32[1, 2]" in text and "in cell SequentialCell.1 (Root)" in text
    assert text.endswith("return ops.sqrt(x * 0) + x  # the planted line") and __file__ in text
    run(X)


def test_error_in_a_backward_pass():
    with detect_anomaly(), pytest.raises(KeyError, match="planted") as raised:
        step(Raises())(X)
    (note,) = [n for n in raised.value.__notes__ if "detect_anomaly" in n]
    assert "in the gradient of bprop of Raises of float32[1, 2] in cell SequentialCell.1 (Raises)" in note
    assert "in step" not in note and "test_anomaly.py" in note


def test_backward_of_tensors():
    x = ms.Parameter(ms.Tensor([0.0]), name="x")
    with detect_anomaly(), pytest.raises(FloatingPointError, match="in test_backward_of_tensors"):
        ops.sqrt(x * x).sum().backward()


def test_nothing_wrong():
    with detect_anomaly():
        step(nn.ReLU())(X)
