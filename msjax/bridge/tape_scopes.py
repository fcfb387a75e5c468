"""Names the gradients of the tape, in what jax traces, as the call of a cell that they belong to."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import Any

import jax

from msjax.common.run_state import Need, Node
from msjax.engine.autograd.monitor import Monitor


class TapeScopes(Monitor):
    """A context that names the backward of each node of the tape as the call in which the node was made: jax knows nothing of that.

    Args:
        under_way: the names of the calls under way, outermost first.
    """

    eager = False

    def __init__(self, under_way: Sequence[str]):
        self.under_way = under_way
        self._names: weakref.WeakKeyDictionary[Node, str] = weakref.WeakKeyDictionary()

    def recorded(self, node: Node) -> None:
        if self.under_way:
            self._names[node] = self.under_way[-1]

    def called(self, node: Node, operation: str, values: Sequence[Any]) -> None:
        self.recorded(node)

    def pull(self, node: Node, cts: list[Any], need: Need, recorded: bool) -> Sequence[Any]:
        with jax.named_scope(self._names[node]) if node in self._names else contextlib.nullcontext():
            return super().pull(node, cts, need, recorded)
