"""Template: nested containers with holes in the places of the arrays that a program computes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from msjax.core.base.arrays import is_tracer

if TYPE_CHECKING:
    from msjax.core.hooks.kinds import ValueKind


class Template:
    """A value to be made anew after each run of a program.

    Args:
        tree: the value while the program is traced. Its traced values become holes; other values are made anew around the same
            array, and all else is the same object each time.
        values (Values): says what a value is.
        weakly: a class whose instances are held weakly.

    Attributes:
        arrays: while the program is traced, the arrays for the holes, in order; taken by `taken`.
    """

    __slots__ = ("_root", "arrays", "values")

    def __init__(self, tree: Any, values: ValueKind, weakly: tuple[type, ...] = ()):
        self.values = values
        self.arrays: list[Any] = []
        self._root = self._part(tree, weakly)

    def taken(self) -> list[Any]:
        """The arrays for the holes, which the template no longer holds."""
        arrays, self.arrays = self.arrays, []
        return arrays

    def _part(self, value, weakly):
        values = self.values
        if values.is_value(value) and not values.is_fixed(value):
            array = values.raw(value)
            return _Made(values.made, self._hole(array)) if is_tracer(array) else _Again(values.made, array)
        if value.__class__ in (tuple, list):
            return _Sequence(value.__class__, [self._part(v, weakly) for v in value])
        if value.__class__ is dict:
            return _Dict(list(value), [self._part(v, weakly) for v in value.values()])
        if is_tracer(value):
            return self._hole(value)
        if isinstance(value, weakly):
            return _Weak(weakref.ref(value))
        leaves, treedef = jax.tree.flatten(value, is_leaf=values.is_leaf)
        if len(leaves) == 1 and leaves[0] is value:
            return _Constant(value)
        return _Tree(treedef, [self._part(leaf, weakly) for leaf in leaves])

    def _hole(self, array):
        for number, known in enumerate(self.arrays):
            if known is array:
                return _Hole(number)
        self.arrays.append(array)
        return _Hole(len(self.arrays) - 1)

    def fill(self, arrays: Sequence[Any]) -> Any:
        """The value, with these arrays in the holes."""
        return self._root.fill(arrays)

    def source(self, name: Callable[[Any], str], outputs: Sequence[str]) -> str:
        """Python code that evaluates to the value.

        Args:
            name: gives an object a name that the code may use.
            outputs: code for the arrays in the holes.
        """
        return self._root.source(name, outputs)


class _Hole:
    """An array of the program."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def fill(self, arrays):
        return arrays[self.number]

    def source(self, name, outputs):
        return outputs[self.number]


class _Made:
    """A value around an array of the program."""

    __slots__ = ("hole", "make")

    def __init__(self, make, hole):
        self.make, self.hole = make, hole

    def fill(self, arrays):
        return self.make(self.hole.fill(arrays))

    def source(self, name, outputs):
        return f"{name(self.make)}({self.hole.source(name, outputs)})"


class _Again:
    """A new value around an array that was known while the program was traced."""

    __slots__ = ("array", "make")

    def __init__(self, make, array):
        self.make, self.array = make, array

    def fill(self, arrays):
        return self.make(self.array)

    def source(self, name, outputs):
        return f"{name(self.make)}({name(self.array)})"


class _Constant:
    """An object that is the same each time."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def fill(self, arrays):
        return self.value

    def source(self, name, outputs):
        return repr(self.value) if self.value is None or isinstance(self.value, bool) else name(self.value)


class _Weak:
    """An object that the template does not keep."""

    __slots__ = ("ref",)

    def __init__(self, ref):
        self.ref = ref

    def fill(self, arrays):
        return self.ref()

    def source(self, name, outputs):
        return name(self.ref) + "()"


class _Sequence:
    __slots__ = ("cls", "parts")

    def __init__(self, cls, parts):
        self.cls, self.parts = cls, parts

    def fill(self, arrays):
        return self.cls([part.fill(arrays) for part in self.parts])

    def source(self, name, outputs):
        inner = "".join(part.source(name, outputs) + ", " for part in self.parts)
        return f"({inner})" if self.cls is tuple else f"[{inner}]"


class _Dict:
    __slots__ = ("keys", "parts")

    def __init__(self, keys, parts):
        self.keys, self.parts = keys, parts

    def fill(self, arrays):
        return dict(zip(self.keys, [part.fill(arrays) for part in self.parts]))

    def source(self, name, outputs):
        return "{" + "".join(f"{name(k)}: {p.source(name, outputs)}, " for k, p in zip(self.keys, self.parts)) + "}"


class _Tree:
    """Another container that jax knows."""

    __slots__ = ("parts", "treedef")

    def __init__(self, treedef, parts):
        self.treedef, self.parts = treedef, parts

    def fill(self, arrays):
        return jax.tree.unflatten(self.treedef, [part.fill(arrays) for part in self.parts])

    def source(self, name, outputs):
        inner = ", ".join(part.source(name, outputs) for part in self.parts)
        return f"{name(jax.tree.unflatten)}({name(self.treedef)}, [{inner}])"
