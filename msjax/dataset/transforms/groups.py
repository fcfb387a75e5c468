"""Transforms made of others: all of them in turn, one by chance, or in an order by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.core.base.checks import check_number
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import Transform, call_in_turn, check_transforms

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


class _Group(Transform):
    _chosen: Callable[[], list[Any]]

    def __init__(self, transforms: Any):
        self.transforms: list[Any] = check_transforms(transforms, type(self).__name__)

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise RuntimeError(f"{type(self).__name__} should be called with a value, but got none.")
        result = call_in_turn(self._chosen(), values)
        # What numpy's arithmetic makes of 0-dimensional arrays are its scalars.
        return np.asarray(result) if isinstance(result, np.generic) else result


class Compose(_Group):
    """Transforms and functions one after the other.

    Args:
        transforms (list): each is given what the one before returned; a tuple is several values.

    Raises:
        TypeError, ValueError: no list, an empty one, or something in it that can't be called.

    Example:
        >>> transforms.Compose([lambda v: v + 1, transforms.Fill(3)])(np.array([1, 2]))
        array([3, 3])
    """

    def _chosen(self):
        return self.transforms


class RandomApply(_Group):
    """All transforms one after the other, or none of them.

    Args:
        transforms (list): transforms and functions.
        prob (float): the probability that they are applied. Default: 0.5.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> transforms.RandomApply([lambda v: v + 1], prob=1.0)(np.array(1))
        array(2)
    """

    def __init__(self, transforms: list[Any], prob: float = 0.5):
        super().__init__(transforms)
        self.prob: Any = check_number(prob, "prob", "RandomApply", low=0, high=1)

    def _chosen(self):
        return self.transforms if row_rng().random() < self.prob else []


class RandomChoice(_Group):
    """One of `transforms`, a list of transforms and functions.

    Example:
        >>> transforms.RandomChoice([lambda v: v + 1, lambda v: v + 1])(np.array(1))
        array(2)
    """

    def _chosen(self):
        return [self.transforms[int(row_rng().integers(len(self.transforms)))]]


class RandomOrder(_Group):
    """All of `transforms`, a list of transforms and functions, in an order by chance.

    Example:
        >>> transforms.RandomOrder([lambda v: v + 1, lambda v: v + 2])(np.array(1))
        array(4)
    """

    def _chosen(self):
        return [self.transforms[i] for i in row_rng().permutation(len(self.transforms))]
