"""Values that carry no gradient, or are given twice: what hooks are told of them."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from tests.differential.nets import Doubles, Of, X, grad_of


def test_a_result_of_a_compiled_function_that_stops_its_gradient_carries_none():
    @ms.jit
    def both(x):
        stopped = ops.stop_gradient(x * 2)
        return stopped, stopped + 1, x * 3

    def net(x):
        stopped, constant, y = both(x)
        assert [t.requires_grad for t in (stopped, constant, y)] == [False, False, True]
        constant.register_hook(lambda grad: pytest.fail("no gradient flows here"))
        with pytest.raises(RuntimeError, match=r"result of ops\.stop_gradient"):
            stopped.register_hook(lambda grad: grad)
        return stopped * y + constant

    assert float(ms.grad(net)(ms.Tensor(2.0))) == 12.0


def test_what_carries_no_gradient_has_none_beside_what_carries_one():
    log = []

    def pair(net, x):
        return x, ops.stop_gradient(x)

    net = Of(pair)
    net.register_backward_hook(lambda cell, grad_input, grad_output: None)
    net.register_backward_pre_hook(lambda cell, grads: log.append([g is None for g in grads]))
    expected = ms.grad(lambda x: sum(t.sum() for t in net(x)))
    for grad in (
        lambda: expected(ms.Tensor(X)),
        lambda: jax.grad(lambda v: sum(jax.numpy.asarray(t.sum()) for t in net(ms.Tensor(v))))(X),
    ):
        grad()
        ms.hooks.barrier()
    assert log == [[False, True]] * 2


def test_hooks_know_the_result_of_stop_gradient_behind_an_observer():
    def stopped(net, x):
        net.inner(ops.stop_gradient(x)).register_hook(lambda grad: None)
        return x

    net = Of(stopped, inner=nn.Identity())
    net.inner.register_forward_pre_hook(lambda cell, inputs: None)
    with pytest.raises(RuntimeError, match="stop_gradient"):
        grad_of(net, jax.jit)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_second_gradient_has_none_where_the_first_does_not_depend(compiled):
    log, inner = [], Doubles()
    inner.register_forward_hook(lambda cell, inputs, output: output * 1.5)
    inner.register_backward_hook(lambda cell, grad_input, grad_output: log.append(grad_output[0] is None))
    second = ms.grad(lambda x: ms.grad(inner)(x))
    (ms.jit(lambda x: second(x)) if compiled else second)(ms.Tensor(X))
    assert log == [False, True]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_tensor_given_twice_is_two_within_a_hooked_cell(compiled):
    class Squares(nn.Cell):
        def construct(self, x, others):
            x.mul_(x)
            return others[0]

    def call(net, x):
        y = x @ net.weight
        return net.inner(y, (y, x))

    net = Of(call, inner=Squares(), weight=ms.Parameter(ms.Tensor(np.eye(3, dtype="float32")), "weight"))
    net.inner.register_backward_hook(lambda cell, first, second: None)
    assert (ms.jit(lambda x: net(x)) if compiled else net)(ms.Tensor(X)).asnumpy().tolist() == X.tolist()


def test_the_result_of_stop_gradient_is_known_behind_nodes_of_hooks():
    net = Of(lambda net, x: ops.stop_gradient(x))
    net.register_backward_pre_hook(lambda cell, grads: None)
    outer = Of(lambda net, x: (net.inner(x).register_hook(lambda grad: None), x)[1], inner=net)
    with pytest.raises(RuntimeError, match="stop_gradient"):
        grad_of(outer, jax.jit)


def test_a_stopped_tensor_that_is_given_twice_stays_one():
    def hook(net, x, same):
        with pytest.raises(RuntimeError, match=r"the result of ops\.stop_gradient"):
            x.register_hook(lambda grad: None)
        return x

    def twice(net, x):
        stopped = ops.stop_gradient(x)
        return net.c(stopped, stopped)

    net = Of(twice, c=Of(hook))
    net.c.register_backward_hook(lambda *_: None)
    net(ms.Tensor(X))
    ms.grad(net)(ms.Tensor(X))
