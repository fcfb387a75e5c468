"""registered, remove_all, without and check: which hooks a model has, and which it can have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from msjax.core.hooks.hook import CALL_KINDS, Hook
from msjax.core.models.capture import capture_options
from msjax.core.models.hook_registry import take_off
from msjax.core.models.hooked import framework_with_hooks
from msjax.core.models.kept_programs import pure_of


class Registered(NamedTuple):
    """One hook on one module.

    Attributes:
        path: of the module; with the name of the method, if it is not ``__call__``.
        kind: "forward_pre", "forward", "backward_pre" or "backward".
        hook: the function.
        observes: True if compiled programs call it after each run, as far as its code or the registration tells.
    """

    path: str
    kind: str
    hook: Any
    observes: bool


def registered(model: Any) -> list[Registered]:
    """The hooks of a model, module by module, in the order in which they run.

    Args:
        model: a flax nnx module, a Cell, or what `hooked` made of another model.

    Example:
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 1, rngs=nnx.Rngs(0)))
        >>> handle = ms.hooks.register_forward_hook(model, print, "layers.*")
        >>> [(row.path, row.kind, row.observes) for row in ms.hooks.registered(model)]
        [('layers.0', 'forward', True)]
    """
    tables = framework_with_hooks(model, "registered").tables(model)
    return [
        Registered(path, kind, hook.fn, hook.in_slot)
        for path, table in tables.items()
        for kind in CALL_KINDS
        for hook in getattr(table, kind)
    ]


def remove_all(model: Any) -> int:
    """Take all hooks off a model's modules, also those of which nobody has the handle.

    Args:
        model: see `registered`.

    Returns:
        How many were taken off; one on several modules counts once.

    Example:
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 1, rngs=nnx.Rngs(0)))
        >>> handle = ms.hooks.register_forward_hook(model, print, "*")
        >>> ms.hooks.remove_all(model), ms.hooks.registered(model)
        (1, [])
    """
    framework = framework_with_hooks(model, "remove_all")
    tables = framework.tables(model).values()
    hooks: dict[int, Hook] = {h.id: h for table in tables for kind in CALL_KINDS for h in getattr(table, kind)}
    registries = [registry for _, registry in framework.registries(model)]
    for hook in hooks.values():
        take_off(hook, registries)
    return len(hooks)


@contextlib.contextmanager
def without(model: Any) -> Iterator[None]:
    """Within, a model has no hooks; afterwards it has them again, and finds the programs that were compiled with them.

    Args:
        model: see `registered`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.relu)
        >>> handle = ms.hooks.register_forward_hook(model, lambda module, args, output: print("called"))
        >>> with ms.hooks.without(model):
        ...     _ = model(jnp.ones(1))
        >>> _ = model(jnp.ones(1))
        called
    """
    framework = framework_with_hooks(model, "without")
    kept = [(registry, registry.taken_off()) for _, registry in framework.registries(model)]
    try:
        yield
    finally:
        for registry, rows in kept:
            registry.put_back(rows)


def check(model: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
    """Which modules of a model take no hooks, and why.

    Args:
        model: see `registered`.
        args, kwargs: what it is called with (a linen module or haiku transform like its `apply`); then modules that this call doesn't reach
            are listed, too, and nothing is computed but the model itself. May be left out.

    Returns:
        {path: why}; empty if hooks can be on all modules.

    Example:
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.List([nnx.Linear(1, 1, rngs=nnx.Rngs(0))])
        >>> ms.hooks.check(model)
        {'': 'it has no __call__, so that a hook would never run'}
    """
    framework = framework_with_hooks(model, "check")
    found = dict(framework.unhookable(model))
    if args or kwargs:
        # Where the model runs with values that nobody computes with, its calls are counted.
        pure = pure_of(model)
        _, captured, _ = pure.run(pure.state, capture_options(statistic=lambda array: ()), args, kwargs)
        for path in framework.paths(model):
            if path not in captured.activations and path not in found:
                found[path] = "this call of the model doesn't call it, or not by its __call__, or it returns no array"
    return found
