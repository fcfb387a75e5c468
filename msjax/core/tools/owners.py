"""Names the owners of hooks that are under way, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.core.hooks.table import HookSite
from msjax.core.models.hooked import paths


def path_from(owners: Sequence[Any]) -> tuple[str, str]:
    """(path, class) of the innermost owner of hooks: a module of another framework knows its path; that of a cell starts from the
    outermost cell, or from the module around it."""
    last = owners[-1]
    if isinstance(last, HookSite):
        return last._named_in(())
    cls = type(last).__name__
    around = next((owner for owner in reversed(owners) if isinstance(owner, HookSite)), None)
    module = owners[0] if around is None else getattr(getattr(around, "place", None), "module", lambda: None)()
    inside = {} if module is None else {id(one): name for name, one in paths(module).items()}
    name = inside.get(id(last), cls)
    return ".".join(filter(None, (around.path, name))) if around is not None else name, cls
