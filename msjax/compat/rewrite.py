"""``mindspore.rewrite``: its names can be imported."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if not TYPE_CHECKING:
    _PLACEHOLDERS = {"[A-Z]*": "write the changed network as a Cell; hooks change what a cell computes without rewriting it."}
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS, door="msjax.rewrite")
