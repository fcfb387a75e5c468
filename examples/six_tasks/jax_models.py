"""The small language model in flax nnx and in linen, neither of which knows anything of hooks."""

import flax.linen as linen
import jax
import jax.numpy as jnp
import optax
from flax import nnx

WIDTH, HEADS, WORDS, LAYERS = 16, 2, 16, 2


class Block(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
        up, down = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs), nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)
        self.mlp = nnx.Sequential(up, nnx.gelu, down)

    def __call__(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(WORDS, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.head = nnx.Linear(WIDTH, WORDS, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class LinenBlock(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = x + linen.MultiHeadDotProductAttention(HEADS, name="attention")(x, x)
        return x + linen.Dense(WIDTH)(linen.gelu(linen.Dense(2 * WIDTH)(x)))


class LinenModel(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        x = linen.Embed(WORDS, WIDTH)(tokens)
        for n in range(LAYERS):
            x = LinenBlock(name=f"blocks_{n}")(x)
        return linen.Dense(WORDS)(x)


def loss_of(logits, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()


def rms(value):
    return jnp.sqrt((value**2).mean())


TOKENS = jnp.arange(8)[None]
KEY = jax.random.key(0)
