"""Names of places: patterns that select them, elements of values, and steps of loops.

Names of places in modules are ``"blocks.0.attn"``, its inputs ``":in"``, elements ``":out[1]"``, and operations ``"blocks.0.attn/softmax"``.
Within loops, a place has a value for each step, and ``"layers.mlp[1]"`` is one of them.
"""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

_PART = re.compile(r":(in|out)((?:\[[^\[\]]*\])*)(#\d+)?$")
_STEPS = re.compile(r"^([^:]*?)((?:\[\d+\])+)(:.*|#\d+)?$")


class OperationName(str):
    """The name of an operation, or of a function with a jit of its own: the path of its module, "/", and its own name."""

    __slots__ = ()


class Part(NamedTuple):
    """A part of what goes into a module, or comes out of it.

    Attributes:
        side: "in" or "out".
        keys: numbers and names of elements, from the outermost container to the innermost.
        text: as it stands behind the module's path.
    """

    side: str
    keys: tuple[int | str, ...]
    text: str

    def of(self, value: Any) -> Any:
        """The part of a value; KeyError, IndexError, AttributeError or TypeError if there is none."""
        for key in self.keys:
            if hasattr(value, "shape") and hasattr(value, "dtype"):
                raise TypeError("an array is one value")
            value = _one_of(value, key)[0]
        return value

    def put(self, value: Any, new: Any) -> Any:
        """A copy of the value in which `new` stands in the place of this part."""
        for depth in reversed(range(len(self.keys))):
            around = self._replace(keys=self.keys[:depth]).of(value)
            new = _one_of(around, self.keys[depth])[1](new)
        return new


def _one_of(value, key):
    """(one of the values that a pytree, or an object with attributes, consists of, a function from another one to the whole with it)."""
    found, tree = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda each: each is not value)
    parts, names = [part for _, part in found], [path_text(path) for path, _ in found]

    def with_part(new):
        return tree.unflatten([*parts[:number], new, *parts[number + 1 :]])

    def with_attribute(new):
        other = copy.copy(value)
        object.__setattr__(other, key, new)
        return other

    if f"[{key}]" in names:
        number = names.index(f"[{key}]")
    elif isinstance(key, str):
        return getattr(value, key), with_attribute
    elif names == [f"[{i}]" for i in range(len(names))]:
        number = range(len(names))[key]
    else:
        raise KeyError(key)
    return parts[number], with_part


def path_text(path: Sequence[Any]) -> str:
    """A path of jax's within a pytree as names of parts have it: "[0][logits]"."""
    return "".join(f"[{jax.tree_util.keystr((key,), simple=True)}]" for key in path)


def split_part(pattern: str) -> tuple[str, Part | None]:
    """(the pattern of a module's path, the Part that it asks for) of a pattern of places."""
    found = _PART.search(pattern)
    if found is None:
        return pattern, None
    side, keys, _ = found.groups()
    parsed = [key.strip("'\"") for key in re.findall(r"\[([^\[\]]*)\]", keys)]
    numbers = tuple(int(key) if re.fullmatch(r"-?\d+", key) else key for key in parsed)
    return pattern[: found.start()], Part(side, numbers, f":{side}{keys}")


def split_steps(pattern: str) -> tuple[str, tuple[int, ...]]:
    """(the place in loops, the numbers of its steps, the outermost loop first) of the name of one step, such as "layers.mlp[1]:in[0]"."""
    found = _STEPS.search(pattern)
    if found is None:
        return pattern, ()
    path, steps, rest = found.groups()
    return path + (rest or ""), tuple(map(int, re.findall(r"\d+", steps)))


def with_steps(name: str, steps: tuple[int, ...]) -> str:
    """The name of one step of a place."""
    path = re.split("[:#]", name)[0]
    return path + "".join(f"[{step}]" for step in steps) + name[len(path) :]


def steps_asked(pattern: object, name: str) -> tuple[int, ...]:
    """The numbers of the steps that a pattern asks for of a place; none if it asks for the place as a whole, or not for it."""
    place, steps = split_steps(pattern) if isinstance(pattern, str) else ("", ())
    return steps if place in (name, name.partition("#")[0]) else ()


def matches_place(pattern: str, name: str) -> bool:
    """Whether a pattern selects a place. Parts of modules and operations are selected only by patterns that ask for such."""
    if isinstance(name, OperationName):
        if "/" not in pattern:
            return False
        (module, _, operation), (modules, _, operations) = name.rpartition("/"), pattern.rpartition("/")
        return fnmatch.fnmatchcase(module, modules) and (operation == operations or fnmatch.fnmatchcase(operation, operations))
    # A name may have brackets of its own, as nnx's checkpoint names may.
    if name == pattern:
        return True
    if "@" in name and "@" not in pattern:
        return False
    (path, part), (paths, wanted) = split_part(name), split_part(pattern)
    if part is None and wanted is None:
        return fnmatch.fnmatchcase(name, pattern)
    same = part is not None and wanted is not None and name[len(path) :] == pattern[len(paths) :]
    return same and fnmatch.fnmatchcase(path, paths)
