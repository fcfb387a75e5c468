"""PyTorch's names of Cell's methods: thin synonyms of MindSpore's names."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Self

import jax.numpy as jnp

from msjax.common.bases import CellBase
from msjax.common.parameter import Parameter
from msjax.common.tensor import wrap
from msjax.core.base.checks import check_bool
from msjax.core.base.typing import BackwardHook, BackwardPreHook
from msjax.core.door import RemovableHandle
from msjax.nn.cell.cell_type import Cell
from msjax.nn.cell.hooks import CellHooks
from msjax.nn.cell.live import Members
from msjax.nn.cell.members import CellMembers
from msjax.nn.cell.settings import CellSettings


class TorchNames(CellMembers, CellSettings, CellHooks):
    """The part of Cell with PyTorch's names."""

    def register_full_backward_hook(self, hook: BackwardHook, prepend: bool = False) -> RemovableHandle:
        """PyTorch's name of `register_backward_hook`."""
        return self.register_backward_hook(hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: BackwardPreHook, prepend: bool = False) -> RemovableHandle:
        """PyTorch's name of `register_backward_pre_hook`."""
        return self.register_backward_pre_hook(hook, prepend=prepend)

    # ---- cells

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Cell]]:
        """(path, cell) of this cell and all cells inside; PyTorch's name of `cells_and_names`.

        Args:
            memo (set, optional): cells to leave out; visited cells are added to it.
            prefix (str): put in front of all paths.
            remove_duplicate (bool): False yields a cell under each of its paths. Default: True.

        Example:
            >>> from msjax import nn
            >>> [name for name, _ in nn.SequentialCell(nn.ReLU(), nn.Tanh()).named_modules()]
            ['', '0', '1']
        """
        if remove_duplicate:
            yield from self.cells_and_names(memo, prefix)
            return
        yield prefix, self  # pyright: ignore[reportReturnType]  (it is a Cell)
        for name, cell in self._modules.items():
            yield from cell.named_modules(None, f"{prefix}.{name}" if prefix else name, False)

    def modules(self) -> Iterator[Cell]:
        """This cell and all cells inside."""
        for _, cell in self.named_modules():
            yield cell

    def named_children(self) -> Iterator[tuple[str, Cell]]:
        """(name, cell) of the child cells; PyTorch's name of ``name_cells().items()``."""
        yield from self.name_cells().items()

    def children(self) -> Iterator[Cell]:
        """The child cells; PyTorch's name of `cells`."""
        yield from self.name_cells().values()

    @property
    def _modules(self):
        """The child cells by name; writing to the mapping changes the cell."""
        return _Children(self, CellBase)  # pyright: ignore[reportArgumentType]  (it is a Cell)

    def get_submodule(self, target: str) -> Cell:
        """PyTorch's name of `get_sub_cell`."""
        return self.get_sub_cell(target)

    def add_module(self, name: str, module: Cell | None) -> None:
        """PyTorch's name of `insert_child_to_cell`."""
        self.insert_child_to_cell(name, module)

    # ---- parameters

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(path, Parameter); PyTorch's name of `parameters_and_names`.

        Args:
            prefix (str): put in front of all paths.
            recurse (bool): False for this cell's own Parameters only. Default: True.
            remove_duplicate (bool): False yields a Parameter under each of its paths. Default: True.

        Example:
            >>> from msjax import nn
            >>> [name for name, _ in nn.SequentialCell(nn.Dense(2, 1)).named_parameters()]
            ['0.weight', '0.bias']
        """
        if remove_duplicate:
            yield from self.parameters_and_names(prefix, recurse)
            return
        for path, cell in self.named_modules(None, prefix, False) if recurse else [(prefix, self)]:
            for name, parameter in cell._own_parameters():
                yield (f"{path}.{name}" if path else name), parameter

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The Parameters; PyTorch's name of `get_parameters`."""
        yield from self.get_parameters(expand=recurse)

    def get_parameter(self, target: str) -> Parameter:
        """The Parameter at a path such as "fc.weight".

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        parameter = self.get_sub_cell(path).__dict__.get(name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"{type(self).__name__} has no Parameter {target!r}.")
        return parameter

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """PyTorch's name of `insert_param_to_cell`; None makes an attribute that is None."""
        if param is None:
            setattr(self, name, None)
        else:
            self.insert_param_to_cell(name, param)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the Parameters' `grad`, which `Tensor.backward` sets.

        Args:
            set_to_none (bool): True sets `grad` to None, False fills existing gradients with zeros. Default: True.

        Example:
            >>> from msjax import Tensor, nn
            >>> net = nn.Dense(2, 1)
            >>> net(Tensor([[1.0, 2.0]])).sum().backward()
            >>> net.zero_grad()
            >>> net.weight.grad is None
            True
        """
        version, parameters = getattr(self, "cached_parameters", (None, ()))
        if version != self._structure_version:  # it runs at each training step
            parameters = [weakref.ref(p) for p in self.get_parameters()]
            object.__setattr__(self, "cached_parameters", (self._structure_version, parameters))
        parameters = [p for p in [ref() for ref in parameters] if p is not None]
        for parameter in parameters:
            if parameter._grad is not None:
                parameter._grad = None if set_to_none else wrap(jnp.zeros_like(parameter._grad._value))

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all Parameters; returns the cell."""
        for parameter in self.get_parameters():
            parameter.requires_grad = requires_grad
        return self

    # ---- training

    def train(self, mode: bool = True, **attributes: Any) -> Self:
        """PyTorch's and flax's name of `set_train`; returns the cell.

        Args:
            mode (bool): False for inference. Default: True.
            attributes: set on flax modules inside, as by ``nnx.Module.train``.
        """
        check_bool(mode, "mode", "train")
        super().train(**attributes) if mode else super().eval(**attributes)
        return self.set_train(mode)

    def eval(self, **attributes: Any) -> Self:
        """PyTorch's and flax's name of ``set_train(False)``; returns the cell."""
        return self.train(False, **attributes)


class _Children(Members):
    """The child cells of a cell as a writable mapping, which checks the names that it is given."""

    def __setitem__(self, name: str, value: Cell) -> None:
        self._cell.insert_child_to_cell(name, value)
