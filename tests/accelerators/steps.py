"""Whole training steps: msjax's against jax by hand in plain jax.lax, by their kernels and temporary memory."""

import jax
import jax.numpy as jnp

import msjax as ms
from tests.bench import cells, handwritten
from tests.bench.contenders import network
from tests.bench.data import CASES, batch

# {name: the case of the bench}
STEPS = {"LeNet-5": "LeNet-5, batch 32", "ResNet-18": "ResNet-18, 8x3x64x64", "Transformer": "Transformer, 4x128 tokens"}
RATE = 0.01


def by_hand(case):
    """(step, its arguments): SGD on a network of tests/bench in plain jax.lax."""
    net = network(case)[0]
    trained = {p.name: p._value for p in net.trainable_params()}
    others = {name: p._value for name, p in net.parameters_and_names() if name not in trained}
    loss = handwritten.loss_of(CASES[case][0], kernels=handwritten.Plain)

    def step(trained, others, inputs, labels):
        (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(trained, others, inputs, labels)
        return jax.tree.map(lambda p, g: p - RATE * g, trained, gradients), {**others, **new}, value

    return step, (trained, others, *batch(case))


def of_msjax(case, register=None):
    """(step, its arguments): the same of the Cell, functionalized; `register` puts hooks on it."""
    net = network(case)[0]
    if register is not None:
        register(net)
    apply, params, buffers = ms.functionalize(ms.nn.WithLossCell(net, ms.nn.CrossEntropyLoss()))

    def step(params, buffers, inputs, labels):
        (value, new), gradients = jax.value_and_grad(apply, has_aux=True)(params, buffers, inputs, labels)
        return jax.tree.map(lambda p, g: p - RATE * g, params, gradients), new, value

    return step, (params, buffers, *batch(case))


def modifiers(net):
    """A modifier on the way forward and one on the way back, on every leaf."""
    for _, cell in cells.leaves(net):
        cell.register_forward_hook(lambda cell, inputs, output: output * 1.01)
        cell.register_backward_hook(lambda cell, gi, go: (None if gi[0] is None else gi[0].clip(-1, 1),))


def compiled(target, made):
    """The Program of (step, its arguments)."""
    step, arguments = made
    arguments = [jax.tree.map(jnp.asarray, a) for a in arguments]
    return target.compile(step, *target.placed(arguments), donate=(0, 1))
