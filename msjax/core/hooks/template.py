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


class Template:
    """A value to be made anew after each run of a program, by Python code that is written once.

    Args:
        tree: the value while the program is traced. Its traced values become holes; other values are made anew around the same
            array, and all else is the same object each time.
        values (Values): says what a value is.
        weakly: a class whose instances are held weakly.

    Attributes:
        arrays: while the program is traced, the arrays for the holes, in order; taken by `taken`.
    """

    def __init__(self, tree: Any, values: ValueKind, weakly: tuple[type, ...] = ()):
        self.arrays: list[Any] = []
        # The code: texts, numbers of holes, and each object that the code names, in a tuple.
        self._code: list[str | int | tuple[Any]] = []
        self._add(tree, values, weakly)
        self._holes = len(self.arrays)

    def taken(self) -> list[Any]:
        """The arrays for the holes, which the template no longer holds."""
        arrays, self.arrays = self.arrays, []
        return arrays

    def source(self, name: Callable[[Any], str], outputs: Sequence[str]) -> str:
        """Python code that evaluates to the value.

        Args:
            name: gives an object a name that the code may use.
            outputs: code for the arrays in the holes.
        """
        return "".join([p if p.__class__ is str else outputs[p] if p.__class__ is int else name(p[0]) for p in self._code])  # pyright: ignore

    def _add(self, value, values, weakly):
        """Add the code for a part of the value."""
        code = self._code
        if values.is_value(value) and not values.is_fixed(value):
            array = values.raw(value)
            code += (values.made,), "("
            if is_tracer(array):
                self._add_hole(array)
            else:
                code.append((array,))
            code.append(")")
        elif value.__class__ in (tuple, list):
            self._add_all(value, "()" if value.__class__ is tuple else "[]", values, weakly)
        elif value.__class__ is dict:
            code.append("{")
            for key, item in value.items():
                code += (key,), ": "
                self._add(item, values, weakly)
                code.append(", ")
            code.append("}")
        elif is_tracer(value):
            self._add_hole(value)
        elif isinstance(value, weakly):
            code += (weakref.ref(value),), "()"
        elif value is None or isinstance(value, bool):
            code.append(repr(value))
        else:
            leaves, treedef = jax.tree.flatten(value, is_leaf=values.is_leaf)
            if len(leaves) == 1 and leaves[0] is value:  # the same object each time
                code.append((value,))
            else:
                code += (jax.tree.unflatten,), "(", (treedef,), ", "
                self._add_all(leaves, "[]", values, weakly)
                code.append(")")

    def _add_all(self, items, brackets, values, weakly):
        self._code.append(brackets[0])
        for item in items:
            self._add(item, values, weakly)
            self._code.append(", ")
        self._code.append(brackets[1])

    def _add_hole(self, array):
        number = next((n for n, known in enumerate(self.arrays) if known is array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        self._code.append(number)

    @functools.cached_property
    def fill(self) -> Callable[[Sequence[Any]], Any]:
        """A function from the arrays for the holes to the value."""
        names: dict[str, Any] = {}

        def name(value):
            key = f"k{len(names)}"
            names[key] = value
            return key

        return eval(f"lambda o: {self.source(name, [f'o[{n}]' for n in range(self._holes)])}", names)
