"""Goes back in a traced program from a wrong result to the operation that first computed it from right values."""

from __future__ import annotations

from typing import Any, NamedTuple

from msjax.core.base import jax_slots
from msjax.core.tools.checking import Check
from msjax.core.tools.search.causes import causes, first_index
from msjax.core.tools.search.frames import PlanRun, PlanRuns
from msjax.core.tools.search.levels import Level, Literal, Plan, PlannedEquation

Index = tuple[int, ...]
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
