"""Cells as models that `msjax.core.models` knows: their hooks by path, and captures of their outputs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, is_tensor, tensors_in
from msjax.core.base.weak import Same
from msjax.core.door import Hook, HookTable
from msjax.core.hooks.places import placed, scope_of, site, with_inputs, with_outputs
from msjax.core.models.frameworks.framework import Framework, Pure, add_framework
from msjax.core.models.frameworks.nnx_modules import callable_modules
from msjax.core.models.hook_registry import HookRegistry, Registration
from msjax.core.models.module_hooks import register_forward_hook
from msjax.core.models.where import why_not_called
from msjax.functional.functionalize import functionalize, pure_apply, write_back
from msjax.ops.function.control.from_jax import from_jax


class CellModels(Framework):
    """The framework of Cells, whose modules are the cells of a network."""

    def owns(self, model: Any) -> bool:
        return is_cell(model)

    def paths(self, model: Any) -> dict[str, Any]:
        return dict(model.cells_and_names())

    def registry(self, module: Any, path: str) -> HookRegistry:
        return CellRegistry(module)

    def registries(self, model: Any) -> list[tuple[str, HookRegistry]]:
        return [(path, CellRegistry(cell)) for path, cell in model.cells_and_names() if cell._hooks.in_calls]

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        modules: dict[str, Any] = self.paths(model) | _modules_within(model)

        def forward(*args, **kwargs):
            handles = []
            scopes = []
            for name, module in modules.items():
                if not options.looks_at(name):
                    continue
                if is_cell(module):
                    cell: Any = module
                    before, after = _in_and_out(name, scopes)
                    handles.append(cell.register_forward_pre_hook(before, with_kwargs=True, prepend=True, traced=True))
                    handles.append(cell.register_forward_hook(after, traced=True))
                elif why_not_called(module) is None:  # a list of modules is never called
                    named = lambda module, args, output, name=name: site(name, output)  # noqa: E731
                    handles.append(register_forward_hook(module, named, "", traced=True))
            try:
                return model(*args, **kwargs)
            finally:
                while scopes:
                    scopes.pop().__exit__(None, None, None)
                for handle in handles:
                    handle.remove()

        return options.of_pure_call(tuple(modules), pure_apply(model, forward, on_tape=not options.gradients))

    def pure(self, model: Any) -> Pure:
        def run(state, options, args, kwargs):
            result, found = self.capture(model, options)(*state, *args, **kwargs)
            return (None, found, None) if result is None else (result[0], found, result[1])

        return Pure(Same(model), functionalize(model)[1:], run, lambda new: write_back(model, buffers=new), changes=True)


class CellRegistry(HookRegistry):
    """The hooks of a cell, which are in its own table, as a registry."""

    def __init__(self, cell: Any):
        self._cell = weakref.ref(cell)

    def present(self) -> dict[str, HookTable]:
        cell = self._cell()
        return {} if cell is None or not cell._hooks.in_calls else {"__call__": cell._hooks}

    def add(self, row: Registration) -> None:
        if row.calls != {"__call__"}:
            raise ValueError(
                f"For 'register_{row.kind}_hook', hooks of a cell are around its call, not around {sorted(row.calls)[0]!r}."
            )
        cell: Any = self._cell()
        row.registries.append(lambda: self)
        HookTable.change(cell, lambda table: table.add(row.kind, row.hook, row.prepend))

    def remove(self, hook: Hook) -> None:
        cell = self._cell()
        if cell is not None:
            HookTable.change(cell, lambda table: table.without(hook.id))

    def taken_off(self) -> Any:
        cell: Any = self._cell()
        rows = [(kind, hook) for kind in HookTable.CALL_KINDS for hook in getattr(cell._hooks, kind)]
        for _, hook in rows:
            self.remove(hook)
        return rows

    def put_back(self, rows: Any) -> None:
        def with_rows(table):
            for kind, hook in reversed(rows):
                table = table if hook.removed else table.add(kind, hook, prepend=True)
            return table

        cell = self._cell()
        if cell is not None:
            HookTable.change(cell, with_rows)


def _modules_within(net):
    """{path: module} of the nnx modules that are attributes of cells, and of all within them."""
    found = {}
    for prefix, cell in net.cells_and_names():
        for name, module in vars(cell).copy().items():
            if isinstance(module, nnx.Module) and not is_cell(module):
                start = f"{prefix}.{name}" if prefix else name
                found |= {f"{start}.{path}" if path else start: inner for path, inner in callable_modules(module).items()}
    return found


def _in_and_out(name, scopes):
    """Hooks that make places of what goes into a cell and comes out of it, and note which operations are in it."""

    def before(cell, args, kwargs):
        scopes.append(scope_of(name))
        scopes[-1].__enter__()
        return with_inputs(name, args, kwargs, _named)

    def after(cell, args, output):
        scopes.pop().__exit__(None, None, None)
        return _named(name, with_outputs(name, output, _named))

    return before, after


def _named(name, value):
    single, tensors = isinstance(value, Tensor), tensors_in(value)
    if not tensors:
        return value
    # An operator, so that it has its place on the tape where gradients pass hooks.
    named = from_jax(lambda *values: placed(name, values[0] if single else values))(*tensors)
    new = iter([named] if single else named)
    return jax.tree.map(lambda t: next(new) if isinstance(t, Tensor) else t, value, is_leaf=is_tensor)


add_framework(CellModels(), first=True)
