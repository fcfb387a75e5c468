"""Hooked steps leave no objects in circles, which would hold values of the step until Python's garbage collector comes by."""

import gc

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import msjax as ms
from msjax import Tensor, hooks, nn, ops

X = Tensor([[1.0, 2.0]])
KINDS = ("forward_pre", "forward", "backward_pre", "backward")


class Net(nn.Cell):
    """Hooks of all kinds, of a Parameter, of a Tensor and of an operator; a write in place."""

    def __init__(self):
        super().__init__()
        self.dense, self.tap = nn.Dense(2, 3), ops.HookBackward(lambda grads: None)
        for kind in KINDS:
            getattr(self.dense, f"register_{kind}_hook")(lambda *_: None)
        self.dense.register_forward_hook(lambda cell, inputs, output: output * 2)
        self.dense.weight.register_hook(lambda grad: None)

    def construct(self, x):
        y = self.dense(x)
        y.register_hook(lambda grad: grad * 2)
        y[0] = y[0] * 2
        return self.tap(y).sum()


def pure(net):
    apply, params, buffers = ms.functionalize(net)
    return lambda params, x: apply(params, buffers, x)[0], params


def backward(net):
    def step():
        net(X).backward()
        net.dense.weight.grad = net.dense.bias.grad = None

    return step


def frozen(net):
    for parameter in net.get_parameters():
        parameter.requires_grad = False
    return called(net)


def mapped(net):
    relu = nn.ReLU()
    relu.register_forward_hook(lambda *_: None)
    return called(ops.vmap(relu))


def functionalized(net):
    function, params = pure(net)
    return lambda: function(params, X._value)


def differentiated(transform):
    def make(net):
        function, params = pure(net)
        gradient = transform(jax.grad(function))
        return lambda: gradient(params, X._value)

    return make


def hooks_jit(net):
    model = nnx.Sequential(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.relu)
    for kind in KINDS:
        getattr(hooks, f"register_{kind}_hook")(model, lambda *_: None, "layers.0")
    step = hooks.jit(lambda model, x: jax.grad(lambda x: model(x).sum())(x))
    return lambda: step(model, jnp.ones((1, 2)))


def called(function):
    return lambda: function(X)


WAYS = {
    "eager": called,
    "backward": backward,
    "grad": lambda net: called(ms.grad(net)),
    "weights": lambda net: called(ms.value_and_grad(net, None, net.trainable_params())),
    "frozen": frozen,
    "grad of grad": lambda net: called(ms.grad(lambda x: ms.grad(net)(x).sum())),
    "vjp": lambda net: lambda: ops.vjp(net, X)[1](Tensor(1.0)),
    "ops.vmap": mapped,
    "ms.jit": lambda net: called(ms.jit(net)),
    "ms.jit of grad": lambda net: called(ms.jit(ms.grad(net))),
    "grad of ms.jit": lambda net: called(ms.grad(ms.jit(net))),
    "functionalize": functionalized,
    "jax.grad": differentiated(lambda function: function),
    "jax.jit of jax.grad": differentiated(jax.jit),
    "hooks.jit": hooks_jit,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_hooked_step_leaves_nothing_to_the_garbage_collector(way):
    step = WAYS[way](Net())
    for _ in range(3):
        step()
    hooks.barrier()
    gc.collect()
    gc.disable()
    try:
        step()
        hooks.barrier()
        assert gc.collect() == 0
    finally:
        gc.enable()
