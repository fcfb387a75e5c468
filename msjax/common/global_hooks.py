"""The hooks that run for all cells."""

from __future__ import annotations

from collections.abc import Callable

from msjax.core.door import VERSION, HookTable


class GlobalHooks:
    """The owner of the hooks that run for all cells.

    Attributes:
        table: the HookTable, replaced as a whole.
        changed: called with the new table after it was replaced.
    """

    def __init__(self):
        self.table: HookTable = HookTable.EMPTY
        self.changed: Callable[[HookTable], None] | None = None

    @property
    def _hooks(self) -> HookTable:
        return self.table

    def _set_hooks(self, table: HookTable) -> None:
        HookTable.before_change()
        self.table = table
        VERSION.changed()
        self.changed(table)  # pyright: ignore[reportOptionalCall]


GLOBAL = GlobalHooks()
