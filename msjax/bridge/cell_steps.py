"""The state that a step of training with Cells reads and changes, by names that another process has, too; bundles of it, and how they are replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msjax.core.tools.checking import Check
from msjax.core.tools.fault import Fault
from msjax.core.tools.found import models_of
from msjax.core.tools.guarding.bundles import Bundle, ReadBundle
from msjax.core.tools.guarding.guards import guard
from msjax.engine.autograd.memory import Held
from msjax.functional.functionalize import state_of
from msjax.nn.cell.base import Cell

# What bundles call such steps.
KIND = "cells"


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
    model: Any, step: Any, args: Any, kwargs: Any, check: Check, gradients: bool, kinds: Sequence[str] = ()
) -> Bundle:
    """The bundle of a step that calls a Cell, `model`, which is guarded."""
    cells = cells_of(step, args, kwargs)
    place = next(((i, name) for i, cell in enumerate(cells) for name, inner in cell.cells_and_names() if inner is model), (0, ""))
    about = {
        "kind": KIND,
        "on": check.on if isinstance(check.on, str) else None,
        "gradients": gradients,
        "model": place,
        "checks": [*kinds],
    }
    return Bundle(about, args, kwargs, {name: v._value for name, v in named_state(cells).items()})


def replay(
    bundle: ReadBundle, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], check: Check
) -> Fault | None:
    """Run the step of a bundle again; the fault, or None. The values of before are put back."""
    cells, state = cells_of(step, args, kwargs), bundle.state()
    variables = named_state(cells)
    if variables.keys() != state.keys():
        others = {"lacking": state.keys() - variables.keys(), "not in the file": variables.keys() - state.keys()}
        told = "; ".join(f"{what}: {', '.join(sorted(names)[:5])}" for what, names in others.items() if names)
        raise ValueError(f"For 'replay', the step in {bundle.path!r} is another one: {told}")
    number, path = bundle.about["model"]
    model = dict(cells[number].cells_and_names())[path]
    with Held([*variables.values()]):
        for name, variable in variables.items():
            if variable._value.shape != state[name].shape:
                raise ValueError(
                    f"For 'replay', {name} has the shape {list(variable._value.shape)}, but in {bundle.path!r} {list(state[name].shape)}."
                )
            variable._set_value(state[name])
        try:
            kinds = bundle.about.get("checks", ())
            if kinds:
                with guard(model, check.on, False, checks=kinds):
                    step(*args, **kwargs)
            with guard(model, check.on, bundle.about["gradients"], eager=True):
                step(*args, **kwargs)
        except Fault as fault:
            return fault
    return None
