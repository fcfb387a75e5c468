"""The interpreter of jaxprs: evaluates a planned program, and returns the values of its places beside its results.

It is the one evaluator of jaxprs: what looks for something else than places overrides how a body is run (`Interpreter.run`) and what is kept
of the steps of a while_loop, and leaves the forms of control flow to the rules of `control_flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp

from msjax.core.base.errors import noting_writes
from msjax.core.base.split import Split
from msjax.core.base.state import STATE
from msjax.core.base.typing import JaxArray, PyTree
from msjax.core.hooks.places import Edits, Tracing, edited, is_array, place_p, tap_p
from msjax.core.jaxprs.control_flow import RULES, wide
from msjax.core.jaxprs.evaluate import bind, walk
from msjax.core.jaxprs.plan import Block, Counter, Inside, Planner


class Interpreter:
    """Evaluates Blocks.

    Args:
        edits (Edits, optional): those that the function was traced with.
        max_steps (int, optional): how many steps of a while_loop are kept.
    """

    def __init__(self, edits: Edits | None = None, max_steps: int | None = None):
        self.edits = Edits() if edits is None else edits
        self.max_steps = max_steps
        self.jitted = {}

    def run(
        self, block: Block, args: Sequence[JaxArray], index: tuple[Any, ...] = (), probes: tuple[Any, ...] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Evaluate a Block.

        Args:
            index: the numbers of the iterations of the loops around it.
            probes: a flat list of the zeros whose gradients are those of its places; empty without gradients.

        Returns:
            (a list of its results, a list that has a list of arrays for each of `block.found`).
        """
        got, rest = [], iter(probes)

        def visit(step, ins):
            if isinstance(step, Counter):
                return [_level(step.eqn, index)]
            if isinstance(step, Inside):
                n = sum(len(f.probes) for f in (step.found if step.here is None else step.found[:-1]))
                outs, values = step.rule.run(self, step, ins, index, list(islice(rest, n)))
                got.extend(values)
                if step.here is None:
                    return outs
                here, place = self._at_place, step.here
            else:
                here, place, outs = self._here, step, ins
            outs, values = here(place, outs, index, list(islice(rest, len(place.found.probes))))
            got.append(values)
            return outs

        return walk(block.closed, block.steps, args, visit), got

    def first_step(self, block: Block) -> JaxArray:
        """The number of the first step of a while_loop with this body."""
        return jnp.int32(0)

    def kept_of_step(self, block: Block, kept: list[Any], got: Sequence[Sequence[Any]], counter: JaxArray) -> list[Any]:
        """Update what is kept of a while_loop: each place's last value and count, or with `max_steps` its values in the first steps.

        Args:
            block: the body that ran; or the condition, which has no places.
            got: the values of its places.
        """
        new = []
        for found, old, values in zip(block.found, kept, got):
            if not found.counted:
                values = [*values, jnp.int32(1)]
            if self.max_steps is not None:
                new.append([a.at[counter].set(v, mode="drop") for a, v in zip(old, values)])
                continue
            there = values[-1] > 0
            last = [jnp.where(wide(there, v), v, a) if found.counted else v for a, v in zip(old, values[:-1])]
            new.append([*last, old[-1] + values[-1]])
        return new or kept

    def _here(self, step, ins, index, probes):
        eqn = step.eqn
        values = ins if eqn.primitive is place_p or eqn.primitive.name == "name" else bind(eqn, ins)
        return self._at_place(step, values, index, probes)

    def _at_place(self, step, values, index, probes):
        """(the place's values after edits, with which the program goes on; its outputs: the measured values)."""
        eqn, found = step.eqn, step.found
        if found.edits:
            axes = eqn.params["batched"] if eqn.primitive is place_p else ((),) * len(values)
            for each in found.edits:
                values = _edited(found, each, values, axes, index)
        if any(found.probes):
            probes, tapped = iter(probes), []
            for value, measure, dtypes in zip(values, found.measures, found.probed):
                mine = [] if dtypes is None else [next(probes) for _ in dtypes]
                tapped.append(tap_p.bind(value, *mine, measure=measure) if mine else value)
            values = tapped
        if eqn.primitive is place_p and STATE.capture is not None:
            # A captured function calls this one: it finds the place, too.
            values = place_p.bind(*values, **eqn.params)
        return values, [leaf for value, measure in zip(values, found.measures) for leaf in measure(value)]

    def traced_again(self, fn: Callable[..., Any], args: Sequence[Any], index: tuple[Any, ...]) -> Any:
        """``fn(*args)``, which calls code of the user's; its sites are edited, with `index` for the loops around it."""
        if not self.edits.rows:
            return fn(*args)
        program = Program(fn, args, {}, Tracing(self.edits))
        block = Planner(RULES, lambda *names: False, self.edits).block(program.closed)
        return program.result(self.run(block, program.inputs, index)[0])


class Program:
    """What a call of a function computes, as a jaxpr.

    Args:
        context: a context manager, in which the function is called.

    Attributes:
        inputs: the arrays among the arguments; other arguments are part of the program.
    """

    _rest_of_result: tuple[Any, ...]

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], context: Any):
        given = Split.of((args, kwargs), is_array)
        self.inputs = given.arrays

        def traced(*arrays):
            args, kwargs = Split(arrays, given.rest).joined()
            result = Split.of(fn(*args, **kwargs), lambda leaf: isinstance(leaf, jax.Array))
            self._rest_of_result = result.rest
            return result.arrays

        with context, noting_writes():
            self.closed = jax.make_jaxpr(traced)(*self.inputs)

    def result(self, outs: Sequence[JaxArray]) -> PyTree:
        """The function's result, from those of the jaxpr."""
        return Split(outs, self._rest_of_result).joined()


def _edited(found, each, values, axes, index):
    """The arrays of a place after one edit; `axes` says where each has those of vmaps, from the innermost to the outermost."""

    def edit(value):
        return edited(found.name, value, [each], index)

    if not each.whole:  # gets the value of one lane
        if len(set(map(len, axes))) > 1:
            raise ValueError(
                f"The edit of {found.name!r}, some of whose arrays are the same in all lanes of a vmap, has to name one of them."
            )
        for _ in axes[0]:
            edit = jax.vmap(edit)
    front = [jnp.moveaxis(v, at[::-1], range(len(at))) for v, at in zip(values, axes)]
    new = jax.tree.leaves(edit(jax.tree.unflatten(found.tree, front)))
    return [jnp.moveaxis(jnp.asarray(v), range(len(at)), at[::-1]) for v, at in zip(new, axes)]


def _level(eqn, index):
    level, name = eqn.params["level"], eqn.params["name"]
    if not -len(index) <= level < len(index):
        raise ValueError(f"The edit of the place {name!r} asks for index[{level}], but {len(index)} loops are around the place.")
    return jnp.asarray(index[level], jnp.int32)
