"""GraphCell: a program from a file as a cell."""

from __future__ import annotations

from typing import Any

from msjax.nn.cell.base import Cell

__all__ = ["GraphCell"]


class GraphCell(Cell):
    """A program that `ms.load` has read, as a cell.

    Args:
        graph (callable): what `ms.load` returns.
        params_init (dict, optional): other values of Parameters; not offered, since the program holds them.
        obf_random_seed: without effect.

    Raises:
        TypeError: `graph` can't be called.
        NotImplementedError: `params_init` is given.
    """

    def __init__(self, graph: Any, params_init: dict[str, Any] | None = None, obf_random_seed: int | None = None):
        super().__init__(auto_prefix=True)
        if not callable(graph):
            raise TypeError(f"For 'GraphCell', 'graph' should be what ms.load returns, but got {type(graph).__name__}.")
        if params_init:
            raise NotImplementedError("For 'GraphCell', 'params_init' is not offered: the program holds its Parameters' values.")
        self.graph = graph

    def construct(self, *inputs: Any) -> Any:
        return self.graph(*inputs)
