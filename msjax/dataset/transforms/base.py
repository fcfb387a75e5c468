"""The base of transforms, and lists of them that are called one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_kind
from msjax.dataset.checks import check_list
from msjax.dataset.values import as_value, for_function


class Transform:
    """The base of transforms of arrays: they can be given to `map`, and called on values.

    A transform defines `_apply`, of a numpy array for each column.
    """

    is_transform = True

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise RuntimeError(f"{type(self).__name__} should be called with a value, but got none.")
        return self._apply(*map(as_value, values))

    def _apply(self, *arrays):
        raise NotImplementedError

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({settings})"


# For the types of transforms that give the same for several rows at once: a function of the transform and of the rows' values
# stacked, which gives the stacked results. Types are looked up as they are: what is derived may do something else.
OF_BATCHES: dict[type[Any], Callable[[Any, np.ndarray], np.ndarray]] = {}


def check_transforms(transforms: Sequence[Callable[..., Any]], who: str) -> list[Any]:
    """The value, if it is a list, not empty, of transforms and functions."""
    for transform in check_list(transforms, "transforms", who):
        fits = callable(transform) and (not isinstance(transform, type) or not issubclass(transform, Transform))
        check_kind(transform, fits, "hold functions or transforms", "transforms", who)
    return list(transforms)


def call_in_turn(transforms: Sequence[Callable[..., Any]], values: tuple[Any, ...]) -> Any:
    """What the last one returns of transforms and functions that are each given what the one before returned."""
    for transform in transforms:
        result = transform(*(values if getattr(transform, "is_transform", False) else map(for_function, values)))
        values = result if type(result) is tuple else (result,)
    return values[0] if len(values) == 1 else tuple(values)
