"""Cells with a bprop of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn, ops
from tests.x64 import assert_close, present

X, Y = Tensor([1.0, 2.0]), Tensor([5.0, 6.0])


class Product(nn.Cell):
    """x * y with a gradient that is ten times too large."""

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return dout * y * 10, dout * x * 10


def with_bprop(bprop, construct=lambda self, x: x * x):
    return type("Custom", (nn.Cell,), {"construct": construct, "bprop": bprop})()


def numbers(value):
    return value.tolist() if isinstance(value, Tensor) else type(value)(map(numbers, value))


def test_replaces_the_gradient():
    net = Product()
    assert net(X, Y).tolist() == [5.0, 12.0]
    dx, dy = ms.grad(lambda x, y: net(x, y) * 3, (0, 1))(X, Y)
    assert (dx.tolist(), dy.tolist()) == ([150.0, 180.0], [30.0, 60.0])


def test_gets_inputs_output_and_gradient():
    seen = []

    def bprop(self, x, y, out, dout):
        seen.append([numbers(t) for t in (x, y, out, dout)])
        return dout, dout

    net = with_bprop(bprop, lambda self, x, y: x * y)
    ms.grad(lambda x, y: net(x, y) * 3)(X, Y)
    assert seen == [[[1.0, 2.0], [5.0, 6.0], [5.0, 12.0], [3.0, 3.0]]]


def test_bare_tensor_for_one_input():
    net = with_bprop(lambda self, x, out, dout: dout * 7)
    assert ms.grad(net)(X).tolist() == [7.0, 7.0]


def test_several_outputs_come_as_tuples_with_zeros_for_unused_ones():
    seen = []

    def bprop(self, x, out, dout):
        seen.append((numbers(out), numbers(dout)))
        return (dout[0] + dout[1] * 10,)

    net = with_bprop(bprop, lambda self, x: (x * 2, x * 3))
    assert ms.grad(lambda x: net(x)[0] + net(x)[1])(X).tolist() == [11.0, 11.0]
    assert seen == [
        (([2.0, 4.0], [3.0, 6.0]), ([0.0, 0.0], [1.0, 1.0])),
        (([2.0, 4.0], [3.0, 6.0]), ([1.0, 1.0], [0.0, 0.0])),
    ]


def test_arguments_that_are_no_tensors_have_a_place_too():
    seen = []

    def bprop(self, x, n, out, dout):
        seen.append(n)
        return dout * n, 0

    net = with_bprop(bprop, lambda self, x, n: x * n)
    assert ms.grad(net)(X, 4).tolist() == [4.0, 4.0] and seen == [4]


def test_runs_once_per_call_and_only_where_needed():
    seen = []

    def bprop(self, x, out, dout):
        seen.append(1)
        return (dout,)

    net = with_bprop(bprop)
    net(X)
    ms.grad(lambda x, y: net(y) * x)(X, Y)
    ms.grad(lambda x: net(ops.stop_gradient(x)) * x)(X)
    assert seen == []
    ms.grad(lambda x: net(net(x)))(X)
    assert seen == [1, 1]


def test_construct_is_not_recorded():
    """What construct does with its inputs leaves no gradient beside that of bprop."""

    def construct(self, x):
        self.kept = x * 5
        return x * x

    net = with_bprop(lambda self, x, out, dout: (dout,), construct)
    assert ms.grad(lambda x: net(x))(X).tolist() == [1.0, 1.0]
    assert net.kept.__jax_array__().tolist() == [5.0, 10.0]


def test_inputs_written_to_afterwards():
    net = with_bprop(lambda self, x, out, dout: (dout * x,))

    def f(x):
        y = x * 1
        z = net(y)
        y[0] = 100.0
        return z

    assert ms.grad(f)(X).tolist() == [1.0, 2.0]


def test_integers():
    net = with_bprop(lambda self, x, out, dout: (dout * 7,))
    dx = ms.grad(net)(Tensor([1, 2]))
    assert dx.dtype is present(ms.int64) and dx.tolist() == [7, 7]


def test_another_dtype_is_cast():
    net = with_bprop(lambda self, x, out, dout: ((dout * 7).astype(ms.float16),))
    dx = ms.grad(net)(X)
    assert dx.dtype is ms.float32 and dx.tolist() == [7.0, 7.0]


def test_hooks_around_it():
    log = []

    def bprop(self, x, out, dout):
        log.append(("bprop", numbers(dout)))
        return (dout * 3,)

    net = with_bprop(bprop)
    net.register_backward_pre_hook(lambda cell, go: (go[0] * 10,))
    net.register_backward_hook(lambda cell, gi, go: log.append(("post", numbers(gi[0]), numbers(go[0]))))
    assert ms.grad(net)(X).tolist() == [30.0, 30.0]
    assert log == [("bprop", [10.0, 10.0]), ("post", [30.0, 30.0], [10.0, 10.0])]


def test_inside_a_network():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([3.0, 4.0]))
            self.clip = with_bprop(lambda self, x, out, dout: (dout.clip(-1.0, 1.0),), lambda self, x: x)

        def construct(self, x):
            return self.clip(x * self.w) * 100

    net = Net()
    dx, dw = ms.grad(net, 0, net.w)(X)
    assert (dx.tolist(), dw.tolist()) == ([3.0, 4.0], [1.0, 2.0])


def test_second_order_is_that_of_bprop():
    net = with_bprop(lambda self, x, out, dout: (dout * x * x * x,))
    assert ms.grad(ms.grad(net))(X).tolist() == [3.0, 12.0]
    # The first gradient is x**4 + net(x), and that of net is x**3 once more.
    assert ms.grad(ms.grad(lambda x: net(x) * x))(X).tolist() == [5.0, 40.0]


def test_second_order_across_two_inputs():
    """The inner gradient depends on the outer input through bprop alone."""
    net = Product()
    got = ms.grad(lambda x: ms.grad(lambda y: net(x, y))(Y) * x)(X)
    assert got.tolist() == [20.0, 40.0]


ERRORS = [
    ((), RuntimeError, "should return 2 gradients, one for each input, but returned 0"),
    ((X,), RuntimeError, "but returned 1"),
    (X, RuntimeError, "but returned 1"),
    (None, TypeError, "NoneType"),
    (3.0, TypeError, "float"),
    ((2.0, X), TypeError, "Tensor for input 0"),
    ((X, 3.0), TypeError, "Tensor for input 1"),
    ((X, Tensor([1.0])), ValueError, r"shape \(1,\) for input 1 of shape \(2,\)"),
]


@pytest.mark.parametrize("returned, error, words", ERRORS, ids=range(len(ERRORS)))
def test_errors(returned, error, words):
    net = nn.SequentialCell(with_bprop(lambda self, x, y, out, dout: returned, lambda self, x, y: x * y))
    with pytest.raises(error, match=rf"bprop of cell SequentialCell\.0 \(Custom\).*{words}"):
        ms.grad(lambda x, y: run(net, x, y), (0, 1))(X, Y)
    assert ms.grad(lambda x: x * x)(X).tolist() == [2.0, 4.0]


def run(net, x, y):
    """Call the inner cell as if the outer one had: a SequentialCell takes one argument."""
    net.construct = lambda pair: net[0](*pair)
    return net((x, y))


def test_too_many_gradients_are_cut():
    net = with_bprop(lambda self, x, out, dout: (dout * 2, dout, dout))
    assert ms.grad(net)(X).tolist() == [2.0, 2.0]


def test_wrong_signature():
    net = with_bprop(lambda self, x: (x,))
    with pytest.raises(TypeError, match="positional argument"):
        ms.grad(net)(X)


def test_matches_the_plain_gradient_where_it_says_the_same():
    class Sigmoid(nn.Cell):
        def construct(self, x):
            return 1 / (1 + ops.exp(-x))

        def bprop(self, x, out, dout):
            return (dout * out * (1 - out),)

    x = Tensor(np.linspace(-3, 3, 7))
    got = ms.grad(lambda x: Sigmoid()(x) * x)(x).asnumpy()
    assert_close(got, ms.grad(lambda x: ops.sigmoid(x) * x)(x).asnumpy(), rtol=1e-12)


def test_none_is_no_gradient():
    class Net(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return dout * y, None

    dx, dy = ms.grad(Net(), (0, 1))(Tensor(2.0), Tensor(3.0))
    assert (float(dx), float(dy)) == (3, 0)


# What its construct writes to its argument, a part or a view of x, where x is [1, 2] and is read as said.
WRITES = {
    "detached": (lambda x, cell: (cell(ops.stop_gradient(x)), x)[1], [2.0, 4.0], [1.0, 1.0]),
    "view": (lambda x, cell: (cell(x.view(2, 1)), x * 1)[1], [2.0, 4.0], [1.0, 1.0]),
    "part": (lambda x, cell: (cell(x[1:]), x * 3)[1], [3.0, 12.0], [3.0, 3.0]),
    "read by a view": (lambda x, cell: (view := x[1:], cell(x), view * 1)[2], [4.0], [0.0, 1.0]),
    "written by another view": (lambda x, cell: (view := x[1:], cell(x.view(2, 1)), view * 1)[2], [4.0], [0.0, 1.0]),
}


@pytest.mark.parametrize("program, result, gradient", WRITES.values(), ids=WRITES)
def test_what_it_writes_to_a_view_its_root_and_other_views_show_under_jax(program, result, gradient):
    def double(self, a):
        a.add_(a)
        return a

    cell = with_bprop(lambda self, a, out, dout: (dout,), double)
    net = type("Net", (nn.Cell,), {"construct": lambda self, x: program(x, self.cell)})()
    net.cell = cell
    apply, params, buffers = ms.functionalize(net)
    run = lambda v: apply(params, buffers, v)[0]  # noqa: E731
    assert net(Tensor([1.0, 2.0])).tolist() == result
    np.testing.assert_array_equal(jax.jit(run)(jnp.array([1.0, 2.0])), result)
    np.testing.assert_array_equal(ms.grad(lambda x: net(x * 1).sum())(Tensor([1.0, 2.0])), gradient)
    np.testing.assert_array_equal(jax.grad(lambda v: run(v).sum())(jnp.array([1.0, 2.0])), gradient)
