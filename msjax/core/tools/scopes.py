"""Names the calls of a model's modules in what jax traces, so that each operation of a program tells which call it belongs to."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from typing import Any

import jax

from msjax.core.models.hooked import paths
from msjax.core.models.module_hooks import register_forward_hook, register_forward_pre_hook
from msjax.core.models.registered import check
from msjax.core.tools.hook_set import names_in
from msjax.core.tools.model_tools import added

_SCOPE = re.compile(r"msjax\[(\d+)\.(\d+)\]")


class Scopes:
    """Names the calls of models' modules in what jax traces: of some models (nnx modules, Cells, and what `hooks.hooked` made) by a context with
    hooks on them, of others where `enter` and `leave` are called.
    """

    def __init__(self, models: Sequence[Any] = ()):
        self.models = models
        self._numbers: dict[tuple[int, str], int] = {}
        self._names: list[tuple[str, str]] = []
        # {number of a module: how often it was called}, and the same before the latest call of a whole model.
        self._calls: dict[int, int] = {}
        self._calls_before: dict[int, int] = {}
        # The calls under way of each model, and the names of all of them.
        self._scopes: list[list[Any]] = [[] for _ in models or [None]]
        self._under_way: list[str] = []

    def __enter__(self) -> Scopes:
        self._block = contextlib.ExitStack()
        for tools in added():
            self._block.enter_context(tools.scopes(self._under_way))
        for i, model in enumerate(self.models):
            names = paths(model).keys()  # of linen models that haven't run yet, none are known
            if names and names <= check(model).keys():
                continue  # such as a cache, which nothing calls
            enter, leave = functools.partial(self._entered, i, names_in(model)), functools.partial(self._left, i)
            self._block.enter_context(register_forward_pre_hook(model, enter, "*", traced=True))
            self._block.enter_context(register_forward_hook(model, leave, "*", prepend=True, always_call=True, traced=True))
        return self

    def __exit__(self, *_exception: Any) -> None:
        self._block.close()

    def _entered(self, model, name, module, args):
        self.enter(name(module), type(module).__name__, model)

    def _left(self, model, module, args, output):
        self.leave(model)

    def begin(self) -> None:
        """A program begins: calls are counted from 1."""
        while self._scopes[0]:
            self.leave()
        self._calls = {}

    def enter(self, path: str, cls: str, model: int = 0) -> None:
        """A call of the module of this path and class begins; `model` is the number of its model."""
        if path == "":
            if self._scopes[model]:
                # A functionalized network begins again where it has to run on the tape: what it had begun is no call.
                while self._scopes[model]:
                    self.leave(model)
                self._calls = self._calls_before
            self._calls_before = dict(self._calls)
        number = self._numbers.setdefault((model, path), len(self._names))
        if number == len(self._names):
            self._names.append((path, cls))
        self._calls[number] = self._calls.get(number, 0) + 1
        name = f"msjax[{number}.{self._calls[number]}]"
        scope = jax.named_scope(name)
        scope.__enter__()
        self._scopes[model].append(scope)
        self._under_way.append(name)

    def leave(self, model: int = 0) -> None:
        """The latest call of a model's modules ends."""
        if self._scopes[model]:
            self._scopes[model].pop().__exit__(None, None, None)
            self._under_way.pop()

    def of(self, stack: str) -> tuple[str | None, str, int]:
        """(path, class, number of the call) of the innermost module in the name stack of an operation."""
        found = _SCOPE.findall(stack)
        if not found:
            return (None, "", 0)
        number, call = map(int, found[-1])
        return (*self._names[number], call)

    def around(self, keys: Sequence[str], owned: bool) -> tuple[str | None, str]:
        """(path, class) of the innermost module that has a weight; (None, "") if that isn't known. Its keys are those of its path in what holds
        it, such as the variables of linen or a state of training; of one that surely is `owned` by a model, the whole model may be it."""
        modules = [(path, type(module).__name__) for model in self.models for path, module in paths(model).items()]
        for i in range(len(keys)):
            name = ".".join(keys[i:]).replace("/", ".")  # of haiku
            inside = [module for module in modules if module[0] and name.startswith(f"{module[0]}.")]
            if inside:
                return max(inside, key=lambda module: len(module[0]))
        return next((m for m in modules if m[0] == "" and owned and len(self.models) == 1), (None, ""))
