"""Types of mint's layers, whose constructors are made of their settings. Checked by pyright; not run."""

from typing import assert_type

import msjax as ms
from msjax import mint, nn

x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])

assert_type(mint.nn.ReLU(), mint.nn.ReLU)
assert_type(mint.nn.ReLU(inplace=True).inplace, bool)
assert_type(mint.nn.Softmax(1).dim, int | None)
assert_type(mint.nn.Softmax(dim=1).construct(x), ms.Tensor)
assert_type(mint.nn.Tanh().construct(input=x), ms.Tensor)
assert_type(mint.nn.AvgPool2d(2, padding=1).count_include_pad, bool)
assert_type(mint.nn.CrossEntropyLoss(ignore_index=3).construct(x, target=x), ms.Tensor)
assert_type(mint.nn.ConstantPad2d((1, 2, 3, 4), 0.5).value, float)
assert_type(mint.nn.ReLU().set_train(), mint.nn.ReLU)
cells: list[nn.Cell] = [mint.nn.ReLU(), mint.nn.L1Loss()]


class Doubled(mint.nn.Softmax):
    def __init__(self) -> None:
        super().__init__(dim=0)


assert_type(Doubled().dim, int | None)

mint.nn.ReLU(True, False)  # pyright: ignore[reportCallIssue]
mint.nn.ReLU(in_place=True)  # pyright: ignore[reportCallIssue]
mint.nn.ReLU(inplace="yes")  # pyright: ignore[reportArgumentType]
mint.nn.AvgPool2d()  # pyright: ignore[reportCallIssue]
mint.nn.Tanh().construct()  # pyright: ignore[reportCallIssue]
mint.nn.Tanh().dim  # pyright: ignore[reportAttributeAccessIssue]
