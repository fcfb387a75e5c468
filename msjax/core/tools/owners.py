"""Names the owners of hooks that are under way, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.core.hooks.hook import HookSite


def path_from(owners: Sequence[Any]) -> tuple[str, str]:
    """(path, class) of the innermost owner of hooks: a module of another framework knows its path; that of a cell starts from the
    outermost cell, or from the module around it."""
    last = owners[-1]
    if isinstance(last, HookSite):
        return last._named_in(())
    cls = type(last).__name__
    around = next((owner for owner in reversed(owners) if isinstance(owner, HookSite)), None)
    within, path = (owners[0], "") if around is None else (around, around.path)
    inside = {id(one): name for name, one in within.cells_and_names()}
    return ".".join(filter(None, (path, inside.get(id(last), cls)))), cls
