"""The two seeds of each call of a random operator, as MindSpore counts them, where a seed was set."""

from __future__ import annotations

from typing import Protocol

from msjax.common.generators.philox import merged_seed
from msjax.core.base.weak import LiveSet
from msjax.engine.settings.current import SETTINGS

_LARGEST = 2**31 - 1
_IN_PLACE_OF_ZERO = 87654321  # the seed of the program where `set_seed(0)` was called
_STEP = 0xD2511F53 ^ 0xCD9E8D57


class Restarted(Protocol):
    """What begins anew when the program's seed is set."""

    def restart(self) -> None: ...


class OpSeeds:
    """The seed of the program, and how often each operator has drawn.

    Attributes:
        program (int, optional): what `set_seed` was given; None before, and after `manual_seed`, which leaves the drawing to the default
            generator.
    """

    def __init__(self):
        self.program: int | None = None
        self._counts: dict[tuple[str, int], int] = {}
        self._others: LiveSet[Restarted] = LiveSet()

    def start(self, seed: int) -> None:
        """Set the program's seed; the operators begin anew, and so does what was registered."""
        self.program = seed
        self._counts.clear()
        for other in self._others:
            other.restart()

    def register(self, other: Restarted) -> None:
        """Let something begin anew whenever the program's seed is set."""
        self._others.add(other)

    def following(self) -> bool:
        """Whether operators draw MindSpore's numbers."""
        return self.program is not None and SETTINGS.random_numbers == "mindspore"

    def snapshot(self) -> tuple[int | None, dict[tuple[str, int], int]]:
        """What `put_back` takes."""
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
        return merged_seed(program % _LARGEST, count % _LARGEST)


OP_SEEDS = OpSeeds()
