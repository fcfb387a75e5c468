"""Cells as models that `msjax.core.models` knows: their hooks by path, and captures of their outputs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from flax import nnx

from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, is_tensor, tensors_in
from msjax.core.base.weak import Same
from msjax.core.hooks.hook import Hook
from msjax.core.hooks.places import scope_of, site, with_inputs, with_outputs
from msjax.core.hooks.table import CALL_KINDS, HookTable
from msjax.core.models.frameworks.framework import Framework, Pure, add_framework
from msjax.core.models.frameworks.nnx_modules import callable_modules
from msjax.core.models.hook_registry import ModuleHandle
from msjax.core.models.module_hooks import register_forward_hook
from msjax.core.models.where import Where, selected
from msjax.engine.functional.functionalize import functionalize, pure_apply, write_back
from msjax.ops.function.control.from_jax import from_jax


class CellModels(Framework):
    """Cells."""

    def owns(self, model: Any) -> bool:
        return is_cell(model)

    def paths(self, model: Any) -> dict[str, Any]:
        return dict(model.cells_and_names())

    def register(self, model: Any, kind: str, hook: Hook, where: Where, prepend: bool) -> ModuleHandle:
        cells = selected(self.paths(model), where, f"register_{kind}_hook")
        for cell in cells.values():
            cell._set_hooks(cell._hooks.add(kind, hook, prepend))

        return ModuleHandle(hook.id, [partial(_remove, weakref.ref(hook), list(map(weakref.ref, cells.values())))])

    def tables(self, model: Any) -> dict[str, HookTable]:
        return {name: cell._hooks for name, cell in model.cells_and_names() if cell._hooks.in_calls}

    def remove(self, model: Any, hook: Hook) -> None:
        hook.removed = True
        for _, cell in model.cells_and_names():
            cell._set_hooks(cell._hooks.without(hook.id))

    def take_off(self, model: Any) -> Any:
        kept = [(cell, cell._hooks) for _, cell in model.cells_and_names() if cell._hooks.in_calls]
        for cell, table in kept:
            for hook in (h for kind in CALL_KINDS for h in getattr(table, kind)):
                cell._set_hooks(cell._hooks.without(hook.id))
        return kept

    def put_back(self, model: Any, kept: Any) -> None:
        for cell, table in kept:
            now = cell._hooks
            for kind in CALL_KINDS:
                for hook in reversed(getattr(table, kind)):
                    if not hook.removed:
                        now = now.add(kind, hook, prepend=True)
            cell._set_hooks(now)

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        modules: dict[str, Any] = self.paths(model) | _modules_within(model)

        def forward(*args, **kwargs):
            handles = []
            scopes = []
            for name, module in modules.items():
                if not any(pattern.looks_at(name) for pattern in options.patterns):
                    continue
                if is_cell(module):
                    cell: Any = module
                    before, after = _in_and_out(name, scopes)
                    handles.append(cell.register_forward_pre_hook(before, with_kwargs=True, prepend=True, traced=True))
                    handles.append(cell.register_forward_hook(after, traced=True))
                else:
                    handles.append(register_forward_hook(module, _named_array(name), "", traced=True))
            try:
                return model(*args, **kwargs)
            finally:
                while scopes:
                    scopes.pop().__exit__(None, None, None)
                for handle in handles:
                    handle.remove()

        return options.of_pure_call(tuple(modules), pure_apply(model, forward, on_tape=not options.gradients))

    def pure(self, model: Any) -> Pure | None:
        def run(state, options, args, kwargs):
            result, found = self.capture(model, options)(*state, *args, **kwargs)
            return (None, found, None) if result is None else (result[0], found, result[1])

        return Pure(Same(model), functionalize(model)[1:], run, lambda new: write_back(model, buffers=new))

    def as_function(self, model: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return functionalize(model)[0], ()


def _remove(hook_ref, cells):
    hook = hook_ref()
    if hook is not None:
        hook.removed = True
        for cell in filter(None, [ref() for ref in cells]):
            cell._set_hooks(cell._hooks.without(hook.id))


def _modules_within(net):
    """{path: module} of the nnx modules that are attributes of cells, and of all within them."""
    found = {}
    for prefix, cell in net.cells_and_names():
        for name, module in vars(cell).copy().items():
            if isinstance(module, nnx.Module) and not is_cell(module):
                start = f"{prefix}.{name}" if prefix else name
                found |= {f"{start}.{path}" if path else start: inner for path, inner in callable_modules(module).items()}
    return found


def _named_array(name):
    """The forward hook of a module of jax arrays that makes its output a place."""
    return lambda module, args, output: site(name, output)


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
    named = from_jax(lambda *values: site(name, values[0] if single else values))(*tensors)
    new = iter([named] if single else named)
    return jax.tree.map(lambda t: next(new) if isinstance(t, Tensor) else t, value, is_leaf=is_tensor)


add_framework(CellModels(), first=True)
