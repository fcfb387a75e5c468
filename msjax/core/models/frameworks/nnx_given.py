"""What a call writes to the flax nnx modules and variables among its arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.core.base.errors import called
from msjax.core.base.split import opened
from msjax.core.models.frameworks.nnx_outputs import Changes, write_changes


class Objects:
    """The nnx modules, variables and random keys among arguments, in containers, too.

    Args:
        given: the arguments, a pytree.
    """

    def __init__(self, given: Any):
        self._objects = nnx.List([v for v in jax.tree.leaves(given, is_leaf=_is_object) if _is_object(v)])
        self._variables = [v for v in jax.tree.leaves(opened(given, _is_variable), is_leaf=_is_variable) if _is_variable(v)]

    def __bool__(self) -> bool:
        return bool(len(self._objects))

    def noted(self) -> Callable[[], tuple[Any, list[int]]]:
        """Note how they are before a call; what is returned gives (what has changed in them, the numbers of the variables that have)."""
        changes, before = Changes(self._objects), [jax.tree.leaves(v) for v in self._variables]

        def written():
            values = [jax.tree.leaves(v) for v in self._variables]
            numbers = [i for i, (old, new) in enumerate(zip(before, values)) if any(a is not b for a, b in zip(old, new))]
            return changes.found(), numbers

        return written

    def write(self, changes: Any, numbers: list[int]) -> None:
        """Write what a call has written to copies of them; ValueError where several arguments share it, of which the call got several copies."""
        times = Counter(map(id, self._variables))
        for i in numbers:
            variable = self._variables[i]
            if times[id(variable)] > 1:
                raise ValueError(
                    f"For '{called('capture')}', the call writes to an nnx {type(variable).__name__} that is there more than once among the "
                    "model and its arguments, of which it gets copies that don't know of each other: give it once."
                )
        write_changes(self._objects, changes)


def _is_object(value):
    return isinstance(value, (nnx.Pytree, nnx.Variable))


def _is_variable(value):
    return isinstance(value, nnx.Variable)
