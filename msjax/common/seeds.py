"""The numpy generator that initializers draw from, its seed, and its distributions."""

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


def uniform(limit: float, shape: tuple[int, ...]) -> np.ndarray:
    """Float32 numbers, uniform in [-limit, limit)."""
    return (numpy_generator().random(shape, np.float32) * 2 - 1) * np.float32(limit)


def normal(sigma: float, shape: tuple[int, ...], mean: float = 0.0) -> np.ndarray:
    """Float32 numbers of a normal distribution."""
    return numpy_generator().standard_normal(shape, np.float32) * np.float32(sigma) + np.float32(mean)


def truncated_normal(sigma: float, mean: float, low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
    """Normal numbers in [low, high] by the inverse of their distribution, which works for intervals far from the mean, too."""
    from scipy.special import ndtr, ndtri

    # The upper tail is mirrored, since probabilities near one have few digits.
    flip = (low + high) / 2 > mean
    first, last = ((mean - high) / sigma, (mean - low) / sigma) if flip else ((low - mean) / sigma, (high - mean) / sigma)
    values = ndtri(numpy_generator().uniform(ndtr(first), ndtr(last), shape))
    return np.clip((-values if flip else values) * sigma + mean, low, high)
