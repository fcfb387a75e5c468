"""Describes the hooks of a cell in words, for tables and notebooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msjax.core.hooks.hook import KINDS, HookSite, HookTable
from msjax.core.models.array_hooks import SITE
from msjax.core.models.frameworks.framework import framework_of
from msjax.core.models.hooked import unhooked
from msjax.core.tools.fault import not_hooked
from msjax.core.tools.model_tools import tools_of


def hooks_of(cell: Any) -> dict[str, Any]:
    """The names of the functions that are registered on a cell, by the kind of hook.

    Args:
        cell: a Cell, a flax nnx module, or a module of a hooked model, or what stands on such a module as its site; hooks of the cells or
            modules inside are not listed.

    Returns:
        dict from the kind ("forward_pre", "forward", "backward_pre", "backward", ...; "gradient of NAME" for the hooks of a
        Parameter) to the list of names, in the order in which the hooks run. Kinds without hooks are left out.

    Example:
        >>> from msjax import nn
        >>> from msjax.tools import hooks_of
        >>> relu = nn.ReLU()
        >>> handle = relu.register_forward_hook(print)
        >>> hooks_of(relu)
        {'forward': ['print']}
    """
    tools = tools_of(cell)
    if tools is not None:
        return tools.hooks_of(cell)
    site = cell if isinstance(cell, HookSite) else getattr(cell, "__dict__", {}).get(SITE)
    if site is None and framework_of(cell) is None and unhooked(cell) is None:
        raise not_hooked(cell, "hooks_of")
    # Hooks of methods other than ``__call__`` are "forward of attend" and the like.
    return {
        kind if method == "__call__" else f"{kind} of {method}": names
        for method, table in ({} if site is None else site.tables).items()
        for kind, names in names_of(table).items()
    }


def names_of(table: HookTable) -> dict[str, list[str]]:
    """{kind: names of the functions} of a table."""
    found = {kind: [function_name(hook.fn) for hook in getattr(table, kind)] for kind in KINDS}
    return {kind: names for kind, names in found.items() if names}


def function_name(fn: Callable[..., Any]) -> str:
    """A short name of a hook: its `__name__`, or the name of its class."""
    fn = inspect.unwrap(fn)
    return getattr(fn, "__name__", type(fn).__name__)


def hooks_in_words(cell: Any) -> str:
    """The hooks of a cell as text, such as "forward: print; backward: check (2)"; empty without hooks."""
    parts = []
    for kind, names in hooks_of(cell).items():
        counts = {name: names.count(name) for name in names}
        parts.append(f"{kind}: " + ", ".join(n if c == 1 else f"{n} ({c})" for n, c in counts.items()))
    return "; ".join(parts)
