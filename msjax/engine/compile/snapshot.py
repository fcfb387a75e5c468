"""The Python state that a trace may change, put back where the trace is given up: what runs again then starts where it started."""

from __future__ import annotations

from typing import Any

from msjax.common.bases import CellBase
from msjax.common.op_seeds import OP_SEEDS
from msjax.core.door import VERSION
from msjax.engine.compile.guards import Name
from msjax.engine.compile.walk import Walk

# Hooks of a cell may come and go in other threads meanwhile.
_OTHERS_MAY_SET = frozenset(("_hooks", "_special"))


class Snapshot:
    """The attributes, containers and names that are reachable from some roots, and from the hooks of cells found there, and how often
    random operators have drawn.

    Args:
        roots: functions, cells and other objects.
        walk: one from these roots that is just over, if there is one; it goes on to the hooks.
    """

    def __init__(self, roots: list[Any], walk: Walk | None = None):
        walk = walk or Walk(roots)
        cells: list[Any] = [module for module in walk.modules if isinstance(module, CellBase)]
        hooks = [
            hook.fn
            for cell in cells
            for hook in (*cell._hooks.forward_pre, *cell._hooks.forward, *cell._hooks.backward_pre, *cell._hooks.backward)
        ]
        if hooks:
            walk.follow(hooks)
        self._containers = [(c, c.copy()) for c in (*walk.containers, *map(vars, walk.modules))]
        self._names = [guard for guard in walk.found if isinstance(guard, Name)]
        self._cell = cells[0] if cells else None
        self._seeds = OP_SEEDS.snapshot()

    def restore(self) -> None:
        """Put everything back."""
        changed = [_restore_dict(c, b) if isinstance(c, dict) else _restore(c, b) for c, b in self._containers]
        for name in self._names:
            name.put_back()
        OP_SEEDS.put_back(self._seeds)
        VERSION.changed()
        if True in changed and self._cell is not None:
            self._cell._structure_changed()


def _restore(container, before):
    if len(container) == len(before) and (isinstance(before, set) or all(a is b for a, b in zip(container, before))):
        return False
    container.clear()
    (container.update if isinstance(container, set) else container.extend)(before)
    return True


def _restore_dict(container, before):
    missing = object()
    changed = False
    for key in (*container, *before):
        old = before.get(key, missing)
        if container.get(key, missing) is old or key in _OTHERS_MAY_SET:
            continue
        changed = True
        if old is missing:
            del container[key]
        else:
            container[key] = old
    return changed
