"""Goes back in a traced program from a wrong result to the operation that first computed it from right values.

Which element of an operation's inputs a wrong element of its result comes from is found by trying what other inputs would give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.tools.checking import Check
from msjax.core.tools.search.frames import PlanRun, PlanRuns
from msjax.core.tools.search.levels import Level, Literal, Plan, PlannedEquation

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
    """The `_Clean` run of an operation whose bad inputs are replaced by a harmless value; None if its result is wrong with each of them."""
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


# So many operations are gone back at most.
_LONGEST = 20000


class Link(NamedTuple):
    """An operation on the way back from a wrong result.

    Attributes:
        frame, step: the operation.
        out, index: the element of its result that is wrong.
    """

    frame: PlanRun
    step: PlannedEquation
    out: int
    index: Index


class Trail(NamedTuple):
    """The way back from a wrong result.

    Attributes:
        links: the operations, the last one being the origin, unless the value came from outside.
        source: (number of a value of the whole program, index) if it came from outside: an argument, a constant; else None.
        inside: why the operation isn't known, if it is inside of the last link; else "".
    """

    links: list[Link]
    source: tuple[Any, Index] | None
    inside: str = ""


class Walker:
    """Goes back in one run of a program, whose values are those of a Level."""

    def __init__(self, level: Level, check: Check, frames: PlanRuns):
        self.check, self.frames, self.root = check, frames, PlanRun(level)

    def back(self, value: Any, index: Index, frame: PlanRun | None = None) -> Trail:
        """The trail of an element of a value of the whole program, or of a frame."""
        at: PlanRun = frame or self.root
        links: list[Link] = []
        while len(links) < _LONGEST:
            plan = at.level.plan
            if isinstance(value, Literal) or value in plan.constants:
                return Trail(links, (at.level.read(value), index))
            if value not in plan.producer:
                if at.back is None:
                    return Trail(links, (value, index))
                at, value, index = at.back(plan.inputs.index(value), index)
                continue
            number, out = plan.producer[value]
            step = plan.steps[number]
            inside, why = self._inside(at, step, out, index)
            if inside is not None:
                at, value, index = inside
                continue
            links.append(Link(at, step, out, index))
            found = self._causes(links[-1], self.check)
            if not found:
                return Trail(links, None, why)
            # The one that was computed first.
            value, index = min(found, key=lambda item: moment(plan, item[0]))
        return Trail(links, None, "the way back is too long")

    def _inside(self, frame, step, out, index):
        """(where to go on inside of an equation or None, why not)."""
        inner = jax_slots.inner_jaxprs(step.eqn)
        if not inner:
            return None, ""
        try:
            inside = self.frames.enter(frame, step, out, index)
        except Exception as error:  # whatever comes with a new version of jax, what is known so far is told
            return None, f"it can't be looked into: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if inside is None:
            return None, f"it is within the {step.eqn.primitive.name}, which can't be looked into"
        there, value, at = inside
        if not self.check.mask(there.level.read(value))[at]:
            return None, f"it is within the {step.eqn.primitive.name}; computed step by step, it isn't there"
        return inside, ""

    def _causes(self, link, cause):
        """(value, index) of the inputs that make the element of a link wrong, by what counts as `cause` in them."""
        frame, step, out, index = link
        ins = [frame.level.read(v) for v in step.ins]
        if "callback" in step.eqn.primitive.name or "hook" in step.eqn.primitive.name:
            found = [(i, first_index(mask)) for i, mask in cause.masks(ins).items()]
        else:
            found = causes(
                lambda values: frame.level.run(step, values)[out], ins, index, cause, self.check, step.eqn.primitive.name
            )
        return [(step.ins[i], at) for i, at in found]

    def infinite(self, link: Link) -> Trail | None:
        """Of the origin of a NaN, the trail of the infinite value among its inputs that makes it NaN; None if there is none."""
        infinite = Check("inf", "find_nan")
        try:
            found = self._causes(link, infinite)
        except (TypeError, ValueError):
            return None
        if not found:
            return None
        value, index = min(found, key=lambda item: moment(link.frame.level.plan, item[0]))
        return Walker(self.root.level, infinite, self.frames).back(value, index, link.frame)


def moment(plan: Plan, value: int | Literal) -> int:
    """The number of the operation that computes a value, -1 for what is there before the first."""
    return plan.producer.get(value, (-1,))[0] if not isinstance(value, Literal) else -1
