"""Observers that come and go where a program has slots for them."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import nn
from tests.differential.nets import Of

X = jnp.array([[1.0, -2.0, 3.0]], "float32")


@pytest.fixture
def compiled():
    """The list of the compilations of XLA so far."""
    events = []

    def note(event, _seconds, **_):
        if event.endswith("backend_compile_duration"):
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield events
    jax.monitoring.unregister_event_duration_listener(note)


class Model(nnx.Module):
    """A Cell in an nnx module."""

    def __init__(self):
        self.cell = nn.Dense(3, 1)

    def __call__(self, x):
        return jnp.asarray(self.cell(ms.Tensor(x)))


def gradient_of(net, jit):
    """(a compiled gradient of a network as a function without arguments, the network's layer)"""
    if isinstance(net, Model):
        run = jit(nnx.grad(lambda model, x: model(x).sum()))
        return lambda: run(net, X), net.cell
    if jit is ms.jit:
        run = ms.jit(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
        return lambda: run(ms.Tensor(X)), net
    run = jit(nnx.grad(lambda net, x: jnp.asarray(net(ms.Tensor(x)).sum())))
    return lambda: run(net, X), net


OWNERS = {
    "Cell, nnx.jit": (lambda: nn.Dense(3, 1), nnx.jit, "forward"),
    "Cell, hooks.jit": (lambda: nn.Dense(3, 1), ms.hooks.jit, "backward"),
    "Cell in a module, nnx.jit": (Model, nnx.jit, "backward"),
    "Cell in a module, hooks.jit": (Model, ms.hooks.jit, "forward"),
    "Parameter": (lambda: nn.Dense(3, 1), ms.jit, "parameter"),
}


@pytest.mark.parametrize("case", OWNERS)
def test_another_observer_compiles_nothing(case, compiled):
    made, jit, kind = OWNERS[case]
    run, layer = gradient_of(made(), jit)
    register = layer.weight.register_hook if kind == "parameter" else getattr(layer, f"register_{kind}_hook")
    run()
    logs, counts = [], []
    for _ in range(3):
        log = []
        with register(lambda *given, log=log: log.append(given)):
            run()
            ms.hooks.barrier()
        run()
        ms.hooks.barrier()
        logs.append(log)
        counts.append(len(compiled))
    assert [len(log) for log in logs] == [1, 1, 1] and counts[0] == counts[2] > 0
    if kind == "parameter":
        np.testing.assert_array_equal(logs[2][0][0].asnumpy(), X)
    else:
        assert all(log[0][0] is layer for log in logs)


def test_two_cells_and_two_kinds_of_hooks_have_programs_of_their_own():
    """Equal tables of hooks are only those of one cell."""
    nets, log = [nn.Tanh(), nn.Tanh()], []
    run = nnx.jit(lambda net, x: jnp.asarray(net(ms.Tensor(x))))
    for net in nets:
        net.register_forward_hook(lambda cell, args, out: log.append(nets.index(cell)))
    for net in (*nets, *nets):
        run(net, X)
        ms.hooks.barrier()
    assert log == [0, 1, 0, 1]
    with nets[0].register_forward_hook(lambda cell, args, out: out * 2):
        np.testing.assert_allclose(run(nets[0], X), 2 * jnp.tanh(X), rtol=1e-6)
    np.testing.assert_allclose(run(nets[0], X), jnp.tanh(X), rtol=1e-6)


def test_a_hook_that_code_registers_while_nnx_traces_stays_with_the_cell():
    net, log = nn.Tanh(), []

    @nnx.jit
    def run(net, x):
        if not log:
            net.register_forward_hook(lambda cell, args, out: log.append("traced"))
        return jnp.asarray(net(ms.Tensor(x)))

    net.register_forward_hook(lambda cell, args, out: log.append("before")).remove()
    run(net, X)
    ms.hooks.barrier()
    net.register_forward_hook(lambda cell, args, out: log.append("after"))
    net(ms.Tensor(X))
    assert log == ["traced", "traced", "after"]


@pytest.mark.parametrize("double", [False, True])
def test_a_parameter_s_hook_runs_once_where_a_compiled_network_is_differentiated(double):
    """It ran within the gradient of the compiled network, and again where that gradient arrived at the Parameter."""
    net, seen = nn.Dense(3, 1), []
    fast = ms.jit(net)
    gradients = ms.grad(lambda x: (fast(x) + fast(x * 2)).sum(), None, net.trainable_params())
    net.weight.register_hook((lambda grad: grad * 2) if double else lambda grad: seen.append(grad.asnumpy()))
    np.testing.assert_allclose(gradients(ms.Tensor(X))[0].asnumpy(), X * (6 if double else 3), rtol=1e-6)
    assert [s.tolist() for s in seen] == ([] if double else [(X * 3).tolist()])


def test_an_argument_that_is_given_again_may_have_another_observer(compiled):
    x, log = ms.Tensor(X), []
    gradient = ms.jit(ms.grad(lambda x: (x * x).sum()))
    counts = []
    for number in range(3):
        with x.register_hook(lambda grad, number=number: log.append((number, grad.asnumpy().tolist()))):
            gradient(x)
        counts.append(len(compiled))
    assert log == [(number, (X * 2).tolist()) for number in range(3)] and counts[0] == counts[2]
    other = ms.Tensor(X)
    other.register_hook(lambda grad: log.append("other"))
    gradient(other)
    gradient(x)
    assert log[3:] == ["other"]


def _in_a_loop(net, x):
    call = Of(
        lambda outer, x: ms.from_jax(
            lambda v: jax.lax.scan(lambda carry, _: (net(ms.Tensor(carry))._value, None), v, None, 1)[0]
        )(x)
    )
    call.register_forward_pre_hook(lambda cell, inputs: None)
    return call(ms.Tensor(x))._value


CALLED = {
    "once": lambda net, x: net(ms.Tensor(x))._value,
    "mapped": lambda net, x: jax.vmap(lambda row: net(ms.Tensor(row))._value)(x),
    "in a loop within a hooked cell": _in_a_loop,
}


@pytest.mark.parametrize("among_all", [False, True], ids=["", "with hooks of all cells"])
@pytest.mark.parametrize("call", CALLED.values(), ids=CALLED)
@pytest.mark.parametrize("kind", ["forward_pre", "forward", "backward_pre", "backward"])
def test_an_observer_that_removes_itself_under_jax_jit_leaves_those_behind_it(kind, call, among_all):
    """They moved up into its place, and the one behind it was left out of that run."""

    def once(*_):
        log.append("once")
        handle.remove()

    log, net = [], nn.Dense(3, 3)
    register = getattr(net, f"register_{kind}_hook")
    with nn.register_cell_forward_pre_hook(lambda cell, inputs: None) if among_all else contextlib.nullcontext():
        handle = register(once)
        register(lambda *_: log.append("second"))
        register(lambda *_: log.append("third"))
        gradient = jax.jit(jax.grad(lambda x: call(net, x).sum()))
        for _ in range(2):
            gradient(X)
            ms.hooks.barrier()
    assert log == ["once", "second", "third", "second", "third"]


def test_observers_of_large_values_come_together_if_one_removes_itself():
    def once(*_):
        log.append("once")
        handle.remove()

    log, net = [], nn.ReLU()
    handle = net.register_forward_hook(once)
    net.register_forward_hook(lambda *_: log.append("second"))
    net.register_forward_hook(lambda *_: log.append("third"))
    jax.jit(lambda x: net(ms.Tensor(x))._value)(jnp.ones(5_000_000, "float32"))
    ms.hooks.barrier()
    assert log == ["once", "second", "third"]


def _scanned(net):
    return lambda x: jax.lax.scan(lambda carry, _: (net(ms.Tensor(carry))._value, None), x, None, 2)[0]


TWICE = {
    "jax.jit": lambda net: jax.jit(lambda x: net(net(ms.Tensor(x)))._value),
    "hooks.jit": lambda net: ms.hooks.jit(lambda x: net(net(ms.Tensor(x)))._value),
    "ms.jit": lambda net: lambda x: ms.jit(lambda x: net(net(x)))(ms.Tensor(x)),
    "hooks.jit of a loop": lambda net: ms.hooks.jit(_scanned(net)),
    "ms.jit of a loop": lambda net: lambda x: ms.jit(ms.from_jax(_scanned(net)))(ms.Tensor(x)),
}


@pytest.mark.parametrize("call", TWICE.values(), ids=TWICE)
def test_an_observer_that_removes_itself_is_not_called_in_the_next_call_of_its_cell(call):
    """All hooks of a run were looked up before the first of them was called."""

    def once(*_):
        log.append("once")
        handle.remove()

    log, net = [], nn.Tanh()
    handle = net.register_forward_hook(once)
    net.register_forward_hook(lambda *_: log.append("second"))
    call(net)(X)
    ms.hooks.barrier()
    assert log == ["once", "second", "second"]
