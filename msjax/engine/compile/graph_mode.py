"""Graph mode: the call of a network, and of its gradient function, as one program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.run_state import COMPILER, ROOT, STATE
from msjax.core.door import WORKER
from msjax.engine.compile.compiled import Compiled, compiled_for
from msjax.engine.compile.jit import inlined


def call_cell(cell: CellBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    """Run the call of a cell as one program.

    Returns:
        (True, result), or (False, None) where the call is part of something else: of another cell, of a program, or of
        a gradient function that runs in PyNative mode.
    """
    if _within(args, kwargs):
        return False, None
    compiled = compiled_for(cell, "call", lambda ref: Compiled(_call_cell, ref, type(cell).__name__))
    return True, compiled.call(args, kwargs)


def _within(args, kwargs) -> bool:
    """True where a call is part of something else, so that it is no program of its own."""
    if STATE.owners or STATE.scope is not ROOT or inlined(args, kwargs):
        return True
    if WORKER.failures.first is not None:
        WORKER.raise_pending()
    return False


def _call_cell(cell, args, kwargs):
    return cell.call_uncompiled(args, kwargs)


def whole(
    function: Callable[..., Any],
    purpose: tuple[Any, ...],
    body: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    roots: tuple[Any, ...] = (),
) -> tuple[bool, Any]:
    """Run a gradient function as one program.

    Args:
        function: what is differentiated.
        purpose: hashable; what of it is computed. It begins with a word for messages.
        body: the gradient function, called as ``body(function, args, kwargs)``; it holds no reference to `function`.
        roots: Parameters that it uses besides.

    Returns:
        As `call_cell`.
    """
    if _within(args, kwargs):
        return False, None
    owner = getattr(function, "__self__", None)
    owner = owner if isinstance(owner, nnx.Module) else function
    name = f"{purpose[0]} of {getattr(function, '__qualname__', type(function).__name__)}"
    if owner is not function:
        inner = function.__func__
        purpose = (*purpose, inner)

        def subject(ref):
            return lambda: getattr(ref(), inner.__name__)
    else:

        def subject(ref):
            return ref

    compiled = compiled_for(owner, purpose, lambda ref: Compiled(body, subject(ref), name, roots=roots))
    return True, compiled(args, kwargs)


COMPILER.whole = whole
COMPILER.call_cell = call_cell
