"""With msjax: the same model in flax nnx. Functions that a user would compile once are kept."""

import functools
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from weights import batches, given, relu, weights

from msjax import hooks

# What says which number is meant, or brings values into one form, is none of a task's lines.
SHARED = ("metric", "of_first", "of_each", "batches")


class Attention(nnx.Module):
    def __init__(self, rngs):
        self.c_attn, self.c_proj = nnx.Linear(64, 192, rngs=rngs), nnx.Linear(64, 64, rngs=rngs)

    def __call__(self, x):
        q, k, v = (each.reshape(*each.shape[:-1], 4, 16) for each in jnp.split(self.c_attn(x), 3, -1))
        return self.c_proj(jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape))


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.c_fc, self.c_proj = nnx.Linear(64, 256, rngs=rngs), nnx.Linear(256, 64, rngs=rngs)

    def __call__(self, x):
        return self.c_proj(nnx.gelu(self.c_fc(x)))


class Block(nnx.Module):
    def __init__(self, rngs):
        self.ln_1, self.ln_2 = (nnx.LayerNorm(64, epsilon=1e-5, rngs=rngs) for _ in range(2))
        self.attn, self.mlp = Attention(rngs), Mlp(rngs)

    def __call__(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nnx.Module):
    def __init__(self, rngs):
        self.wte, self.wpe = nnx.Embed(100, 64, rngs=rngs), nnx.Embed(16, 64, rngs=rngs)
        self.h, self.ln_f = nnx.List([Block(rngs) for _ in range(4)]), nnx.LayerNorm(64, epsilon=1e-5, rngs=rngs)

    def __call__(self, tokens):
        return self.of_embeddings(self.wte(tokens))

    def of_embeddings(self, x):
        x = x + self.wpe(jnp.arange(16))
        for block in self.h:
            x = block(x)
        return self.wte.attend(self.ln_f(x))


def setup():
    model, saved = GPT2(nnx.Rngs(0)), weights()
    for path, value in nnx.to_flat_state(nnx.state(model, nnx.Param)):
        *module, name = path
        theirs = name if name == "bias" else "weight"
        value.set_value(jnp.asarray(saved[".".join(map(str, (*module, theirs)))]))
        nnx.update(model, nnx.from_flat_state([(path, value)]))
    return model, tuple(map(jnp.asarray, given()))


def metric(logits):
    return logits[:, -1, 3].sum()


def heads(model, tokens, encoder, decoder):
    found = hooks.stream(model, "h.*").decompose(tokens, at="", heads=True)
    return [value for name, value in zip(found.names, found.values) if " head " in name]


def lens(model, tokens, encoder, decoder):
    return hooks.stream(model, "h.*").lens(tokens)


@functools.cache
def ablated(model):
    return jax.jit(hooks.ablate(model, "h.1.attn.c_proj:in", heads=2, n_heads=4, value="mean"))


def ablate(model, tokens, encoder, decoder):
    return ablated(model)(tokens)


@functools.cache
def steered(model):
    encoder, decoder = map(jnp.asarray, given()[1:])
    coder = lambda x: jax.nn.relu(x @ encoder), lambda features: features @ decoder
    return jax.jit(hooks.splice(model, {"h.1": coder}, edit={"h.1": lambda features: features.at[..., 5].set(2)}))


def splice(model, tokens, encoder, decoder):
    return steered(model)(tokens)


def integrated(model, tokens, encoder, decoder):
    how = {"method": "integrated gradients", "corrupt": 0 * tokens, "steps": 50}
    return hooks.attribute(model, tokens, at="wte", metric=metric, **how)["wte"]


def paths(model, tokens, encoder, decoder):
    return hooks.stream(model, "h.*").edges(tokens, tokens[::-1], metric=metric, method="patching", heads=True).values


def cache(model, tokens, encoder, decoder):
    return list(hooks.run_with_cache(model, tokens, where="h.?")[1].values())


def parts(model, tokens, encoder, decoder):
    return hooks.stream(model, "h.*").decompose(tokens).values


def patterns(model, tokens, encoder, decoder):
    return list(hooks.stream(model, "h.*").patterns(tokens).values())


@functools.cache
def steering(model):
    return jax.jit(hooks.steer(model, {"h.1": jnp.asarray(given()[2][0])}))


def steer(model, tokens, encoder, decoder):
    return steering(model)(tokens)


def of_first(logits):
    return logits[0, -1, 3]


def sweep(model, tokens, encoder, decoder):
    return hooks.patch_sweep(model, tokens, tokens[::-1], "h.?:in", metric=of_first).values


def attribute(model, tokens, encoder, decoder):
    return list(hooks.attribute(model, tokens, at="h.?", metric=metric).values())


def collect(model, tokens, encoder, decoder):
    with tempfile.TemporaryDirectory() as folder:
        return hooks.collect(model, "h.1", batches(tokens), to=folder)[np.arange(256)]["h.1"]


def probe(model, tokens, encoder, decoder):
    pairs = (
        (hooks.run_with_cache(model, each, where="h.1")[1]["h.1"].reshape(-1, 64), each.ravel() % 2) for each in batches(tokens)
    )
    return hooks.linear_probe(pairs, classes=2, ridge=0).kernel


def circuit(model, tokens, encoder, decoder):
    stream = hooks.stream(model, "h.*")
    scores = stream.edges(tokens[:1], tokens[1:], metric=of_first, heads=True)
    return hooks.Circuit.strongest(scores, 16).faithfulness(stream, tokens[:1], tokens[1:], of_first)


def of_each(logits):
    return logits[:, -1, 3]


def occlusion(model, tokens, encoder, decoder):
    return hooks.occlusion(model.of_embeddings, model.wte(tokens), metric=of_each, window=(1, 64))


def conductance(model, tokens, encoder, decoder):
    return hooks.conductance(model.of_embeddings, model.wte(tokens), at="h.1", metric=of_each)["h.1"]


def shap(model, tokens, encoder, decoder):
    zeros, key = jnp.zeros((1, 16, 64)), jax.random.key(0)
    return hooks.gradient_shap(model.of_embeddings, model.wte(tokens), metric=of_each, key=key, baselines=zeros).values


def smoothed(model, tokens, encoder, decoder):
    return hooks.noise_tunnel(model.of_embeddings, model.wte(tokens), metric=of_each, key=jax.random.key(0))


def direct(model, tokens, encoder, decoder):
    found = hooks.stream(model, "h.*").direct(tokens, at="h.*.attn.c_proj:in", metric=metric)
    return jnp.concatenate([value.reshape(2, 16, 4, 16).sum((1, 3)).T for value in found.values()])


SGD = optax.sgd(1.0)


def tune(model, tokens, encoder, decoder):
    return hooks.stream(model, "h.*").tune(batches(tokens), SGD)[0]


@functools.cache
def transcoded(model):
    encoder, decoder = map(jnp.asarray, given()[1:])
    place, coder = ("h.1.mlp:in", "h.1.mlp"), (lambda x: jax.nn.relu(x @ encoder), lambda features: features @ decoder)
    edit = {place: lambda features: features.at[..., 5].set(2)}
    return jax.jit(hooks.splice(model, {place: coder}, edit=edit, error=False))


def transcoder(model, tokens, encoder, decoder):
    return transcoded(model)(tokens)


@functools.cache
def transplanted(model):
    return jax.jit(hooks.transplant(model, given()[0][::-1], {"h.2": "h.1"}, positions=(-1, 3)))


def transplant(model, tokens, encoder, decoder):
    return transplanted(model)(tokens)


def gradients(model, tokens, encoder, decoder):
    return list(hooks.compile(model, "h.?", gradients=True, loss=metric)(tokens)[1].gradients.values())


def compiled(model, tokens, encoder, decoder):
    return list(hooks.compile(model, "h.?")(tokens)[1].activations.values())


def edges(model, tokens, encoder, decoder):
    return hooks.stream(model, "h.*").edges(tokens[:1], tokens[1:], metric=of_first, heads=True)


def edges_integrated(model, tokens, encoder, decoder):
    return hooks.stream(model, "h.*").edges(tokens[:1], tokens[1:], metric=of_first, method="integrated gradients", heads=True)


def faithfulness(model, tokens, encoder, decoder):
    stream, reference = hooks.stream(model, "h.*"), tokens[1:]
    scores = stream.edges(tokens[:1], reference, metric=of_first, heads=True)
    circuit = hooks.Circuit.of_senders([name for name in scores.senders if name[:3] not in ("h.2", "h.3")], scores)
    return [share(stream, tokens[:1], reference, of_first) for share in (circuit.faithfulness, circuit.completeness)]


@functools.cache
def monitored(model):
    def step(model, optimizer, tokens):
        optimizer.update(model, nnx.grad(lambda model: metric(model(tokens)))(model))

    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    return hooks.monitor(step, "h.?", forward=None, backward=hooks.rms), optimizer


def monitor(model, tokens, encoder, decoder):
    watched, optimizer = monitored(model)
    watched(model, optimizer, tokens)
    return [watched.history[-1].backward[f"h.{i}"] for i in range(4)]


def gaps(model, tokens, encoder, decoder):
    """How far conductances are from adding up to the change of the number: of this model, and of a network with a ReLU."""
    first, second, third, x = map(jnp.asarray, relu())

    def net(x):
        return jnp.maximum(hooks.site("h.1", jnp.tanh(x @ first)) @ second, 0) @ third

    def gap(model, x, metric):
        found = hooks.conductance(model, x, at="h.1", metric=metric)["h.1"]
        return jnp.abs(found.reshape(len(x), -1).sum(1) - metric(model(x)) + metric(model(0 * x))).max()

    return [gap(model.of_embeddings, model.wte(tokens), of_each), gap(net, x, lambda out: out[:, 0])]
