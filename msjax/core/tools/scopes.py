"""Names the calls of a model's modules in what jax traces, so that each operation of a program tells which call it belongs to."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from typing import Any

import jax

from msjax.core.models.module_hooks import register_forward_hook, register_forward_pre_hook
from msjax.core.tools.hook_set import names_in
from msjax.core.tools.model_tools import added

_SCOPE = re.compile(r"msjax\[(\d+)\.(\d+)\]")


class Scopes:
    """A context in which each call of a model's modules is named in what jax traces.

    Args:
        models: nnx modules, Cells, and what `hooks.hooked` made.
    """

    def __init__(self, models: Sequence[Any]):
        self.models = models
        self._numbers: dict[tuple[int, str], int] = {}
        self._names: list[tuple[str, str]] = []
        self._calls: list[int] = []
        self._calls_before: list[int] = []
        self._handles = []
        self._under_way: list[str] = []

    def __enter__(self) -> Scopes:
        self._gradients = contextlib.ExitStack()
        for tools in added():
            self._gradients.enter_context(tools.scopes(self._under_way))
        for i, model in enumerate(self.models):
            entered, name = _Entered(self._under_way), names_in(model)
            enter, leave = functools.partial(self._enter, i, name, entered), functools.partial(_leave, entered)
            self._handles += [
                register_forward_pre_hook(model, enter, "*", traced=True),
                register_forward_hook(model, leave, "*", prepend=True, always_call=True, traced=True),
            ]
        return self

    def __exit__(self, *_exception: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._gradients.close()

    def _enter(self, model, name, entered, module, args):
        path = name(module)
        if path == "" and entered.scopes:
            # A functionalized network begins again where it has to run on the tape: what it had begun is no call.
            entered.leave_all()
            self._calls = self._calls_before + [0] * (len(self._calls) - len(self._calls_before))
        if path == "":
            self._calls_before = list(self._calls)
        number = self._numbers.setdefault((model, path), len(self._names))
        if number == len(self._names):
            self._names.append((path, type(module).__name__))
            self._calls.append(0)
        self._calls[number] += 1
        entered.enter(f"msjax[{number}.{self._calls[number]}]")

    def of(self, stack: str) -> tuple[str | None, str, int]:
        """(path, class, number of the call) of the innermost module in the name stack of an operation."""
        return _of(stack, self._names)

    def around(self, name: str) -> tuple[str | None, str]:
        """(path, class) of the innermost module that has a weight; (None, "") if that isn't known."""
        if len(self.models) != 1:
            return None, ""
        inside = [(path, cls) for path, cls in self._names if name.startswith(f"{path}." if path else "")]
        return max(inside, key=lambda module: len(module[0]), default=(None, ""))


class CallScopes:
    """Names the calls of cells while a program is traced, where hooks tell of them."""

    def __init__(self):
        self._entered = _Entered([])
        self._names: list[tuple[str, str]] = []
        self._numbers: dict[str, int] = {}
        self._calls: dict[int, int] = {}

    def begin(self) -> None:
        """A program begins: calls are counted from 1."""
        self._entered.leave_all()
        self._calls = {}

    def enter(self, path: str, cls: str) -> None:
        """A call of the cell of this path and class begins."""
        number = self._numbers.setdefault(path, len(self._names))
        if number == len(self._names):
            self._names.append((path, cls))
        self._calls[number] = self._calls.get(number, 0) + 1
        self._entered.enter(f"msjax[{number}.{self._calls[number]}]")

    def leave(self) -> None:
        """The latest call ends."""
        if self._entered.scopes:
            self._entered.leave()

    def of(self, stack: str) -> tuple[str | None, str, int]:
        """See `Scopes.of`."""
        return _of(stack, self._names)


def _of(stack, names):
    found = _SCOPE.findall(stack)
    if not found:
        return (None, "", 0)
    number, call = map(int, found[-1])
    return (*names[number], call)


class _Entered:
    """The calls of one model that are under way.

    Args:
        under_way: the names of the scopes of all models; changed as calls begin and end.
    """

    def __init__(self, under_way: list[str]):
        self.scopes: list[Any] = []
        self._under_way = under_way

    def enter(self, name: str) -> None:
        scope = jax.named_scope(name)
        scope.__enter__()
        self.scopes.append(scope)
        self._under_way.append(name)

    def leave(self) -> None:
        self.scopes.pop().__exit__(None, None, None)
        self._under_way.pop()

    def leave_all(self) -> None:
        while self.scopes:
            self.leave()


def _leave(entered, module, args, output):
    entered.leave()
