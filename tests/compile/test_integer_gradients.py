"""Gradients of integers through compiled functions, and outputs that carry none."""

import msjax as ms
from msjax import nn
from tests.compile.calls import f32


class Product(nn.Cell):
    @ms.jit
    def construct(self, x, y):
        return x * y


def integers(*values):
    return [ms.Tensor(v, ms.int32) for v in values]


def test_integer_gradients_through_a_jitted_method():
    x, y = integers(2, 3)
    both = ms.grad(Product(), (0, 1))(x, y)
    assert int(ms.grad(Product())(x, y)) == 3 and [int(g) for g in both] == [3, 2]
    assert ms.grad(Product())(x, y).dtype == ms.int32


def test_integer_gradients_of_nested_jitted_functions_are_complete():
    inner = ms.jit(lambda x, y: x * y)
    outer = ms.jit(lambda x, y: inner(x, y) * x)
    x, y = integers(2, 3)
    for jitted in (outer, lambda x, y: outer(x, y), lambda x, y: inner(x, y) * x, lambda x, y: inner(inner(x, y), x)):
        assert int(ms.grad(jitted)(x, y)) == 12
    pair = ms.jit(lambda x, y: {"out": (x * y, x + y)})
    assert [int(g) for g in ms.grad(lambda x, y: pair(x, y=y)["out"][0] * 2, (0, 1))(x, y)] == [6, 4]


def test_outputs_that_carry_no_gradient_stay_off_the_tape():
    grads = []
    first = ms.jit(lambda x: (x.argmax(), x * 2, x > 1))

    def f(x, jitted=first):
        index, double, larger = jitted(x)
        index.register_hook(grads.append) if index.requires_grad else None
        return double * index * larger

    assert ms.grad(f)(f32(1, 5)).tolist() == ms.grad(lambda x: f(x, lambda x: (x.argmax(), x * 2, x > 1)))(f32(1, 5)).tolist()
    assert grads == []
