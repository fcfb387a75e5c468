"""Cells and hooks that write to their arguments in place: what is seen outside, and which hooks stay with which tensor."""

import jax
import pytest

import msjax as ms
from msjax import nn, ops
from tests.differential.nets import Of, X, grad_of

ROW = [[1.0, -2.0, 3.0]]


class Writes(nn.Cell):
    def construct(self, x, *_):
        x.mul_(x)
        return x * 2


class Outer(nn.Cell):
    def __init__(self, further):
        super().__init__()
        self.writes = Writes()
        self.further = further

    def construct(self, x):
        y = x * 1
        self.writes(y, *self.further)
        return y


@pytest.mark.parametrize("further", [(), (ms.Tensor(ROW), 3)])
def test_a_write_to_an_argument_is_seen_outside_of_a_cell_with_backward_hooks(further):
    net, log = Outer(further), []
    for _ in range(2):
        out, grad = ms.value_and_grad(net)(ms.Tensor(ROW))
        assert out.asnumpy().tolist() == [[1.0, 4.0, 9.0]] and grad.asnumpy().tolist() == [[2.0, -4.0, 6.0]]
        net.writes.register_backward_hook(lambda cell, grad_input, grad_output: log.append(grad_output[0]))
    x = ms.Tensor(ROW)
    ms.grad(net.writes)(x)
    assert x.asnumpy().tolist() == [[1.0, 4.0, 9.0]] and log


@pytest.mark.parametrize("operator", [ops.HookBackward, ops.InsertGradientOf])
def test_a_write_to_what_an_operator_with_a_hook_was_given_leaves_its_result(operator):
    through = operator(lambda grad: None)

    def net(x):
        y = through(x)
        x.add_(x)
        return y

    x = ms.Tensor(ROW)
    assert net(x).asnumpy().tolist() == ROW
    assert ms.value_and_grad(net)(ms.Tensor(ROW))[0].asnumpy().tolist() == ROW


@pytest.mark.parametrize("kind", ["backward", "backward_pre"])
@pytest.mark.parametrize("returned", [lambda x: (x, x), lambda x: [x * 2] * 2, lambda x: (x.view(3), x)])
def test_what_a_cell_with_backward_hooks_returns_are_tensors_of_their_own(kind, returned):
    """Whether they are differentiated or not: a write to one leaves the others, and the cell's arguments."""

    def write(net, x):
        a, b = net.inner(x := x * 3)
        a.mul_(10)
        return b + x

    net = Of(write, inner=Of(lambda net, x: returned(x)))
    getattr(net.inner, f"register_{kind}_hook")(lambda *given: None)
    apply, params, buffers = ms.functionalize(net)
    x = ms.Tensor([1.0, 2.0, 3.0])
    expected = (returned(x * 3)[1] + x * 3).asnumpy().tolist()
    ways = net, ms.jit(net), lambda x: ms.value_and_grad(net)(x)[0], lambda x: ms.Tensor(apply(params, buffers, x._value)[0])
    for run in ways:
        assert run(x).asnumpy().tolist() == expected


class WritesBoth(nn.Cell):
    """A cell with a gradient of its own that writes to its arguments."""

    def construct(self, x, y):
        x.sub_(y * 3)
        return y

    def bprop(self, x, y, out, dout):
        return dout * x, dout * 2


@pytest.mark.parametrize("same", [False, True])
def test_a_cell_with_bprop_writes_to_its_arguments_as_in_pynative_mode(same):
    def write(net, x):
        y = x if same else x * 1
        z = net.writes(x, y)
        return z + x * 10

    net = Of(write, writes=WritesBoth())
    out, grad = ms.value_and_grad(net)(ms.Tensor(X))
    apply, params, buffers = ms.functionalize(net)
    ways = [
        lambda v: jax.numpy.asarray(net(ms.Tensor(v))),
        jax.jit(lambda v: jax.numpy.asarray(net(ms.Tensor(v)))),
        lambda v: apply(params, buffers, v)[0],
        jax.jit(lambda v: apply(params, buffers, v)[0]),
    ]
    for way in ways:
        assert way(X).tolist() == out.asnumpy().tolist()
        assert jax.grad(lambda v, way=way: way(v).sum())(X).tolist() == grad.asnumpy().tolist()


def test_what_a_hooked_cell_with_bprop_writes_to_its_argument_bypasses_its_hooks():
    class Doubling(nn.Cell):
        def construct(self, x):
            x.add_(x)
            return x

        def bprop(self, x, out, dout):
            return (dout * 2.0 * x,)

    def write(net, x):
        net.inner(x)
        return x

    net = Of(write, inner=Doubling())
    net.inner.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 5,))
    out, grad = ms.value_and_grad(net)(ms.Tensor(X))
    assert out.asnumpy().tolist() == (X * 2).tolist() and grad.asnumpy().tolist() == [[1.0] * 3]
    assert grad_of(net) == [[1.0] * 3]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_tensor_that_is_written_to_keeps_the_hooks_of_what_it_was_apart(compiled):
    log = []

    def write(x):
        x.register_hook(lambda grad: log.append(("before", grad.asnumpy().tolist())))
        x.mul_(3.0)
        x.register_hook(lambda grad: log.append(("after", grad.asnumpy().tolist())))
        return x * 2

    grad = ms.grad(write)
    assert (ms.jit(lambda x: grad(x)) if compiled else grad)(ms.Tensor([1.0])).asnumpy().tolist() == [6.0]
    assert log == [("after", [2.0]), ("before", [6.0])]
