"""The methods that register hooks on a Cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.run_state import GLOBAL
from msjax.common.tensor import Tensor
from msjax.core.base.typing import (
    BackwardHook,
    BackwardPreHook,
    ForwardHook,
    ForwardHookWithKwargs,
    ForwardPreHook,
    ForwardPreHookWithKwargs,
)
from msjax.core.door import HookTable, RemovableHandle
from msjax.nn.cell.parts import CellPart


def hooks_of(cell: CellPart, own: HookTable | None = None) -> HookTable:
    """The hooks that run when a cell is called: those of all cells, then its own; `own` may say which these are."""
    own, table = cell._hooks if own is None else own, GLOBAL._hooks
    if table is HookTable.EMPTY:
        return own
    if own is HookTable.EMPTY:
        return table
    return own.with_changed({kind: getattr(table, kind) + getattr(own, kind) for kind in HookTable.CALL_KINDS})


class CellHooks(CellPart):
    """The part of Cell that registers hooks. The hook table is immutable; `_set_hooks` replaces it."""

    def _hooks_around(self):
        return hooks_of(self, getattr(self, "present_hooks", None))

    def register_forward_pre_hook(
        self,
        hook_fn: ForwardPreHook | ForwardPreHookWithKwargs,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        observe: bool | None = None,
        traced: bool | None = None,
    ) -> RemovableHandle:
        """Register a hook that runs before ``construct``.

        The hook is called as ``hook_fn(cell, args)`` with the tuple of positional arguments. If it returns None, they stay;
        a tuple replaces them, and any other value becomes the only argument. Operators that the hook applies to the
        arguments are differentiated; no gradient flows through Tensors that the hook creates.

        Args:
            hook_fn (callable): the hook.
            prepend (bool): True puts it in front of the hooks of this kind that are already registered.
            with_kwargs (bool): True for ``hook_fn(cell, args, kwargs)``, which returns None or ``(new_args, new_kwargs)``.
            observe, traced (bool, optional): for compiled programs: `observe=True` declares that the hook only observes and is
                called after each run with concrete values; `traced=True`, that it becomes part of the program. By default,
                msjax decides by the hook's code.

        Returns:
            A handle; ``handle.remove()`` removes the hook.

        Raises:
            TypeError: `hook_fn` is not callable.

        Example:
            >>> from msjax import Tensor, nn
            >>> relu = nn.ReLU()
            >>> handle = relu.register_forward_pre_hook(lambda cell, args: args[0] * 10)
            >>> print(relu(Tensor(2.0)))
            20.0
        """
        return HookTable.register(self, "forward_pre", hook_fn, prepend, with_kwargs=with_kwargs, observe=observe, traced=traced)

    def register_forward_hook(
        self,
        hook_fn: ForwardHook | ForwardHookWithKwargs,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
        observe: bool | None = None,
        traced: bool | None = None,
    ) -> RemovableHandle:
        """Register a hook that runs after ``construct``.

        The hook is called as ``hook_fn(cell, args, output)`` with the positional arguments, as the forward pre hooks
        left them, and the output. If it returns None, the output stays; any other value replaces it.

        Args:
            hook_fn (callable): the hook.
            with_kwargs (bool): True for ``hook_fn(cell, args, kwargs, output)``.
            always_call (bool): True runs the hook even if ``construct`` or a hook raised; it then gets the output
                computed so far, or None.
            prepend, observe, traced: as in `register_forward_pre_hook`.

        Returns a handle, and raises, as `register_forward_pre_hook` does.

        Example:
            >>> from msjax import Tensor, nn
            >>> relu = nn.ReLU()
            >>> handle = relu.register_forward_hook(lambda cell, args, output: print("output:", output))
            >>> _ = relu(Tensor([-1.0, 2.0]))
            output: [0. 2.]
        """
        options = {"with_kwargs": with_kwargs, "always_call": always_call, "observe": observe, "traced": traced}
        return HookTable.register(self, "forward", hook_fn, prepend, **options)

    def register_backward_pre_hook(
        self, hook_fn: BackwardPreHook, *, prepend: bool = False, observe: bool | None = None, traced: bool | None = None
    ) -> RemovableHandle:
        """Register a hook that runs before the cell's backward pass.

        The hook is called as ``hook_fn(cell, grad_output)`` with a tuple of one gradient for each output, None where
        none arrives. If it returns None, they stay. A tuple of as many Tensors of the same shapes and dtypes (for one
        output, a Tensor) replaces them, also in the gradients of the cell's weights.

        Args:
            hook_fn (callable): the hook.
            prepend, observe, traced: as in `register_forward_pre_hook`.

        Returns a handle, and raises, as `register_forward_pre_hook` does.

        Example:
            >>> from msjax import Tensor, grad, nn
            >>> relu = nn.ReLU()
            >>> handle = relu.register_backward_pre_hook(lambda cell, grad_output: grad_output[0] * 10)
            >>> print(grad(relu)(Tensor(2.0)))
            10.0
        """
        return HookTable.register(self, "backward_pre", hook_fn, prepend, observe=observe, traced=traced)

    def register_backward_hook(
        self, hook_fn: BackwardHook, *, prepend: bool = False, observe: bool | None = None, traced: bool | None = None
    ) -> RemovableHandle:
        """Register a hook that runs after the cell's backward pass.

        The hook is called as ``hook_fn(cell, grad_input, grad_output)``. `grad_input` is a tuple of the gradients with
        respect to the Tensors among the positional arguments, None for a Tensor without one; `grad_output` is the tuple
        of the gradients that arrived at the outputs. If the hook returns None, they stay. A tuple of as many Tensors as
        there are inputs (for one input, a Tensor) replaces the gradients of the inputs.

        Args:
            hook_fn (callable): the hook.
            prepend, observe, traced: as in `register_forward_pre_hook`.

        Returns a handle, and raises, as `register_forward_pre_hook` does.

        Example:
            >>> from msjax import Tensor, grad, nn
            >>> relu = nn.ReLU()
            >>> handle = relu.register_backward_hook(lambda cell, grad_input, grad_output: print(grad_input[0], grad_output[0]))
            >>> _ = grad(lambda x: relu(x) * 3)(Tensor([-1.0, 2.0]))
            [0. 3.] [3. 3.]
        """
        return HookTable.register(self, "backward", hook_fn, prepend, observe=observe, traced=traced)

    def register_saved_tensors_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> RemovableHandle:
        """Pack and unpack the Tensors that operators save for the backward pass while ``construct`` runs.

        The functions are those of `ms.saved_tensors_hooks`. If several pairs are registered, the last one is used.

        Args:
            pack_hook (callable): from a Tensor to anything.
            unpack_hook (callable): from what `pack_hook` returned to a Tensor.

        Returns:
            A handle; ``handle.remove()`` removes the pair.

        Raises:
            TypeError: one of them is not callable.

        Example:
            >>> from msjax import Tensor, grad, nn
            >>> net = nn.Tanh()
            >>> handle = net.register_saved_tensors_hooks(lambda t: t.asnumpy(), lambda a: Tensor(a))
            >>> print(grad(net)(Tensor(0.0)))
            1.0
        """
        return HookTable.register(self, "saved_tensors", (pack_hook, unpack_hook))
