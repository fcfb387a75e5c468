"""How the tools work on models that `msjax.core` doesn't know, such as Cells: those that know them add that here, from above."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from msjax.core.hooks.values import ARRAYS, Values

T = TypeVar("T")


class ModelTools:
    """The tools for one kind of model and its values. The methods do what the tool of their name promises, for these models.

    Attributes:
        kind: how files name this kind.
        values: finds the values, such as Tensors, that these models are called with.
    """

    kind = "models"
    values: Values = ARRAYS

    def owns(self, model: Any) -> bool:
        """Whether a model is of this kind."""
        raise NotImplementedError

    def holds(self, given: Any) -> bool:
        """Whether there are values of this kind in nested containers."""
        return any(map(self.values.is_value, jax.tree.leaves(given, is_leaf=self.values.is_value)))

    def hooks_of(self, model: Any) -> dict[str, list[str]]:
        raise NotImplementedError

    def weights(self, model: Any) -> Iterable[tuple[str, Any, bool]]:
        """(dotted name, array, whether it is trained), for `summary`."""
        raise NotImplementedError

    def outputs(self, model: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, list[Any]]:
        """{path: for each call of a module, ((shape, dtype), ...) of its outputs}, for `summary`."""
        raise NotImplementedError

    def tree_node(self, node: Any, path: Any, subtree_renderer: Any) -> Any:
        """What treescope shows of a model."""
        raise NotImplementedError

    def record(self, found: Any, model: Any, call: Any, gradients: bool, loss: Any, mode: str | None) -> None:
        """Fill a `Record`; `call` are (positional arguments, keywords)."""
        raise NotImplementedError

    def find_nan(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], check: Any, gradients: bool | None) -> Any:
        raise NotImplementedError

    def guard(self, model: Any, *options: Any) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def watch(self, model: Any, *options: Any) -> Any:
        raise NotImplementedError

    def replay(self, bundle: Any, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any], check: Any) -> Any:
        raise NotImplementedError

    def scopes(self, under_way: Sequence[str]) -> AbstractContextManager[Any]:
        """A context in which gradients that this kind computes are named, in what jax traces, as the call that they belong to.

        Args:
            under_way: the names of the calls under way, outermost first; it changes as calls begin and end.
        """
        raise NotImplementedError

    def place(self, owners: Sequence[Any]) -> tuple[str | None, str] | None:
        """(path, class) of the innermost owner of hooks, where a search of this kind names it otherwise than its path; or None."""
        raise NotImplementedError

    def check_failed(self, fault: Any) -> None:
        """Called with the `Fault` of a condition of the user's, before it is raised."""
        raise NotImplementedError


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
