"""The Mersenne Twister with 32 bits in a program of jax. Its state is an array of 625 words: those of the block in use, and how many of them
were drawn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

_BLOCK, _MIDDLE = 624, 397


def first_state(seed: int) -> np.ndarray:
    """The state that a seed stands for, of which the lowest 32 bits count."""
    _, words, place, *_ = np.random.RandomState(seed % 2**32).get_state(legacy=True)
    return np.append(words, np.uint32(place)).astype(np.uint32)


def words(state: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """(the next words, uint32; all blocks that `after` takes)."""
    more = -(-count // _BLOCK)

    def step(block, _):
        made = _next_block(block)
        return made, made

    _, later = jax.lax.scan(step, state[:_BLOCK], length=more)
    blocks = jnp.concatenate([state[None, :_BLOCK], later])
    drawn = jax.lax.dynamic_slice_in_dim(blocks.reshape(-1), state[_BLOCK].astype(jnp.int32), count)
    drawn ^= drawn >> 11
    drawn ^= (drawn << 7) & jnp.uint32(0x9D2C5680)
    drawn ^= (drawn << 15) & jnp.uint32(0xEFC60000)
    return drawn ^ (drawn >> 18), blocks


def after(state: jax.Array, blocks: jax.Array, used: jax.Array | int) -> jax.Array:
    """The state after so many of the words of `words`."""
    place = state[_BLOCK].astype(jnp.int32) + used
    number = jnp.maximum(place - 1, 0) // _BLOCK
    return jnp.append(blocks[number], (place - number * _BLOCK).astype(jnp.uint32))


def unit_floats(low: jax.Array, high: jax.Array) -> jax.Array:
    """Numbers in [0, 1] of two words each, float32: the nearest ones to integers of 64 bits, without types of 64 bits."""
    zeros = jax.lax.clz(high)
    shift = jnp.minimum(zeros, 31)
    # The highest 32 digits, the last of which stands for all that follow, too.
    top = jnp.where(zeros < 32, (high << shift) | ((low >> 1) >> (31 - shift)), low)
    rest = jnp.where(zeros < 32, low << shift, 0)
    floats = (top | (rest != 0).astype(jnp.uint32)).astype(jnp.float32)
    return jnp.ldexp(floats, -32 - zeros.astype(jnp.int32))


def _next_block(block):
    def twisted(first, second, other):
        x = (first & jnp.uint32(0x80000000)) | (second & jnp.uint32(0x7FFFFFFF))
        return other ^ (x >> 1) ^ jnp.where(x & 1, jnp.uint32(0x9908B0DF), jnp.uint32(0))

    # Each word needs one of the new block that is made 227 words before.
    rest = _BLOCK - _MIDDLE
    one = twisted(block[:rest], block[1 : rest + 1], block[_MIDDLE:])
    two = twisted(block[rest : 2 * rest], block[rest + 1 : 2 * rest + 1], one)
    three = twisted(block[2 * rest :], jnp.append(block[2 * rest + 1 :], one[0]), two[: _BLOCK - 2 * rest])
    return jnp.concatenate([one, two, three])
