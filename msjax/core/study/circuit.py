"""Circuit: some edges of a model's residual stream, to be run alone, compared and saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_kind, check_pair, check_path, check_value
from msjax.core.base.errors import called, check_function, near, on_behalf_of
from msjax.core.base.whole_files import whole_file
from msjax.core.models.where import names_of
from msjax.core.study.heads import is_head
from msjax.core.study.programs import number_of

if TYPE_CHECKING:
    from msjax.core.study.edges import Edges
    from msjax.core.study.stream import Stream


class Overlap(NamedTuple):
    """How two circuits compare: edges in both, in the one and in the other alone, and the share of those in both."""

    both: frozenset[tuple[str, str]]
    first: frozenset[tuple[str, str]]
    second: frozenset[tuple[str, str]]
    share: float


class Circuit:
    """Edges of a residual stream, from what a module or head adds to a module that reads it.

    Args:
        edges: pairs (sender, reader).
        senders, readers: all that the model has, as `Stream.edges` finds them.
        heads (bool, optional): whether heads of attention are senders. Default: as the senders are named.

    Raises:
        ValueError: an edge is none of the model's.

    Example:
        >>> import msjax as ms
        >>> circuit = ms.hooks.Circuit([("embed", "blocks.1")], ("embed", "blocks.0.mlp"), ("blocks.0.mlp", "blocks.1"))
        >>> print(circuit.mask.astype(int).tolist(), len(circuit.complement().edges))
        [[0, 1], [0, 0]] 3
    """

    def __init__(
        self, edges: Iterable[tuple[str, str]], senders: Iterable[str], readers: Iterable[str], *, heads: bool | None = None
    ):
        several = isinstance(edges, Iterable) and not isinstance(edges, (str, dict))
        pairs = list(check_kind(edges, several, "be pairs (sender, reader)", "edges", "Circuit"))
        for pair in pairs:
            check_pair(pair, "(sender, reader)", "an edge", "Circuit")
        self.edges = frozenset((str(a), str(b)) for a, b in pairs)
        senders = tuple(senders) if isinstance(senders, dict) else senders  # what each adds, as `Stream.mean` returns it
        self.senders, self.readers = names_of(senders, "senders", "Circuit"), names_of(readers, "readers", "Circuit")
        self.heads = any(map(is_head, self.senders)) if heads is None else check_bool(heads, "heads", "Circuit")
        for ends, names, what in ((0, self.senders, "sender"), (1, self.readers, "reader")):
            for name in sorted({edge[ends] for edge in self.edges} - set(names)):
                raise ValueError(
                    f"For 'Circuit', the model has no {what} {name!r}; it has {', '.join(names)}{near(name, names)}."
                )

    @classmethod
    def strongest(cls, scores: Edges, count: int, *, heads: bool | None = None) -> Circuit:
        """The circuit of so many edges, those whose scores are largest in size.

        Args:
            scores: as `Stream.edges` returns them.

        Raises:
            ValueError: the model has fewer edges, or none is asked for.
        """
        _check_scores(scores, "Circuit.strongest")
        values = np.asarray(scores.values, "float64")
        check_int(count, "count", "Circuit.strongest", low=1, high=int((~np.isnan(values)).sum()))
        sizes = np.where(np.isnan(values), -1, np.abs(values))
        order = [np.unravel_index(i, sizes.shape) for i in np.argsort(-sizes, axis=None, kind="stable")[:count]]
        chosen = [(scores.senders[i], scores.readers[j]) for i, j in order]
        return cls(chosen, scores.senders, scores.readers, heads=heads)

    @classmethod
    def of_senders(cls, kept: Iterable[str], scores: Edges, *, heads: bool | None = None) -> Circuit:
        """The circuit of some modules or heads, with all edges from them."""
        kept = check_value(names_of(kept, "kept", "Circuit.of_senders"), kept, "name at least one", "kept", "Circuit.of_senders")
        _check_scores(scores, "Circuit.of_senders")
        edges = [(sender, reader) for sender in kept for reader in scores.readers]
        return cls(edges, scores.senders, scores.readers, heads=heads)

    @property
    def mask(self) -> np.ndarray:
        """Which edges are in the circuit: (senders, readers)."""
        return np.array([[(sender, reader) in self.edges for reader in self.readers] for sender in self.senders])

    def complement(self) -> Circuit:
        """All edges but those of the circuit."""
        every = {(sender, reader) for sender in self.senders for reader in self.readers}
        return Circuit(every - self.edges, self.senders, self.readers, heads=self.heads)

    @on_behalf_of("Circuit.run")
    def run(self, stream: Stream, args: Any, reference: Any) -> Any:
        """What the model returns where only the circuit's edges carry what they do on these inputs.

        Args:
            stream: of the model.
            args: what it is called with: an array, a tuple, or an `Inputs`.
            reference: what all other edges carry: {sender: value}, as `Stream.mean` returns it, or other inputs, whose values are taken
                (resample ablation).
        """
        fits = hasattr(stream, "run_with_edges")
        check_kind(stream, fits, "be what hooks.stream(model, ...) returns", "stream", called("Circuit.run"))
        return stream.run_with_edges(args, self.mask, self.senders, self.readers, reference, self.heads)

    def faithfulness(self, stream: Stream, args: Any, reference: Any, metric: Callable[[Any], jax.Array]) -> jax.Array:
        """Which share of the metric the circuit alone recovers: 0 without any edge, 1 with all (Marks et al., 2024)."""
        empty = Circuit([], self.senders, self.readers, heads=self.heads)
        check_function(metric, "faithfulness", "metric", ("result",))
        with on_behalf_of("faithfulness"):
            results = [each.run(stream, args, reference) for each in (empty, empty.complement(), self)]
            low, high, own = (number_of(metric, result) for result in results)
        return (own - low) / (high - low)

    def completeness(self, stream: Stream, args: Any, reference: Any, metric: Callable[[Any], jax.Array]) -> jax.Array:
        """Which share of the metric the model recovers without the circuit: near 0 if nothing that counts is missing in it."""
        return self.complement().faithfulness(stream, args, reference, metric)

    def compare(self, other: Circuit) -> Overlap:
        """How the edges of two circuits overlap."""
        check_kind(other, isinstance(other, Circuit), "be a Circuit", "other", "compare")
        both, every = self.edges & other.edges, self.edges | other.edges
        return Overlap(both, self.edges - both, other.edges - both, len(both) / len(every) if every else 1.0)

    def save(self, path: str | Path) -> None:
        """Write the circuit as JSON. If the writing fails, the file that was there stays."""
        check_path(path, "path", "Circuit.save")
        data = {"senders": self.senders, "readers": self.readers, "heads": self.heads, "edges": sorted(self.edges)}
        with whole_file(path) as file:
            file.write(json.dumps(data, indent=1).encode())

    @classmethod
    def load(cls, path: str | Path) -> Circuit:
        """Read what `save` has written; TypeError if it is something else."""
        data = json.loads(Path(check_path(path, "path", "Circuit.load")).read_text())
        fits = isinstance(data, dict) and {"senders", "readers", "heads", "edges"} <= {*data}
        check_kind(data, fits, f"be that of a Circuit, in {path}", "the content", "load")
        return cls([(a, b) for a, b in data["edges"]], data["senders"], data["readers"], heads=data["heads"])


def _check_scores(scores, who):
    check_kind(scores, hasattr(scores, "readers"), "be what Stream.edges returns", "scores", who)
