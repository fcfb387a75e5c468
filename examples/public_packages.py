"""Four public packages, unedited, with random weights: attention patterns, heads, a sweep and a monitored step of training.

    pip install . equinox dm-haiku google-tunix "transformers<5" esm2quinox tracr-pypi
    python examples/public_packages.py nnx          # or linen, equinox, haiku

Run both in the folder of a checkout: msjax is not on the package index yet, so that `.`, or the file of a built wheel, stands for it.

Each model has 6 layers of 8 heads and width 128, and takes 16 tokens. What is printed: the seconds of the first call and
of a later one.
"""

import sys
import time

import jax
import jax.numpy as jnp
import optax

from msjax import hooks

LAYERS, HEADS, WIDTH, LENGTH, WORDS = 6, 8, 128, 16, 512
TOKENS = jax.random.randint(jax.random.key(0), (2, LENGTH), 0, WORDS)
CORRUPT = TOKENS.at[:, 4].set(7)
POSITIONS = jnp.tile(jnp.arange(LENGTH), (2, 1))
ADAM = optax.adam(1e-4)


def cross_entropy(logits, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()


def norm(gradient):
    return jnp.linalg.norm(gradient)


def of_nnx():
    """Llama 3 of google-tunix."""
    from flax import nnx
    from tunix.models.llama3.model import Llama3, ModelConfig

    config = ModelConfig(LAYERS, WORDS, WIDTH, 256, HEADS, 16, num_kv_heads=4, rope_theta=10_000, norm_eps=1e-5)
    model, mask = Llama3(config, rngs=nnx.Rngs(0)), jnp.tril(jnp.ones((2, LENGTH, LENGTH), bool))
    optimizer = nnx.Optimizer(model, ADAM, wrt=nnx.Param)
    rest = POSITIONS, None, mask

    def attention():
        return hooks.run_with_cache(model, TOKENS, *rest, where="layers.*.attn/softmax")[1]

    ablated = jax.jit(hooks.ablate(model, "layers.2.attn.o_proj:in", heads=[0, 3]))

    def ablation():
        return ablated(TOKENS, *rest)

    def metric(out):
        return out[0][:, -1, 3].sum()

    def sweep():
        return hooks.patch_sweep(model, (TOKENS, *rest), (CORRUPT, *rest), "layers.?:out[1]", metric=metric)

    def step(model, optimizer):
        grads = nnx.grad(lambda model: cross_entropy(model(TOKENS, *rest)[0][:, :-1], TOKENS[:, 1:]))(model)
        optimizer.update(model, grads)

    monitored = hooks.monitor(step, "layers.?", forward=None, backward=norm, every=2)

    def training():
        monitored(model, optimizer)
        return monitored.latest.backward

    return attention, ablation, sweep, training


def of_linen():
    """GPT-2 of transformers."""
    from transformers import FlaxGPT2LMHeadModel, GPT2Config

    gpt2 = FlaxGPT2LMHeadModel(GPT2Config(n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, vocab_size=WORDS, n_positions=64))
    model, params = hooks.hooked(gpt2.module), {"params": gpt2.params}
    state = [params, ADAM.init(params)]
    rest = jnp.ones_like(TOKENS), POSITIONS

    def attention():
        return hooks.run_with_cache(model, params, TOKENS, *rest, where="transformer.h.*.attn/softmax")[1]

    ablated = jax.jit(hooks.ablate(model, "transformer.h.2.attn.c_proj:in", heads=[0, 3], n_heads=HEADS))

    def ablation():
        return ablated(params, TOKENS, *rest).logits

    def metric(out):
        return out.logits[:, -1, 3].sum()

    def sweep():
        clean, corrupt = (params, TOKENS, *rest), (params, CORRUPT, *rest)
        return hooks.patch_sweep(model, clean, corrupt, "transformer.h.?:out[0]", metric=metric)

    def step(params, state):
        grads = jax.grad(lambda p: cross_entropy(model.apply(p, TOKENS, *rest).logits[:, :-1], TOKENS[:, 1:]))(params)
        updates, state = ADAM.update(grads, state)
        return optax.apply_updates(params, updates), state

    monitored = hooks.monitor(step, "transformer.h.?", forward=None, backward=norm, every=2)

    def training():
        state[:] = monitored(*state)
        return monitored.latest.backward

    return attention, ablation, sweep, training


def of_equinox():
    """ESM-2, a language model of proteins, of esm2quinox; its layers are steps of a scan."""
    import equinox
    from esm2quinox import ESM2

    model = hooks.hooked(ESM2(LAYERS, WIDTH, HEADS, token_dropout=False, key=jax.random.key(0)))
    tokens, corrupt = TOKENS[0] % 20 + 4, CORRUPT[0] % 20 + 4
    state = [model, ADAM.init(equinox.filter(model, equinox.is_inexact_array))]

    def attention():
        return hooks.run_with_cache(model, tokens, where="layers.attn/softmax")[1]

    ablated = jax.jit(hooks.ablate(model, "layers.attn.output_proj:in", heads=[0, 3], n_heads=HEADS))

    def ablation():
        return ablated(tokens)

    def metric(out):
        return out.logits[-1, 3]

    def sweep():
        return hooks.patch_sweep(model, tokens, corrupt, "layers", metric=metric, position_axis=0)

    def step(model, state):
        grads = equinox.filter_grad(lambda model: cross_entropy(model(tokens).logits, tokens))(model)
        updates, state = ADAM.update(grads, state)
        return equinox.apply_updates(model, updates), state

    monitored = hooks.monitor(step, "layers", forward=None, backward=norm, every=2)

    def training():
        state[:] = monitored(*state)
        return monitored.latest.backward

    return attention, ablation, sweep, training


def of_haiku():
    """The transformer of tracr."""
    import haiku
    from tracr.transformer.model import Transformer, TransformerConfig

    config = TransformerConfig(HEADS, LAYERS, key_size=16, mlp_hidden_size=256, dropout_rate=0.0, causal=True)
    net = haiku.without_apply_rng(haiku.transform(lambda x, mask: Transformer(config)(x, mask, use_dropout=False).output))
    table, mask = jax.random.normal(jax.random.key(0), (WORDS, WIDTH)), jnp.ones((2, LENGTH))
    x, corrupt = table[TOKENS], table[CORRUPT]
    model, params = hooks.hooked(net), net.init(jax.random.key(1), x, mask)
    state = [params, ADAM.init(params)]

    def attention():
        return hooks.run_with_cache(model, params, x, mask, where="*attn/softmax")[1]

    ablated = jax.jit(hooks.ablate(model, "transformer.layer_2.attn.linear:in", heads=[0, 3], n_heads=HEADS))

    def ablation():
        return ablated(params, x, mask)

    def metric(out):
        return out[:, -1, 3].sum()

    def sweep():
        at = "transformer.layer_?.attn.linear"
        return hooks.patch_sweep(model, (params, x, mask), (params, corrupt, mask), at, metric=metric)

    def step(params, state):
        grads = jax.grad(lambda params: cross_entropy(model.apply(params, x, mask) @ table.T, TOKENS))(params)
        updates, state = ADAM.update(grads, state)
        return optax.apply_updates(params, updates), state

    monitored = hooks.monitor(step, "transformer.layer_?.attn", forward=None, backward=norm, every=2)

    def training():
        state[:] = monitored(*state)
        return monitored.latest.backward

    return attention, ablation, sweep, training


def seconds(task, times):
    """(what the last call returned, seconds of the fastest)"""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        out = jax.block_until_ready(task())
        best = min(best, time.perf_counter() - start)
    return out, best


if __name__ == "__main__":
    for task in {"nnx": of_nnx, "linen": of_linen, "equinox": of_equinox, "haiku": of_haiku}[sys.argv[1]]():
        # The second step of training is compiled by itself: it has no numbers.
        out, first = seconds(task, 1)
        seconds(task, 1)
        out, again = seconds(task, 10)
        shapes = jax.tree.map(jnp.shape, out)
        print(
            f"{task.__name__:10} first {first:5.1f} s, then {again * 1000:7.2f} ms  {str(shapes)[:110]}",
            flush=True,
        )
