"""What GCC's C++ library draws from a generator of words, whose numbers the standard leaves open: uniform ints and shuffled lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from msjax.common.generators import minstd


class Engine:
    """The base of generators of words.

    Attributes:
        largest (int): the largest word.
    """

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
        >>> from msjax.common.generators.engine import MinimalStandard
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
