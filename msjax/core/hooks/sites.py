"""Where hooks of modules of other frameworks stand: what code that depends on hooks has to look for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from msjax.core.base.weak import LiveSet
from msjax.core.hooks.hook import Hook


class HookSite:
    """What stands on a module that has hooks, as its attribute.

    Attributes:
        path: of the module in its model.
        cls_name: the name of its class.
        tables: {name of a method: its present hooks}.
        models_with_hooks: the models that have hooks now whose modules are made anew for each run.
    """

    __slots__ = ()

    path: Any
    cls_name: Any
    tables: Any
    models_with_hooks: ClassVar[LiveSet[HookedModel]]
    _owner_noun = "module"

    def _named_in(self, around: Sequence[Any]) -> tuple[str, str]:
        return self.path or "the model", self.cls_name

    def cells_and_names(self) -> Sequence[tuple[str, Any]]:
        """The Cells in the module by their paths: none are known."""
        return ()


class HookedModel(Protocol):
    """The hooks of a model whose modules are made anew for each run.

    Attributes:
        number: no other such model has it.
        key: equal as long as programs with the hooks are the same.
        hooks: all of them.
    """

    number: int

    @property
    def key(self) -> tuple[Any, ...] | None: ...
    @property
    def hooks(self) -> list[Hook]: ...


# Those that have hooks now.
WITH_HOOKS: LiveSet[HookedModel] = LiveSet()
HookSite.models_with_hooks = WITH_HOOKS
