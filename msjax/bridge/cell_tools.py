"""Makes Cells and Tensors known to `msjax.tools`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
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

    def weights(self, model: Any) -> Iterator[tuple[str, Any, bool]]:
        return _bridge("cell_summary").weights(model)

    def outputs(self, model: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, list[Any]]:
        return _bridge("cell_summary").outputs(model, inputs, kwargs)

    def tree_node(self, node: Any, path: Any, subtree_renderer: Any) -> Any:
        return _bridge("cell_tree").cell_node(node, path, subtree_renderer)

    def record(self, found: Any, model: Any, inputs: Sequence[Any], gradients: bool, loss: Any, mode: str | None) -> None:
        _bridge("cell_records").record_cell(found, model, inputs, gradients, loss, mode)

    def find_nan(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], check: Any, gradients: bool | None) -> Any:
        return _bridge("pynative_search").find_in_pynative_mode(fn, args, kwargs, check, gradients)

    def guard(self, model: Any, *options: Any) -> AbstractContextManager[Any]:
        return _bridge("cell_guard").CellGuard(model, *options)

    def watch_class(self) -> Any:
        return _bridge("cell_watch").CellWatch

    def replay(self, bundle: Any, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any], check: Any) -> Any:
        return _bridge("cell_steps").replay(bundle, step, args, kwargs, check)

    def scopes(self, under_way: Sequence[str]) -> AbstractContextManager[Any]:
        return _bridge("tape_scopes").TapeScopes(under_way)

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
