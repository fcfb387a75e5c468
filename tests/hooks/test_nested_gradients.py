"""Hooks in gradients of gradients, in second sweeps, and in cells within cells with bprop."""

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops
from tests.differential.nets import WRAPS, Of, X, grad_of

ROW = [[1.0, -2.0, 3.0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_second_sweep_runs_the_hooks_that_the_gradient_really_passes(compiled):
    log = []

    class Linear(nn.Cell):
        def __init__(self):
            super().__init__()
            self.insert = ops.InsertGradientOf(lambda grad: log.append(grad.asnumpy().tolist()))

        def construct(self, x):
            return self.insert(x) + x

    net = Linear()
    second = ms.grad(lambda x: ms.grad(net)(x))
    x = ms.Tensor(ROW)
    found = (ms.jit(lambda x: second(x)) if compiled else second)(x)
    assert found.asnumpy().tolist() == [[0.0, 0.0, 0.0]]
    assert log == [[[1.0, 1.0, 1.0]]]


class Module(nnx.Module):
    def __call__(self, x):
        return jnp.sin(x)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_gradient_hook_among_the_members_puts_a_functional_network_on_the_tape_at_once(wrap):
    log = []

    def tapped(net, x):
        return net.tap(x, x * net.weight)[0]

    net = Of(tapped, tap=ops.HookBackward(lambda grads: log.append([None if g is None else g.asnumpy().tolist() for g in grads])))
    net.weight = ms.Parameter(ms.Tensor([2.0, 2.0, 2.0]), "weight")
    ms.grad(net, None, net.trainable_params())(ms.Tensor(X))
    apply, params, buffers = ms.functionalize(net)
    for _ in range(2):
        wrap(jax.grad(lambda p: apply(p, buffers, X)[0].sum()))(params)
        ms.hooks.barrier()
    assert len(log) == 3 and log[0] == log[1] == log[2]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_second_gradient_calls_the_forward_hooks_of_a_module_once(compiled):
    log, module = [], Module()
    first = ms.grad(lambda x: ms.from_jax(module)(x))
    second = ms.grad(lambda x: first(x))
    with (
        hooks.register_forward_hook(module, lambda module, inputs, output: log.append("forward")),
        hooks.register_backward_hook(module, lambda module, grad_input, grad_output: log.append("backward")),
    ):
        (ms.jit(lambda x: second(x)) if compiled else second)(ms.Tensor(X))
    assert log == ["forward", "backward"]


def _twice(call):
    return lambda value: jax.lax.scan(lambda carry, _: (call(carry), None), value, None, length=2)[0]


LIFTED = {
    "call": lambda call: call,
    "vmap": jax.vmap,
    "remat": jax.checkpoint,
    "scan": _twice,
    "scan-remat": lambda call: _twice(jax.checkpoint(call)),
    "jit": jax.jit,
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("lift", LIFTED.values(), ids=LIFTED)
def test_what_orders_hooks_in_a_lifted_function_is_nothing_that_a_gradient_depends_on(lift, compiled):
    """The gradient of a linear function doesn't depend on its input: the second sweep passes no hook of it, as without `from_jax`."""
    log, inner = [], Of(lambda net, x: x * 3)
    inner.register_forward_pre_hook(lambda cell, inputs: log.append("forward"))
    lifted = ms.from_jax(lift(lambda value: inner(ms.Tensor(value))._value))
    net = Of(lambda net, x: lifted(x))
    net.register_backward_hook(lambda cell, grad_input, grad_output: log.append("backward"))
    second = ms.grad(lambda x: ms.grad(net)(x))
    assert (ms.jit(lambda x: second(x)) if compiled else second)(ms.Tensor(X)).tolist() == [[0.0] * 3]
    ms.hooks.barrier()
    assert log.count("backward") == 1 and log[-1] == "backward"


class OwnGradient(nn.Cell):
    """A Cell with a gradient of its own, around another one."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        self.inner(x)
        return x

    def bprop(self, x, out, dout):
        return (dout * 2,)


@WRAPS
def test_hooks_that_a_cell_within_one_with_bprop_registers_on_its_input(wrap):
    log = []
    net = Of(
        lambda net, x: net.c(x), c=OwnGradient(Of(lambda net, x: x.register_hook(lambda grad: log.append(grad.tolist())) and x))
    )
    assert ms.grad(net)(ms.Tensor(X)).tolist() == [[2.0] * 3] and log == [[[2.0] * 3]]
    log.clear()
    assert grad_of(net, wrap) == [[2.0] * 3]
    assert len(log) == 1


@pytest.mark.parametrize("times", [1, 2], ids=["leaf", "result"])
def test_a_hook_from_an_inner_gradient_sees_what_arrives_outside_of_it(times):
    """As in MindSpore, whatever the argument of the inner gradient function is outside of it."""
    log = []

    def inner(a):
        a.register_hook(lambda grad: log.append(grad.tolist()))
        return a * 1

    def outer(x):
        a = x if times == 1 else x * times
        return ms.grad(inner)(a).sum() + (a * 3).sum()

    assert ms.grad(outer)(ms.Tensor(X)).tolist() == [[3.0 * times] * 3]
    assert log == [[[1.0] * 3], [[3.0] * 3]]
