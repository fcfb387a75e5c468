"""Hooks, captures and patches on two models from the package index that nobody edited, with random weights.

    pip install . mamba2-jax equimo      # in a checkout; Mamba-2 in flax nnx, vision transformers in equinox
    python examples/real_models.py

Nothing is downloaded. `--small` takes smaller models.
"""

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
from equimo.models.vit import VisionTransformer
from flax import nnx
from mamba2_jax.modeling import Mamba2Config, Mamba2ForCausalLM

from msjax import hooks

SMALL = "--small" in sys.argv


def rms(value):
    return jnp.sqrt(jnp.mean(jnp.square(value)))


def seconds(fn, *args):
    """Of the fastest of three runs, after one that compiles."""
    jax.block_until_ready(fn(*args))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        jax.block_until_ready(fn(*args))
        times.append(time.perf_counter() - start)
    return min(times)


def row(values):
    return " ".join(f"{float(v):.3g}" for v in values)


def mamba():
    config = Mamba2Config.tiny() if SMALL else Mamba2Config()
    model = Mamba2ForCausalLM(config, rngs=nnx.Rngs(0))
    layers = config.num_hidden_layers
    leaves = len(jax.tree.leaves(nnx.state(model)))
    size = sum(leaf.size for leaf in jax.tree.leaves(nnx.state(model)))
    print(f"== {type(model).__name__} (flax nnx): {size / 1e6:.0f} M weights, {layers} layers, {len(hooks.paths(model))} modules")
    clean = jax.random.randint(jax.random.key(1), (1, 64), 0, config.vocab_size)
    corrupted = clean.at[0, 20].add(1)

    # Watched: every module, in a training step's gradient. The model is as before when the hooks are gone.
    @hooks.jit
    def gradient(model, tokens):
        return nnx.grad(lambda model: model(tokens, labels=tokens)["loss"])(model)

    plain = seconds(gradient, model, clean)
    calls = []
    with hooks.register_forward_hook(model, lambda module, args, output: calls.append(hooks.path(module)), "*"):
        hooked = seconds(gradient, model, clean)
    again = seconds(gradient, model, clean)
    print(f"gradient: {plain:.2f} s; with an observer of every module {hooked:.2f} s; hooks removed {again:.2f} s")
    print(
        f"observers called: {len(calls) // 4} a run, first {calls[:4]}; leaves {leaves} -> {len(jax.tree.leaves(nnx.state(model)))}"
    )

    # Captured: a statistic of the mixers' outputs, and of the gradients with respect to them.
    @nnx.jit
    def look(model, tokens):
        mixers = "backbone.layers.*.mixer"
        run = hooks.capture(model, mixers, gradients=True, statistic=rms, loss=lambda out: out["loss"])
        return run(tokens, labels=tokens)

    out, found = look(model, clean)
    print("rms of the mixers' outputs: ", row(v[0] for v in found.activations.values()))
    print("rms of their gradients:     ", row(v[0] for v in found.gradients.values()))

    # Patched: one token differs; the output of one layer at that token is that of the clean run. All layers in one vmapped program.
    where = [f"backbone.layers.{i}" for i in range(layers)]
    out, cache = hooks.run_with_cache(model, clean, where=where)
    last = out["logits"][0, -1]

    @nnx.jit
    def distance(model, layer):
        def patch(name, at):
            kept = cache[name][0]

            def edit(value, index):
                here = value[0].at[:, 20].set(kept[:, 20])
                return (jnp.where(layer == at, here, value[0]), *value[1:])

            return edit

        edits = {name: patch(name, at) for at, name in enumerate(where)}
        return jnp.linalg.norm(hooks.capture(model, [], edit=edits)(corrupted)[0]["logits"][0, -1] - last)

    sweep = jax.vmap(distance, in_axes=(None, 0))(model, jnp.arange(-1, layers))
    print(f"distance of the last logits: {float(sweep[0]):.3g}; with one layer patched: {row(sweep[1:])}")


def vision_transformer():
    size = (
        dict(dim=48, depths=[2], img_size=32, patch_size=8) if SMALL else dict(dim=192, depths=[12], img_size=224, patch_size=16)
    )
    model = VisionTransformer(in_channels=3, num_heads=[3], num_classes=1000, key=jax.random.key(0), **size)
    hooked = hooks.hooked(model)
    leaves = [len(jax.tree.leaves(m)) for m in (model, hooked)]
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    print(f"== {type(hooked).__name__} (equinox): {weights / 1e6:.1f} M weights, {len(hooks.paths(hooked))} modules")
    image = jax.random.normal(jax.random.key(1), (3, size["img_size"], size["img_size"]))
    key = jax.random.key(2)
    run = eqx.filter_jit(lambda model, image: model(image, key=key))
    plain = run(model, image)
    shapes = {}

    def note(module, args, output):
        shapes[hooks.path(module)] = output.shape

    with hooks.register_forward_hook(hooked, note, "*.attn"):
        out = run(hooked, image)
        hooks.barrier()
    print(
        f"leaves {leaves[0]} -> {leaves[1]}; the same result: {bool((out == plain).all())}; hooks saw {len(shapes)} attentions:",
        end=" ",
    )
    print(next(iter(shapes.items())))

    # The attention pattern is the output of a dropout layer.
    patterns = "*.attn.attn_drop"
    out, found = eqx.filter_jit(lambda model, image: hooks.capture(model, patterns)(image, key=key))(hooked, image)
    name, pattern = next(iter(found.activations.items()))
    entropy = [float(-(p * jnp.log(p + 1e-9)).sum(-1).mean()) for p in found.activations.values()]
    print(
        f"{len(found.activations)} attention patterns, {name}: {pattern.shape}, rows sum to {float(pattern.sum(-1).mean()):.3f}"
    )
    print("entropy by layer:", row(entropy))

    # Patched: one head of one layer attends to all tokens alike. All heads and layers in one vmapped program.
    def without(model, image, layer, head):
        def flat(at):
            return lambda value, index: jnp.where(
                (layer == at) & (jnp.arange(3) == head)[:, None, None], 1 / value.shape[-1], value
            )

        edits = {name: flat(at) for at, name in enumerate(found.activations)}
        return jnp.linalg.norm(hooks.capture(model, [], edit=edits)(image, key=key)[0] - plain)

    heads = jax.vmap(without, (None, None, None, 0))
    heads_and_layers = eqx.filter_jit(eqx.filter_vmap(heads, in_axes=(None, None, 0, None)))
    sweep = heads_and_layers(hooked, image, jnp.arange(len(found.activations)), jnp.arange(3))
    print("change of the result, a row for each head:", *(row(head) for head in sweep.T), sep="\n  ")


if __name__ == "__main__":
    mamba()
    vision_transformer()
