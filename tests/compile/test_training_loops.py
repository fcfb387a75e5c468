"""Training loops around cells: jax.jit with optax, nnx.Optimizer, and msjax's own compiled step agree."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import msjax as ms
from msjax import nn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]], np.float32)).astype(np.float32)


def network():
    ms.set_seed(0)
    return nn.SequentialCell(nn.Dense(3, 8), nn.Tanh(), nn.Dense(8, 1))


def test_optax_and_functionalize_with_hooks():
    net, norms = network(), []
    net[0].register_backward_hook(lambda cell, gi, go: norms.append(float((go[0] ** 2).sum())))
    apply, params, buffers = ms.functionalize(net)
    optimizer = optax.sgd(0.1, momentum=0.9)

    @jax.jit
    def step(params, buffers, state, x, y):
        def loss(params):
            out, new_buffers = apply(params, buffers, x)
            return jnp.mean((out - y) ** 2), new_buffers

        (value, buffers), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), buffers, state, value

    state, losses = optimizer.init(params), []
    for _ in range(20):
        params, buffers, state, value = step(params, buffers, state, X, Y)
        losses.append(float(value))
    ms.hooks.barrier()
    assert losses[-1] < losses[0] / 5 and len(norms) == 20
    ms.write_back(net, params, buffers)
    np.testing.assert_allclose(net(ms.Tensor(X)).asnumpy(), apply(params, buffers, X)[0], rtol=1e-5, atol=1e-6)

    # The same by msjax's own compiled step.
    other = network()
    ms.set_context(mode=ms.GRAPH_MODE)
    train = nn.TrainOneStepCell(nn.WithLossCell(other, nn.MSELoss()), nn.Momentum(other.trainable_params(), 0.1, 0.9))
    own = [float(train(ms.Tensor(X), ms.Tensor(Y))) for _ in range(20)]
    np.testing.assert_allclose(own, losses, rtol=1e-3)


@pytest.mark.long
def test_nnx_optimizer_over_a_cell():
    net, seen = network(), []
    handle = net[2].register_forward_hook(lambda cell, args, out: seen.append(out.shape))
    optimizer = nnx.Optimizer(net, optax.adam(0.05), wrt=nnx.Param)

    def loss(net, x, y):
        return jnp.mean((jnp.asarray(net(ms.Tensor(x))) - y) ** 2)

    losses = []
    for _ in range(15):
        value, grads = nnx.value_and_grad(loss)(net, jnp.asarray(X), jnp.asarray(Y))
        optimizer.update(net, grads)
        losses.append(float(value))
    ms.hooks.barrier()
    assert losses[-1] < losses[0] / 2 and seen == [(16, 1)] * 15
    handle.remove()
