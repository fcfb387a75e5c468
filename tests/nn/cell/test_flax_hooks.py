"""Hooks of Cells and Parameters where nnx copies them: in its transformations, and by split, merge and clone."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import nn

X = jnp.array([[0.1, 0.2]], "float32")


def network():
    return nn.SequentialCell(nn.Dense(2, 2, "ones", "zeros"), nn.Tanh())


def loss(model, x):
    return model(ms.Tensor(x))._value.sum()


def by_state(transform):
    """A function of the network whose gradient is with respect to the State that `nnx.split` returns."""

    def call(net):
        graphdef, state = nnx.split(net)
        return transform(lambda state: loss(nnx.merge(graphdef, state), X))(state)

    return call


def of_arrays(net):
    graphdef, state = nnx.split(net)
    arrays = jax.tree.map(lambda variable: variable.get_value(), state, is_leaf=lambda value: isinstance(value, nnx.Variable))
    return jax.grad(lambda arrays: loss(nnx.merge(graphdef, arrays), X))(arrays)


def evaluated_before(net):
    forward = nnx.jit(loss)
    forward(net, X)
    return nnx.grad(forward)(net, X)


def in_a_step(net):
    optimizer = nnx.Optimizer(net, optax.sgd(0.0), wrt=nnx.Param)

    @nnx.jit
    def step(net, optimizer):
        grads = nnx.grad(loss)(net, X)
        optimizer.update(net, grads)
        return grads

    return step(net, optimizer)


def in_a_scan(net):
    graphdef, state = nnx.split(net)

    def step(state, _):
        grads = jax.grad(lambda state: loss(nnx.merge(graphdef, state), X))(state)
        return jax.tree.map(lambda value, grad: value - 0 * grad, state, grads), grads

    return jax.tree.map(lambda grads: grads[0], jax.lax.scan(step, state, None, length=1)[1])


WAYS = {
    "nnx.grad": lambda net: nnx.grad(loss)(net, X),
    "nnx.jit(nnx.grad)": lambda net: nnx.jit(nnx.grad(loss))(net, X),
    "nnx.grad(nnx.jit)": evaluated_before,
    "nnx.grad(nnx.remat)": lambda net: nnx.grad(nnx.remat(loss))(net, X),
    "nnx.Optimizer": in_a_step,
    "clone": lambda net: nnx.grad(loss)(nnx.clone(net), X),
    "jax.grad": by_state(jax.grad),
    "jax.jit(jax.grad)": by_state(lambda function: jax.jit(jax.grad(function))),
    "jax.grad(jax.jit)": by_state(lambda function: jax.grad(jax.jit(function))),
    "arrays": of_arrays,
    "merged twice": by_state(lambda f: jax.grad(lambda state: f(nnx.split(nnx.merge(nnx.split(network())[0], state))[1]))),
    "scan": in_a_scan,
}


@pytest.mark.filterwarnings("ignore:The Tensor hook .* returns a value")  # it appends, and so tells how often it is run
@pytest.mark.parametrize("way", WAYS)
def test_hooks_of_parameters_are_called_once_where_a_copy_is_differentiated(way):
    net, log = network(), []
    plain = _weight_grad(WAYS[way](net))

    def hook(grad):
        log.append(grad.shape)
        return grad * 3

    handle = net[0].weight.register_hook(hook)
    np.testing.assert_allclose(_weight_grad(WAYS[way](net)), plain * 3)
    ms.hooks.barrier()
    assert log == [(2, 2)]
    handle.remove()
    np.testing.assert_array_equal(_weight_grad(WAYS[way](net)), plain)
    assert log == [(2, 2)] and "gradient_hooks" not in net[0].weight.get_metadata()


def _weight_grad(grads):
    return np.asarray(next(leaf for leaf in jax.tree.leaves(grads) if leaf.shape == (2, 2)))


def test_observers_of_parameters_are_called_in_each_run_of_a_compiled_step():
    net, log = network(), []
    step = nnx.jit(nnx.grad(loss))
    handle = net[0].weight.register_hook(lambda grad: log.append(float(grad.asnumpy().sum())))
    for _ in range(2):
        step(net, X)
        ms.hooks.barrier()
    handle.remove()
    step(net, X)
    ms.hooks.barrier()
    assert len(log) == 2 and log[0] == log[1] != 0


@pytest.mark.parametrize("wrap", [lambda function: function, nnx.jit], ids=["eager", "jit"])
def test_a_hook_that_the_code_of_a_transformation_registers_on_a_parameter_is_that_calls(wrap):
    net, log = network(), []

    def hooked(net, x):
        net[0].weight.register_hook(lambda grad: log.append(grad.shape))
        return loss(net, x)

    step = wrap(nnx.grad(hooked))
    for _ in range(2):
        step(net, X)
        ms.hooks.barrier()
    nnx.grad(loss)(net, X)
    assert log == [(2, 2)] * 2 and not net[0].weight.hooks()


def test_what_hooks_register_and_remove_during_a_transformation_stays():
    net, log, handles = network(), [], []

    def once(cell, args, out):
        log.append("once")
        handles[0].remove()
        handles.append(net[1].register_forward_hook(lambda cell, args, out: log.append("later")))

    handles.append(net[0].register_forward_hook(once))
    for _ in range(2):
        nnx.grad(loss)(net, X)
    assert log == ["once", "later"]
    handles[1].remove()
    nnx.grad(loss)(net, X)
    assert log == ["once", "later"] and not net[1]._hooks


def test_a_hook_that_is_removed_is_removed_from_copies():
    net, log = network(), []
    handle = net[0].register_forward_hook(lambda cell, args, out: log.append(cell))
    of_parameter = net[0].weight.register_hook(lambda grad: log.append("weight"))
    copies = [nnx.clone(net), nnx.merge(*nnx.split(net))]
    for copy in copies:
        copy(ms.Tensor(X))
        ms.grad(copy, None, copy.trainable_params())(ms.Tensor(X))
    assert log == [copies[0][0], copies[0][0], "weight", copies[1][0], copies[1][0], "weight"]
    handle.remove()
    of_parameter.remove()
    for copy in copies:
        ms.grad(copy, None, copy.trainable_params())(ms.Tensor(X))
    assert len(log) == 6


def test_a_copy_that_gets_a_hook_of_its_own_keeps_the_others():
    net, log = network(), []
    handle = net[0].register_forward_hook(lambda cell, args, out: log.append("shared"))
    copy = nnx.clone(net)
    copy[0].register_forward_hook(lambda cell, args, out: log.append("own"))
    handle.remove()
    net(ms.Tensor(X))
    copy(ms.Tensor(X))
    assert log == ["shared", "own"]
