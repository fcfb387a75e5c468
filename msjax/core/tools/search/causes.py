"""Which element of an operation's inputs a wrong element of its result comes from: found by trying what other inputs would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.tools.checking import Check

Index = tuple[int, ...]
# What is put in the place of wrong values: one of them is harmless to every operation.
_HARMLESS = (0.5, 1.5, 1.0)
# For these, such values are harmless only by chance: what is wrong in their inputs counts as the cause.
_OF_MATRICES = {
    "cholesky",
    "eigh",
    "eig",
    "lu",
    "qr",
    "svd",
    "triangular_solve",
    "geqrf",
    "householder_product",
    "schur",
    "hessenberg",
}


def causes(
    run: Callable[[list[Any]], Any], ins: Sequence[Any], index: Index, check: Check, wrong: Check, name: str = ""
) -> list[tuple[int, Index]]:
    """The inputs of an operation that make an element of its result wrong.

    Args:
        run: from inputs to that result.
        check, wrong (Check): what counts as wrong in the inputs, and in the result.

    Returns:
        For each input that alone makes it wrong, (its number, the index of an element in it that does); none if the result is wrong
        with right inputs, too: the fault is in this operation.
    """
    masks = check.masks(ins)
    if not masks:
        return []
    clean = _cleaner(run, ins, masks, index, wrong)
    if clean is None and name in _OF_MATRICES:
        return [(i, first_index(mask)) for i, mask in masks.items()]
    if clean is None:
        # Infinite values would make it wrong, too; that of the wrong ones which does so without them came first.
        finite = [_finite(v) if check.on == "nan" and check.applies(v) else v for v in ins]
        clean = _cleaner(run, finite, masks, index, wrong)
        return [] if clean is None else clean.elements()
    # Some only together make the result wrong.
    return clean.elements() or [(i, first_index(mask)) for i, mask in masks.items()][:1]


class _Clean:
    """Runs an operation with only some of the wrong values of its inputs."""

    def __init__(self, run, ins, masks, index, wrong, value):
        self.run, self.ins, self.masks, self.index, self.wrong, self.value = run, ins, masks, index, wrong, value

    def is_wrong(self, kept: dict[int, np.ndarray]) -> bool:
        """Whether the result is wrong if of the wrong values in the inputs only those are there that the masks have."""
        ins = list(self.ins)
        for i, mask in self.masks.items():
            away = mask & ~kept[i] if i in kept else mask
            if away.any():
                ins[i] = _put(ins[i], away, self.value)
        return bool(self.wrong.mask(self.run(ins))[self.index])

    def elements(self) -> list[tuple[int, Index]]:
        """The inputs that alone make the result wrong, and the indices of elements of theirs that alone do."""
        return [(i, at) for i in self.masks if (at := self._element(i)) is not None]

    def _element(self, i):
        mask, index = self.masks[i], self.index
        if mask.shape == np.shape(self.ins[i]) and len(mask.shape) == len(index) and all(map(int.__lt__, index, mask.shape)):
            here = np.zeros_like(mask)
            here[index] = mask[index]
            if here.any() and self.is_wrong({i: here}):
                return index
        at = np.argwhere(mask)
        if not self.is_wrong({i: mask}):
            return None
        while len(at) > 1:
            half, rest = at[: len(at) // 2], at[len(at) // 2 :]
            of_half = np.zeros_like(mask)
            of_half[tuple(half.T)] = True
            at = half if self.is_wrong({i: of_half}) else rest
        return tuple(map(int, at[0]))


def _cleaner(run, ins, masks, index, wrong):
    """What tries the operation, with a harmless value; None if there is none: it is wrong with right inputs, too."""
    for value in _HARMLESS:
        clean = _Clean(run, ins, masks, index, wrong, value)
        if not clean.is_wrong({}):
            return clean
    return None


def _finite(value):
    infinite = np.isinf(np.asarray(value))
    return _put(value, infinite, _HARMLESS[0]) if infinite.any() else value


def _put(value, mask, number):
    if isinstance(value, jax.Array):
        return jax.device_put(np.where(mask, np.asarray(number, value.dtype), np.asarray(value)), value.sharding)
    return np.where(mask, np.asarray(number, jnp.result_type(value)), value)


def first_index(mask: np.ndarray) -> Index:
    """The index of the first element that is true."""
    return tuple(map(int, np.argwhere(mask)[0]))
