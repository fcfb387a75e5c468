"""Whole training steps: msjax's against jax by hand in plain jax.lax, by their kernels and temporary memory."""

import functools

import jax
import jax.numpy as jnp
from flax import nnx

import msjax as ms
from msjax import hooks
from msjax.core.jaxprs.observers import with_observed
from tests.accelerators import models
from tests.bench import cells, handwritten
from tests.bench.contenders import network
from tests.bench.data import CASES, COMPILED, batch

RATE = 0.01
PLACES = ["layers.attention", "layers.mlp"]


def _updated(parameters, gradients):
    return jax.tree.map(lambda p, g: p - RATE * g, parameters, gradients)


def by_hand(case, seen=False):
    """(step, its arguments): SGD on a network of tests/bench in plain jax.lax; with `seen`, the step returns what each leaf gets and gives."""
    net = network(case)[0]
    trained = {p.name: p._value for p in net.trainable_params()}
    others = {name: p._value for name, p in net.parameters_and_names() if name not in trained}
    name = {**CASES, **COMPILED}[case][0]

    def loss(trained, others, inputs, labels):
        values = [inputs] if seen else []

        def at(name, value):
            if seen:
                values.append(value)
            return value

        value, new = handwritten.loss_of(name, at, handwritten.Plain)(trained, others, inputs, labels)
        return value, (new, values)

    def step(trained, others, inputs, labels):
        (value, (new, values)), gradients = jax.value_and_grad(loss, has_aux=True)(trained, others, inputs, labels)
        return _updated(trained, gradients), {**others, **new}, value, values

    return step, (trained, others, *batch(case))


def of_msjax(case, seen=False):
    """(step, its arguments): the same of the Cell, functionalized; with `seen`, hooks look at what each leaf gets and gives."""
    net = network(case)[0]
    if seen:
        for _, cell in cells.leaves(net):
            cell.register_forward_hook(cells.observe)
    apply, params, buffers = ms.functionalize(ms.nn.WithLossCell(net, ms.nn.CrossEntropyLoss()))

    def step(params, buffers, inputs, labels):
        (value, new), gradients = jax.value_and_grad(apply, has_aux=True)(params, buffers, inputs, labels)
        return _updated(params, gradients), new, value

    return observed(step) if seen else step, (params, buffers, *batch(case))


def observed(step):
    """What `hooks.jit` compiles of a step: what observers look at are outputs."""

    def run(*args):
        out, events = with_observed(step, args, {})
        return out, events.values

    return run


def nnx_by_hand(seen=False):
    """The step of `models.Transformer` with jax.lax.scan and jax.checkpoint over dicts of arrays."""

    def norm(p, x):
        mean = x.mean(-1, keepdims=True)
        variance = jnp.maximum(0.0, jnp.square(x).mean(-1, keepdims=True) - jnp.square(mean))
        return (x - mean) * (jax.lax.rsqrt(variance + 1e-6) * p["scale"]) + p["bias"]

    def dense(p, x):
        return jnp.einsum("btc,cd->btd", x, p["kernel"]) + p["bias"]

    def attention(p, x):
        joint = dense(p["up"], x).reshape(*x.shape[:2], 3, models.HEADS, models.WIDTH // models.HEADS)
        return dense(p["down"], jax.nn.dot_product_attention(*jnp.moveaxis(joint, 2, 0)).reshape(x.shape))

    def block(x, p):
        before = norm(p["norm1"], x)
        a = attention(p["attention"], before)
        x = x + a
        after = norm(p["norm2"], x)
        m = dense(p["mlp"]["down"], jax.nn.gelu(dense(p["mlp"]["up"], after)))
        return x + m, (before, a, after, m) if seen else None

    def loss(params, x):
        out, values = jax.lax.scan(jax.checkpoint(block), x, params["layers"])
        return (out**2).mean(), values

    def step(params, x):
        (value, values), gradients = jax.value_and_grad(loss, has_aux=True)(params, x)
        return _updated(params, gradients), value, values

    state, x = _nnx_arguments()[1:]
    return step, (nnx.to_pure_dict(state), x)


def _nnx_arguments():
    graph, state = nnx.split(nnx.eval_shape(lambda: models.Transformer(nnx.Rngs(0))))
    return graph, state, jax.ShapeDtypeStruct((models.BATCH, models.LENGTH, models.WIDTH), jnp.float32)


def of_nnx(seen=False):
    """The step of `models.Transformer`, as `hooks.jit` compiles it."""
    graph, state, x = _nnx_arguments()

    def step(state, x):
        def loss(state):
            model = nnx.merge(graph, state)
            if seen:
                hooks.register_forward_hook(model, cells.observe, PLACES, observe=True)
            return (model(x) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(state)
        return _updated(state, gradients), value

    return observed(step), (state, x)


def _of_case(case, **options):
    return functools.partial(of_msjax, case, **options), functools.partial(by_hand, case, **options)


# {name: (msjax's, the one by hand), functions that make (step, its arguments)}
STEPS = {
    "LeNet-5": _of_case("LeNet-5, batch 32"),
    "LeNet-5, observed": _of_case("LeNet-5, batch 32", seen=True),
    "ResNet-18": _of_case("ResNet-18, 32x3x128x128"),
    "ResNet-50": _of_case("ResNet-50, 16x3x128x128"),
    "Transformer": _of_case("Transformer, 4x128 tokens"),
    "nnx transformer": (of_nnx, nnx_by_hand),
    "nnx transformer, observed": (functools.partial(of_nnx, seen=True), functools.partial(nnx_by_hand, seen=True)),
}
# Those of --quick, by whether they are for a TPU, whose compiler takes four times as long.
QUICK = {True: ("LeNet-5",), False: ("LeNet-5", "nnx transformer, observed")}


def compiled(target, made):
    """The Program of (step, its arguments); the state is donated."""
    step, arguments = made
    arguments = [jax.tree.map(lambda a: a if isinstance(a, jax.ShapeDtypeStruct) else jnp.asarray(a), a) for a in arguments]
    return target.compile(step, *target.placed(arguments), donate=tuple(range(len(arguments) - 2)) or (0,))
