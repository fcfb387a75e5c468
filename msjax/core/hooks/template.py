"""Template: nested containers with holes in the places of the arrays that a program computes."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from msjax.core.base.arrays import is_tracer

if TYPE_CHECKING:
    from msjax.core.hooks.kinds import ValueKind

# From (what gives an object a name that code may use, code for the arrays in the holes) to code for a part of the value.
Source = Callable[[Callable[[Any], str], Sequence[str]], str]


class Template:
    """A value to be made anew after each run of a program, by Python code that is written once.

    Args:
        tree: the value while the program is traced. Its traced values become holes; other values are made anew around the same
            array, and all else is the same object each time.
        values (Values): says what a value is.
        weakly: a class whose instances are held weakly.

    Attributes:
        arrays: while the program is traced, the arrays for the holes, in order; taken by `taken`.
        source: ``source(name, outputs)`` is Python code that evaluates to the value. `name` gives an object a name that the code may
            use, `outputs` is code for the arrays in the holes.
    """

    def __init__(self, tree: Any, values: ValueKind, weakly: tuple[type, ...] = ()):
        self.arrays: list[Any] = []
        self.source: Source = self._part(tree, values, weakly)
        self._holes = len(self.arrays)

    def taken(self) -> list[Any]:
        """The arrays for the holes, which the template no longer holds."""
        arrays, self.arrays = self.arrays, []
        return arrays

    def _part(self, value, values, weakly) -> Source:
        def parts(inside):
            return [self._part(v, values, weakly) for v in inside]

        if values.is_value(value) and not values.is_fixed(value):
            array = values.raw(value)
            inner = self._hole(array) if is_tracer(array) else _constant(array)
            return lambda name, outputs: f"{name(values.made)}({inner(name, outputs)})"
        if value.__class__ in (tuple, list):
            (opening, closing), inside = "()" if value.__class__ is tuple else "[]", parts(value)
            return lambda name, outputs: opening + "".join(f"{part(name, outputs)}, " for part in inside) + closing
        if value.__class__ is dict:
            keys, inside = list(value), parts(value.values())
            return lambda name, outputs: (
                "{" + "".join(f"{name(key)}: {part(name, outputs)}, " for key, part in zip(keys, inside)) + "}"
            )
        if is_tracer(value):
            return self._hole(value)
        if isinstance(value, weakly):
            ref = weakref.ref(value)
            return lambda name, _: f"{name(ref)}()"
        leaves, treedef = jax.tree.flatten(value, is_leaf=values.is_leaf)
        if len(leaves) == 1 and leaves[0] is value:
            return _constant(value)
        inside = parts(leaves)
        return lambda name, outputs: (
            f"{name(jax.tree.unflatten)}({name(treedef)}, [{', '.join(part(name, outputs) for part in inside)}])"
        )

    def _hole(self, array) -> Source:
        number = next((n for n, known in enumerate(self.arrays) if known is array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        return lambda _, outputs: outputs[number]

    @functools.cached_property
    def fill(self) -> Callable[[Sequence[Any]], Any]:
        """A function from the arrays for the holes to the value."""
        names: dict[str, Any] = {}

        def name(value):
            key = f"k{len(names)}"
            names[key] = value
            return key

        return eval(f"lambda o: {self.source(name, [f'o[{n}]' for n in range(self._holes)])}", names)


def _constant(value) -> Source:
    """An object that is the same each time."""
    return lambda name, _: repr(value) if value is None or isinstance(value, bool) else name(value)
