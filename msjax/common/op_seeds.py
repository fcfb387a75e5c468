"""The two seeds of each call of a random operator, as MindSpore counts them, where a seed was set."""

from __future__ import annotations

from msjax.base.context import SETTINGS
from msjax.common.generators.philox import merged_seed

_LARGEST = 2**31 - 1
_IN_PLACE_OF_ZERO = 87654321  # the seed of the program where `set_seed(0)` was called
_STEP = 0xD2511F53 ^ 0xCD9E8D57


class OpSeeds:
    """The seed of the program, and how often each operator has drawn.

    Attributes:
        program (int, optional): what `set_seed` was given; None before.
    """

    def __init__(self):
        self.program: int | None = None
        self._counts: dict[tuple[str, int], int] = {}

    def start(self, seed: int) -> None:
        """Set the program's seed; the operators begin anew."""
        self.program = seed
        self._counts.clear()

    def next(self, operator: str, seed: int | None = None) -> int | None:
        """The seed of 64 bits of the next call of an operator.

        Args:
            operator (str): its name, as MindSpore counts it.
            seed (int, optional): what the call was given.

        Returns:
            None where no seed was set, or jax's numbers are wanted: the call then draws from a generator of jax.
        """
        if SETTINGS.random_numbers != "mindspore" or (self.program is None and not seed):
            return None
        given = seed or 0
        now = self._counts.get((operator, given), given)
        self._counts[operator, given] = now + _STEP
        program = 0 if self.program is None else self.program or _IN_PLACE_OF_ZERO
        return merged_seed(program % _LARGEST, now % _LARGEST)


OP_SEEDS = OpSeeds()
