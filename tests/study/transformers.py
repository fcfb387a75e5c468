"""One small transformer, with the same weights in every framework, and by hand in numpy."""

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from msjax import hooks

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS, LENGTH = 7, 4, 2, 6, 2, 3
RNG = np.random.default_rng(0)
TOKENS = jnp.array([[0, 3, 5], [6, 1, 2]])


def _random(*shape):
    return RNG.normal(size=shape).astype("float32")


EMBED, POSITIONS, HEAD = _random(VOCABULARY, WIDTH), _random(LENGTH, WIDTH), _random(WIDTH, VOCABULARY)
# Of each layer: query, key and value kernels, output kernel, its bias, up, down.
LAYER = [
    {
        "qkv": _random(3, WIDTH, HEADS, WIDTH // HEADS),
        "out": _random(HEADS, WIDTH // HEADS, WIDTH),
        "bias": _random(WIDTH),
        "up": _random(WIDTH, HIDDEN),
        "down": _random(HIDDEN, WIDTH),
    }
    for _ in range(LAYERS)
]


def norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def mixed(x, qkv):
    """What the heads read, (..., positions, heads, features)."""
    q, k, v = jnp.einsum("...td,ndhe->n...hte", x, qkv)
    scores = jnp.einsum("...qe,...ke->...qk", q, k) / 2
    mask = jnp.tril(jnp.ones((x.shape[-2], x.shape[-2]), bool))
    return jnp.einsum("...hqk,...hke->...qhe", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def project(z, out, bias):
    return jnp.einsum("...qhe,hed->...qd", z, out) + bias


def down(hidden, kernel):
    return hidden @ kernel


class NnxNorm(nnx.Module):
    def __call__(self, x):
        return norm(x)


class NnxOut(nnx.Module):
    def __init__(self, p):
        self.kernel, self.bias = nnx.Param(jnp.asarray(p["out"])), nnx.Param(jnp.asarray(p["bias"]))

    def __call__(self, z):
        return project(z, self.kernel[...], self.bias[...])


class NnxAttention(nnx.Module):
    def __init__(self, p):
        self.qkv, self.out = nnx.Param(jnp.asarray(p["qkv"])), NnxOut(p)

    def __call__(self, x):
        return self.out(mixed(x, self.qkv[...]))


class NnxDown(nnx.Module):
    def __init__(self, kernel):
        self.kernel = nnx.Param(jnp.asarray(kernel))

    def __call__(self, x):
        return down(x, self.kernel[...])


class NnxMlp(nnx.Module):
    def __init__(self, p):
        self.up, self.down = NnxDown(p["up"]), NnxDown(p["down"])

    def __call__(self, x):
        return self.down(jax.nn.relu(self.up(x)))


class NnxBlock(nnx.Module):
    def __init__(self, p):
        self.n1, self.n2, self.attn, self.mlp = NnxNorm(), NnxNorm(), NnxAttention(p), NnxMlp(p)

    def __call__(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class NnxEmbed(nnx.Module):
    def __init__(self):
        self.table = nnx.Param(jnp.asarray(EMBED))

    def __call__(self, tokens):
        return self.table[...][tokens]


class NnxModel(nnx.Module):
    def __init__(self):
        self.embed, self.positions = NnxEmbed(), nnx.Param(jnp.asarray(POSITIONS))
        self.blocks = nnx.List([NnxBlock(p) for p in LAYER])
        self.norm, self.head = NnxNorm(), NnxDown(HEAD)

    def __call__(self, tokens):
        x = self.embed(tokens) + self.positions[...]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class LinenNorm(linen.Module):
    @linen.compact
    def __call__(self, x):
        return norm(x)


class LinenAttention(linen.Module):
    @linen.compact
    def __call__(self, x):
        param = lambda name: self.param(name, lambda _: LAYER[0][name])  # noqa: E731
        return project(mixed(x, param("qkv")), param("out"), param("bias"))


class LinenMlp(linen.Module):
    @linen.compact
    def __call__(self, x):
        param = lambda name: self.param(name, lambda _: LAYER[0][name])  # noqa: E731
        return down(jax.nn.relu(x @ param("up")), param("down"))


class LinenBlock(linen.Module):
    @linen.compact
    def __call__(self, x, _):
        x = x + LinenAttention(name="attn")(LinenNorm(name="n1")(x))
        return x + LinenMlp(name="mlp")(LinenNorm(name="n2")(x)), None


class LinenEmbed(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        return jnp.asarray(EMBED)[tokens]


class LinenScanned(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        x = LinenEmbed(name="embed")(tokens) + self.param("positions", lambda _: POSITIONS)
        scan = linen.scan(linen.remat(LinenBlock), variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS)
        x = scan(name="blocks")(x, None)[0]
        return LinenNorm(name="norm")(x) @ self.param("head", lambda _: HEAD)


class EquinoxNorm(equinox.Module):
    def __call__(self, x):
        return norm(x)


class EquinoxAttention(equinox.Module):
    p: dict

    def __call__(self, x):
        return project(mixed(x, self.p["qkv"]), self.p["out"], self.p["bias"])


class EquinoxMlp(equinox.Module):
    p: dict

    def __call__(self, x):
        return down(jax.nn.relu(x @ self.p["up"]), self.p["down"])


class EquinoxBlock(equinox.Module):
    n1: EquinoxNorm
    attn: EquinoxAttention
    mlp: EquinoxMlp

    def __call__(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n1(x))


class EquinoxEmbed(equinox.Module):
    table: jax.Array

    def __call__(self, tokens):
        return self.table[tokens]


class EquinoxModel(equinox.Module):
    embed: EquinoxEmbed
    positions: jax.Array
    blocks: list
    norm: EquinoxNorm
    head: jax.Array

    def __call__(self, tokens):
        x = self.embed(tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.head


def equinox_model():
    layers = jax.tree.map(jnp.asarray, LAYER)
    blocks = [EquinoxBlock(EquinoxNorm(), EquinoxAttention(p), EquinoxMlp(p)) for p in layers]
    return EquinoxModel(EquinoxEmbed(jnp.asarray(EMBED)), jnp.asarray(POSITIONS), blocks, EquinoxNorm(), jnp.asarray(HEAD))


def haiku_net(tokens):
    class Module(haiku.Module):
        def __init__(self, fn, name):
            super().__init__(name)
            self.fn = fn

        def __call__(self, x):
            return self.fn(x)

    def block(p):
        def run(x):
            attn, mlp = (
                Module(lambda x: project(mixed(x, p["qkv"]), p["out"], p["bias"]), "attn"),
                Module(lambda x: down(jax.nn.relu(x @ p["up"]), p["down"]), "mlp"),
            )
            x = x + attn(Module(norm, "n1")(x))
            return x + mlp(Module(norm, "n2")(x))

        return run

    x = Module(lambda tokens: jnp.asarray(EMBED)[tokens], "embed")(tokens) + POSITIONS
    for i, p in enumerate(LAYER):
        x = Module(block(p), f"block{i}")(x)
    return Module(norm, "norm")(x) @ HEAD


def _linen():
    model = LinenScanned()
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *LAYER)
    attn, mlp = ({name: stacked[name] for name in names} for names in (("qkv", "out", "bias"), ("up", "down")))
    return model, ({"params": {"positions": POSITIONS, "head": HEAD, "blocks": {"attn": attn, "mlp": mlp}}},)


def _haiku():
    model = haiku.without_apply_rng(haiku.transform(haiku_net))
    return model, ({},)


# name: (a function that makes (model, arguments before the tokens), the pattern of its blocks, the name of module `attn` of layer i).
MODELS = {
    "nnx": (lambda: (NnxModel(), ()), "blocks.*", "blocks.{i}.{name}"),
    "linen": (_linen, "blocks", "blocks.{name}[{i}]"),
    "equinox": (lambda: (jax.vmap(hooks.hooked(equinox_model())), ()), "blocks.*", "blocks.{i}.{name}"),
    "haiku": (_haiku, "block*", "block{i}.{name}"),
}


def by_hand(tokens=TOKENS, edit=lambda name, value: value):
    """({name: what is added to the stream}, [the stream at the end], the logits), in numpy but for the nonlinear functions."""
    x = edit("embed", EMBED[np.asarray(tokens)])
    added = {"embed": x, "/parameter": np.broadcast_to(POSITIONS, x.shape)}
    x = x + POSITIONS
    for i, p in enumerate(LAYER):
        z = np.asarray(mixed(norm(edit(f"{i}.n1", x)), p["qkv"]))
        heads = edit(f"{i}.z", z)
        added[f"{i}.attn"] = edit(f"{i}.attn", np.asarray(project(heads, p["out"], p["bias"])))
        x = x + added[f"{i}.attn"]
        hidden = np.maximum(np.asarray(norm(edit(f"{i}.n2", x))) @ p["up"], 0)
        added[f"{i}.mlp"] = edit(f"{i}.mlp", hidden @ p["down"])
        x = x + added[f"{i}.mlp"]
    return added, x, np.asarray(norm(x)) @ HEAD


def frozen_norm(parts, x):
    """The parts of a stream after the last norm, its scale frozen, and the head."""
    scale = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return {name: (value - value.mean(-1, keepdims=True)) * scale @ HEAD for name, value in parts.items()}
