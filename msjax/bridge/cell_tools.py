"""Makes Cells and Tensors known to `msjax.tools`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from msjax.common.bases import is_cell
from msjax.common.parameter import Parameter
from msjax.common.run_state import STATE
from msjax.common.tensor_values import TENSORS
from msjax.core.tools.describing import function_name, names_of
from msjax.core.tools.model_tools import ModelTools, add_model_tools


def _bridge(name: str) -> Any:
    """One of this package's modules, which is imported when a tool is first used."""
    return importlib.import_module(f"msjax.bridge.{name}")


def _by(module: str, name: str) -> Any:
    """A method that calls a function of one of them."""
    return lambda _, *given: getattr(_bridge(module), name)(*given)


class CellTools(ModelTools):
    """Cells, and functions of Tensors."""

    kind = "cells"
    values = TENSORS

    def owns(self, model: Any) -> bool:
        return is_cell(model)

    def hooks_of(self, model: Any) -> dict[str, list[str]]:
        found = names_of(model._hooks)
        for name, value in vars(model).items():
            own = value._hooks if isinstance(value, Parameter) else None
            if own is not None and own.hooks:
                found[f"gradient of {name}"] = [function_name(hook.fn) for hook in own.gradient]
        return found

    weights, outputs = _by("cell_records", "weights"), _by("cell_records", "outputs")
    tree_node = _by("cell_tree", "cell_node")
    record = _by("cell_records", "record_cell")
    find_nan = _by("pynative_search", "find_in_pynative_mode")
    guard = _by("cell_guard", "CellGuard")
    watch = _by("cell_watch", "CellWatch")
    replay = _by("cell_guard", "replay")
    scopes = _by("anomaly", "TapeScopes")

    def place(self, owners: Sequence[Any]) -> tuple[str | None, str] | None:
        search = self._search()
        return None if search is None else search.place(owners)

    def check_failed(self, fault: Any) -> None:
        search = self._search()
        if search is not None and search.on_check is not None:
            search.on_check(fault)

    def _search(self) -> Any:
        monitor = STATE.monitor
        return monitor if monitor is not None and isinstance(monitor, _bridge("pynative_search").PyNativeSearch) else None


add_model_tools(CellTools())
