"""Activation layers, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn
from tests.expected.recorded import cases, check, with_gradients


def inputs(draw):
    return {"x": draw.F(3, 4), "x4": draw.F(2, 3, 4, 4)}


CALLS = [
    (lambda: nn.CELU(), "CELU()"),
    (lambda: nn.CELU(0), "CELU()"),
    (lambda: nn.CELU("x"), "CELU()"),
    (lambda: nn.ELU(), "ELU()"),
    (lambda: nn.FastGelu(), "FastGelu()"),
    (lambda: nn.GELU(), "GELU()"),
    lambda x: nn.GELU(False)(x),
    (lambda: nn.GELU("x"), TypeError),
    (lambda: nn.GLU(), "GLU()"),
    lambda x: nn.GLU()(x),
    (lambda x: nn.GLU(0)(x), ValueError),
    (lambda: nn.HShrink(), "HShrink()"),
    lambda x: nn.HShrink(0.3)(x),
    (lambda: nn.HShrink("3"), TypeError),
    lambda x: nn.HSigmoid()(x),
    lambda x: nn.HSwish()(x),
    lambda x: nn.Hardtanh()(x),
    (lambda: nn.Hardtanh(1, 1), ValueError),
    (lambda: nn.Hardtanh(2, 1), ValueError),
    (lambda: nn.Hardtanh("a", 1), TypeError),
    (lambda: nn.LeakyReLU(), "LeakyReLU()"),
    (lambda: nn.LeakyReLU("a"), "LeakyReLU()"),
    lambda x: nn.LogSigmoid()(x),
    (lambda: nn.LogSoftmax(), "LogSoftmax()"),
    (lambda: nn.LogSoftmax("a"), "LogSoftmax()"),
    (lambda: nn.LogSoftmaxExt(), "LogSoftmaxExt()"),
    lambda x: nn.Mish()(x),
    (lambda: nn.PReLU(), "PReLU()"),
    (lambda: nn.PReLU(0), ValueError),
    (lambda: nn.PReLU(2, [0.1, 0.2]), "PReLU()"),
    (lambda: nn.PReLU(2, Tensor(np.ones(2, np.float32))), "PReLU()"),
    (lambda: nn.PReLU(2, Tensor(np.ones(3, np.float32))), ValueError),
    (lambda: nn.PReLU(2, "x"), TypeError),
    lambda x4: nn.PReLU(3)(x4),
    lambda x: nn.PReLU(1)(x),
    (lambda: nn.PReLUExt(), "PReLUExt()"),
    lambda x: nn.PReLUExt()(x),
    (lambda: nn.RReLU(), "RReLU()"),
    (lambda: nn.RReLU(0.5, 0.4), ValueError),
    (lambda: nn.RReLU(-1, 0.4), "RReLU()"),
    (lambda: nn.RReLU("a", 0.4), TypeError),
    lambda x: nn.RReLU(0.3, 0.3)(x),
    (lambda: nn.ReLU(), "ReLU()"),
    lambda x: nn.ReLU6()(x),
    lambda x: nn.SeLU()(x),
    lambda x: nn.SiLU()(x),
    (lambda: nn.SoftShrink(), "SoftShrink()"),
    (lambda: nn.Softmax(), "Softmax()"),
    (lambda: nn.Softmax("a"), TypeError),
    (lambda x: nn.Softmax(5)(x), ValueError),
    (lambda: nn.Softmax2d(), "Softmax2d()"),
    (lambda x: nn.Softmax2d()(x), ValueError),
    lambda x4: nn.Softmax2d()(x4),
    lambda x4: nn.Softmax2d()(x4[0]),
    (lambda: nn.Softmin(), "Softmin()"),
    lambda x: nn.Softmin()(x),
    lambda x: nn.Softsign()(x),
    (lambda: nn.Tanh(), "Tanh()"),
    lambda x: nn.Tanhshrink()(x),
    (lambda: nn.Threshold(0.1, 20), "Threshold()"),
    lambda x: nn.Threshold(0.1, 20)(x),
    (lambda: nn.Threshold(0.1, "a"), "Threshold()"),
    (lambda: nn.get_activation("foo"), KeyError),
    (lambda: nn.get_activation(None), "None"),
    (lambda: nn.get_activation(""), KeyError),
    (lambda: nn.get_activation(3), KeyError),
    (
        lambda: [
            nn.get_activation(n)
            for n in (
                "softmax",
                "logsoftmax",
                "relu",
                "relu6",
                "tanh",
                "gelu",
                "elu",
                "sigmoid",
                "prelu",
                "leakyrelu",
                "hswish",
                "hsigmoid",
                "logsigmoid",
                "softshrink",
                "hshrink",
                "silu",
            )
        ],
        "[Softmax(), LogSoftmax(), ReLU(), ReLU6(), Tanh(), GELU(), ELU(), Sigmoid(), PReLU(), LeakyReLU(), HSwish(), HSigmoid(), LogSigmoid(), SoftShrink(), HShrink(), SiLU()]",
    ),
    (lambda: nn.get_activation("softmax2d"), "Softmax2d()"),
    (lambda: nn.get_activation("selu"), KeyError),
    (lambda: nn.get_activation("fast_gelu"), "FastGelu()"),
    (lambda: nn.get_activation("mish"), "Mish()"),
    (lambda: nn.get_activation("softsign"), "Softsign()"),
    (lambda: nn.get_activation("softmin"), "Softmin()"),
    (lambda: nn.get_activation("tanhshrink"), "Tanhshrink()"),
    (lambda: nn.get_activation("rrelu"), "RReLU()"),
    (lambda: nn.get_activation("threshold"), TypeError),
    (lambda: nn.get_activation("hardtanh"), "Hardtanh()"),
    (lambda: nn.get_activation("celu"), KeyError),
    (lambda: nn.get_activation("glu"), KeyError),
    lambda x: nn.ReLU()(x.astype(ms.int32)),
    lambda x: nn.LeakyReLU(2)(x),
    lambda x: with_gradients(lambda x: nn.LeakyReLU()(x), x),
    lambda x: with_gradients(lambda x: nn.Softmin()(x), x),
    lambda x: with_gradients(lambda x: nn.HSwish()(x), x * 4),
    lambda x: with_gradients(lambda x: nn.HSigmoid()(x), x * 4),
]


@pytest.mark.parametrize("case", cases("activation_layers", inputs, CALLS))
def test_as_recorded(case):
    check(case)
