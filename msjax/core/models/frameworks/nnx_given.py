"""What a call writes to the flax nnx modules and variables among its arguments."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax
from flax import nnx

from msjax.core.base.errors import called
from msjax.core.models.frameworks.nnx_outputs import arrays_of, changed_state


class Objects:
    """The nnx modules, variables and random keys among arguments, in containers, too.

    Args:
        given: the arguments, a pytree.
    """

    def __init__(self, given: Any):
        self._objects = nnx.List([v for v in jax.tree.leaves(given, is_leaf=_is_object) if _is_object(v)])
        self._variables = [v for v in jax.tree.leaves(given, is_leaf=_is_variable) if _is_variable(v)]
        self._before = arrays_of(nnx.state(self._objects))
        self._values = [jax.tree.leaves(v) for v in self._variables]

    def __bool__(self) -> bool:
        return bool(len(self._objects))

    def written(self) -> tuple[Any, list[int]]:
        """(the part of their state that has changed, the numbers of the variables that have)."""
        values = [jax.tree.leaves(v) for v in self._variables]
        numbers = [i for i, (old, new) in enumerate(zip(self._values, values)) if any(a is not b for a, b in zip(old, new))]
        return changed_state(self._before, nnx.state(self._objects)), numbers

    def write(self, state: Any, numbers: list[int]) -> None:
        """Write what a call has written to copies of them; ValueError where several arguments share it, of which the call got several copies."""
        times = Counter(map(id, self._variables))
        for i in numbers:
            variable = self._variables[i]
            if times[id(variable)] > 1:
                raise ValueError(
                    f"For '{called('capture')}', the call writes to an nnx {type(variable).__name__} that is there more than once among the "
                    "model and its arguments, of which it gets copies that don't know of each other: give it once."
                )
        nnx.update(self._objects, state)


def _is_object(value):
    return isinstance(value, (nnx.Pytree, nnx.Variable))


def _is_variable(value):
    return isinstance(value, nnx.Variable)
