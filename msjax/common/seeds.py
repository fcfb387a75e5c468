"""The numpy generator that initializers draw from, and its seed."""

from __future__ import annotations

import numpy as np


class _Source:
    """Holds the generator in use; seeding puts a new one in its place."""

    def __init__(self):
        self.generator = np.random.default_rng()


_SOURCE = _Source()


def numpy_generator() -> np.random.Generator:
    """The generator that initializers draw from."""
    return _SOURCE.generator


def seed_numpy_generator(seed: int) -> None:
    """Make initializers draw from a new generator with this seed."""
    _SOURCE.generator = np.random.default_rng(seed)


def random_seed() -> int:
    """A non-deterministic seed of 32 bits."""
    return int(np.random.SeedSequence().generate_state(1)[0])
