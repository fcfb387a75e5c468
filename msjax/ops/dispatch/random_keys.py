"""The keys of random operators: from generators and seeds."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.random import Generator, default_generator
from msjax.common.seeds import SEEDS
from msjax.common.typing import TensorLike
from msjax.core.base.arrays import is_tracer
from msjax.core.base.weak import Recent
from msjax.core.door import STATE


class SeededKeys:
    """The sequence of keys of one seed: the same in every run of the program, with a new key for each call.

    Where msjax compiles, the sequence's state is a variable of the program, which goes on from run to run. Under jax's own transformations, the keys
    come from the default generator, with the seed mixed in: a state of Python's would stay the same in every run.
    """

    def __init__(self, seed: int):
        self._seed = int(seed) % 2**31
        self._generator = Generator(self._seed)
        self._state = self._generator.state  # made here: what a trace makes is gone with it
        SEEDS.register(self)

    def restart(self) -> None:
        """Begin anew: the program's seed is set."""
        with jax.ensure_compile_time_eval():
            self._generator.manual_seed(self._seed)

    def next_key(self) -> Any:
        state = self._state
        if not is_tracer(state._value):
            if is_tracer(default_generator.state._value) and not STATE.at_level_of_program():
                return _mixed(default_generator.next_key(), self._seed)
            STATE.used((state,))
        return self._generator.next_key()


@jax.jit
def _mixed(key, number):
    return jax.random.key_data(jax.random.fold_in(jax.random.wrap_key_data(key), number))


def fixed_key(seed: int) -> Any:
    """The data of the one key of a seed, for operators whose numbers are the same in each call with that seed."""
    with jax.ensure_compile_time_eval():
        return jax.random.key_data(jax.random.key(_checked(seed)))


# The sequences of the seeds used last. One that was dropped starts again.
_SEQUENCES: Recent[int, SeededKeys] = Recent()
_LARGEST_NUMBER_OF_SEQUENCES = 10_000


def next_key(seed: Any = None, generator: Generator | None = None) -> Any:
    """The data of a jax key: from a generator, from the sequence of a seed, or from the default generator."""
    if generator is not None:
        return generator.next_key()
    if seed is None:
        return default_generator.next_key()
    return _shared(seed).next_key()


def sequence_of(seed: int) -> SeededKeys:
    """A sequence of its own; that of all who have the seed while a program is traced, which may be traced again."""
    return _shared(seed) if STATE.at_level_of_program() else SeededKeys(seed)


def _shared(seed):
    return _SEQUENCES.of(seed, lambda: SeededKeys(_checked(seed)), _LARGEST_NUMBER_OF_SEQUENCES)


def _checked(seed):
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"A seed should be an int that is not negative, but got {seed!r}.")
    return seed


def wrap(key: TensorLike) -> Any:
    """A jax key of its data."""
    return jax.random.wrap_key_data(jnp.asarray(key))
