"""Hooks where nothing depends on their cell, or a later hook cuts or replaces what they see: called all the same, each in its place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops
from tests.differential.nets import WRAPS, Of, X

ROW = [[1.0, -2.0, 3.0]]


@pytest.mark.parametrize("way", ["jit", "functional"])
def test_a_backward_hook_that_gets_only_none_is_called_at_each_run_in_its_place(way):
    log = []

    class Pair(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dead = nn.ReLU()

        def construct(self, x):
            return x * 2, self.dead(x)

    net = nn.SequentialCell(Pair())
    pair = net[0]
    pair.register_backward_pre_hook(lambda cell, grads: log.append(("pre", grads[1])))
    pair.dead.register_backward_hook(lambda cell, grad_input, grad_output: log.append((grad_input, grad_output)))
    x = ms.Tensor(ROW)
    expected = [("pre", None), ((None,), (None,))]
    ms.grad(lambda x: net(x)[0])(x)
    assert log == expected
    log.clear()
    if way == "jit":
        compiled = ms.jit(lambda x: ms.grad(lambda x: net(x)[0])(x))
    else:
        apply, params, buffers = ms.functionalize(net)
        grad = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0][0].sum()))
        compiled = lambda x: grad(jnp.asarray(x))  # noqa: E731
    for runs in range(1, 4):
        compiled(x)
        ms.hooks.barrier()
        assert log == expected * runs


def test_forward_hooks_are_called_in_jax_jit_where_nothing_depends_on_their_cell():
    log = []

    def dead(net, x):
        net.inner(x * 2)
        return x

    net = Of(dead, inner=nn.Identity())
    net.inner.register_forward_hook(lambda cell, inputs, output: log.append(output.asnumpy().tolist()))
    jax.jit(lambda v: jnp.asarray(net(ms.Tensor(v))))(X)
    ms.hooks.barrier()
    assert log == [[[2.0, -4.0, 6.0]]]


def test_forward_hooks_are_called_in_jax_jit_of_a_cell_that_returns_no_array():
    log = []
    net = Of(lambda net, x: (net.inner(x), None)[1], inner=nn.Identity())
    net.inner.register_forward_hook(lambda cell, inputs, output: log.append(output.shape))
    jax.jit(lambda v: (net(ms.Tensor(v)), v)[1])(X)
    ms.hooks.barrier()
    assert log == [(1, 3)]


class Module(nnx.Module):
    def __call__(self, x):
        return jnp.sin(x)


FUNCTIONS = {
    "pynative": lambda net: lambda v: ms.grad(net)(ms.Tensor(v)),
    "jit": lambda net: lambda v: ms.jit(lambda x: ms.grad(net)(x))(ms.Tensor(v)),
    "functional": lambda net: jax.grad(lambda v: _applied(net, v)),
    "functional_jit": lambda net: jax.jit(jax.grad(lambda v: _applied(net, v))),
}


def _applied(net, v):
    apply, params, buffers = ms.functionalize(net)
    return apply(params, buffers, v)[0].sum()


@pytest.mark.parametrize("way", FUNCTIONS)
def test_hooks_of_an_nnx_module_are_called_where_nothing_depends_on_it(way):
    log, module = [], Module()

    def dead(net, x):
        ms.from_jax(module)(x)
        return x * 2

    net = Of(dead)
    net.register_backward_hook(lambda cell, first, second: None)
    with hooks.register_forward_hook(module, lambda module, inputs, output: log.append(output.shape)):
        FUNCTIONS[way](net)(X)
        ms.hooks.barrier()
    assert log == [(1, 3)]


@pytest.mark.parametrize("way", FUNCTIONS)
def test_observers_of_gradients_are_called_where_a_later_hook_cuts_the_gradient(way):
    log, module = [], Module()
    net = Of(lambda net, x: ms.from_jax(module)(x))
    seen = hooks.register_backward_pre_hook(module, lambda module, grads: log.append(float(grads[0].sum())))
    cut = hooks.register_backward_hook(module, lambda module, grad_input, grad_output: (jnp.zeros_like(grad_input[0]),))
    with seen, cut:
        assert np.asarray(FUNCTIONS[way](net)(X)).tolist() == [[0.0] * 3]
        ms.hooks.barrier()
    assert log == [3.0]


def test_observers_are_called_where_a_later_hook_replaces_the_value_in_jax_jit():
    log, module = [], Module()
    with (
        hooks.register_forward_pre_hook(module, lambda module, inputs: log.append("pre")),
        hooks.register_forward_pre_hook(module, lambda module, inputs: (jnp.ones_like(inputs[0]),)),
        hooks.register_forward_hook(module, lambda module, inputs, output: log.append("forward")),
        hooks.register_forward_hook(module, lambda module, inputs, output: jnp.zeros_like(output)),
    ):
        assert jax.jit(module)(X).tolist() == [[0.0] * 3]
        ms.hooks.barrier()
    assert log == ["pre", "forward"]


def test_hooks_without_any_gradient_are_called_when_the_program_runs_in_its_order():
    log, module = [], Module()

    def two(net, x):
        return x, ms.from_jax(module)(x)

    net = Of(two)
    net.register_forward_pre_hook(lambda cell, inputs: log.append("forward"))
    net.register_backward_hook(lambda cell, first, second: None)
    with hooks.register_backward_pre_hook(
        module, lambda module, grads: log.append([g if g is None else g.tolist() for g in grads])
    ):
        grad = jax.jit(jax.grad(lambda v: jnp.asarray(net(ms.Tensor(v))[0].sum())))
        for _ in range(2):
            grad(X)
            ms.hooks.barrier()
    # Older versions need a number for what gets no gradient.
    assert log == ["forward", [None if jax.__version_info__ >= (0, 12) else [[0.0] * 3]]] * 2


@WRAPS
def test_backward_observers_of_a_module_whose_gradient_a_later_hook_drops(wrap):
    log = []
    net = Of(lambda net, x: ms.from_jax(net.m)(net.c(x)), c=Of(lambda net, x: x), m=Module())
    net.c.register_backward_pre_hook(lambda cell, grads: (ops.zeros_like(grads[0]),))
    hooks.register_backward_hook(net.m, lambda *_: log.append("backward"))
    apply, params, buffers = ms.functionalize(net)
    assert wrap(jax.grad(lambda v: apply(params, buffers, v)[0].sum()))(X).tolist() == [[0.0] * 3]
    ms.hooks.barrier()
    assert log == ["backward"]
