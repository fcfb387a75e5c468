"""What initializers draw from, its seed, and its distributions; the two seeds of each call of a random operator.

These are MindSpore's numbers: each draw takes a seed from numpy's global generator and its numbers from Philox.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msjax.common.generators import philox
from msjax.core.base.weak import LiveSet

_LARGEST = 2**31 - 1
_IN_PLACE_OF_ZERO = 87654321  # the seed of the program where `set_seed(0)` was called
_STEP = 0xD2511F53 ^ 0xCD9E8D57


class Seeds:
    """The seeds of the program, and how often each operator has drawn.

    Attributes:
        last (int, optional): what `set_seed` was given last.
        program (int, optional): the same for operators: None before, and after `manual_seed`, which leaves the drawing to the default
            generator.
        data (int, optional): the seed of data pipelines.
    """

    def __init__(self):
        self.last: int | None = None
        self.program: int | None = None
        self.data: int | None = None
        self._counts: dict[tuple[str, int], int] = {}
        self._others: LiveSet[Any] = LiveSet()

    def start(self, seed: int | None) -> None:
        """Set the program's seed, or leave the drawing to the default generator; operators begin anew, and so does what was registered."""
        self.program = seed
        self._counts.clear()
        for other in self._others:
            other.restart()

    def register(self, other: Any) -> None:
        """Have the method ``restart()`` of an object called whenever the program's seed is set."""
        self._others.add(other)

    def snapshot(self) -> tuple[int | None, dict[tuple[str, int], int]]:
        """The state of the seeds, for `put_back`."""
        return self.program, dict(self._counts)

    def put_back(self, snapshot: tuple[int | None, dict[tuple[str, int], int]]) -> None:
        """Go back to where a snapshot was taken."""
        self.program, counts = snapshot
        self._counts = dict(counts)

    def next_count(self, operator: str, seed: int | None = None) -> int:
        """The second seed of the next call of an operator, by its name and what the call was given as a seed."""
        given = seed or 0
        now = self._counts.get((operator, given), given)
        self._counts[operator, given] = now + _STEP
        return now

    def merged(self, count: int) -> int:
        """The program's seed and a second one as one of 64 bits."""
        program = 0 if self.program is None else self.program or _IN_PLACE_OF_ZERO
        return philox.merged_seed(program % _LARGEST, count % _LARGEST)


SEEDS = Seeds()


def _next_seed():
    """The seed of the next draw, as MindSpore takes it from numpy's global generator."""
    return int(np.random.randint(1, 2**63, dtype=np.int64))


def random_seed() -> int:
    """A non-deterministic seed of 32 bits."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def uniform(limit: float, shape: tuple[int, ...]) -> np.ndarray:
    """Float32 numbers, uniform in [-limit, limit)."""
    return uniform_between(-limit, limit, shape)


def uniform_between(low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
    """Float32 numbers, uniform in [low, high)."""
    return philox.uniform(_next_seed(), math.prod(shape), low, high).reshape(shape)


def normal(sigma: float, shape: tuple[int, ...], mean: float = 0.0) -> np.ndarray:
    """Float32 numbers of a normal distribution."""
    return philox.normal(_next_seed(), math.prod(shape), mean, sigma).reshape(shape)


def truncated_normal(sigma: float, mean: float, low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
    """Normal numbers in [low, high] by the inverse of their distribution, which works for intervals far from the mean, too."""
    return philox.truncated_normal(_next_seed(), math.prod(shape), mean, sigma, low, high).reshape(shape)
