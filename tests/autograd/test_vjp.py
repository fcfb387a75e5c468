"""vjp and jvp: what they return and refuse."""

import pytest

import msjax as ms
from msjax import Parameter, Tensor, ops
from tests.autograd.product import V, W, X, Y, cube, numbers


def test_vjp():
    value, vjp_fn = ms.vjp(cube, X)
    assert value.tolist() == [1.0, 8.0]
    assert numbers(vjp_fn(Y)) == ([15.0, 72.0],)
    assert numbers(vjp_fn(X)) == ([3.0, 24.0],)


def test_vjp_of_several():
    value, vjp_fn = ms.vjp(lambda x, y: (x * y, x), X, Y)
    assert numbers(value) == ([5.0, 12.0], [1.0, 2.0])
    assert numbers(vjp_fn(X, Y)) == ([10.0, 18.0], [1.0, 4.0])
    assert numbers(vjp_fn((X, Y))) == ([10.0, 18.0], [1.0, 4.0])


def test_vjp_with_weights_and_aux():
    g = lambda x: x * W  # noqa: E731
    assert numbers(ms.vjp(g, X, weights=[W, V])[1](Y)) == (([15.0, 24.0],), ([5.0, 12.0], [0.0, 0.0]))
    assert numbers(ms.vjp(g, X, weights=W)[1](Y)) == (([15.0, 24.0],), [5.0, 12.0])
    out, vjp_fn, aux = ms.vjp(lambda x: (x * x, x), X, has_aux=True)
    assert (numbers(out), numbers(aux), numbers(vjp_fn(Y))) == ([1.0, 4.0], [1.0, 2.0], ([10.0, 24.0],))
    assert numbers(ms.vjp(lambda x: (x * x, x, 2), X, has_aux=True)[2]) == ([1.0, 2.0], 2)


def test_vjp_after_inputs_and_weights_have_changed():
    """The gradient is computed with the values at the time of the call."""
    x, w = Tensor([1.0, 2.0]), Parameter(Tensor([3.0, 4.0]), name="w")
    _, vjp_fn = ms.vjp(lambda x: x * w, x, weights=w)
    x[0] = 100.0
    w.set_data(Tensor([0.0, 0.0]))
    assert numbers(vjp_fn(Tensor([1.0, 1.0]))) == (([3.0, 4.0],), [1.0, 2.0])


VJP_ERRORS = [
    ((), RuntimeError, "each of 1 outputs, but got 0"),
    ((X, X), RuntimeError, "each of 1 outputs, but got 2"),
    ((Tensor([1.0]),), ValueError, r"shape \(1,\)"),
    ((3.0,), TypeError, "no Tensor"),
]


@pytest.mark.parametrize("args, error, words", VJP_ERRORS, ids=range(len(VJP_ERRORS)))
def test_vjp_errors(args, error, words):
    with pytest.raises(error, match=words):
        ms.vjp(cube, X)[1](*args)


def test_jvp():
    assert numbers(ms.jvp(cube, (X,), (Y,))) == ([1.0, 8.0], [15.0, 72.0])
    both = ms.jvp(lambda x, y: (x * y, {"x": x}), (X, Y), (Y, X))
    assert numbers(both) == (([5.0, 12.0], {"x": [1.0, 2.0]}), ([26.0, 40.0], {"x": [5.0, 6.0]}))
    assert numbers(ms.jvp(lambda x: (x * x, x), X, Y, has_aux=True)) == ([1.0, 4.0], [10.0, 24.0], [1.0, 2.0])
    assert numbers(ms.jvp(lambda x: x * W, X, Y)) == ([3.0, 8.0], [15.0, 24.0])


def test_jvp_is_the_transpose_of_vjp():
    g = lambda x: ops.tanh(x * 2) * x.sum()  # noqa: E731
    _, forward = ms.jvp(g, X, Y)
    _, vjp_fn = ms.vjp(g, X)
    v = Tensor([0.5, -2.0])
    assert (forward * v).sum().item() == pytest.approx((vjp_fn(v)[0] * Y).sum().item(), rel=1e-5)


@pytest.mark.parametrize(
    "inputs, v, error",
    [(3.0, X, TypeError), (X, 3.0, TypeError), (X, Tensor([1.0]), ValueError), (X, (X, X), ValueError)],
    ids=range(4),
)
def test_jvp_errors(inputs, v, error):
    with pytest.raises(error, match="jvp"):
        ms.jvp(cube, inputs, v)


def test_vjp_and_jvp_refuse():
    with pytest.raises(TypeError, match=r"'vjp', argument 0 should be a Tensor, but got float 3\.0"):
        ms.vjp(cube, 3.0)
    for bad in (lambda x: x, lambda x: (x,)):
        with pytest.raises(ValueError, match="at least two outputs"):
            ms.vjp(bad, X, has_aux=True)
        with pytest.raises(ValueError, match="at least two outputs"):
            ms.jvp(bad, X, X, has_aux=True)
    with pytest.raises(TypeError, match="the results of <lambda> should be Tensors"):
        ms.jvp(lambda x: 3.0, X, X)
    with pytest.raises(NotImplementedError, match="jvp"):
        ms.grad(lambda x: ms.jvp(cube, x, x)[1])(X)


def test_jvp_of_integers():
    a, b = ms.Tensor([1, 2], ms.int32), ms.Tensor([3, 4], ms.int32)
    out, product = ms.jvp(lambda x, y: x * y, (a, b), (a, b))
    assert out.dtype == product.dtype == ms.int32
    assert (out.asnumpy().tolist(), product.asnumpy().tolist()) == ([3, 8], [6, 16])
    lanes = ms.jit(lambda x, y: ms.vmap(lambda p, q: ms.jvp(lambda r: r * q, p, p))(x, y))(a, b)
    assert [value.asnumpy().tolist() for value in lanes] == [[3, 8], [3, 8]]
    with pytest.raises(TypeError, match="needs a Tensor for the only output"):
        ms.vjp(lambda x: x * 2, ms.Tensor(1.0))[1]((ms.Tensor(1.0),))


def test_forward_mode_names_whose_hooks_are_in_the_way():
    net = ms.nn.SequentialCell(ms.nn.Dense(2, 2), ms.nn.ReLU())
    with net[0].register_backward_hook(lambda cell, grad_input, grad_output: None):
        with pytest.raises(TypeError, match=r"cell SequentialCell\.0 \(Dense\) is in the way of forward mode"):
            ms.jvp(net, Tensor([[1.0, 2.0]]), Tensor([[1.0, 0.0]]))
