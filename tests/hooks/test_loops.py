"""Hooks within loops: their order beside what comes before and after, once each."""

import threading

import jax
import pytest

import msjax as ms
from msjax import nn, ops

ROW = [[1.0, -2.0, 3.0]]


class Loop(nn.Cell):
    """A cell within a loop of jax's."""

    def __init__(self):
        super().__init__()
        self.within = nn.ReLU()
        self.tap = ops.HookBackward(lambda grads: None)

    def construct(self, x):
        step = lambda carry, _: (jax.numpy.asarray(self.within(ms.Tensor(carry))) * 2, None)  # noqa: E731
        x = ms.from_jax(lambda value: jax.lax.scan(step, value, None, length=2)[0])(x)
        print("after the loop")
        return self.tap(x)


def test_hooks_in_a_loop_come_before_what_follows_it(capsys):
    net = Loop()
    net.within.register_forward_hook(lambda cell, args, out: print("forward", float(out)))
    net.within.register_backward_hook(lambda cell, grad_input, grad_output: print("backward", float(grad_output[0])))
    net.register_forward_hook(lambda cell, args, out: print("net"))
    lines = ["forward 1.0", "forward 2.0", "after the loop", "net", "backward 2.0", "backward 4.0"]
    ms.grad(net)(ms.Tensor(1.0))
    assert capsys.readouterr().out.split("\n") == [*lines, ""]


def test_an_eager_gradient_of_a_functionalized_network_calls_hooks_in_a_loop_once_and_in_order():
    net, log = Loop(), []
    net.within.register_forward_hook(lambda cell, args, out: log.append(float(out)))
    net.register_forward_hook(lambda cell, args, out: log.append("net"))
    apply, params, buffers = ms.functionalize(net)
    # Not known before the first run: the tap makes it start again.
    for _ in range(2):
        log.clear()
        jax.grad(lambda x: apply(params, buffers, x)[0])(1.0)
        assert log == [1.0, 2.0, "net"]


class Passing(nn.Cell):
    """A loop of jax's whose gradient doesn't depend on the values that go through it."""

    def __init__(self, log, loop):
        super().__init__()
        self.inner = nn.Identity()
        self.loop = loop
        self.log = log
        self.inner.register_forward_pre_hook(lambda cell, inputs: log.append("forward"))
        self.inner.register_backward_pre_hook(lambda cell, grads: log.append("backward"))

    def construct(self, x):
        x = x * 1
        x.register_hook(lambda grad: self.log.append("tensor"))
        return ms.from_jax(self.loop(lambda value: jax.numpy.asarray(self.inner(ms.Tensor(value)))))(x)


LOOPS = {
    "vmap": lambda f: jax.vmap(f),
    "scan": lambda f: lambda x: jax.lax.scan(lambda carry, _: (f(carry), None), x, None, length=1)[0],
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_s_own_hooks_come_before_its_gradient_s(loop):
    log = []
    net = Passing(log, LOOPS[loop])
    for function in (net, ms.jit(net)):
        log.clear()
        ms.grad(lambda x, f=function: f(f(x)))(ms.Tensor(ROW))
        assert log == ["forward"] * 2 + ["backward", "tensor"] * 2


def test_hooks_before_a_loop_s_gradient_leave_no_tracer_in_it():
    log = []
    net = Passing(log, LOOPS["scan"])
    apply, params, buffers = ms.functionalize(nn.SequentialCell(net, net))
    grad = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(jax.numpy.asarray(ms.Tensor(ROW)))
    ms.hooks.barrier()
    assert grad.tolist() == [[1.0, 1.0, 1.0]] and log == ["forward"] * 2 + ["backward", "tensor"] * 2


def test_a_modifier_in_a_lifted_function_is_traced_in_the_thread_of_the_call():
    net, threads = nn.SequentialCell(nn.ReLU()), []

    def halved(cell, grad_input, grad_output):
        threads.append(threading.get_ident())
        return (grad_input[0] / 2,)

    net[0].register_backward_hook(halved, traced=True)
    lifted = ms.from_jax(lambda value: jax.vmap(lambda row: net(ms.Tensor(row))._value)(value))
    gradient = ms.grad(lambda x: lifted(x) * x)(ms.Tensor([2.0, 4.0]))
    assert gradient.tolist() == [3, 6] and {*threads} == {threading.get_ident()}
