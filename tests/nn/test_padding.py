"""Layers that pad, by numbers of the real MindSpore."""

import pytest

from msjax import nn
from tests.expected.recorded import cases, check


def inputs(draw):
    return {"x": draw.F(2, 3, 4, 5), "x1": draw.F(2, 3, 7), "x5": draw.F(1, 2, 3, 4, 5)}


CALLS = [
    lambda F: nn.Pad(((1, 2), (0, 1)))(F(2, 3)),
    lambda F: nn.Pad(((1, 2), (0, 1)), "REFLECT")(F(3, 4)),
    lambda F: nn.Pad(((1, 2), (0, 1)), "SYMMETRIC")(F(3, 4)),
    (lambda: nn.Pad(((1, 2), (0, 1))), "Pad()"),
    (lambda: nn.Pad(((1, 2), (0, 1)), "foo"), ValueError),
    (lambda: nn.Pad([(1, 2), (0, 1)]), TypeError),
    (lambda F: nn.Pad(((1, 2),))(F(2, 3)), ValueError),
    (lambda F: nn.Pad(((1, 2), (0, 1), (0, 0)))(F(2, 3)), ValueError),
    lambda x1: nn.ConstantPad1d(1, 2.0)(x1),
    lambda x1: nn.ConstantPad1d((1, 2), 2)(x1),
    (lambda: nn.ConstantPad1d((1, 2, 3), 2), ValueError),
    (lambda: nn.ConstantPad1d((1, 2), 2), "ConstantPad1d()"),
    lambda x: nn.ConstantPad2d((1, 2, -1, 0), 0)(x),
    lambda x5: nn.ConstantPad3d((1, 2, 0, 0, 1, 1), 0.5)(x5),
    (lambda: nn.ConstantPad3d((1, 2, 0, 0), 0.5), "ConstantPad3d()"),
    (lambda: nn.ConstantPad1d("a", 2), TypeError),
    (lambda: nn.ConstantPad1d(1, "a"), TypeError),
    lambda x1: nn.ReflectionPad1d((3, 1))(x1),
    lambda x1: nn.ReflectionPad1d(1)(x1[0]),
    (lambda x1: nn.ReflectionPad1d(8)(x1), ValueError),
    (lambda: nn.ReflectionPad1d(-1), ValueError),
    (lambda: nn.ReflectionPad1d(1), "ReflectionPad1d()"),
    lambda x: nn.ReflectionPad2d((1, 2, 0, 1))(x),
    lambda x: nn.ReflectionPad2d(1)(x[0]),
    lambda x5: nn.ReflectionPad3d(1)(x5),
    lambda x1: nn.ReplicationPad1d(2)(x1),
    lambda x: nn.ReplicationPad2d((1, 2, 0, 1))(x),
    lambda x5: nn.ReplicationPad3d(1)(x5),
    lambda x5: nn.ReplicationPad3d(1)(x5[0]),
    (lambda: nn.ReplicationPad3d((1, 1)), "ReplicationPad3d()"),
    lambda x: nn.ZeroPad2d((1, 2, 0, 1))(x),
    lambda x: nn.ZeroPad2d(1)(x[0]),
    (lambda: nn.ZeroPad2d(1), "ZeroPad2d()"),
    lambda x: nn.ZeroPad2d((-1, 1, 0, 0))(x),
    lambda x: nn.ReplicationPad2d((-1, 1, 0, 0))(x),
    lambda F: nn.ReflectionPad1d((1, 2))(F(2, 2, 2, 7)),
]


@pytest.mark.parametrize("case", cases("padding_layers", inputs, CALLS))
def test_as_recorded(case):
    check(case)
