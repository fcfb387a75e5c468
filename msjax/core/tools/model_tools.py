"""How the tools work on models that `msjax.core` doesn't know, such as Cells: those that know them add that here, from above. Which models a
function calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from msjax.core.base.held_state import cell_contents, values_named
from msjax.core.base.libraries import of_library
from msjax.core.hooks.values import ARRAYS, Values
from msjax.core.models.frameworks.framework import framework_of

T = TypeVar("T")


class ModelTools:
    """The tools for one kind of model and its values. The methods do what the tool of their name promises, for these models.

    Attributes:
        kind: how files name this kind.
        values: finds the values, such as Tensors, that these models are called with.
    """

    kind = "models"
    values: Values = ARRAYS

    # Whether a model is of this kind.
    owns: Callable[[Any], bool]
    hooks_of: Callable[[Any], dict[str, list[str]]]
    # (dotted name, array, whether it is trained) of each weight of a model, for `summary`.
    weights: Callable[[Any], Iterable[tuple[str, Any, bool]]]
    # Of a model, its arguments and keywords: {path: for each call of a module, ((shape, dtype), ...) of its outputs}, for `summary`.
    outputs: Callable[[Any, tuple[Any, ...], dict[str, Any]], dict[str, list[Any]]]
    # What treescope shows of a model, given its path and the renderer of what is in it.
    tree_node: Callable[[Any, Any, Any], Any]
    # Fills a `Record` of a model's run; then come (positional arguments, keywords), `gradients`, `loss` and `mode`.
    record: Callable[[Any, Any, Any, bool, Any, str | None], None]
    find_nan: Callable[[Any, tuple[Any, ...], dict[str, Any], Any, bool | None], Any]
    guard: Callable[..., AbstractContextManager[Any]]
    watch: Callable[..., Any]
    # Of a bundle, the step, its arguments and keywords, and the check.
    replay: Callable[[Any, Any, tuple[Any, ...], dict[str, Any], Any], Any]
    # A context in which gradients that this kind computes are named, in what jax traces, as the call that they belong to. It is given the names
    # of the calls under way, outermost first, which change as calls begin and end.
    scopes: Callable[[Sequence[str]], AbstractContextManager[Any]]
    # (path, class) of the innermost of some owners of hooks, where a search of this kind names it otherwise than its path; or None.
    place: Callable[[Sequence[Any]], tuple[str | None, str] | None]
    # Called with the `Fault` of a condition of the user's, before it is raised.
    check_failed: Callable[[Any], None]

    def holds(self, given: Any) -> bool:
        """Whether there are values of this kind in nested containers."""
        return any(map(self.values.is_value, jax.tree.leaves(given, is_leaf=self.values.is_value)))


_ADDED: list[ModelTools] = []


def add_model_tools(tools: ModelTools) -> None:
    """Make a kind of model known to the tools."""
    _ADDED.append(tools)


def added() -> Iterable[ModelTools]:
    """All that were added."""
    return _ADDED


def tools_of(model: Any) -> ModelTools | None:
    """The tools for a model; None for models of jax, and for what is no model."""
    return next((tools for tools in _ADDED if tools.owns(model)), None)


def tools_with(model: Any, given: Any) -> ModelTools | None:
    """The tools for a model or for the values that something is called with; None where all of it is jax's."""
    return tools_of(model) or next((tools for tools in _ADDED if tools.holds(given)), None)


def as_arrays(given: T) -> T:
    """Nested containers in which values of another kind, such as Tensors, are jax arrays."""
    for tools in _ADDED:
        values = tools.values
        given = jax.tree.map(lambda v: values.raw(v) if values.is_value(v) else v, given, is_leaf=values.is_value)  # noqa: B023
    return given


def as_values(given: T, kind: Values) -> T:
    """Nested containers in which arrays, those of numpy included, are values of a kind, such as Tensors."""
    is_array = lambda v: hasattr(v, "dtype") and not kind.is_value(v)  # noqa: E731
    return jax.tree.map(lambda v: kind.made(jnp.asarray(v)) if is_array(v) else v, given, is_leaf=kind.is_value)


def values_of(value: Any) -> Values:
    """The kind of a value: `ARRAYS`, or that of Tensors."""
    return next((tools.values for tools in _ADDED if tools.values.is_value(value)), ARRAYS)


def models_of(fn: Any, args: Any, kwargs: Any) -> Iterator[Any]:
    """The models that take hooks and that a function may call: itself, those among its arguments, and the variables that it reads."""
    seen = set()
    for values in (lambda: [fn, *jax.tree.leaves((args, kwargs), is_leaf=_is_model)], lambda: _read_by(fn, 0)):
        for value in values():
            if _is_model(value) and id(value) not in seen:
                seen.add(id(value))
                yield value


def _is_model(value):
    return not isinstance(value, type) and framework_of(value) is not None


def _read_by(fn, depth):
    """The variables that a function reads, and the functions among these, such as the `apply` of a functionalized network."""
    function: Any = inspect.unwrap(getattr(fn, "func", fn))
    if depth > 3 or getattr(function, "__code__", None) is None:
        return []
    # Of a library's functions, only what they were given: from their globals, everything can be reached.
    read = [*map(cell_contents, function.__closure__ or ())] if of_library(function) else values_named(function)
    read.append(getattr(function, "__self__", None))
    return [*read, *(inner for value in read if value is not fn for inner in _read_by(value, depth + 1))]
