"""Hooks on the modules of a flax nnx model, or on the cells of a network, by path; the model isn't edited.

A hooked nnx module gets a generated subclass of its class, whose ``__call__`` runs the hooks, and one static attribute with
its path and its hooks. Both belong to the module's definition (nnx's graphdef), so they pass nnx.split, merge, jit, grad, scan,
vmap and remat; nnx.jit compiles once more when hooks come, and finds its earlier program when they go. The hooks themselves
run by the protocol that Cells use.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable
from typing import Any

from msjax.base.errors import check_hook
from msjax.base.flax_slots import delete_static, set_static, without_attribute
from msjax.common.bases import is_cell
from msjax.functional.array_hooks import SITE, call_with_array_hooks
from msjax.functional.frameworks.registry import registry_of
from msjax.functional.module_paths import Where, paths, selected, selected_methods, subclasses
from msjax.hooks.delivery import observes
from msjax.hooks.handle import new_hook_id
from msjax.hooks.table import CALL_KINDS, EMPTY, Hook


def register_forward_pre_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, with_kwargs: bool = False,
    observe: bool | None = None, traced: bool | None = None,
) -> ModuleHandle:  # fmt: skip
    """Register a hook that runs before modules of a model, selected by their paths.

    Args:
        model: a flax nnx module, a Cell, or what `hooked` made of another model.
        hook (callable): ``hook(module, args)``; None keeps the positional arguments, a tuple replaces them, anything else becomes
            their only one. With `with_kwargs`, ``hook(module, args, kwargs)``, which returns None or ``(args, kwargs)``. The
            arguments are jax arrays, in pytrees, as the module gets them (Tensors for a Cell).
        where: which modules: "" is the model itself, a glob over dotted paths such as ``"blocks.*.mlp"`` (fnmatch: ``*`` also
            crosses dots), a type, a function ``(path, module) -> bool``, or several of these in a list. Hooks run around
            ``__call__``; but for Cells, ``"embed.attend"`` selects the method `attend` of the module "embed".
        prepend (bool): True puts it before the hooks that are there.
        with_kwargs (bool): True if the hook takes the keyword arguments, too.
        observe, traced (bool, optional): in compiled programs, True says that the hook only observes (it is called after each
            run, with concrete values), or that it is part of the program; by default its code tells.

    Returns:
        A handle; ``handle.remove()`` takes the hook off all modules, and so does the end of a ``with`` block.

    Raises:
        ValueError: no module matches `where` (the message lists the paths); `observe` and `traced` contradict each other.
        TypeError: `model` takes no hooks; `hook` can't be called.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.List([nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))])
        >>> with ms.hooks.register_forward_pre_hook(model, lambda module, args: args[0] * 10, "0"):
        ...     print(model[0](jnp.array([2.0])))
        [20.]
    """
    options = {"with_kwargs": bool(with_kwargs), "observe": observe, "traced": traced}
    return _register(model, "forward_pre", hook, where, prepend, options)


def register_forward_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, with_kwargs: bool = False,
    always_call: bool = False, observe: bool | None = None, traced: bool | None = None,
) -> ModuleHandle:  # fmt: skip
    """Register a hook that runs after modules of a model, selected by their paths.

    Args:
        model: see `register_forward_pre_hook`.
        hook (callable): ``hook(module, args, output)``; None keeps the output, anything else replaces it. With `with_kwargs`,
            ``hook(module, args, kwargs, output)``.
        where, prepend, with_kwargs, observe, traced: see `register_forward_pre_hook`.
        always_call (bool): True runs the hook even if the call raised; it then gets the output so far, or None.

    Returns:
        A handle; see `register_forward_pre_hook`.

    Raises:
        ValueError, TypeError: see `register_forward_pre_hook`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        >>> handle = ms.hooks.register_forward_hook(model, lambda module, args, output: print("output:", output))
        >>> _ = nnx.jit(lambda model, x: model(x))(model, jnp.array([2.0]))
        >>> ms.hooks.barrier()
        output: [2.]
        >>> handle.remove()
    """
    options = {"with_kwargs": bool(with_kwargs), "always_call": bool(always_call), "observe": observe, "traced": traced}
    return _register(model, "forward", hook, where, prepend, options)


def register_backward_pre_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, observe: bool | None = None,
    traced: bool | None = None,
) -> ModuleHandle:  # fmt: skip
    """Register a hook that runs, in the backward pass, before that of modules selected by their paths.

    Args:
        model: see `register_forward_pre_hook`.
        hook (callable): ``hook(module, grad_output)`` with a tuple of one gradient for each array of the output, None where none
            arrives. None keeps them; a tuple of arrays of the same shapes and dtypes (for one output, an array) replaces them.
        where, prepend, observe, traced: see `register_forward_pre_hook`.

    Returns:
        A handle; see `register_forward_pre_hook`.

    Raises:
        ValueError, TypeError: see `register_forward_pre_hook`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        >>> with ms.hooks.register_backward_pre_hook(model, lambda module, grad_output: grad_output[0] * 10):
        ...     print(nnx.grad(lambda model: model(jnp.array([2.0])).sum())(model).kernel[...])
        [[20.]]
    """
    return _register(model, "backward_pre", hook, where, prepend, {"observe": observe, "traced": traced})


def register_backward_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, observe: bool | None = None,
    traced: bool | None = None,
) -> ModuleHandle:  # fmt: skip
    """Register a hook that runs, in the backward pass, after that of modules selected by their paths.

    Args:
        model: see `register_forward_pre_hook`.
        hook (callable): ``hook(module, grad_input, grad_output)``: a tuple of the gradients with respect to the arrays among the
            positional arguments, None for one that carries none, and the tuple of those that arrived at the outputs. None keeps
            them; a tuple of as many arrays as there are inputs (for one input, an array) replaces the gradients of the inputs.
        where, prepend, observe, traced: see `register_forward_pre_hook`.

    Returns:
        A handle; see `register_forward_pre_hook`.

    Raises:
        ValueError, TypeError: see `register_forward_pre_hook`.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        >>> with ms.hooks.register_backward_hook(model, lambda module, grad_input, grad_output: grad_input[0] * 10):
        ...     print(jax.grad(lambda x: model(x).sum())(jnp.array([2.0])))
        [10.]
    """
    return _register(model, "backward", hook, where, prepend, {"observe": observe, "traced": traced})


def path(module: object) -> str:
    """The path of a hooked module in the model that it was registered through.

    Args:
        module: an nnx module as hooks get it.

    Raises:
        ValueError: the module has no hooks.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
        >>> with ms.hooks.register_forward_hook(model, lambda module, *_: print(ms.hooks.path(module)), "layers.*"):
        ...     _ = model(jnp.ones(2))
        layers.0
    """
    site = vars(module).get(SITE)
    if site is None:
        raise ValueError(f"For 'path', the module {type(module).__name__} has no hooks; hooks.paths(model) lists all modules.")
    return site.path


class ModuleHandle:
    """Stands for one hook on the modules that were selected; see `RemovableHandle`."""

    __slots__ = ("_removes", "id")

    def __init__(self, id: int, removes: list[Callable[[], Any]]):
        self.id: int = id
        self._removes = removes

    def remove(self) -> None:
        """Take the hook off all modules; nothing happens if it is gone already."""
        removes, self._removes = self._removes, []
        for remove in removes:
            remove()

    def __enter__(self):
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.remove()


class _Site:
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


def _register(model, kind, fn, where, prepend, options):
    check_hook(fn, f"register_{kind}_hook", options["observe"], options["traced"])
    if is_cell(model):
        register, cells = f"register_{kind}_hook", selected(paths(model), where)
        handles = [getattr(cell, register)(fn, prepend=prepend, **options) for cell in cells.values()]
        return ModuleHandle(handles[0].id, [handle.remove for handle in handles])
    observed = observes(fn, options.pop("observe"), options.pop("traced"))
    return put_hook(model, kind, Hook(new_hook_id(), fn, observe=observed, traced=not observed, **options), where, prepend)


def put_hook(model: Any, kind: str, hook: Hook, where: Where, prepend: bool = False) -> ModuleHandle:
    """Register a Hook that is made already. One that comes again finds the programs that were compiled with it.

    Args:
        model: a flax nnx module, or what `hooked` made of another model.
        kind: "forward" and the like.
        hook (Hook): its function gets and returns arrays.
        where, prepend: see `register_forward_pre_hook`.
    """
    registry = registry_of(model)
    if registry is not None:
        registry.register(model, kind, hook, where, prepend)
        return ModuleHandle(hook.id, [functools.partial(registry.remove, hook.id)])
    refs, known, new_table = [], None, None
    for name, module, method in selected_methods(model, where):
        site = vars(module).get(SITE) or _Site(name, {}, weakref.ref(module), type(module))
        table = site.tables.get(method, EMPTY)
        if table is not known:
            known, new_table = table, table.add(kind, hook, prepend)
        site.with_tables({**site.tables, method: new_table}).put_on(module)
        refs.append(site.module)
    return ModuleHandle(hook.id, [functools.partial(_remove, refs, hook.id)])


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
