"""Decomposition of a program's values into sums of parts: linear operations are applied to each part, all others are frozen at their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import is_tracer
from msjax.core.jaxprs.evaluate import bind
from msjax.core.study.tape import LIGHT, Node, origin

# Of all their inputs but the first, sums of what they do to each; of the first of select_n, the choice.
_SUMS = {"add", "add_any", "sub", "concatenate", "select_n"}
# Of the first input.
_UNARY = (LIGHT - {"mul", "select_n"}) | {"cumsum", "place", "reduce_sum", "rev"}
# Of either input, as long as the other one is frozen.
_PRODUCTS = {"mul", "dot_general", "conv_general_dilated"}
# They mix features or positions: within a block, the stream ends there and what a module makes of it is a part of its own.
_MIXING = {"dot_general", "conv_general_dilated", "gather", "cumsum"}

# They return what they get.
_SAME = ("place", "name", "copy", "optimization_barrier", "sharding_constraint")


class Parts(NamedTuple):
    """A value as a sum of named parts.

    Attributes:
        names: of the parts, in order; a name may come several times.
        pieces: arrays, which hold the parts along a first axis; together, all of them.
    """

    names: tuple[str, ...]
    pieces: tuple[jax.Array, ...]

    @classmethod
    def of(cls, named: dict[str, Any]) -> Parts:
        """The values of a dict as parts."""
        return cls(tuple(named), (jnp.stack(list(named.values())),) if named else ())

    @property
    def stacked(self) -> jax.Array:
        """All of them, as one array."""
        return self.pieces[0] if len(self.pieces) == 1 else jnp.concatenate(self.pieces)

    def map(self, fn: Callable[[Any], Any]) -> Parts:
        """The parts, each changed by a function."""
        return Parts(self.names, (jax.vmap(fn)(self.stacked),))

    def merged(self) -> dict[str, jax.Array]:
        """{name: part}; those of one name are added up."""
        found: dict[str, jax.Array] = {}
        for name, value in zip(self.names, self.stacked):
            found[name] = found[name] + value if name in found else value
        return found


class Carried:
    """Which values of a tape carry parts on: those of the residual stream from `stream` on, and those of what modules make, such as heads, from
    `splits` on: they go on through the products within a block, too."""

    def __init__(self, nodes: Sequence[Node], stream: Iterable[Node], splits: Iterable[Node]):
        self.kind: dict[int, str] = {**{n.number: "stream" for n in stream}, **{n.number: "split" for n in splits}}
        self.sources = set(self.kind)
        self.inputs: dict[int, list[int]] = {}  # the positions of the inputs that carry parts
        for node in nodes:
            self._see(node)

    def _see(self, node):
        at = [i for i, each in enumerate(node.ins) if each.number in self.kind]
        if not at or not _is_linear(node, at):
            return
        kinds = {self.kind[node.ins[i].number] for i in at}
        if kinds == {"stream"} and node.inside and node.made in _MIXING:
            return
        self.inputs[node.number] = at
        self.kind.setdefault(node.number, "split" if kinds == {"split"} else "stream")

    def __contains__(self, node: Node) -> bool:
        return node.number in self.kind

    def parts(self, target: Node, given: dict[int, Parts], affine: bool, found: dict[int, Parts] | None = None) -> Parts:
        """The parts of a value.

        Args:
            given: those of the sources.
            affine: True to count as parts what is added on the way, the sources being all that there is where they stand; otherwise only
                what the sources bring counts, through later sources, too.
            found: of earlier values of the tape, for the same sources; those of this one and all before it are put in.
        """
        found = {} if found is None else found
        ancestors, pending = {}, [target]
        while pending:
            node = pending.pop()
            if node.number not in ancestors and node.number not in found and node in self:
                ancestors[node.number] = node
                if not (affine and node.number in self.sources):
                    pending += [node.ins[i] for i in self.inputs.get(node.number, ())]
        for number in sorted(ancestors):
            node = ancestors[number]
            own = given.get(number, Parts((), ()))
            if number in self.inputs and not (affine and number in self.sources):
                more = self._step(node, found, affine)
                own = Parts((*own.names, *more.names), (*own.pieces, *more.pieces))
            found[number] = own
        return found[target.number]

    def _step(self, node, found, affine):
        at = self.inputs[node.number]
        if node.made == "place":
            return found[node.ins[0].number]
        if node.made not in _SUMS:
            own = found[node.ins[at[0]].number]
            return own.map(_with_input(node, at[0])) if own.names else own
        names, pieces = (), ()
        # In program order, whichever way round a model adds: first what came along the stream.
        for i, each in sorted(enumerate(node.ins), key=lambda one: (one[0] not in at, one[1].number)):
            if (i == 0 and node.made == "select_n") or (i not in at and _is_zero(each)):
                continue
            parts = found[each.number] if i in at else Parts.of(components(each)) if affine else Parts((), ())
            if not parts.names:
                continue
            if node.made in ("add", "add_any") and each.value.shape == node.value.shape:
                changed = parts
            else:
                changed = parts.map(_with_input(node, i))
            names, pieces = (*names, *changed.names), (*pieces, *changed.pieces)
        return Parts(names, pieces)


def _is_zero(node):
    """Whether a value is a 0 of the program, such as the mean that RMSNorm subtracts."""
    first = origin(node, {"broadcast_in_dim", "convert_element_type", "reshape"})
    return first.made == "input" and not is_tracer(first.value) and jnp.ndim(first.value) == 0 and not first.value


def _is_linear(node, at):
    if not jnp.issubdtype(jnp.result_type(node.value), jnp.inexact):
        return False
    if node.made in _SUMS:
        return not (node.made == "select_n" and 0 in at)
    if node.made in _PRODUCTS:
        return len(at) == 1 and (at[0] == 0 or node.made != "conv_general_dilated")
    return node.made in _UNARY and at == [0]


def _with_input(node, i):
    """The linear function of an equation's input number i; the other terms of a sum are set to zero."""
    others = [n.value for n in node.ins]
    if node.made in _SUMS:
        first = 1 if node.made == "select_n" else 0
        others = [v if k < first else jnp.zeros_like(v) for k, v in enumerate(others)]

    def fn(part):
        values = list(others)
        values[i] = jnp.broadcast_to(part, jnp.shape(values[i])).astype(jnp.result_type(values[i]))
        return bind(node.eqn, values)[0]

    return fn


def components(node: Node) -> dict[str, jax.Array]:
    """What a value is the sum of: {name: array} of the modules whose results are added up, by the adds of the program."""
    if node.made == "place" and ":in" not in (node.place or ":in"):
        maker = _maker(node)
        return {maker.place: node.value} if maker.made == "place" else components(maker)
    if node.ins and node.made in _SAME:
        return components(node.ins[0])
    if node.made in ("add", "add_any"):
        found: dict[str, jax.Array] = {}
        for each in node.ins:
            for name, value in components(each).items():
                value = jnp.broadcast_to(value, node.value.shape)
                found[name] = found[name] + value if name in found else value
        return found
    return {_name(node): node.value}


def _maker(node):
    """The node by which the result of a module is named. Where the module returns what it was called with, as dropout that is off does, that is
    the result of the module before it, or the value that was computed outside of modules."""
    path, inner = _module(node.place), node
    while inner.ins and inner.made in _SAME:
        inner = inner.ins[0]
        if inner.made == "place" and ":" not in (inner.place or ":") and not inner.place.startswith(f"{path}."):
            return _maker(inner)
    outside = inner.made != "input" and not f"{_module(inner.module)}.".startswith(f"{path}.")
    return inner if outside and _module(node.module) == path else node


def _module(name):
    return name.partition("[")[0].partition("#")[0]


def _name(node):
    first = origin(node)
    if first.place is not None:
        return first.place
    if first.made == "input":
        looked_up = origin(node, LIGHT - {"gather"}).made == "gather"
        return f"{node.module}/{'embedding' if looked_up else 'parameter'}"
    return f"{node.module}/{first.made}"
