"""The Mersenne Twister with 32 and with 64 bits, and what C++'s standard library draws from it.

The distributions are those of GCC's library, whose numbers the standard leaves open.
"""

from __future__ import annotations

import numpy as np

from msjax.common.generators.engine import Engine

_BLOCK = 312  # words of the state of the twister with 64 bits
_MIDDLE = 156
_UPPER, _LOWER = np.uint64(0xFFFFFFFF80000000), np.uint64(0x7FFFFFFF)
_TWIST = np.uint64(0xB5026F5AA96619E9)


class Mersenne32(Engine):
    """The twister with words of 32 bits (``std::mt19937``).

    Args:
        seed (int): the lowest 32 bits count.

    Example:
        >>> from msjax.common.generators.mersenne import Mersenne32
        >>> Mersenne32(5489).words(2).tolist()
        [3499211612, 581869302]
    """

    largest = 2**32 - 1

    def __init__(self, seed: int):
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start anew from a seed."""
        self._state = np.random.RandomState(seed % 2**32)

    def words(self, count: int) -> np.ndarray:
        """The next words, an array of uint32."""
        return self._state.randint(0, 2**32, count, dtype=np.uint32)

    def doubles(self, count: int) -> np.ndarray:
        """Numbers in [0, 1) of two words each, an array of float64."""
        words = self.words(2 * count).astype(np.float64)
        return np.minimum((words[::2] + words[1::2] * 2.0**32) / 2.0**64, np.nextafter(1.0, 0.0))


class Mersenne64:
    """The twister with words of 64 bits (``std::mt19937_64``).

    Args:
        seed (int): the lowest 64 bits count.

    Example:
        >>> from msjax.common.generators.mersenne import Mersenne64
        >>> numbers = Mersenne64(5489)
        >>> next(numbers), next(numbers)
        (14514284786278117030, 4620546740167642908)
    """

    def __init__(self, seed: int):
        state = [seed % 2**64]
        for i in range(1, _BLOCK):
            state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) % 2**64)
        self._words = np.array(state, np.uint64)
        self._block: list[int] = []

    def __iter__(self) -> Mersenne64:
        return self

    def __next__(self) -> int:
        if not self._block:
            self._block = self._next_block().tolist()[::-1]
        return self._block.pop()

    def _next_block(self):
        state = self._words
        for at, end in ((0, _MIDDLE), (_MIDDLE, _BLOCK)):
            following = np.append(state[at + 1 : end], state[end % _BLOCK])
            x = (state[at:end] & _UPPER) | (following & _LOWER)
            other = state[_MIDDLE:] if at == 0 else state[:_MIDDLE]
            state[at:end] = other ^ (x >> np.uint64(1)) ^ np.where(x & np.uint64(1), _TWIST, np.uint64(0))
        x = state ^ ((state >> np.uint64(29)) & np.uint64(0x5555555555555555))
        x ^= (x << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000)
        x ^= (x << np.uint64(37)) & np.uint64(0xFFF7EEE000000000)
        return x ^ (x >> np.uint64(43))
