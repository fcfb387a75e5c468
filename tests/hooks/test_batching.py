"""Fault 12: no tracer outlives its trace; and how many callbacks a compiled program has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.core.hooks.batching import hook_p


def unrelated():
    """A program with a backward hook, whose inputs carry no gradient: it waits for earlier calls, if there are any."""
    net, log = nn.Dense(2, 2), []
    net.register_backward_hook(lambda cell, grad_input, grad_output: log.append(grad_output[0].shape))
    apply, params, buffers = ms.functionalize(net)
    jax.jit(jax.grad(lambda params, x: apply(params, buffers, x)[0].sum()))(params, jnp.ones((1, 2), jnp.float32))
    ms.hooks.barrier()
    assert log == [(1, 2)]


def test_a_program_whose_hook_call_nothing_depends_on_calls_it_and_harms_no_later_program():
    log = []
    constant = ms.hooks.with_hooks(lambda x: 3.0, post=lambda args, output: log.append(float(args[0])))
    assert float(jax.jit(constant)(2.0)) == 3
    ms.hooks.barrier()
    assert log == [2.0]
    unrelated()


def test_forward_hooks_are_called_where_no_gradient_reaches_a_backward_hook():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.act = nn.Tanh()

        def construct(self, x):
            return ops.stop_gradient(self.act(x)) + x * 2

    net, log = Net(), []
    net.act.register_forward_hook(lambda cell, args, output: log.append(args[0].tolist()))
    net.act.register_backward_hook(lambda cell, grad_input, grad_output: log.append(grad_output))
    apply, params, buffers = ms.functionalize(net)
    gradient = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))
    for value in (1.0, 2.0):
        gradient(np.array([value], np.float32))
    ms.hooks.barrier()
    assert log == [[1.0], [2.0]]


def test_a_backward_modifier_that_raises_while_jax_traces_harms_no_later_program():
    net = nn.Dense(2, 2)

    def bad(cell, grad_input, grad_output):
        raise ValueError("while tracing")

    net.register_backward_hook(lambda cell, grad_input, grad_output: None, observe=True)
    net.register_backward_hook(bad, traced=True)
    apply, params, buffers = ms.functionalize(net)
    with pytest.raises(ValueError, match="while tracing"):
        jax.jit(jax.grad(lambda params, x: apply(params, buffers, x)[0].sum()))(params, jnp.ones((1, 2), jnp.float32))
    unrelated()


def test_no_tracer_leaks():
    with jax.checking_leaks():
        unrelated()


def chain(hooked):
    net = nn.SequentialCell(*[nn.Tanh() for _ in range(10)])
    for number, cell in enumerate(net):
        hooked(number, cell)
    apply, params, buffers = ms.functionalize(net)
    return jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))


def callbacks(program, x):
    return program.lower(x).as_text().count("custom_call @xla")


def test_the_forward_hooks_of_a_chain_share_one_callback_and_so_do_the_backward_hooks_in_their_order():
    log = []

    def hooked(number, cell):
        cell.register_forward_hook(lambda cell, inputs, output: log.append(number))
        cell.register_backward_hook(lambda cell, grad_input, grad_output: log.append(-number))

    program = chain(hooked)
    assert callbacks(program, jnp.ones(3)) == 2
    for _ in range(3):
        program(jnp.ones(3))
    ms.hooks.barrier()
    assert log == [*range(10), *range(-9, 1)] * 3


def test_a_value_that_several_hooks_get_goes_to_the_host_once():
    net, log = nn.SequentialCell(nn.Tanh(), nn.ReLU()), []
    for cell in net:
        for _ in range(2):
            cell.register_forward_hook(lambda cell, inputs, output: log.append(output.tolist()))
    call = jax.jit(lambda x: net(ms.Tensor(x))._value)
    (equation,) = [e for e in jax.make_jaxpr(call)(jnp.ones(2)).jaxpr.eqns[0].params["jaxpr"].eqns if e.primitive is hook_p]
    assert len(equation.invars) == 3  # the input, and both outputs
    call(jnp.zeros(2))
    ms.hooks.barrier()
    assert log == [[0.0, 0.0]] * 4


def test_large_values_have_callbacks_of_their_own(monkeypatch):
    monkeypatch.setattr("msjax.core.hooks.batching.LARGE", 100)
    log = []
    program = chain(lambda number, cell: cell.register_backward_hook(lambda cell, gi, go: log.append(gi[0].shape)))
    assert callbacks(program, jnp.ones(20, jnp.float32)) == 10
    program(jnp.ones(20, jnp.float32))
    ms.hooks.barrier()
    assert log == [(20,)] * 10


def test_calls_of_a_function_that_is_called_twice_stay_in_order():
    log = []

    def named(name, value):
        net = nn.ReLU()
        net.register_backward_hook(lambda cell, gi, go: log.append((name, float(go[0].asnumpy()[0]))))
        apply, params, buffers = ms.functionalize(net)
        return lambda x: apply(params, buffers, x)[0] * value

    inner, a, b = jax.jit(named("inner", 2.0)), named("a", 1.0), named("b", 1.0)
    program = jax.jit(jax.grad(lambda x: inner(a(b(inner(x)))).sum()))
    np.testing.assert_array_equal(program(jnp.ones(2)), [4, 4])
    ms.hooks.barrier()
    assert log == [("inner", 2.0), ("a", 2.0), ("b", 2.0), ("inner", 4.0)]


def test_the_primitive_of_hooks_has_no_tangent():
    # Its operands are stopped before; a program that jax made of one without that is differentiated, too.
    out, tangent = jax.jvp(lambda v: hook_p.bind(v, bound=(), kept=False), (jnp.ones(2),), (jnp.ones(2),))
    assert out.dtype == bool and tangent.shape == () and tangent.dtype == jax.dtypes.float0
