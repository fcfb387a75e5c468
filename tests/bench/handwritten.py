"""The same networks written by hand in jax, with dicts of weights that go by msjax's names.

`at(name, value)` is called at the places where msjax has hooks: the outputs of the leaf cells.
"""

import functools

import jax
import jax.numpy as jnp


def nothing(name, value):
    """What stands at the places where there are no hooks."""
    return value


def _conv(p, name, x, stride, pad):
    return jax.lax.conv_general_dilated(
        x, p[name + ".weight"], (stride, stride), ((pad, pad), (pad, pad)), dimension_numbers=("NCHW", "OIHW", "NCHW")
    )


def _dense(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def _pool2(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def lenet(p, x, at):
    relu = jax.nn.relu
    for i in ("1", "2"):
        x = at("conv" + i, _conv(p, "conv" + i, x, 1, 0))
        x = at("pool" + i, _pool2(at("relu" + i, relu(x))))
    x = at("flatten", x.reshape(len(x), -1))
    x = at("relu3", relu(at("fc1", _dense(p, "fc1", x))))
    x = at("relu4", relu(at("fc2", _dense(p, "fc2", x))))
    return at("fc3", _dense(p, "fc3", x)), {}


def _batch_norm(p, new, name, x):
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    n = x.size // x.shape[1]
    moving = (("moving_mean", mean), ("moving_variance", variance * n / (n - 1)))
    for key, value in moving:
        key = f"{name}.{key}"
        new[key] = jax.lax.stop_gradient(p[key] * 0.9 + value * 0.1)
    scale = p[name + ".gamma"] * jax.lax.rsqrt(variance + 1e-5)
    return (x - mean[:, None, None]) * scale[:, None, None] + p[name + ".beta"][:, None, None]


def resnet18(p, x, at):
    new = {}

    def conv_norm(conv, norm, x, stride):
        pad = p[conv + ".weight"].shape[-1] // 2
        return at(norm, _batch_norm(p, new, norm, at(conv, _conv(p, conv, x, stride, pad))))

    def relu(name, x):
        return at(name, jax.nn.relu(x))

    x = relu("relu1", conv_norm("conv1", "norm1", x, 2))
    x = at("pool", _pool3(x))
    for i in range(8):
        name, stride = f"blocks.{i}.", 2 if i in (2, 4, 6) else 1
        out = relu(name + "relu1", conv_norm(name + "conv1", name + "norm1", x, stride))
        out = conv_norm(name + "conv2", name + "norm2", out, 1)
        if stride != 1:
            x = conv_norm(name + "down", name + "down_norm", x, stride)
        x = relu(name + "relu2", out + x)
    return at("fc", _dense(p, "fc", x.mean((2, 3)))), new


def _pool3(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))


def _layer_norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[name + ".gamma"] + p[name + ".beta"]


def transformer(p, tokens, at):
    x = at("embedding", p["embedding.embedding_table"][tokens])
    n, t, width = x.shape
    for i in range(6):
        name = f"layers.{i}."

        def dense(part, x, name=name):
            return at(name + part, _dense(p, name + part, x))

        def split(x):
            return x.reshape(n, t, 8, width // 8).transpose(0, 2, 1, 3)

        y = at(name + "norm1", _layer_norm(p, name + "norm1", x))
        q, k, v = split(dense("query", y)), split(dense("key", y)), split(dense("value", y))
        weights = at(name + "softmax", jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * (width // 8) ** -0.5, axis=-1))
        x = x + dense("out", (weights @ v).transpose(0, 2, 1, 3).reshape(n, t, width))
        y = at(name + "norm2", _layer_norm(p, name + "norm2", x))
        x = x + dense("fc2", at(name + "relu", jax.nn.relu(dense("fc1", y))))
    x = at("norm", _layer_norm(p, "norm", x))
    return at("head", _dense(p, "head", x.mean(1))), {}


NETWORKS = {"lenet": lenet, "resnet18": resnet18, "transformer": transformer}


def loss_of(network, at=nothing):
    """(trained weights, other weights, inputs, labels) -> (loss, new other weights)."""

    def loss(trained, others, inputs, labels):
        scores, new = NETWORKS[network]({**trained, **others}, inputs, at)
        picked = jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1)
        return -picked.mean(), new

    return loss


def momentum(trained, velocity, gradients):
    """The optimizer: new weights, new velocities."""
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
    return jax.tree.map(lambda p, v: p - 0.01 * v, trained, velocity), velocity


def step_of(loss, eager=False):
    """(trained, velocity, others, inputs, labels) -> (the first three anew, loss), compiled with donated state."""
    differentiated = jax.value_and_grad(loss, has_aux=True)
    if eager:
        update = jax.jit(momentum)
    else:
        update = momentum

    def step(trained, velocity, others, inputs, labels):
        (value, new), gradients = differentiated(trained, others, inputs, labels)
        trained, velocity = update(trained, velocity, gradients)
        return trained, velocity, {**others, **new}, value

    return step if eager else jax.jit(step, donate_argnums=(0, 1, 2))


@functools.partial(jax.custom_vjp)
def damp_gradient(x):
    """An identity whose gradient is damped, as the modifiers of the benchmark do it."""
    return x


damp_gradient.defvjp(lambda x: (x, None), lambda _, g: (g * 0.99,))
