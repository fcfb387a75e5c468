"""The state that a step of training reads and changes, by names that another process has, too; and bundles of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.core.tools.checking import Check
from msjax.core.tools.guarding.bundles import Bundle
from msjax.core.tools.nan_search import models_of
from msjax.engine.functional.functionalize import state_of
from msjax.nn.cell.base import Cell


def cells_of(step: Any, args: Any, kwargs: Any) -> list[Any]:
    """The Cells that a step may call: itself, those among its arguments, and the variables that it reads."""
    return [model for model in models_of(step, args, kwargs) if isinstance(model, Cell)]


def named_state(cells: Sequence[Any]) -> dict[str, Any]:
    """{number of a cell and path: Parameter, buffer or random state} of cells."""
    found, seen = {}, set()
    for i, cell in enumerate(cells):
        for part in state_of(cell):
            for name, variable in part.items():
                if id(variable) not in seen:
                    seen.add(id(variable))
                    found[f"{i}.{name}"] = variable
    return found


def bundle_of_cells(
    model: Any,
    step: Any,
    args: Any,
    kwargs: Any,
    check: Check,
    gradients: bool,
    before: dict[int, Any] | None = None,
    kinds: Sequence[str] = (),
) -> Bundle:
    """The bundle of a step that calls a Cell.

    Args:
        model: the Cell that is guarded.
        step: what was called, with `args` and `kwargs`.
        check: what is looked for.
        gradients: whether gradients are looked at.
        before: {id of a Tensor: its value before the step}, where it has another one now.
        kinds: of the checks.
    """
    cells, before = cells_of(step, args, kwargs), before or {}
    place = next(((i, name) for i, cell in enumerate(cells) for name, inner in cell.cells_and_names() if inner is model), (0, ""))
    about = {
        "kind": "cells",
        "on": check.on if isinstance(check.on, str) else None,
        "gradients": gradients,
        "model": place,
        "checks": [*kinds],
    }
    state = {name: before.get(id(v), v._value) for name, v in named_state(cells).items()}
    return Bundle(about, args, kwargs, state)


def bundle_of_function(args: Any, kwargs: Any, check: Check, kinds: Sequence[str] = ()) -> Bundle:
    """The bundle of a call of a function of jax arrays; `kinds` are those of the checks."""
    return Bundle(
        {"kind": "function", "on": check.on if isinstance(check.on, str) else None, "checks": [*kinds]}, args, kwargs, {}
    )
