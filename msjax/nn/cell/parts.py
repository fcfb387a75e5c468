"""The base of the parts of Cell, which are a file each: declares for type checkers what they know of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flax import nnx

from msjax.common.bases import CellBase
from msjax.core.door import HookTable
from msjax.engine.autograd.precision import Precision

if TYPE_CHECKING:
    _Module = nnx.Module
else:
    _Module = object  # Cell itself has nnx.Module among its bases, behind all parts


class CellPart(CellBase, _Module):
    """Base of the parts of Cell; empty at run time. An object of it is a Cell, and so an ``nnx.Module``."""

    if TYPE_CHECKING:
        # Cell has these, see nn/cell/base.py.
        training: bool
        requires_grad: bool
        _hooks: HookTable
        _special: bool
        _to_float: Precision | None
        _recompute: dict[str, Callable[..., Any] | None] | None
        _param_prefix: str
        _auto_prefix: bool
        _flags: dict[str, Any] | None
        bprop: Callable[..., Any] | None
        construct: Any

        def _set_hooks(self, table: HookTable) -> None: ...
        def _refresh_special(self) -> None: ...
