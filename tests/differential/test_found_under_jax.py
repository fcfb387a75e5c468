"""What the random cases have found of objects under jax's own transformations, and of modules of nnx in Cells, one test each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops
from tests.differential.nets import WRAPS, Doubles, Of, X, grad_of


def test_forward_hooks_are_called_in_jax_jit_where_nothing_depends_on_their_cell():
    log = []

    def dead(net, x):
        net.inner(x * 2)
        return x

    net = Of(dead, inner=nn.Identity())
    net.inner.register_forward_hook(lambda cell, inputs, output: log.append(output.asnumpy().tolist()))
    jax.jit(lambda v: net(ms.Tensor(v))._value)(X)
    ms.hooks.barrier()
    assert log == [[[2.0, -4.0, 6.0]]]


def test_forward_hooks_are_called_in_jax_jit_of_a_cell_that_returns_no_array():
    log = []
    net = Of(lambda net, x: (net.inner(x), None)[1], inner=nn.Identity())
    net.inner.register_forward_hook(lambda cell, inputs, output: log.append(output.shape))
    jax.jit(lambda v: (net(ms.Tensor(v)), v)[1])(X)
    ms.hooks.barrier()
    assert log == [(1, 3)]


def test_what_carries_no_gradient_has_none_beside_what_carries_one():
    log = []

    def pair(net, x):
        return x, ops.stop_gradient(x)

    net = Of(pair)
    net.register_backward_hook(lambda cell, grad_input, grad_output: None)
    net.register_backward_pre_hook(lambda cell, grads: log.append([g is None for g in grads]))
    expected = ms.grad(lambda x: sum(t.sum() for t in net(x)))
    for grad in (lambda: expected(ms.Tensor(X)), lambda: jax.grad(lambda v: sum(t.sum()._value for t in net(ms.Tensor(v))))(X)):
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


class Writes(nn.Cell):
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

    net = Of(write, writes=Writes())
    out, grad = ms.value_and_grad(net)(ms.Tensor(X))
    apply, params, buffers = ms.functionalize(net)
    ways = [
        lambda v: net(ms.Tensor(v))._value,
        jax.jit(lambda v: net(ms.Tensor(v))._value),
        lambda v: apply(params, buffers, v)[0],
        jax.jit(lambda v: apply(params, buffers, v)[0]),
    ]
    for way in ways:
        assert way(X).tolist() == out.asnumpy().tolist()
        assert jax.grad(lambda v, way=way: way(v).sum())(X).tolist() == grad.asnumpy().tolist()


# ---- in programs of msjax


@pytest.mark.parametrize("compiled", [False, True])
def test_a_recomputed_cell_returns_tensors_with_hooks_of_their_own(compiled):
    log = []

    def two(net, x):
        net.inner(x).register_hook(lambda grad: log.append(grad))
        return x * 2

    net = Of(two, inner=nn.Identity())
    net.inner.recompute()
    grad = ms.grad(net)
    assert (ms.jit(lambda x: grad(x)) if compiled else grad)(ms.Tensor(X)).asnumpy().tolist() == [[2.0] * 3]
    assert log == []


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


def test_hooks_without_any_gradient_are_called_when_the_program_runs_in_its_order():
    log, module = [], Module()

    def two(net, x):
        return x, ms.from_jax(module)(x)

    net = Of(two)
    net.register_forward_pre_hook(lambda cell, inputs: log.append("forward"))
    net.register_backward_hook(lambda cell, first, second: None)
    with hooks.register_backward_pre_hook(module, lambda module, grads: log.append(grads)):
        grad = jax.jit(jax.grad(lambda v: net(ms.Tensor(v))[0].sum()._value))
        for _ in range(2):
            grad(X)
            ms.hooks.barrier()
    assert log == ["forward", (None,)] * 2


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
def test_a_hook_that_runs_after_a_failure_gets_the_inputs_that_an_earlier_hook_has_changed(compiled):
    log, net = [], nn.Identity()

    def fail(cell, inputs):
        log.append("pre")
        raise ValueError("no")

    net.register_forward_pre_hook(lambda cell, inputs: (inputs[0] * 2,))
    net.register_forward_pre_hook(fail)
    net.register_forward_hook(lambda cell, inputs, output: log.append(inputs[0].asnumpy().tolist()), always_call=True)
    with pytest.raises(ValueError, match="no"):
        (ms.jit(lambda x: net(x)) if compiled else net)(ms.Tensor(X))
        ms.hooks.barrier()
    assert log == ["pre", [[2.0, -4.0, 6.0]]]


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


def test_the_result_of_stop_gradient_is_known_behind_nodes_of_hooks():
    net = Of(lambda net, x: ops.stop_gradient(x))
    net.register_backward_pre_hook(lambda cell, grads: None)
    outer = Of(lambda net, x: (net.inner(x).register_hook(lambda grad: None), x)[1], inner=net)
    with pytest.raises(RuntimeError, match="stop_gradient"):
        grad_of(outer, jax.jit)


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


def test_a_trace_that_fails_takes_back_its_hooks_on_arguments():
    def fail(net, x):
        x.register_hook(lambda grad: log.append("inside"))
        gradient = ms.grad(lambda a: a * 2)(x)
        raise ValueError(f"of {gradient.shape}")

    log, net = [], Of(fail)
    for function in (net, ms.jit(net)):
        x = ms.Tensor(X)
        x.register_hook(lambda grad: log.append("outside"))
        log.clear()
        with pytest.raises(ValueError, match="of "):
            function(x)
        assert log == ["outside", "inside"]
