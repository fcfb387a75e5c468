"""The same networks written by hand in jax, with dicts of weights under msjax's names.

`at(name, value)` is called at the places where msjax has hooks: the outputs of the leaf cells. `kernels` computes what
can be written in several ways: `Plain` as users of jax write it; `Shared` with the functions that msjax's layers use, some of
which XLA runs much faster on CPUs. `Shared` measures what cells, tape and hooks cost, `Plain` what the kernels gain.
"""

import functools

import jax
import jax.numpy as jnp

from msjax.nn.layer.rnn_cells import _layer, _layer_gradient
from msjax.ops.function.nn_func.convolution_kernels import convolve, deconvolve
from msjax.ops.function.nn_func.normalization import _batch_norm_train, _layer_norm
from msjax.ops.function.nn_func.pooling_kernels import _max_pool
from tests.bench.data import MOBILENET, MOBILENET_SHORT, RESNET18, RESNET_SHORT, UNET, UNET_SHORT


def nothing(name, value):
    """What stands at the places where there are no hooks."""
    return value


class Plain:
    """Convolution, pooling and normalization of the textbook."""

    @staticmethod
    def conv(x, weight, stride, pad):
        return jax.lax.conv_general_dilated(
            x, weight, (stride, stride), ((pad, pad), (pad, pad)), dimension_numbers=("NCHW", "OIHW", "NCHW"),
            feature_group_count=x.shape[1] // weight.shape[1],
        )  # fmt: skip

    @staticmethod
    def pool(x, size, stride, pad):
        if size == stride and not pad:
            n, c, h, w = x.shape
            return x.reshape(n, c, h // size, size, w // size, size).max((3, 5))
        window, pads = (1, 1, size, size), ((0, 0), (0, 0), (pad, pad), (pad, pad))
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, (1, 1, stride, stride), pads)

    @staticmethod
    def batch_norm(x, gamma, beta, moving_mean, moving_variance):
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        n = x.size // x.shape[1]
        out = (x - mean[:, None, None]) * (gamma * jax.lax.rsqrt(variance + 1e-5))[:, None, None] + beta[:, None, None]
        return out, moving_mean * 0.9 + mean * 0.1, moving_variance * 0.9 + variance * (n / (n - 1)) * 0.1

    @staticmethod
    def layer_norm(x, gamma, beta):
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gamma + beta

    @staticmethod
    def up(x, weight):
        n, _, h, w = x.shape
        return jnp.einsum("nchw,coij->nohiwj", x, weight).reshape(n, -1, 2 * h, 2 * w)

    @staticmethod
    def lstm(x, w_ih, w_hh, b_ih, b_hh):
        turned = w_hh.T

        def step(states, projected):
            i, f, g, o = jnp.split(projected + states[0] @ turned, 4, -1)
            c = jax.nn.sigmoid(f) * states[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[1], w_hh.shape[1]), x.dtype)
        return jax.lax.scan(step, (zeros, zeros), x @ w_ih.T + (b_ih + b_hh))[1]


@jax.custom_vjp
def _lstm(*operands):
    return _layer(*operands, "lstm", False)


_lstm.defvjp(
    lambda *operands: _layer_gradient(tuple(range(len(operands))), *operands, "lstm", False), lambda pull, cts: pull(cts)
)


class Shared:
    """The functions of jax arrays that msjax's layers have inside."""

    @staticmethod
    def conv(x, weight, stride, pad):
        return convolve(x, weight, (stride, stride), ((pad, pad), (pad, pad)), (1, 1), x.shape[1] // weight.shape[1])

    @staticmethod
    def pool(x, size, stride, pad):
        return _max_pool(x, (size, size), (stride, stride), ((pad, pad), (pad, pad)), (1, 1))

    @staticmethod
    def batch_norm(x, gamma, beta, moving_mean, moving_variance):
        return _batch_norm_train(x, gamma, beta, moving_mean, moving_variance, eps=1e-5, old=0.9, new=1 - 0.9)

    @staticmethod
    def layer_norm(x, gamma, beta):
        return _layer_norm(x, gamma, beta, eps=1e-5, axis=-1, params_axis=-1)

    @staticmethod
    def up(x, weight):
        sizes = tuple(2 * n for n in x.shape[2:])
        return deconvolve(x, weight, (2, 2), ((0, 0), (0, 0)), (1, 1), 1, sizes)

    @staticmethod
    def lstm(x, w_ih, w_hh, b_ih, b_hh):
        return _lstm(x, None, None, None, w_ih, w_hh, b_ih, b_hh)[0]


def _dense(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def lenet(p, x, at, kernels):
    relu = jax.nn.relu
    for i in ("1", "2"):
        x = at("conv" + i, kernels.conv(x, p[f"conv{i}.weight"], 1, 0))
        x = at("pool" + i, kernels.pool(at("relu" + i, relu(x)), 2, 2, 0))
    x = at("flatten", x.reshape(len(x), -1))
    x = at("relu3", relu(at("fc1", _dense(p, "fc1", x))))
    x = at("relu4", relu(at("fc2", _dense(p, "fc2", x))))
    return at("fc3", _dense(p, "fc3", x)), {}


def _conv_norm_of(p, at, kernels):
    """(a convolution with batch normalization, the new averages of those that have run)."""
    new = {}

    def conv_norm(conv, norm, x, stride):
        weight = p[conv + ".weight"]
        x = at(conv, kernels.conv(x, weight, stride, weight.shape[-1] // 2))
        mean, variance = norm + ".moving_mean", norm + ".moving_variance"
        x, new[mean], new[variance] = kernels.batch_norm(x, p[norm + ".gamma"], p[norm + ".beta"], p[mean], p[variance])
        return at(norm, x)

    return conv_norm, new


def _resnet(p, x, at, kernels, blocks):
    """ResNet; a block is (how many convolutions, which of them has the stride, the stride, whether the way around has a convolution)."""
    conv_norm, new = _conv_norm_of(p, at, kernels)

    def relu(name, x):
        return at(name, jax.nn.relu(x))

    x = relu("relu1", conv_norm("conv1", "norm1", x, 2))
    x = at("pool", kernels.pool(x, 3, 2, 1))
    for i, (convolutions, strided, stride, changes) in enumerate(blocks):
        name, out = f"blocks.{i}.", x
        for j in range(1, convolutions + 1):
            out = conv_norm(f"{name}conv{j}", f"{name}norm{j}", out, stride if j == strided else 1)
            out = relu(f"{name}relu{j}", out) if j < convolutions else out
        if changes:
            x = conv_norm(name + "down", name + "down_norm", x, stride)
        x = relu(f"{name}relu{convolutions}", out + x)
    return at("fc", _dense(p, "fc", x.mean((2, 3)))), new


def resnet18(p, x, at, kernels, blocks=RESNET18):
    return _resnet(p, x, at, kernels, [(2, 1, stride, stride != 1) for _, _, stride in blocks])


def resnet50(p, x, at, kernels):
    return _resnet(p, x, at, kernels, [(3, 2, 2 if i in (3, 7, 13) else 1, i in (0, 3, 7, 13)) for i in range(16)])


def mobilenet(p, x, at, kernels, blocks=MOBILENET):
    conv_norm, new = _conv_norm_of(p, at, kernels)

    def swish(name, x):
        return at(name, jax.nn.hard_swish(x))

    x = swish("act1", conv_norm("conv1", "norm1", x, 2))
    for i, (_, width, outputs, squeezes, hard, stride) in enumerate(blocks):
        name, inputs, out = f"blocks.{i}.", x.shape[1], x
        act = jax.nn.hard_swish if hard else jax.nn.relu
        for part, step in (("expand", 1), ("depth", stride)) if width != inputs else (("depth", stride),):
            out = at(f"{name}{part}_act", act(conv_norm(name + part, f"{name}{part}_norm", out, step)))
        if squeezes:
            scale = at(name + "relu", jax.nn.relu(at(name + "squeeze", _dense(p, name + "squeeze", out.mean((2, 3))))))
            scale = at(name + "gate", jax.nn.hard_sigmoid(at(name + "excite", _dense(p, name + "excite", scale))))
            out = out * scale[:, :, None, None]
        out = conv_norm(name + "project", name + "project_norm", out, 1)
        x = out + x if stride == 1 and inputs == outputs else out
    x = swish("act2", conv_norm("conv2", "norm2", x, 1)).mean((2, 3))
    return at("fc2", _dense(p, "fc2", swish("act3", at("fc1", _dense(p, "fc1", x))))), new


def transformer(p, tokens, at, kernels, layers=6):
    x = at("embedding", p["embedding.embedding_table"][tokens])
    n, t, width = x.shape

    def layer_norm(name, x):
        return at(name, kernels.layer_norm(x, p[name + ".gamma"], p[name + ".beta"]))

    for i in range(layers):
        name = f"layers.{i}."

        def dense(part, x, name=name):
            return at(name + part, _dense(p, name + part, x))

        def split(x):
            return x.reshape(n, t, 8, width // 8).transpose(0, 2, 1, 3)

        y = layer_norm(name + "norm1", x)
        q, k, v = split(dense("query", y)), split(dense("key", y)), split(dense("value", y))
        weights = at(name + "softmax", jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * (width // 8) ** -0.5, axis=-1))
        x = x + dense("out", (weights @ v).transpose(0, 2, 1, 3).reshape(n, t, width))
        y = layer_norm(name + "norm2", x)
        x = x + dense("fc2", at(name + "relu", jax.nn.relu(dense("fc1", y))))
    x = layer_norm("norm", x)
    return at("head", _dense(p, "head", x.mean(1))), {}


def lstm(p, tokens, at, kernels, layers=2):
    x = at("embedding", p["embedding.embedding_table"][tokens]).swapaxes(0, 1)
    for i in range(layers):
        x = kernels.lstm(x, *(p[f"recurrent.lstm.{name}_l{i}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")))
    return at("head", _dense(p, "head", at("recurrent", x.swapaxes(0, 1))[:, -1])), {}


def unet(p, x, at, kernels, widths=UNET):
    conv_norm, new = _conv_norm_of(p, at, kernels)

    def twice(name, x):
        for i in ("1", "2"):
            x = at(f"{name}.relu{i}", jax.nn.relu(conv_norm(f"{name}.conv{i}", f"{name}.norm{i}", x, 1)))
        return x

    levels = [twice("down.0", x)]
    for i in range(len(widths) - 1):
        levels.append(twice(f"down.{i + 1}", at(f"pool.{i}", kernels.pool(levels[-1], 2, 2, 0))))
    x = levels.pop()
    for i in reversed(range(len(levels))):
        x = at(f"up.{i}", kernels.up(x, p[f"up.{i}.weight"]))
        x = twice(f"join.{i}", jnp.concatenate((levels.pop(), x), 1))
    return at("head", kernels.conv(x, p["head.weight"], 1, 0)).mean((2, 3)), new


NETWORKS = {
    "lenet": lenet,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "mobilenet": mobilenet,
    "transformer": transformer,
    "resnet of one block": functools.partial(resnet18, blocks=RESNET_SHORT),
    "mobilenet of one block": functools.partial(mobilenet, blocks=MOBILENET_SHORT),
    "transformer of one layer": functools.partial(transformer, layers=1),
    "lstm of 64": lstm,
    "lstm of 256": lstm,
    "lstm of one layer": functools.partial(lstm, layers=1),
    "unet": unet,
    "unet of one level": functools.partial(unet, widths=UNET_SHORT),
}


def loss_of(network, at=nothing, kernels=Shared):
    """(trained weights, other weights, inputs, labels) -> (loss, new other weights)."""

    def loss(trained, others, inputs, labels):
        scores, new = NETWORKS[network]({**trained, **others}, inputs, at, kernels)
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


@jax.custom_vjp
def damp_gradient(x):
    """An identity whose gradient is damped, as the modifiers of the benchmark do it."""
    return x


damp_gradient.defvjp(lambda x: (x, None), lambda _, g: (g * 0.99,))
