"""Pooling layers, by numbers of the real MindSpore."""

import pytest

import msjax as ms
from msjax import nn
from tests.expected.recorded import cases, check, with_gradients


def inputs(draw):
    return {"x": draw.F(2, 3, 7, 8), "x1": draw.F(2, 3, 9), "x3": draw.F(1, 2, 5, 6, 7)}


CALLS = [
    (lambda: nn.MaxPool2d(3, 2, padding=1), ValueError),
    (lambda: nn.MaxPool2d(3, 2, pad_mode="pad", padding=(1, 0)), "MaxPool2d(kernel_size=3, stride=2, pad_mode=PAD)"),
    (lambda: nn.MaxPool2d(3, 2, pad_mode="pad", padding=2), "MaxPool2d(kernel_size=3, stride=2, pad_mode=PAD)"),
    (lambda: nn.MaxPool2d(3, 2), "MaxPool2d(kernel_size=3, stride=2, pad_mode=VALID)"),
    (lambda: nn.MaxPool2d((3, 2), 2, pad_mode="pad", padding=1), "MaxPool2d(kernel_size=(3, 2), stride=2, pad_mode=PAD)"),
    (lambda: nn.MaxPool1d(3, 2), "MaxPool1d(kernel_size=(1, 3), stride=(1, 2), pad_mode=VALID)"),
    (lambda: nn.MaxPool3d(3, 2), "MaxPool3d(kernel_size=3, stride=2, pad_mode=VALID)"),
    (lambda: nn.AvgPool1d(3, 2), "AvgPool1d(kernel_size=(1, 3), stride=(1, 2), pad_mode=VALID)"),
    (lambda: nn.AvgPool2d(3, 2), "AvgPool2d(kernel_size=3, stride=2, pad_mode=VALID)"),
    (lambda: nn.AvgPool2d((3, 2), 2, pad_mode="same"), "AvgPool2d(kernel_size=(3, 2), stride=2, pad_mode=SAME)"),
    (lambda: nn.AvgPool3d(3, 2), "AvgPool3d(kernel_size=3, stride=2, pad_mode=VALID)"),
    (lambda: nn.LPPool2d(2, 3), "LPPool2d()"),
    (lambda: nn.AdaptiveAvgPool2d(3), "AdaptiveAvgPool2d()"),
    (lambda: nn.AdaptiveMaxPool2d(3), "AdaptiveMaxPool2d()"),
    (lambda: nn.AdaptiveAvgPool1d(3), "AdaptiveAvgPool1d()"),
    (lambda: nn.AdaptiveMaxPool1d(3), "AdaptiveMaxPool1d()"),
    (lambda: nn.MaxUnpool2d(2), "MaxUnpool2d()"),
    (lambda: nn.FractionalMaxPool2d(2, output_size=(3, 3)), "FractionalMaxPool2d()"),
    (lambda: nn.MaxPool2d(3, 2, dilation=2), ValueError),
    lambda x: nn.MaxPool2d(3, 2, pad_mode="pad", dilation=2, return_indices=True)(x),
    (lambda x: nn.MaxPool2d(3, 2, return_indices=True)(x), ValueError),
    (lambda x: nn.MaxPool2d(3, 2, pad_mode="same", return_indices=True)(x), ValueError),
    lambda x: nn.MaxPool2d(3, 2, pad_mode="pad", padding=1, ceil_mode=True)(x),
    lambda x: nn.MaxPool2d(3, 2)(x[0]),
    lambda x: nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)(x[0]),
    lambda x: nn.AvgPool2d(3, 2)(x[0]),
    lambda x: nn.AvgPool2d(3, 2, pad_mode="pad", padding=1)(x[0]),
    lambda x1: nn.MaxPool1d(3, 2)(x1[0]),
    lambda x1: nn.MaxPool1d(3, 2, pad_mode="pad")(x1[0]),
    lambda x1: nn.AvgPool1d(3, 2)(x1[0]),
    lambda x1: nn.AvgPool1d(3, 2, pad_mode="pad")(x1[0]),
    lambda x3: nn.MaxPool3d(2, 2)(x3[0]),
    lambda x3: nn.AvgPool3d(2, 2)(x3[0]),
    (lambda: nn.MaxPool2d(0), ValueError),
    (lambda: nn.MaxPool2d(2, 0), ValueError),
    (lambda: nn.MaxPool2d("2"), TypeError),
    (lambda: nn.MaxPool2d(2.0), TypeError),
    (lambda: nn.MaxPool2d(2, pad_mode="x"), ValueError),
    (lambda: nn.MaxPool2d((1, 2, 3)), ValueError),
    (lambda x: nn.MaxPool2d(9, 1)(x), ValueError),
    (lambda: nn.MaxPool2d(2, 1, data_format="NHWC"), ValueError),
    (lambda: nn.MaxPool2d(2, 1, data_format="X"), ValueError),
    (lambda: nn.AvgPool2d(2, 1, pad_mode="same", padding=1), ValueError),
    (lambda x: nn.AvgPool2d(2, 1, pad_mode="pad", padding=2)(x), ValueError),
    (lambda: nn.AvgPool2d(2, 1, pad_mode="pad", divisor_override=0), ValueError),
    lambda x: nn.AvgPool2d(2, 1, divisor_override=3)(x),
    lambda x: nn.AvgPool2d(2, 3, ceil_mode=True)(x),
    (lambda: nn.MaxPool1d((2,)), TypeError),
    (lambda: nn.AvgPool1d((2,), 2), "AvgPool1d(kernel_size=(1, 2), stride=(1, 2), pad_mode=VALID)"),
    (lambda x1: nn.MaxPool1d(2, return_indices=True)(x1), ValueError),
    lambda x: nn.AdaptiveAvgPool2d((3, None))(x),
    (lambda x: nn.AdaptiveAvgPool2d((None,))(x), ValueError),
    lambda x: nn.AdaptiveAvgPool2d(3)(x[0]),
    (lambda x1: nn.AdaptiveAvgPool1d(4)(x1), ValueError),
    (lambda x1: nn.AdaptiveAvgPool1d(3)(x1[0]), ValueError),
    (lambda x1: nn.AdaptiveMaxPool1d(4)(x1), ValueError),
    (lambda x1: nn.AdaptiveMaxPool1d(3)(x1[0]), ValueError),
    (lambda: nn.AdaptiveAvgPool1d("3"), TypeError),
    (lambda x: nn.AdaptiveAvgPool2d(-1)(x), ValueError),
    lambda x: nn.AdaptiveMaxPool2d((3, None), return_indices=True)(x),
    lambda x: nn.AdaptiveMaxPool2d(3)(x[0]),
    lambda x3: nn.AdaptiveAvgPool3d((2, None, 3))(x3),
    lambda x3: nn.AdaptiveMaxPool3d(2)(x3[0]),
    lambda x: nn.MaxPool2d(2, 2)(x.astype(ms.float16)),
    lambda x: nn.MaxPool2d(2, 2)(x.astype(ms.float64)),
    lambda x: with_gradients(lambda x: nn.AvgPool2d(3, 2, pad_mode="same")(x), x),
    lambda x: with_gradients(lambda x: nn.AdaptiveAvgPool2d((3, 5))(x), x),
    lambda x: with_gradients(lambda x: nn.AdaptiveMaxPool2d((3, 5))(x), x),
    lambda x3: with_gradients(lambda x: nn.AdaptiveAvgPool3d((3, 4, 2))(x), x3),
    lambda x3: with_gradients(lambda x: nn.AdaptiveMaxPool3d((3, 4, 2))(x), x3),
    lambda x3: nn.AvgPool3d(3, 2, pad_mode="pad", padding=1, ceil_mode=True)(x3),
    lambda x3: nn.AvgPool3d(3, 2, pad_mode="pad", padding=1, ceil_mode=True, count_include_pad=False)(x3),
    lambda x1: nn.AvgPool1d(3, 2, pad_mode="pad", padding=1, ceil_mode=True)(x1),
    lambda x3: nn.MaxPool3d(2, 3, pad_mode="pad", padding=1, return_indices=True, ceil_mode=True)(x3),
    lambda x1: nn.MaxUnpool1d(2)(*nn.MaxPool1d(2, 2, pad_mode="pad", return_indices=True)(x1)),
]


@pytest.mark.parametrize("case", cases("pooling_layers", inputs, CALLS))
def test_as_recorded(case):
    check(case)
