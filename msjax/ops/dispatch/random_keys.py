"""The keys of random operators: from generators and seeds."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.random import Generator, default_generator
from msjax.common.seeds import numpy_generator
from msjax.common.typing import TensorLike
from msjax.core.base.arrays import is_tracer
from msjax.core.base.recent import Recent
from msjax.engine.programs.cache import ProgramCache, run_cached


class SeededKeys:
    """The sequence of keys of one seed: the same in every run of the program, with a new key for each call.

    While a program is being compiled, the keys come from the default generator, with the seed mixed in: what
    is counted in Python would stay the same in every run of the compiled program.
    """

    def __init__(self, seed: int):
        self._seed = int(seed) % 2**31
        self._count = 0
        self._epoch = None
        # Threads that draw at the same time get keys of their own.
        self._lock = threading.Lock()

    def next_key(self) -> Any:
        if is_tracer(default_generator.state._value):
            return _mixed(default_generator.next_key(), self._seed)
        # Seeding the default generator replaces its numpy generator, and restarts this sequence.
        with self._lock:
            if self._epoch is not numpy_generator():
                self._epoch, self._count = numpy_generator(), 0
            self._count += 1
            count = self._count
        return run_cached(_MIXED, (), (_root(self._seed), count))


@jax.jit
def _mixed(key, number):
    return jax.random.key_data(jax.random.fold_in(jax.random.wrap_key_data(key), number))


_MIXED = ProgramCache(lambda _: _mixed.__wrapped__)


def _root(seed):
    return jax.random.key_data(jax.random.key(seed))


# The sequences of the seeds used last. One that was dropped starts again.
_SEQUENCES: Recent[int, SeededKeys] = Recent()
_LARGEST_NUMBER_OF_SEQUENCES = 10_000


def next_key(seed: Any = None, generator: Generator | None = None) -> Any:
    """The data of a jax key: from a generator, from the sequence of a seed, or from the default generator."""
    if generator is not None:
        return generator.next_key()
    if seed is None:
        return default_generator.next_key()
    return _SEQUENCES.of(seed, lambda: _sequence(seed), _LARGEST_NUMBER_OF_SEQUENCES).next_key()


def _sequence(seed):
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"A seed should be an int that is not negative, but got {seed!r}.")
    return SeededKeys(seed)


def wrap(key: TensorLike) -> Any:
    """A jax key of its data."""
    return jax.random.wrap_key_data(jnp.asarray(key))
