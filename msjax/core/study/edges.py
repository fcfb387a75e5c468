"""Edges of a residual stream: from what a module or head adds to what a later module reads; their effects and attributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import on_auto_axes
from msjax.core.base.checks import check_value
from msjax.core.base.errors import called, number_among
from msjax.core.page.viewed import maps_view, plot, repr_html, to_dict, to_pandas
from msjax.core.study.heads import head_parts
from msjax.core.study.parts import Carried, Parts, components
from msjax.core.study.programs import OnTape, integral, number_of
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
            return self.values[number_among(key[0], self.senders), number_among(key[1], self.readers)]
        return tuple.__getitem__(self, key)

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: a map of senders by readers."""
        labels = {"sender": self.senders, "reader": self.readers}
        return maps_view({"edges": self.values}, ("sender", "reader"), labels, "Edges")

    to_dict, to_pandas, plot, _repr_html_ = to_dict, to_pandas, plot, repr_html


class Graph:
    """A run of a model, as parts of a residual stream and what reads them.

    Attributes:
        readers: {place: the module that reads the stream there}; the last block's output stands for what comes behind the blocks.
        values: {reader: the node of what it read}.
        present: {reader: the senders before it}.
        parts: {sender: what it has added}, at the end of the stream.
    """

    def __init__(self, tape: Tape, result: Any, entrance: Node, is_block: Callable[[str], bool], heads: bool):
        self.tape, self.result, self.entrance = tape, result, entrance
        self.readers: dict[str, str] = {}
        self.values: dict[str, Node] = {}
        last, through = tape.left[-1], _passing(tape)
        for name, node in tape.places.items():
            path, _, part = name.partition(":")
            inner = part.partition("#")[0] == "in" and not is_block(path.partition("[")[0]) and path not in through
            if (inner or name == last) and _is_stream(node, entrance) and not self._is_read_around(path, node):
                self.readers[name], self.values[path] = path, node
            if name == last:
                break
        if len(self.values) < 2:
            raise ValueError(f"For '{called('stream')}', no module within the blocks is called with the residual stream alone.")
        senders = Senders(heads)
        found = {reader: senders.before(tape, node) for reader, node in self.values.items()}
        self.present = {reader: tuple(dict.fromkeys(parts.names)) for reader, parts in found.items()}
        self.parts = next(reversed(found.values())).merged()

    def _is_read_around(self, path, node):
        """Whether a module around this one has read the same value, in the same steps of loops."""
        return any(_is_inside(path, other) and each.value is node.value for other, each in self.values.items())

    def again(
        self,
        program: OnTape,
        tape: Tape,
        read: Callable[[str, Node, Tape], Any],
        enter: Callable[[Any], Any] | None = None,
    ) -> Any:
        """What the model returns in another run, on a tape that knows the blocks, where ``read(reader, node, tape)`` is what a reader gets, and `enter`
        of what comes into the first block what that gets."""

        def edit(name, node, tape):
            if [name] == tape.entered[:1]:
                return node.value if enter is None else enter(node.value)
            return read(self.readers[name], node, tape) if name in self.readers else node.value

        tape.edit = edit
        return program.run(tape)[1]


class Senders:
    """Finds what modules, or heads, have added to a value of the residual stream, while the tape is still running."""

    def __init__(self, heads: bool):
        self._heads = heads
        self._given: dict[int, Parts] = {}
        self._found: dict[int, Parts] = {}

    def before(self, tape: Tape, node: Node) -> Parts:
        """The parts of a value."""
        entrance, nodes = tape.places[tape.entered[0]], tape.nodes[: node.number + 1]
        if not self._given:
            self._given[entrance.number] = Parts.of(components(entrance))
        if self._heads:
            self._given |= head_parts(nodes, entrance, required=False, known=self._given)
        splits = [tape.nodes[number] for number in self._given if number != entrance.number]
        return Carried(nodes, [entrance], splits).parts(node, self._given, affine=True, found=self._found)


def _is_inside(path, other):
    """Whether a module is within another one, of the same steps of loops."""
    (inner, _, steps), (outer, _, around) = path.partition("["), other.partition("[")
    return inner.startswith(f"{outer}.") and steps.startswith(around)


def _passing(tape):
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
    graph: Graph,
    corrupt: dict[str, Any],
    again: Callable[..., Any],
    metric: Callable[[Any], jax.Array],
    method: str,
    steps: int,
    chunk: int,
    end: Any,
) -> jax.Array:
    """The scores of all edges.

    Args:
        graph: of a run on clean inputs.
        corrupt: the parts on corrupt ones.
        again: ``again(read, enter)`` runs the model on the clean inputs once more, see `Graph.again`.
        end: what comes into the first block on the corrupt inputs.
    """
    senders, readers = tuple(graph.parts), tuple(graph.present)
    shapes = [{name: part.shape for name, part in parts.items()} for parts in (graph.parts, corrupt)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"For '{called('stream')}', clean and corrupt inputs should be of one shape: what modules add is of shapes {shapes[0]} and {shapes[1]}."
        )
    changes = jnp.stack([corrupt[name] - graph.parts[name] for name in senders])
    there = jnp.array([[sender in graph.present[reader] for reader in readers] for sender in senders])
    if method == "patching":
        plain = number_of(metric, graph.result)

        def patched(edge):
            def read(reader, node, _tape):
                return node.value + jnp.where(edge[1] == readers.index(reader), changes[edge[0]], 0)

            return number_of(metric, again(read)) - plain

        grid = jnp.stack(jnp.meshgrid(jnp.arange(len(senders)), jnp.arange(len(readers)), indexing="ij"), -1).reshape(-1, 2)
        values = jax.lax.map(patched, grid, batch_size=min(chunk, len(grid))).reshape(len(senders), len(readers))
    else:
        start = graph.entrance.value

        def slopes(part):
            enter = None if part is None else lambda _: (start + part * (end - start)).astype(start.dtype)
            nothing = {reader: jnp.zeros_like(node.value) for reader, node in graph.values.items()}
            return jax.grad(
                lambda deltas: number_of(metric, again(lambda reader, node, _tape: node.value + deltas[reader], enter))
            )(nothing)

        found = slopes(None) if method == "attribution" else integral(slopes, steps)
        # One product: a sum for each edge took XLA most of the time to compile.
        slope = jnp.stack([found[reader] for reader in readers])
        values = on_auto_axes(
            lambda both: both[0].reshape(len(senders), -1) @ both[1].reshape(len(readers), -1).T, [changes, slope]
        )
    return jnp.where(there, values, jnp.nan)


def kept_only(
    kept: jax.Array, senders: Sequence[str], readers: Sequence[str], reference: dict[str, Any], heads: bool
) -> Callable[..., Any]:
    """The ``read`` of `Graph.again` that puts a reference's parts on all edges that aren't kept."""
    now = Senders(heads)

    def read(reader, node, tape):
        found, value = now.before(tape, node).merged(), node.value
        for names, there, what in (([reader], readers, "readers"), (found, senders, "senders"), (found, reference, "reference")):
            if missing := set(names) - set(there):
                raise ValueError(
                    f"For '{called('stream')}', the {what} should have {min(missing)!r}, as the model has, but are {list(there)}."
                )
        column = kept[:, readers.index(reader)]
        for name, part in found.items():
            shape = jnp.shape(reference[name])
            fits = len(shape) == part.ndim and all(one in (1, size) for one, size in zip(shape, part.shape))
            should = f"be of shape {part.shape}, or 1 along an axis"
            check_value(reference[name], fits, should, f"reference[{name!r}]", called("circuit"))
            value = value + jnp.where(column[senders.index(name)], 0, reference[name] - part).astype(value.dtype)
        return value

    return read
