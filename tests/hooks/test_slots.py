"""Observers that come and go where a program has slots for them."""

import jax
import jax.numpy as jnp
import pytest

import msjax as ms
from msjax import nn

X = jnp.array([[1.0, -2.0, 3.0]], "float32")


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "backward_pre", "backward"])
def test_an_observer_that_removes_itself_under_jax_jit_leaves_those_behind_it(kind):
    """They moved up into its place, and the one behind it was left out of that run."""

    def once(*_):
        log.append("once")
        handle.remove()

    log, net = [], nn.Dense(3, 1)
    register = getattr(net, f"register_{kind}_hook")
    handle = register(once)
    register(lambda *_: log.append("second"))
    register(lambda *_: log.append("third"))
    gradient = jax.jit(jax.grad(lambda v: net(ms.Tensor(v)).sum()._value))
    for _ in range(2):
        gradient(X)
        ms.hooks.barrier()
    assert log == ["once", "second", "third", "second", "third"]


def test_an_observer_that_removes_itself_under_jax_jit_is_not_called_in_the_next_call_of_its_cell():
    def once(*_):
        log.append("once")
        handle.remove()

    log, net = [], nn.Tanh()
    handle = net.register_forward_hook(once)
    jax.jit(lambda v: net(net(ms.Tensor(v)))._value)(X)
    ms.hooks.barrier()
    assert log == ["once"]
