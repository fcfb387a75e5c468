"""Six tasks with oryx's harvest, on a function that names its values: `sow` is in the model, two lines of it."""

import jax
import jax.numpy as jnp
from oryx.core.interpreters.harvest import plant, reap, sow

WIDTH = 16


def model(params, tokens):
    x = params["embed"][tokens]
    for n, layer in enumerate(params["blocks"]):
        q, k, v = (x @ layer[name] for name in "qkv")
        pattern = sow(jax.nn.softmax(q @ k.swapaxes(-1, -2) / 4), tag="inner", name=f"pattern{n}")
        x = x + pattern @ v
        x = sow(x + jax.nn.gelu(x @ layer["up"]) @ layer["down"], tag="inner", name=f"block{n}")
    return x @ params["head"]


def loss_of(params, tokens):
    logits = model(params, tokens)[:, :-1]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()


def read(params, tokens):
    return reap(model, tag="inner")(params, tokens)


gradients = (
    None  # a planted value takes the place of the one behind which the rest is computed, in each block: one gradient a run
)


def ablate(params, tokens):
    zeros = jnp.zeros((1, 8, 8))
    return plant(model, tag="inner")({"pattern0": zeros}, params, tokens)


def pattern(params, tokens):
    return reap(model, tag="inner")(params, tokens)["pattern0"]


def sweep(params, clean, corrupt, metric):
    kept, other = read(params, clean), read(params, corrupt)

    def run(name):
        def patched(position):
            here = jnp.arange(clean.shape[1])[:, None] == position
            return metric(plant(model, tag="inner")({name: jnp.where(here, kept[name], other[name])}, params, corrupt))

        return jax.vmap(patched)(jnp.arange(clean.shape[1]))

    return jax.jit(lambda: [run(name) for name in kept if name.startswith("block")])()


train = None  # as for the gradients


if __name__ == "__main__":
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 20))
    size = {"q": (16, 16), "k": (16, 16), "v": (16, 16), "up": (16, 32), "down": (32, 16)}
    blocks = [{name: jax.random.normal(next(keys), shape) * 0.2 for name, shape in size.items()} for _ in range(2)]
    params = {"embed": jax.random.normal(next(keys), (16, 16)), "blocks": blocks, "head": jax.random.normal(next(keys), (16, 16))}
    tokens = jnp.arange(8)[None]
    print({name: value.shape for name, value in read(params, tokens).items()}, pattern(params, tokens).shape)
    print(ablate(params, tokens).shape, sweep(params, tokens, tokens + 1, lambda out: out[0, -1, 0]), loss_of(params, tokens))
