"""Hooks on a Tensor that was used before, where jax itself differentiates."""

import jax
import pytest

import msjax as ms
from msjax import nn
from msjax.common.tensor_hooks import LateHookError
from tests.differential.nets import WRAPS, Doubles, Of, X, grad_of


@WRAPS
def test_a_hook_that_comes_after_the_first_use_of_its_tensor_is_refused(wrap):
    def late(net, x):
        y = x * 3
        x.register_hook(lambda grad: grad * 10)
        return y

    with pytest.raises(LateHookError, match=r"shape \(1, 3\).*in cell Of.*before the first use, or differentiate with ms\.grad"):
        grad_of(Of(late), wrap)
    assert ms.grad(Of(late))(ms.Tensor(X)).asnumpy().tolist() == [[30.0] * 3]


def test_a_late_hook_is_refused_where_only_the_gradient_tells_that_jax_differentiates():
    def late(net, x):
        y = x * 3
        x.register_hook(lambda grad: grad * 10)
        return y + x

    net = Of(late)
    forward = jax.jit(lambda v: jax.numpy.asarray(net(ms.Tensor(v)).sum()))
    assert float(forward(X)) == 8.0
    with pytest.raises(LateHookError):
        jax.grad(forward)(X)


@pytest.mark.parametrize("use", [lambda net, x: net.hooked(x), lambda net, x: net.hooked(x * 1)], ids=["input", "output"])
def test_passing_a_node_of_hooks_is_a_use(use):
    def late(net, x):
        y = use(net, x)
        (x if net.hooked is not None and use is not None and y is not x else y).register_hook(lambda grad: None)
        return y

    hooked = nn.Identity()
    hooked.register_backward_hook(lambda cell, first, second: None)
    with pytest.raises(LateHookError):
        grad_of(Of(late, hooked=hooked))


def test_a_function_of_jax_that_follows_hook_calls_is_a_use():
    def late(net, x):
        y = ms.from_jax(jax.numpy.tanh)(x)  # made to depend on the calls before it, so that it gets another Tensor
        x.register_hook(lambda grad: None)
        return y

    net = Of(late)
    net.register_forward_pre_hook(lambda cell, inputs: None)
    with pytest.raises(LateHookError):
        grad_of(net, jax.jit)


@WRAPS
def test_a_hook_before_the_first_use_sees_all_of_the_gradient(wrap):
    def early(net, x):
        x.register_hook(lambda grad: grad * 10)
        return x * 3 + x

    assert grad_of(Of(early), wrap) == [[40.0] * 3]


def test_a_parameter_is_not_used_in_a_later_call():
    def early(net, x):
        net.weight.register_hook(lambda grad: None)
        return x * net.weight

    net = Of(early, weight=ms.Parameter(ms.Tensor([2.0, 2.0, 2.0]), "weight"))
    for _ in range(2):
        net.weight.remove_hook()
        assert grad_of(net, jax.jit) == [[2.0] * 3]


class WritesToIt(nn.Cell):
    def construct(self, x):
        x.mul_(x)
        return x

    def bprop(self, x, out, dout):
        return (dout * x,)


@pytest.mark.parametrize("inner", [Doubles, WritesToIt])
def test_a_cell_with_bprop_is_a_use(inner):
    def late(net, x):
        y = net.inner(x)
        x.register_hook(lambda grad: None)
        return y

    with pytest.raises(LateHookError):
        grad_of(Of(late, inner=inner()))
