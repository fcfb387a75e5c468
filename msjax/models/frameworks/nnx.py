"""Hooks on the modules of a flax nnx model; the model isn't edited.

A hooked module gets a generated subclass of its class, whose ``__call__`` runs the hooks, and one static attribute with its path and its
hooks. Both belong to the module's definition (nnx's graphdef), so they pass nnx.split, merge, jit, grad, scan, vmap and remat; nnx.jit
compiles once more when hooks come, and finds its earlier program when they go. That is why these hooks lie on the modules, not in a
`Registry`: what is compiled of other models stays.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable
from typing import Any

from flax import nnx

from msjax.base.flax_slots import delete_static, set_static, without_attribute
from msjax.base.state import programs_changed
from msjax.hooks.table import CALL_KINDS, EMPTY, Hook
from msjax.models.array_hooks import SITE, HookSite, call_with_array_hooks
from msjax.models.frameworks.framework import Framework, add_framework
from msjax.models.frameworks.nnx_modules import callable_modules, nnx_modules
from msjax.models.frameworks.nnx_outputs import module_and_method, pure_call
from msjax.models.handle import ModuleHandle
from msjax.models.subclasses import subclasses
from msjax.models.where import Where, selected_calls


class NnxModels(Framework):
    """Models of flax nnx."""

    def owns(self, model: Any) -> bool:
        return isinstance(model, nnx.Module)

    def owns_function(self, fn: Any) -> bool:
        return module_and_method(fn) is not None

    def paths(self, model: Any) -> dict[str, Any]:
        return callable_modules(model)

    def register(self, model: Any, kind: str, hook: Hook, where: Where, prepend: bool) -> ModuleHandle:
        chosen = selected_calls(
            callable_modules(model), where, lambda: ((".".join(path), module) for path, module in nnx_modules(model))
        )
        refs, known, new_table = [], None, None
        for name, module, method in chosen:
            site = vars(module).get(SITE) or _Site(name, {}, weakref.ref(module), type(module))
            table = site.tables.get(method, EMPTY)
            if table is not known:
                known, new_table = table, table.add(kind, hook, prepend)
            site.with_tables({**site.tables, method: new_table}).put_on(module)
            refs.append(site.module)
        return ModuleHandle(hook.id, [functools.partial(_remove, refs, hook.id)])

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        module, method = module_and_method(model)

        def run(*args, **kwargs):
            patterns = options.patterns
            texts = [text for pattern in patterns for text in pattern.patterns]
            call, state = pure_call(module, method, lambda path: any(p.match(path) for p in patterns), texts)
            names = tuple(".".join(path) for path, inner in nnx_modules(module) if callable(inner))
            captured = options.of_pure_call(names, call)
            result, found = captured(state, args, kwargs)
            if result is None:
                return None, found
            out, new = result
            nnx.update(module, new)
            return out, found

        return run

    def as_function(self, model: Any) -> Callable[..., Any]:
        call, state = pure_call(*module_and_method(model), lambda path: False)
        return lambda *args, **kwargs: call(state, args, kwargs)


class _Site(HookSite):
    """The hooks of one nnx module. Equal sites share a compiled program.

    Attributes:
        path: of the module in its model.
        tables: {name of a method: its HookTable}.
        module: a weak reference to the user's module; transformations of nnx run copies of it.
        cls: the module's own class.
        undo: what takes the site off the module again.
    """

    __slots__ = ("_key", "cls", "module", "path", "tables", "undo")

    def __init__(self, path, tables, module, cls, undo=None):
        self.path = path
        self.tables = tables
        self.module = module
        self.cls = cls
        self.undo = undo
        self._key = None

    @property
    def key(self):
        """What it is compared by."""
        if self._key is None:
            tables = self.tables.items()
            hooks = [(method, kind, hook.id) for method, table in tables for kind in CALL_KINDS for hook in getattr(table, kind)]
            self._key = self.path, tuple(hooks)
        return self._key

    @property
    def hook_path(self):
        """As errors name the module."""
        return f"{self.path or 'the model'} ({self.cls.__name__})"

    def with_tables(self, tables):
        """The same with other hooks."""
        return _Site(self.path, tables, self.module, self.cls, self.undo)

    def subject(self):
        """The user's module; if it is gone, a module without weights that has the same class and path."""
        module = self.module()
        if module is None:
            module = object.__new__(_hooked_class(self.cls, tuple(sorted(self.tables))))
            vars(module)[SITE] = self
        return module

    def put_on(self, module):
        """Make it the site of a module; without hooks, leave the module as it was before it had any."""
        cls = self.cls
        programs_changed()
        if self.tables:
            cls = _hooked_class(cls, tuple(sorted(self.tables)))
            undo = set_static(module, SITE, self)
            self.undo = self.undo or undo
        else:
            delete_static(module, SITE, self.undo)
        if type(module) is not cls:
            object.__setattr__(module, "__class__", cls)

    def __eq__(self, other):
        return isinstance(other, _Site) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    # Copies and pickled modules have no hooks.

    def __deepcopy__(self, memo):
        return self.with_tables({})

    def __reduce__(self):
        return _Site, (self.path, {}, _no_module, self.cls)

    def __repr__(self):
        return f"<{len(self.key[1])} hooks of {self.hook_path}>"


def _no_module():
    return None


def _remove(refs, hook_id):
    # Most modules have equal tables, one after the other.
    known = table = None
    for ref in refs:
        module = ref()
        site = None if module is None else vars(module).get(SITE)
        if site is None:
            continue
        tables = {}
        for method, before in site.tables.items():
            if before is not known:
                known, table = before, before.without(hook_id)
            if table is not EMPTY:
                tables[method] = table
        site.with_tables(tables).put_on(module)


@subclasses
def _hooked_class(cls, methods):
    """The class of a module with hooks on these methods: a subclass, since Python looks __call__ up in the class."""
    return {
        **{method: _with_hooks(cls, method) for method in methods},
        # A copy or a pickled module has no hooks.
        "__copy__": lambda self: _without_hooks(cls, vars(self)),
        "__deepcopy__": lambda self, memo: copy.deepcopy(_without_hooks(cls, vars(self)), memo),
        "__reduce_ex__": lambda self, protocol: (_without_hooks, (cls, vars(_without_hooks(cls, vars(self))))),
    }


def _with_hooks(cls, method):
    own = getattr(cls, method)

    @functools.wraps(own)
    def call(self, *args, **kwargs):
        site = vars(self).get(SITE)
        if site is None or method not in site.tables:  # removed while the call was under way
            return own(self, *args, **kwargs)
        function = functools.partial(own, self)
        # A copy outlives the module that it was copied from.
        later = (lambda: self) if site.module() is None else site.subject
        return call_with_array_hooks(function, args, kwargs, None, later, site, lambda: site.tables[method])

    return call


def _without_hooks(cls, attributes):
    """A module of the class without hooks, with these attributes."""
    module = object.__new__(cls)
    vars(module).update(without_attribute(attributes, SITE))
    return module


add_framework(NnxModels())
