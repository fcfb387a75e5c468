"""What hooks and captures ask of a framework's models: one class a framework, found by the model.

A framework that isn't imported has no models, so none is imported to find out. Cells are on a higher floor, and bring theirs; a model that
`hooked` made has its own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msjax.core.hooks.hook import Hook, HookTable, RemovableHandle
from msjax.core.models.hook_registry import HookRegistry, Registration, handle_of
from msjax.core.models.where import Where, call_name, selected_calls, why_not_called


def no_weights(_inputs: Any) -> list[tuple[str, Any, bool]]:
    """The `weights` of what has none among its arguments."""
    return []


class Pure(NamedTuple):
    """What is called as a model, with its state as an argument.

    Attributes:
        anchor: what is no part of the state; programs are found by it.
        state: a pytree.
        run: ``run(state, options, args, kwargs)`` captures as `msjax.core.models.capture.CaptureOptions` say, and returns (the result, Captured, the
            new state).
        done: takes the new state, which becomes the model's; None of what has no state.
        owner: what lives as long as the hooks that a program of it would have; None where programs don't depend on the model.
        changes: whether a program may depend on what is neither in the anchor nor in the state, such as attributes of a Cell.
        weights: ``weights(args)`` gives (name, array, whether it is trained) of those among its positional arguments.
    """

    anchor: Any
    state: Any
    run: Callable[..., tuple[Any, Any, Any]]
    done: Any = None
    owner: Any = None
    changes: bool = False
    weights: Callable[[Any], list[tuple[str, Any, bool]]] = no_weights

    def once(self, options: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """Call the model once, which changes its state as a plain call does (and that of nnx modules in the arguments): (the result, Captured)."""
        out, found, new = self.run(self.state, options._replace(writes=True), args, kwargs)
        if new is not None:
            self.done(new)
        return out, found


class Framework:
    """The models of one framework that take hooks."""

    def owns(self, model: Any) -> bool:
        """Whether a model is of this framework."""
        raise NotImplementedError

    def owns_function(self, fn: Any) -> bool:
        """Whether what is called is a model of this framework, or a method of one."""
        return self.owns(fn)

    def paths(self, model: Any) -> dict[str, Any]:
        """{path: module} of the modules that can be called; "" is the model itself."""
        raise NotImplementedError

    def all_modules(self, model: Any) -> Iterable[tuple[str, Any]]:
        """(path, module) of all modules, those that can't be called, too."""
        return self.paths(model).items()

    def registry(self, module: Any, path: str) -> HookRegistry:
        """The object that holds the hooks of one module."""
        raise NotImplementedError

    def register(self, model: Any, kind: str, hook: Hook, where: Where, prepend: bool) -> RemovableHandle:
        """Put a hook of a kind, "forward" and the like, on the modules that `where` selects; ValueError if it selects none."""
        registries: list[Any] = []
        handle, rows = handle_of(hook, registries), {}
        try:
            calls = selected_calls(self.paths(model), where, f"register_{kind}_hook", lambda: self.all_modules(model))
            for path, module, method in calls:
                if method not in rows:
                    rows[method] = Registration(kind, hook, prepend, where, registries, {method})
                self.registry(module, path).add(rows[method])
        except ValueError:
            handle.remove()
            raise
        return handle

    def registries(self, model: Any) -> list[tuple[str, HookRegistry]]:
        """The registries of a model's hooks as (path, registry): of each module, or of the model as a whole, as its framework has them."""
        raise NotImplementedError

    def tables(self, model: Any) -> dict[str, HookTable]:
        """{path, or that of a method: its hooks} of the calls that have hooks."""
        return {call_name(path, call): table for path, r in self.registries(model) for call, table in r.present().items()}

    def unhookable(self, model: Any) -> dict[str, str]:
        """{path: why} of the modules that take no hooks."""
        return {path: why for path, module in self.all_modules(model) if (why := why_not_called(module)) is not None}

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        """The function that `hooks.capture` returns for a model; see `msjax.core.models.capture.CaptureOptions`."""
        return lambda *args, **kwargs: self.pure(model).once(options, args, kwargs)

    def pure(self, model: Any) -> Pure:
        """A model with its state as an argument."""
        raise NotImplementedError


# Those of the frameworks that are imported, in the order in which they are asked.
_FRAMEWORKS: list[Framework] = []


def add_framework(framework: Framework, first: bool = False) -> None:
    """Make a framework known; `first` for one whose models are also models of another one."""
    _FRAMEWORKS.insert(0 if first else len(_FRAMEWORKS), framework)


def registry_of(model: object) -> Any:
    """The `Registry` of a model of linen, equinox or haiku that `hooked` made, or None."""
    return getattr(model, "msjax_registry", None)


def framework_of(model: Any) -> Framework | None:
    """The framework that a model is of, as it takes hooks; None for a plain function, and for what `hooked` has yet to take."""
    return registry_of(model) or next((framework for framework in _there() if framework.owns(model)), None)


def framework_of_function(fn: Any) -> Framework | None:
    """The framework of a model that is called, or of which a method is."""
    return registry_of(fn) or next((framework for framework in _there() if framework.owns_function(fn)), None)


def _there():
    if "flax.nnx" in sys.modules:
        importlib.import_module("msjax.core.models.frameworks.nnx")
    return _FRAMEWORKS
