"""Edges of a residual stream: from what a module or head adds to what a later module reads; their effects and attributions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from msjax.core.base.errors import called
from msjax.core.page.studies import maps_view
from msjax.core.page.viewed import plot, repr_html, to_dict, to_pandas
from msjax.core.study.heads import head_parts
from msjax.core.study.parts import Carried, Parts, components
from msjax.core.study.programs import OnTape, number_of
from msjax.core.study.tape import Node, Tape


class Edges(NamedTuple):
    """Scores of edges, as `Stream.edges` returns them.

    Attributes:
        senders: the parts of the residual stream: embeddings, modules or heads.
        readers: the modules that read it; last, the last block, for what comes behind the blocks.
        values: (senders, readers); NaN where the reader comes before the sender.
    """

    senders: tuple[str, ...]
    readers: tuple[str, ...]
    values: jax.Array

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return self.values[self.senders.index(key[0]), self.readers.index(key[1])]
        return tuple.__getitem__(self, key)

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: a map of senders by readers."""
        labels = {"sender": self.senders, "reader": self.readers}
        return maps_view({"edges": self.values}, ("sender", "reader"), labels, "Edges")

    to_dict, to_pandas, plot, _repr_html_ = to_dict, to_pandas, plot, repr_html


class Graph:
    """A run of a model, as parts of a residual stream and what reads them.

    Args:
        program: the model's program.
        tape: one that knows the blocks, before its run.
        is_block: says of a module's path whether it is a block.
        heads: whether parts are those of heads.
        last: the place where the last block ends.
        through: the paths of modules that return the stream: what is within them reads it, not they.
        read: ``read(reader, value, parts)``, whose result the reader gets; ``parts()`` is {sender: its part of the value}.
        enter: what the first block gets, of what would come in.

    Attributes:
        result: what the model returns.
        parts: {sender: what it has added}, at the end of the stream; of a run without `read`.
        present: {reader: the senders before it}; of a run without `read`.
        values: {reader: what it read}.
        entered: what comes into the first block.
    """

    entered: Any

    def __init__(
        self,
        program: OnTape,
        tape: Tape,
        is_block: Callable[[str], bool],
        heads: bool,
        last: str,
        through: Collection[str],
        read: Callable[[str, Any, Callable[[], dict[str, Any]]], Any] | None = None,
        enter: Callable[[Any], Any] | None = None,
    ):
        self.is_block, self.heads, self.last, self.through = is_block, heads, last, through
        self.read, self.enter = read, enter
        self.present: dict[str, tuple[str, ...]] = {}
        self.values: dict[str, Any] = {}
        self.parts: dict[str, Any] = {}
        tape.edit = self._edit
        _, self.result = program.run(tape)
        if len(self.values) < 2:
            raise ValueError(f"For '{called('stream')}', no module within the blocks is called with the residual stream alone.")

    def _edit(self, name, node, tape):
        value = node.value
        if not tape.entered:
            return value
        if name == tape.entered[0]:
            self.entered = value if self.enter is None else self.enter(value)
            return self.entered
        path, _, part = name.partition(":")
        if name != self.last and (
            part.partition("#")[0] != "in" or self.is_block(path.partition("[")[0]) or path in self.through
        ):
            return value
        entrance = tape.places[tape.entered[0]]
        if self.last in self.values or not _is_stream(node, entrance):
            return value
        if any(_is_inside(path, other) and self.values[other] is value for other in self.values):
            return value  # the module around it has read it

        def parts():
            given = {entrance.number: Parts.of(components(entrance))}
            given |= head_parts(tape, entrance, required=False) if self.heads else {}
            carried = Carried(tape.nodes, [entrance], [tape.nodes[n] for n in given if n != entrance.number])
            return carried.parts(node, given, affine=True).merged()

        self.values[path] = value
        if self.read is not None:
            return self.read(path, value, parts)
        self.parts = parts()
        self.present[path] = tuple(self.parts)
        return value


def _is_inside(path, other):
    """Whether a module is within another one, of the same steps of loops."""
    (inner, _, steps), (outer, _, around) = path.partition("["), other.partition("[")
    return inner.startswith(f"{outer}.") and steps.startswith(around)


def passing(tape: Tape) -> set[str]:
    """The paths of modules that return what they were called with, and what they have added to it, such as dropout that is off."""
    found = set()
    for name, node in tape.places.items():
        path, _, part = name.partition(":")
        if part.partition("#")[0] == "in" and path in tape.places and _is_stream(tape.places[path], node):
            found.add(path)
    return found


def _is_stream(node: Node, entrance: Node) -> bool:
    """Whether a value is the residual stream itself, what was added to it included."""
    pending = [node]
    while pending:
        node = pending.pop()
        if node is entrance:
            return True
        if (
            node.made in ("add", "add_any", "place", "name", "convert_element_type", "optimization_barrier")
            and node.number > entrance.number
        ):
            pending += node.ins
    return False


def scores(
    clean: Graph,
    corrupt: dict[str, Any],
    again: Callable[..., Graph],
    metric: Callable[[Any], jax.Array],
    method: str,
    steps: int,
    chunk: int,
    end: Any,
) -> jax.Array:
    """The scores of all edges.

    Args:
        clean: a run on clean inputs.
        corrupt: the parts on corrupt ones.
        again: ``again(read, enter)`` runs the model on the clean inputs once more.
        end: what comes into the first block on the corrupt inputs.
    """
    senders, readers = tuple(clean.parts), tuple(clean.present)
    shapes = [{name: part.shape for name, part in parts.items()} for parts in (clean.parts, corrupt)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"For '{called('stream')}', clean and corrupt inputs should be of one shape: what modules add is of shapes {shapes[0]} and {shapes[1]}."
        )
    changes = jnp.stack([corrupt[name] - clean.parts[name] for name in senders])
    there = jnp.array([[sender in clean.present[reader] for reader in readers] for sender in senders])
    if method == "patching":
        plain = number_of(metric, clean.result)

        def patched(edge):
            def read(reader, value, _parts):
                return value + jnp.where(edge[1] == readers.index(reader), changes[edge[0]], 0)

            return number_of(metric, again(read, None).result) - plain

        grid = jnp.stack(jnp.meshgrid(jnp.arange(len(senders)), jnp.arange(len(readers)), indexing="ij"), -1).reshape(-1, 2)
        values = jax.lax.map(patched, grid, batch_size=min(chunk, len(grid))).reshape(len(senders), len(readers))
    else:
        start = clean.entered

        def slopes(part):
            def of(deltas):
                run = again(
                    lambda reader, value, _parts: value + deltas[reader],
                    None if part is None else lambda _: start + part * (end - start),
                )
                return number_of(metric, run.result)

            return jax.grad(of)({reader: jnp.zeros_like(clean.values[reader]) for reader in readers})

        if method == "attribution":
            found = slopes(None)
        else:
            parts = (jnp.arange(steps) + 0.5) / steps
            found = jax.tree.map(lambda each: each.mean(0), jax.lax.map(slopes, parts.astype(start.dtype)))
        values = jnp.stack([jnp.stack([jnp.vdot(change, found[reader]) for reader in readers]) for change in changes])
    return jnp.where(there, values, jnp.nan)


def kept_only(kept: jax.Array, senders: Sequence[str], readers: Sequence[str], reference: dict[str, Any]) -> Callable[..., Any]:
    """A function ``read`` for `Graph`: what a reader gets if edges that aren't kept carry the parts of a reference."""

    def read(reader, value, parts):
        found = parts()
        for names, there, what in (([reader], readers, "readers"), (found, senders, "senders"), (found, reference, "reference")):
            if missing := set(names) - set(there):
                raise ValueError(
                    f"For '{called('stream')}', the {what} should have {min(missing)!r}, as the model has, but are {list(there)}."
                )
        column = kept[:, readers.index(reader)]
        for name, part in found.items():
            value = value + jnp.where(column[senders.index(name)], 0, reference[name] - part).astype(value.dtype)
        return value

    return read
