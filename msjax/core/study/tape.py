"""A program evaluated equation by equation, with a record of how each value was made.

Calls are evaluated in place and loops with places are unrolled, so that all values stand on one tape, whatever functions and loops they
come from. It runs while jax traces: what nobody asks for, the compiler leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.extend.core as jex
import jax.numpy as jnp

from msjax.core.base import jax_slots
from msjax.core.base.jax_slots import inner_equations
from msjax.core.base.state import STATE
from msjax.core.hooks.places import place_p
from msjax.core.jaxprs.control_flow import body_in_place_of, scan_parts, scan_steps
from msjax.core.jaxprs.evaluate import bind
from msjax.core.jaxprs.plan import close


class Node:
    """One value of a program.

    Attributes:
        number: those of later values are larger.
        made: the name of the primitive; "place" of a place, "input" of an input or constant.
        eqn, ins: the equation, None of an input, and the nodes of its inputs.
        module: the path of the module that computes it.
        place: of a place, its name; "input" of an argument that is no weight.
        inside: whether it is computed within a block of the residual stream.
    """

    __slots__ = ("eqn", "inside", "ins", "made", "module", "number", "place", "value")

    def __init__(self, number: int, value: Any, made: str, eqn: Any = None, ins: Sequence[Node] = (), module: str = ""):
        self.number, self.value, self.made, self.eqn, self.ins, self.module = number, value, made, eqn, ins, module
        self.place: str | None = None
        self.inside = False


class Tape:
    """The values of a program, as a run has made them.

    Args:
        edit (callable, optional): ``edit(name, node, tape)`` at each place, with the node of its value; the program goes on with the result.
        derivatives: True to leave functions with derivatives of their own whole, unless there are places in them.
        entrance, leaves (callable): say of the name of a place whether a block of the residual stream begins, or has ended, there.

    Attributes:
        nodes: all of them, in the order in which they were made.
        places: {name: Node}; of a place in a loop, one for each step, as "layers.mlp[0]". Of a place with several arrays, the first of floats.
        bases: {name: the name without the number of the step or call}.
    """

    def __init__(
        self,
        edit: Callable[[str, Node, Tape], Any] | None = None,
        entrance: Callable[[str], bool] = lambda name: False,
        leaves: Callable[[str], bool] = lambda name: False,
        derivatives: bool = False,
    ):
        self.edit = edit
        self.entrance = entrance
        self.leaves = leaves
        self.derivatives = derivatives
        self.nodes: list[Node] = []
        self.places: dict[str, Node] = {}
        self.bases: dict[str, str] = {}
        self.entered: list[str] = []  # the names of places where blocks begin and end, in order
        self.left: list[str] = []
        self._depth = 0
        self._steps: tuple[int, ...] = ()
        self._module = ""
        self._counts: dict[str, int] = {}

    def run(self, closed: jex.ClosedJaxpr, args: Sequence[Any], given: Sequence[Any] = ()) -> list[Node]:
        """The nodes of a program's results, for the values of its inputs, of which `given` are those that are no weights."""
        nodes, numbers = [self._new(value, "input") for value in args], set(map(id, given))
        for node in nodes:
            node.place = "input" if id(node.value) in numbers else None
        return self._run(closed, nodes)

    def _new(self, value, made, eqn=None, ins=()):
        node = Node(len(self.nodes), value, made, eqn, ins, self._module)
        node.inside = self._depth > 0
        self.nodes.append(node)
        return node

    def _run(self, closed, nodes):
        jaxpr, around = closed.jaxpr, self._module
        env = dict(zip(jaxpr.constvars, [self._new(value, "input") for value in closed.consts]))
        env.update(zip(jaxpr.invars, nodes))

        def read(v):
            return self._new(v.val, "input") if isinstance(v, jex.Literal) else env[v]

        for eqn in jaxpr.eqns:
            scope = jax_slots.marked_scope(eqn)
            self._module = around if scope is None else scope[0] + _text(self._steps)
            with jax_slots.context_of(eqn):
                env.update(zip(eqn.outvars, self._equation(eqn, [read(v) for v in eqn.invars])))
        self._module = around
        return [read(v) for v in jaxpr.outvars]

    def _equation(self, eqn, ins):
        primitive = eqn.primitive
        if primitive is place_p:
            return self._place(eqn, ins)
        inner = body_in_place_of(eqn)
        if inner is not None and not (self.derivatives and "custom" in primitive.name and not _has_places(eqn)):
            return self._run(inner, ins)
        if primitive.name == "scan" and _has_places(eqn):
            return self._scan(eqn, ins)
        outs = bind(eqn, [node.value for node in ins])
        return [self._new(value, primitive.name, eqn, ins) for value in outs]

    def _place(self, eqn, ins):
        """The nodes of a place's arrays."""
        base = eqn.params["name"]
        path, mark, part = base.partition(":")
        name = f"{path}{_text(self._steps)}{mark}{part}"
        count = self._counts[name] = self._counts.get(name, -1) + 1
        name = f"{name}#{count}" if count else name
        begins, ends = self.entrance(base), not mark and self.leaves(base)
        self._depth -= ends
        (self.entered if begins else self.left if ends else []).append(name)
        floats = [i for i, node in enumerate(ins) if jnp.issubdtype(jnp.result_type(node.value), jnp.inexact)]
        own = floats[0] if floats and name not in self.places else None
        values, kept = [node.value for node in ins], list(ins)
        if self.edit is not None:
            if own is not None:
                values[own] = self.edit(name, ins[own], self)
                kept[own] = ins[own] if values[own] is ins[own].value else None
            if STATE.capture is not None:
                # A captured function calls this one, such as a spliced model: it finds the place, too.
                values = place_p.bind(*values, **eqn.params)
        outs = [self._new(value, "place", eqn, [] if node is None else [node]) for value, node in zip(values, kept)]
        if own is not None:
            outs[own].place, self.places[name], self.bases[name] = name, outs[own], base
        self._depth += begins
        return outs

    def _scan(self, eqn, ins):
        """The steps of a scan, one after the other."""
        consts, carry, xs = (list(part) for part in scan_parts(eqn, ins))
        body, rows, n_carry = close(eqn.params["jaxpr"]), [], len(carry)
        steps, around = scan_steps(eqn), self._steps
        for step in steps:
            self._steps = (*around, step)
            each = [self._new(x.value[step], "input") for x in xs]
            outs = self._run(body, [*consts, *carry, *each])
            carry = outs[:n_carry]
            rows.append([node.value for node in outs[n_carry:]])
        self._steps = around
        rows = rows[::-1] if eqn.params["reverse"] else rows
        stacked = [jnp.stack(values) for values in zip(*rows)]
        return [*carry, *[self._new(value, "scan", eqn, []) for value in stacked]]


def _text(steps):
    return "".join(f"[{step}]" for step in steps)


def _has_places(eqn):
    return any(e.primitive is place_p or _has_places(e) for e in inner_equations(eqn))


# What changes a value's form, scale or type, but not where it comes from.
LIGHT = {
    "broadcast_in_dim", "convert_element_type", "copy", "copy_p", "div", "dynamic_slice", "expand_dims", "gather", "mul", "name", "neg",
    "optimization_barrier", "pvary", "reduce_precision", "reshape", "select_n", "sharding_constraint", "slice", "squeeze", "stop_gradient",
    "transpose",
}  # fmt: skip


def origin(node: Node, through: set[str] = LIGHT) -> Node:
    """What a value comes from, past the operations of these names; of several inputs, the first one that comes from a place."""
    while node.made in through or (node.made == "place" and ":in" in (node.place or ":in")):
        # Neither the choices of select_n nor the places of a gather are where a value comes from.
        ins = node.ins[1:] if node.made == "select_n" else node.ins[:1] if node.made in ("gather", "dynamic_slice") else node.ins
        inputs = [each for each in ins if each.made != "input"] or list(ins)
        if not inputs:
            return node
        first = [(each, origin(each, through)) for each in inputs]
        node = next((each for each, of in first if of.made == "place" or of.place is not None), inputs[0])
    return node
