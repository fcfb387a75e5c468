"""Values of classes that jax knows as pytrees, such as named arrays: what holds for an array is done to their only leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base.errors import called, describe
from msjax.core.hooks.place_names import path_text


def on_leaf(name: str, fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make an edit of an array into one of a value, at the place of a name, that holds a single array, such as a tuple of one.

    It raises TypeError for a value with several leaves, and names its elements.
    """

    def edit(value, index):
        return jax.tree.unflatten(jax.tree.structure(value), [fn(only_leaf(name, value), index)])

    return edit


def only_leaf(name: str, value: Any) -> Any:
    """The array that a value is, or holds; TypeError if it has several leaves."""
    found = jax.tree_util.tree_leaves_with_path(value)
    if len(found) == 1:
        return found[0][1]
    place, mark, call = name.partition("#")
    close = ", ".join(repr(f"{place}{'' if ':' in place else ':out'}{path_text(path)}{mark}{call}") for path, _ in found)
    raise TypeError(
        f"For '{called('capture')}', the value of a place should be an array, but that of {name!r} is {describe(value)}: "
        f"name one of its elements, such as {close}."
    )
