"""Names of places in modules: ``"blocks.0.attn"``, its inputs ``":in"``, elements ``":out[1]"``, and operations ``"blocks.0.attn/softmax"``."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from typing import Any, NamedTuple

_PART = re.compile(r":(in|out)((?:\[[^\[\]]*\])*)(#\d+)?$")


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
            value = getattr(value, key) if isinstance(key, str) and not isinstance(value, dict) else value[key]
        return value

    def put(self, value: Any, new: Any) -> Any:
        """The value with another part."""
        return _put(value, self.keys, new)


def _put(value, keys, new):
    if not keys:
        return new
    key, *rest = keys
    if isinstance(value, dict):
        return {**value, key: _put(value[key], rest, new)}
    if isinstance(key, str):
        inner = _put(getattr(value, key), rest, new)
        return value._replace(**{key: inner}) if hasattr(value, "_replace") else dataclasses.replace(value, **{key: inner})
    items = list(value)
    items[key] = _put(items[key], rest, new)
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def split_part(pattern: str) -> tuple[str, Part | None]:
    """(the pattern of a module's path, the Part that it asks for) of a pattern of places."""
    found = _PART.search(pattern)
    if found is None:
        return pattern, None
    side, keys, _ = found.groups()
    parsed = [key.strip("'\"") for key in re.findall(r"\[([^\[\]]*)\]", keys)]
    numbers = tuple(int(key) if re.fullmatch(r"-?\d+", key) else key for key in parsed)
    return pattern[: found.start()], Part(side, numbers, f":{side}{keys}")


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


def asks_for_operations(pattern: str) -> bool:
    """Whether a pattern may select single operations by their modules."""
    return "/" in pattern and "@" not in pattern
