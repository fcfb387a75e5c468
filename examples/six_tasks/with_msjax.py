"""Six tasks with msjax, on the model of flax nnx."""

import optax
from flax import nnx
from jax_models import TOKENS, Model, loss_of

from msjax import hooks


def read(model, tokens):
    return hooks.capture(model, "blocks.?")(tokens)[1].activations


def gradients(model, tokens):
    look = hooks.capture(model, "blocks.?", gradients=True, loss=lambda logits: loss_of(logits, tokens))
    return look(tokens)[1].gradients


def ablate(model, tokens):
    return hooks.ablate(model, "blocks.0.attention")(tokens)


def pattern(model, tokens):
    return hooks.run_with_cache(model, tokens, where="blocks.0.attention/softmax")[1]


def sweep(model, clean, corrupt, metric):
    return hooks.patch_sweep(model, clean, corrupt, "blocks.?", metric=metric).values  # one program


def train(model, optimizer, tokens, steps):
    def step(model, optimizer):
        optimizer.update(model, nnx.grad(lambda model: loss_of(model(tokens), tokens))(model))

    monitored = hooks.monitor(step, "blocks.?", forward=None, backward=hooks.rms)
    for _ in range(steps):
        monitored(model, optimizer)
    return monitored.history


if __name__ == "__main__":
    model = Model(nnx.Rngs(0))
    print({name: value.shape for name, value in read(model, TOKENS).items()}, len(gradients(model, TOKENS)))
    print(ablate(model, TOKENS).shape, list(pattern(model, TOKENS)))
    print(sweep(model, TOKENS, (TOKENS + 1) % 16, lambda out: out[0, -1, 0]).shape)
    print(len(train(model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param), TOKENS, 3)))
