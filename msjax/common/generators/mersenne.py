"""The Mersenne Twister with 32 and with 64 bits, and what C++'s standard library draws from it.

The distributions are those of GCC's library, whose numbers the standard leaves open: uniform ints and shuffled lists are those of `Engine`,
the base of generators of words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from msjax.common.generators import minstd


class Engine:
    """The base of generators of words, of which there is a largest one."""

    largest: int

    def words(self, count: int) -> np.ndarray:
        """The next words, an array of unsigned ints from 0 on."""
        raise NotImplementedError

    def below(self, sizes: np.ndarray) -> np.ndarray:
        """A uniform int in [0, n) for each n of an array of ints, at most `largest` + 1 (``std::uniform_int_distribution``)."""
        sizes = np.asarray(sizes, np.uint64)
        result = np.empty(len(sizes), np.int64)
        # As in C++, a word is drawn again where it would favour some of the numbers.
        scale = np.uint64(self.largest) // sizes
        limit = sizes * scale
        done, rest = 0, np.empty(0, np.uint64)
        while done < len(sizes):
            rest = np.concatenate([rest, self.words(len(sizes) - done - len(rest)).astype(np.uint64)])
            refused = np.flatnonzero(rest >= limit[done:])
            good = int(refused[0]) if len(refused) else len(rest)
            result[done : done + good] = rest[:good] // scale[done : done + good]
            done, rest = done + good, rest[good + 1 :]
        return result

    def shuffle(self, items: list[int]) -> None:
        """Shuffle a list in place (``std::shuffle``), by pairs of exchanges while the square of its length fits into a word."""
        n = len(items)
        if n < 2:
            return
        if self.largest // n < n:
            places: Sequence[int] = self.below(np.arange(2, n + 1)).tolist()
        else:
            first = [] if n % 2 else self.below(np.array([2])).tolist()
            ranges = np.arange(2 + len(first), n, 2)  # of the first place of each pair; the second has one more
            x = self.below(ranges * (ranges + 1))
            places = [*first, *np.stack(divmod(x, ranges + 1), 1).ravel().tolist()]
        for i, place in enumerate(places, 1):
            items[i], items[place] = items[place], items[i]


class MinimalStandard(Engine):
    """The generator of `minstd`, whose words are counted from 0.

    Args:
        seed (int): the seed.

    Example:
        >>> from msjax.common.generators.mersenne import MinimalStandard
        >>> items = list(range(5))
        >>> MinimalStandard(6).shuffle(items)
        >>> items
        [4, 0, 1, 3, 2]
    """

    largest = minstd.PRIME - 2

    def __init__(self, seed: int):
        self._state = seed

    def words(self, count: int) -> np.ndarray:
        drawn = minstd.words(self._state, count)
        if count:
            self._state = int(drawn[-1])
        return drawn - np.uint64(1)


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
