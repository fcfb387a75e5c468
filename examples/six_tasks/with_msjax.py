"""Six tasks with msjax, on the model of flax nnx."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax_models import TOKENS, Model, loss_of, rms

from msjax import hooks


def read(model, tokens):
    return hooks.capture(model, "blocks.?")(tokens)[1].activations


def gradients(model, tokens):
    look = hooks.capture(model, "blocks.?", gradients=True, loss=lambda logits: loss_of(logits, tokens))
    return look(tokens)[1].gradients


def ablate(model, tokens):
    return hooks.capture(model, [], edit={"blocks.0.attention": lambda value, index: value * 0})(tokens)[0]


def pattern(model, tokens):
    name = next(op.name for op in hooks.ops(model)(tokens) if op.name.startswith("div@attention.py"))
    return hooks.capture(model, name)(tokens)[1].activations[name]


def sweep(model, clean, corrupt, metric):
    kept = read(model, clean)

    def run(layer, position):
        def edit_of(n):
            here = (layer == n) & (jnp.arange(clean.shape[1]) == position)
            return lambda value, index: jnp.where(here[:, None], kept[f"blocks.{n}"], value)

        edits = {f"blocks.{n}": edit_of(n) for n in range(len(kept))}
        return metric(hooks.capture(model, [], edit=edits)(corrupt)[0])

    every = jax.vmap(jax.vmap(run, (None, 0)), (0, None))  # one program
    return jax.jit(every)(jnp.arange(len(kept)), jnp.arange(clean.shape[1]))


def train(model, optimizer, tokens, steps):
    @hooks.jit
    def step(model, optimizer):
        optimizer.update(model, nnx.grad(lambda model: loss_of(model(tokens), tokens))(model))

    sizes = []
    with hooks.register_backward_hook(model, lambda module, before, after: sizes.append(rms(after[0])), "blocks.?"):
        for _ in range(steps):
            step(model, optimizer)
    return sizes


if __name__ == "__main__":
    model = Model(nnx.Rngs(0))
    print({name: value.shape for name, value in read(model, TOKENS).items()}, len(gradients(model, TOKENS)))
    print(ablate(model, TOKENS).shape, pattern(model, TOKENS).shape)
    print(sweep(model, TOKENS, (TOKENS + 1) % 16, lambda out: out[0, -1, 0]).shape)
    print(len(train(model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param), TOKENS, 3)))
