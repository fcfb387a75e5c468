"""Cells as models that `msjax.models` knows: their hooks by path, and captures of their outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.common.bases import is_cell
from msjax.common.tensor import Tensor, is_tensor, tensors_in
from msjax.functional.functionalize import functionalize, pure_apply, write_back
from msjax.hooks.places import site
from msjax.hooks.table import Hook
from msjax.models.frameworks.framework import Framework, add_framework
from msjax.models.frameworks.nnx_modules import callable_modules
from msjax.models.handle import ModuleHandle
from msjax.models.module_hooks import register_forward_hook
from msjax.models.where import Where, selected
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

        def remove():
            hook.removed = True
            for cell in cells.values():
                cell._set_hooks(cell._hooks.without(hook.id))

        return ModuleHandle(hook.id, [remove])

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        modules = self.paths(model) | _modules_within(model)

        def forward(*args, **kwargs):
            handles = []
            for name, module in modules.items():
                if any(pattern.match(name) for pattern in options.patterns):
                    named = _named_output(name) if is_cell(module) else _named_array(name)
                    handles.append(register_forward_hook(module, named, "", traced=True))
            try:
                return model(*args, **kwargs)
            finally:
                for handle in handles:
                    handle.remove()

        return options.of_pure_call(tuple(modules), pure_apply(model, forward, on_tape=not options.gradients))

    def as_function(self, model: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return functionalize(model)[0], ()

    def run(self, model: Any, captured: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        _, params, buffers = functionalize(model)
        result, found = captured(params, buffers, *args, **kwargs)
        if result is None:
            return None, found
        out, buffers = result
        write_back(model, buffers=buffers)
        return out, found


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


def _named_output(name):
    def hook(cell, args, output):
        single, tensors = isinstance(output, Tensor), tensors_in(output)
        if not tensors:
            return None
        # An operator, so that it has its place on the tape where gradients pass hooks.
        named = from_jax(lambda *values: site(name, values[0] if single else values))(*tensors)
        new = iter([named] if single else named)
        return jax.tree.map(lambda t: next(new) if isinstance(t, Tensor) else t, output, is_leaf=is_tensor)

    return hook


add_framework(CellModels(), first=True)
