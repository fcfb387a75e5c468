"""Random numbers of operators: the keys of jax's, from generators and seeds; and MindSpore's, a stream of dropout masks and the numbers of one call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.generators import minstd
from msjax.common.random import Generator, GeneratorState, default_generator
from msjax.common.run_state import LOCK, STATE
from msjax.common.seeds import SEEDS
from msjax.common.tensor import Tensor, wrap as wrap_array
from msjax.common.typing import TensorLike
from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray
from msjax.core.base.weak import Recent
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import operator


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


# ---- MindSpore's random numbers


@operator(1, name="DropoutState")
def _after(state, count):
    return minstd.after(state, count)


class MaskStream:
    """The masks of one dropout layer or operator. Each shape has masks of its own, beginning with the seed, as in MindSpore.

    The state of a shape is a GeneratorState, which compiled programs take as an input and return. Setting the program's seed restarts them.

    Args:
        count (int): the second seed, see `Seeds`.
    """

    __slots__ = ("__weakref__", "_count", "_states")

    def __init__(self, count: int):
        self._count = count
        self._states: dict[tuple[int, ...], GeneratorState] = {}
        SEEDS.register(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskStream:
        other = memo[id(self)] = MaskStream(self._count)
        other._states = copy.deepcopy(self._states, memo)
        return other

    def restart(self) -> None:
        """Begin anew from the program's seed, with each shape."""
        for state in self._states.values():
            state._set_value(self._first())

    def _first(self):
        return jnp.uint32(minstd.first_state(SEEDS.merged(self._count)))

    def next_state(self, shape: tuple[int, ...]) -> Tensor:
        """The state from which the next mask of a shape is drawn."""
        with LOCK:
            state = self._states.get(shape)
            if state is None:
                with jax.ensure_compile_time_eval():
                    state = self._states[shape] = GeneratorState(self._first())
            now = wrap_array(state._value)
            state._set_value(_after(state, int(np.prod(shape, dtype=np.int64)))._value)
        return now


def mask_stream() -> MaskStream | None:
    """The stream of a new dropout layer; None where no seed was set."""
    return MaskStream(SEEDS.next_count("dropout")) if SEEDS.program is not None else None


def streams_are_open() -> bool:
    """Whether a stream may be drawn from here.

    What is drawn in a loop of jax or under its transformations, and what is drawn again in a second run of a recomputed cell, comes from
    the default generator, whose state these keep.
    """
    if STATE.in_functional_run() or STATE.saving is not None or SEEDS.program is None:
        return False
    return not is_tracer(default_generator.state._value) if STATE.trace is None else STATE.trace.here()


class Numbers(NamedTuple):
    """How the numbers of a random operator come from a seed of 64 bits.

    Args:
        on_host: from a seed to the numbers of one call, an array.
        first: from a seed to the state that a program begins with, an array.
        in_program (Op): from a state to (the numbers of one call, the next state); its setting is `setting`.
    """

    on_host: Callable[[int], np.ndarray]
    first: Callable[[int], Any]
    in_program: Op
    setting: tuple[Any, ...]


def drawn(name: str, seed: int | None, numbers: Numbers) -> Tensor | None:
    """The numbers of one call of an operator; None where jax's generator draws: no seed was set, or a loop or transformation of jax.

    In PyNative mode, each call has a seed of its own. In a program, a call that is written there has one, which it gets with the
    program; its numbers go on from run to run.
    """
    found = _seed_of_call(name, seed)
    if found is None:
        return None
    if STATE.trace is None:
        return wrap_array(jnp.asarray(numbers.on_host(found)))
    state = _state_in_program((name, seed), lambda: numbers.first(found))
    values, after = apply(numbers.in_program, (state,), numbers.setting)
    state._set_value(after._value)
    return values


def state_of_mask(seed: int | None, count: int) -> Tensor | JaxArray | None:
    """The state of the mask of one call of dropout, of so many elements; None where jax's generator draws, as in `drawn`."""
    found = _seed_of_call("dropout", seed)
    if found is None:
        return None
    first = np.uint32(minstd.first_state(found))
    if STATE.trace is None:
        return jnp.asarray(first)
    state = _state_in_program(("dropout", seed), lambda: first)
    now = wrap_array(state._value)
    state._set_value(_after(state, count)._value)
    return now


def _seed_of_call(name, seed):
    if not streams_are_open() or (seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0)):
        return None  # jax's generator refuses the wrong seeds
    return SEEDS.merged(SEEDS.next_count(name, seed))


def _state_in_program(key, first):
    with jax.ensure_compile_time_eval():
        return STATE.trace.state_of_draw(key, lambda: GeneratorState(jnp.asarray(first())))
