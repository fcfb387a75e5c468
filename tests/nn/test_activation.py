"""Activation layers, by numbers of the real MindSpore; layers that are a function and its settings."""

import inspect

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, mint, nn
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


@pytest.mark.parametrize(
    ("layer", "name", "value"),
    [
        (nn.ELU(), "alpha", 3.0),
        (nn.Threshold(0.0, 1.0), "value", 7.0),
        (mint.nn.ELU(), "alpha", 3.0),
        (mint.nn.Hardshrink(), "lambd", 5.0),
    ],
)
def test_compiled_code_sees_a_setting_change(layer, name, value):
    x, before, compiled = Tensor([-1.0, 2.0]), getattr(layer, name), ms.jit(nn.SequentialCell(layer))
    for setting in (before, value, before):
        setattr(layer, name, setting)
        assert compiled(x).tolist() == layer(x).tolist()


def test_a_setting_is_given_by_position_or_name_and_shown_by_signatures():
    assert nn.Threshold(0.5, value=9.0).value == 9.0
    assert str(inspect.signature(nn.Threshold)) == "(threshold, value)"
    assert str(inspect.signature(nn.HuberLoss)) == "(reduction='mean', delta=1.0)"
    with pytest.raises(TypeError, match=r"For .Threshold.: missing a required argument: 'value'; it takes .threshold, value."):
        nn.Threshold(1.0)
    with pytest.raises(TypeError, match="For 'ELU': got an unexpected keyword argument 'beta'"):
        nn.ELU(beta=1.0)


def test_a_subclass_may_have_a_constructor_of_its_own():
    class Steep(nn.ELU):
        def __init__(self, factor):
            super().__init__(alpha=2.0 * factor)

    assert Steep(3.0)(Tensor([-1e3])).tolist() == [-6.0]


def test_documentation_comes_from_the_function_with_the_names_of_the_layer():
    assert nn.HuberLoss.__doc__.startswith("(logits - labels)^2 / 2 up to")
    assert "nn.HuberLoss(reduction, delta)(logits, labels)" in nn.HuberLoss.__doc__
    assert "delta (int or float): positive. Default: 1.0." in nn.HuberLoss.__doc__
    assert "alpha (float): Default: 1.0." in nn.CELU.__doc__
