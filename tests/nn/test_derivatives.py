"""nn.Jvp and nn.Vjp, against numbers of MindSpore 2.10."""

import numpy as np
import pytest

from msjax import Tensor, nn

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
ONES = Tensor(np.ones((2, 2), np.float32))


class Cube(nn.Cell):
    def construct(self, x):
        return x**3


class Two(nn.Cell):
    def construct(self, x, y):
        return x**3 + y, x * y


def arrays(values):
    return [v.asnumpy().tolist() for v in values]


def test_of_one_input():
    for cell in (nn.Jvp(Cube()), nn.Vjp(Cube())):
        out, product = cell(Tensor(X), ONES)
        assert arrays([out, product]) == [[[1, 8], [27, 64]], [[3, 12], [27, 48]]]


def test_of_several_inputs_and_outputs():
    x = Tensor(X)
    out, product = nn.Jvp(Two())(x, x, (ONES, ONES))
    assert arrays(out) == [[[2, 10], [30, 68]], [[1, 4], [9, 16]]]
    assert arrays(product) == [[[4, 13], [28, 49]], [[2, 4], [6, 8]]]
    out, gradients = nn.Vjp(Two())(x, x, (ONES, ONES))
    assert arrays(gradients) == [[[4, 14], [30, 52]], [[2, 3], [4, 5]]]


def test_errors():
    with pytest.raises(TypeError, match="direction"):
        nn.Jvp(Cube())(Tensor(X), (ONES,))
    with pytest.raises(ValueError, match="one more argument"):
        nn.Vjp(Cube())(Tensor(X))


def test_gradients_of_another_form_than_the_outputs():
    for fn, v in ((lambda x: x * 2, (ONES,)), (lambda x: (x, x), ONES)):
        with pytest.raises(TypeError, match="'Vjp', the gradient should be a Tensor for one output, a tuple for several"):
            nn.Vjp(fn)(ONES, v)
