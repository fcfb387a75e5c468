"""Inputs: the arguments of one run of a model, for functions that take those of several runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msjax.core.base.checks import check_kind
from msjax.core.base.errors import called

# The positional and the keyword arguments of a call.
Call = tuple[tuple[Any, ...], dict[str, Any]]


class Inputs:
    """Positional and keyword arguments of a model, as one value: where a function takes inputs as a value, such as those of a clean and a corrupt run.

    An array alone, or a tuple of positional arguments, needs none. What is called like the model takes keywords as they are, or,
    where it has a keyword of the same name itself, an `Inputs` in the place of all.

    Args:
        args, kwargs: what the model is called with.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def model(*, x, scale):
        ...     return ms.hooks.site("scaled", x * scale).sum()
        >>> clean, corrupt = ms.hooks.Inputs(x=jnp.ones((1, 2)), scale=3), ms.hooks.Inputs(x=jnp.zeros((1, 2)), scale=3)
        >>> print(ms.hooks.patch_sweep(model, clean, corrupt, "scaled", metric=lambda out: out).values)
        [[3. 3.]]
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self.args, self.kwargs = args, kwargs

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"Inputs({', '.join(given)})"


def inputs_of(given: Any) -> Call:
    """The arguments of a run: those of an `Inputs`, of a tuple, or one alone."""
    if isinstance(given, Inputs):
        return given.args, given.kwargs
    fits = isinstance(given, tuple) or not (isinstance(given, str) or callable(given) or given is None)
    check_kind(given, fits, "be an array, a tuple of arguments, or an Inputs", "what a run is called with", called("hooks"))
    return given if isinstance(given, tuple) else (given,), {}


def batches_of(batches: Any, who: str) -> Iterable[Any]:
    """Batches, each the inputs of a run; TypeError for something else, such as one batch alone."""
    fits = isinstance(batches, Iterable) and not isinstance(batches, (Inputs, str, dict)) and not hasattr(batches, "shape")
    return check_kind(batches, fits, "be a list, or another iterable, of batches", "batches", who)


def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The arguments of a function that is called like the model, of which an `Inputs` may stand for all."""
    if len(args) == 1 and isinstance(args[0], Inputs) and not kwargs:
        return inputs_of(args[0])
    return args, kwargs
