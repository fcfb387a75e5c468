"""Generators of jax keys for random operators, and the seed of the whole program."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.parameter import Buffer
from msjax.common.run_state import LOCK
from msjax.common.seeds import SEEDS, random_seed
from msjax.common.tensor import Tensor, wrap
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_int, check_type
from msjax.core.base.compiler_options import platform_of, quick_options
from msjax.core.base.typing import JaxArray


class GeneratorState(Buffer):
    """The state of a generator: which device it lies on must not decide where programs run, see `beside`."""


def beside(state: JaxArray, operands: Sequence[Any] = ()) -> JaxArray:
    """The value of a generator's state for a program of other operands.

    What a program returns is tied to the devices that it ran on. Beside operands that lie elsewhere, the state is tied to none.
    """
    if not isinstance(state, jax.Array) or is_tracer(state) or not state.committed:
        return state
    tied = next((v for v in operands if v is not state and isinstance(v, jax.Array) and not is_tracer(v) and v.committed), None)
    if tied is not None and tied.devices() == state.devices():
        return state
    return jnp.asarray(np.asarray(state))


class Generator:
    """A source of jax keys, whose state is one buffer.

    Since the state is a Buffer like any other, compiled and functionalized programs take it as an input and return it.
    """

    def __init__(self, seed: int | None = None):
        self._seed = seed
        self._state: GeneratorState | None = None

    @property
    def state(self) -> Tensor:
        """The state: a Tensor of the data of a jax key."""
        if self._state is None:
            # Created on first use, so that importing msjax initializes no jax backend.
            seed = random_seed() if self._seed is None else self._seed
            with jax.ensure_compile_time_eval():  # jax may be tracing
                made = GeneratorState(jax.random.key_data(jax.random.key(seed)))
            with LOCK:  # other threads may have made one meanwhile
                if self._state is None:
                    self._state = made
        return self._state

    def manual_seed(self, seed: int) -> Self:
        """Restart from a seed; returns the generator."""
        self._seed = seed
        if self._state is not None:
            self._state._set_value(jax.random.key_data(jax.random.key(seed)))
        return self

    def initial_seed(self) -> int | None:
        """The seed that the generator started from; None if it was not set."""
        return self._seed

    def next_key(self) -> JaxArray:
        """The data of a new jax key; advances the state."""
        state = self.state
        with LOCK:
            old = state._value
            if is_tracer(old):
                state._value, key = _split_in_trace(old)
            elif jax_slots.trace_state() == jax_slots.NO_TRACE:
                state._value, key = _compiled_split(platform_of((old,)))(beside(old))
            else:
                # jax traces, and the generator's state is no operand of its program: it must not become a value of the trace.
                with jax.ensure_compile_time_eval():
                    state._value, key = _split_in_trace(old)
        return key


def _split(data):
    keys = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(data)))
    return keys[0], keys[1]


_split_in_trace = jax.jit(_split)


@functools.cache
def _compiled_split(platform):
    return jax.jit(_split, compiler_options=quick_options() if platform == "cpu" else None)


class _DefaultGenerator(Generator):
    """The generator of the whole program."""

    def manual_seed(self, seed: int) -> Self:
        SEEDS.start(None)  # what was seeded last counts
        return super().manual_seed(seed)


default_generator: Generator = _DefaultGenerator()


def set_seed(seed: int) -> None:
    """Seed every source of randomness: initializers, random operators and Dropout, data pipelines, numpy's and Python's global generators.

    The same seed gives MindSpore's initial weights, orders of rows, dropout masks, and normal, uniform and integer numbers.

    Args:
        seed (int): a non-negative int.

    Raises:
        TypeError: no int.
        ValueError: a negative one.

    Example:
        >>> import msjax as ms
        >>> ms.set_seed(1)
        >>> ms.get_seed()
        1
    """
    SEEDS.last = check_int(seed, "seed", "set_seed", low=0)
    default_generator.manual_seed(seed)
    set_data_seed(seed % 2**32)
    SEEDS.start(seed)


def get_seed() -> int | None:
    """The seed last set with `set_seed`; None if none was."""
    return SEEDS.last


def set_data_seed(seed: int) -> None:
    """Seed data pipelines, and the global generators of numpy and Python, from which their functions draw; `set_seed` does so, too."""
    SEEDS.data = seed
    random.seed(seed)
    np.random.seed(seed)


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; returns it."""
    return default_generator.manual_seed(seed)


def get_rng_state() -> Tensor:
    """The state of the default generator, a Tensor; see `set_rng_state`."""
    state = wrap(default_generator.state._value)
    vars(state)["_op_seeds"] = SEEDS.snapshot()
    return state


def set_rng_state(state: Tensor) -> None:
    """Set the default generator to a state that `get_rng_state` returned; it then repeats the same random numbers.

    Raises:
        TypeError: no Tensor.
        ValueError: a Tensor of another shape or dtype.

    Example:
        >>> from msjax import get_rng_state, ops, set_rng_state
        >>> state = get_rng_state()
        >>> x = ops.standard_normal((2,))
        >>> set_rng_state(state)
        >>> print((ops.standard_normal((2,)) == x).all())
        True
    """
    here = default_generator.state
    check_type(state, Tensor, "the state", "set_rng_state")
    if state._value.shape != here._value.shape or state._value.dtype != here._value.dtype:
        raise ValueError(
            f"For 'set_rng_state', the state should be what 'get_rng_state' returned, of shape {here._value.shape}, but got "
            f"shape {state._value.shape} and {state.dtype}."
        )
    here._set_value(state._value)
    SEEDS.put_back(vars(state).get("_op_seeds", (None, {})))


def _get_graph_seed(op_seed, kernel_name):
    """The two seeds of the next call of an operator, as MindSpore's own operators ask for them."""
    return SEEDS.program or 0, SEEDS.next_count(kernel_name, op_seed)


def initial_seed() -> int | None:
    """The seed that the default generator started from; None if it was not set."""
    return default_generator.initial_seed()


def seed() -> int:
    """Seed the default generator non-deterministically; returns the seed."""
    chosen = random_seed()
    default_generator.manual_seed(chosen)
    return chosen
