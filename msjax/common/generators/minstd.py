"""The minimal standard generator (``std::minstd_rand0``): each word is 16807 times the one before, modulo the prime 2**31 - 1.

Since that is a multiplication, any word can be computed by itself. So a program of jax draws a mask of any size in parallel, for less
than it takes to draw as many words of jax's own generator.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PRIME = 2**31 - 1
FACTOR = 16807
_ROW = 4096  # how many powers of the factor a program has as constants, beside one for each row of so many numbers


def first_state(seed: int) -> int:
    """The state that a seed stands for."""
    return seed % PRIME or 1


def words(seed: int, count: int) -> np.ndarray:
    """The first words of a seed, an array of uint64."""
    return _multiples(first_state(seed) * FACTOR % PRIME, FACTOR, count)


def unit_floats(numbers: Any) -> Any:
    """Words, of numpy or in a program of jax, as float32 numbers in [0, 1)."""
    return ((numbers - 1).astype(np.float32) * np.float32(2.0**-31)).clip(max=np.float32(1 - 2**-24))


def standard_normal(seed: int, count: int) -> np.ndarray:
    """Float32 numbers of the standard normal distribution, by Marsaglia's polar method as in GCC's library."""
    pairs = (count + 1) // 2
    x, y = (np.float32(2) * unit_floats(words(seed, _enough(pairs))).reshape(-1, 2) - np.float32(1)).T
    squares = x * x + y * y
    inside = np.flatnonzero((squares <= 1) & (squares != 0))[:pairs]
    s = squares[inside]
    scale = np.sqrt(np.float32(-2) * np.log(s) / s)
    return np.stack([y[inside] * scale, x[inside] * scale], 1).reshape(-1)[:count]


def after(state: jax.Array, count: int) -> jax.Array:
    """The state after so many words, in a program of jax: uint32."""
    return _product(state, jnp.uint32(pow(FACTOR, count, PRIME)))


def units(state: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """(the next words as float32 numbers in [0, 1), the state after them), in a program of jax."""
    return unit_floats(_words(state, count)), after(state, count)


def normals(state: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """(the next numbers of `standard_normal`, the state after them), in a program of jax.

    Numbers come in pairs; where `count` is odd, the last one is left out, as in MindSpore's operators.
    """
    pairs = (count + 1) // 2
    found = _words(state, _enough(pairs))
    x, y = (2 * unit_floats(found).reshape(-1, 2) - 1).T
    squares = x * x + y * y
    inside = jnp.flatnonzero((squares <= 1) & (squares != 0), size=pairs)
    s = squares[inside]
    scale = jnp.sqrt(-2 * jnp.log(s) / s)
    return jnp.stack([y[inside] * scale, x[inside] * scale], 1).reshape(-1)[:count], found[2 * inside[-1] + 1]


def _enough(pairs):
    """So many words that of the points in a square that they make, as many lie in the circle: 13 standard deviations above what is needed."""
    return 2 * int(pairs * 4 / np.pi + 8 * pairs**0.5 + 40)


def kept(state: jax.Array, shape: tuple[int, ...], share: jax.Array) -> jax.Array:
    """Which elements dropout keeps, in a program of jax: those whose number in [0, 1) is less than the share of those to keep."""
    floats = (_words(state, int(np.prod(shape, dtype=np.int64))) - 1).astype(jnp.float32) * jnp.float32(2.0**-31)
    return (floats < share).reshape(shape)


def _words(state, count):
    """The words after a state, uint32."""
    rows = -(-count // _ROW)
    first = _product(state, jnp.asarray(_powers(pow(FACTOR, _ROW, PRIME), 0, rows)))
    numbers = _product(first[:, None], jnp.asarray(_powers(FACTOR, 1, min(_ROW, count)))[None])
    return numbers.reshape(-1)[:count]


@functools.lru_cache(16)
def _powers(base, start, count):
    """The powers of a number from `start` on, an array of uint32."""
    return _multiples(pow(base, start, PRIME), base, count).astype(np.uint32)


def _multiples(first, factor, count):
    """So many numbers, each so many times the one before, modulo the prime."""
    made = np.array([first], np.uint64)
    while len(made) < count:
        made = np.concatenate([made, made * np.uint64(pow(factor, len(made), PRIME)) % np.uint64(PRIME)])
    return made[:count]


def _product(a, b):
    """a * b modulo the prime, of uint32 below it: 64-bit types may be switched off, so the product is put together from halves."""
    a_low, a_high, b_low, b_high = a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16
    low, middle, high = a_low * b_low, a_high * b_low + a_low * b_high, a_high * b_high
    # 2**31 is 1 modulo the prime, so 2**32 is 2, and what lies above 31 bits is added at the bottom.
    total = _folded(2 * high + ((middle & 0x7FFF) << 16))
    total = _folded(total + _folded((low & PRIME) + (low >> 31) + (middle >> 15)))
    return jnp.where(total == PRIME, jnp.uint32(0), total)


def _folded(x):
    return (x & PRIME) + (x >> 31)
