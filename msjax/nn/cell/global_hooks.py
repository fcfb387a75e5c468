"""Hooks that run for all cells of the program."""

from __future__ import annotations

from msjax.common.run_state import GLOBAL
from msjax.core.base.typing import (
    BackwardHook,
    BackwardPreHook,
    ForwardHook,
    ForwardHookWithKwargs,
    ForwardPreHook,
    ForwardPreHookWithKwargs,
)
from msjax.core.door import HookTable, RemovableHandle

__all__ = [
    "register_cell_backward_hook", "register_cell_backward_pre_hook", "register_cell_forward_hook",
    "register_cell_forward_pre_hook",
]  # fmt: skip


def register_cell_forward_pre_hook(
    hook_fn: ForwardPreHook | ForwardPreHookWithKwargs, *, prepend: bool = False, with_kwargs: bool = False
) -> RemovableHandle:
    """Register a forward pre hook for all cells; it runs before the cell's own.

    Args:
        hook_fn (callable): as in `Cell.register_forward_pre_hook`.
        prepend (bool): True puts it in front of the other hooks for all cells.
        with_kwargs (bool): True for ``hook_fn(cell, args, kwargs)``.

    Returns:
        A handle; ``handle.remove()`` removes the hook.

    Raises:
        TypeError: `hook_fn` is not callable.

    Example:
        >>> from msjax import Tensor, nn
        >>> net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
        >>> with nn.register_cell_forward_pre_hook(lambda cell, args: print(type(cell).__name__)):
        ...     _ = net(Tensor(1.0))
        SequentialCell
        ReLU
        Tanh
    """
    return HookTable.register(GLOBAL, "forward_pre", hook_fn, prepend, "register_cell_forward_pre_hook", with_kwargs=with_kwargs)


def register_cell_forward_hook(
    hook_fn: ForwardHook | ForwardHookWithKwargs,
    *,
    prepend: bool = False,
    with_kwargs: bool = False,
    always_call: bool = False,
) -> RemovableHandle:
    """Register a forward hook for all cells; it runs before the cell's own.

    Args:
        hook_fn (callable): as in `Cell.register_forward_hook`.
        prepend (bool): as in `register_cell_forward_pre_hook`.
        with_kwargs (bool): True for ``hook_fn(cell, args, kwargs, output)``.
        always_call (bool): True runs the hook even if the call fails.

    Returns a handle, and raises, as `register_cell_forward_pre_hook` does.

    Example:
        >>> from msjax import Tensor, nn
        >>> with nn.register_cell_forward_hook(lambda cell, args, output: print(type(cell).__name__, output)):
        ...     _ = nn.ReLU()(Tensor(-1.0))
        ReLU 0.0
    """
    options = {"with_kwargs": with_kwargs, "always_call": always_call}
    return HookTable.register(GLOBAL, "forward", hook_fn, prepend, "register_cell_forward_hook", **options)


def register_cell_backward_pre_hook(hook_fn: BackwardPreHook, *, prepend: bool = False) -> RemovableHandle:
    """Register a backward pre hook for all cells; it runs before the cell's own.

    Args:
        hook_fn (callable): as in `Cell.register_backward_pre_hook`.
        prepend (bool): as in `register_cell_forward_pre_hook`.

    Returns a handle, and raises, as `register_cell_forward_pre_hook` does.

    Example:
        >>> from msjax import Tensor, grad, nn
        >>> with nn.register_cell_backward_pre_hook(lambda cell, grad_output: print(type(cell).__name__, grad_output[0])):
        ...     _ = grad(nn.ReLU())(Tensor(2.0))
        ReLU 1.0
    """
    return HookTable.register(GLOBAL, "backward_pre", hook_fn, prepend, "register_cell_backward_pre_hook")


def register_cell_backward_hook(hook_fn: BackwardHook, *, prepend: bool = False) -> RemovableHandle:
    """Register a backward hook for all cells; it runs before the cell's own.

    Args:
        hook_fn (callable): as in `Cell.register_backward_hook`.
        prepend (bool): as in `register_cell_forward_pre_hook`.

    Returns a handle, and raises, as `register_cell_forward_pre_hook` does.

    Example:
        >>> from msjax import Tensor, grad, nn
        >>> with nn.register_cell_backward_hook(lambda cell, grad_input, grad_output: print(type(cell).__name__, grad_input[0])):
        ...     _ = grad(nn.ReLU())(Tensor(-2.0))
        ReLU 0.0
    """
    return HookTable.register(GLOBAL, "backward", hook_fn, prepend, "register_cell_backward_hook")
