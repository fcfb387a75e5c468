"""Checks what hooks return, and raises errors that name the hook and its cell or module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from msjax.core.base.errors import callable_name, describe, owner_named
from msjax.core.hooks.kinds import ValueKind, replaces_nothing

if TYPE_CHECKING:
    from msjax.core.hooks.hook import Hook


class HookPlace(NamedTuple):
    """Where a hook stands, for messages.

    Attributes:
        kind: such as "forward hook".
        owner: the owner of hooks around it, as `owner_named` names it.
    """

    kind: str
    owner: str = ""

    @classmethod
    def within(cls, kind: str, owners: Sequence[Any] | None = None) -> HookPlace:
        """That of a hook of these owners, the innermost last; by default, of those that are being called."""
        return cls(kind, owner_named(owners))

    def text(self, fn: Callable[..., Any]) -> str:
        """The hook that stands there, as messages name it."""
        return f"the {self.kind} {callable_name(fn)}" + (f" of {self.owner}" if self.owner else "")

    def sentence(self, fn: Callable[..., Any]) -> str:
        """The same at the beginning of a sentence."""
        return f"T{self.text(fn)[1:]}"


def forward_pre_result(
    values: ValueKind, hook: Hook, result: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) after a forward pre hook."""
    if values.is_nothing(result):
        return args, kwargs
    if not hook.with_kwargs:
        return (result if isinstance(result, tuple) else (result,)), kwargs
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{HookPlace.within('forward pre hook').sentence(hook.fn)}, registered with_kwargs=True, should return None or a tuple "
            f"(new_args, new_kwargs), but returned {describe(result)}."
        )
    new_args, new_kwargs = result
    if not isinstance(new_args, (tuple, list)) or not isinstance(new_kwargs, dict):
        raise TypeError(
            f"{HookPlace.within('forward pre hook').sentence(hook.fn)} should return (tuple, dict), but returned "
            f"({describe(new_args)}, {describe(new_kwargs)})."
        )
    return tuple(new_args), new_kwargs


def check_forward_result(hook: Hook, result: Any, output: Any, owners: Sequence[Any] | None) -> None:
    """Check what a forward hook of a module puts in the place of its output; an array of another dtype is warned of.

    Raises:
        ValueError: an array has another shape, which broadcasts to the output's or from it, so that nothing behind would notice.
    """
    (new, structure), (old, expected) = jax.tree.flatten(result), jax.tree.flatten(output)
    if structure != expected:
        return
    for one, other in zip(new, old):
        if not hasattr(one, "dtype") or not hasattr(other, "dtype"):
            continue
        who = HookPlace.within("forward hook", owners).sentence(hook.fn)
        if one.shape != other.shape and all(1 in (a, b) or a == b for a, b in zip(one.shape[::-1], other.shape[::-1])):
            raise ValueError(
                f"{who} returned {describe(one)} in the place of {describe(other)}, to which it would "
                "broadcast in silence. If that is meant, return jnp.broadcast_to(value, output.shape)."
            )
        if one.dtype != other.dtype:
            warnings.warn(
                f"{who} returned {one.dtype} in the place of {other.dtype}, with which the model goes on; "
                "value.astype(output.dtype) has the output's dtype.",
                stacklevel=2,
            )


def gradients_result(
    values: ValueKind, fn: Callable[..., Any], kind: str, result: Any, grads: tuple[Any, ...], owners: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """The gradients after a backward hook, backward pre hook or HookBackward function.

    Args:
        values (Values): says what a value is.
        fn: the hook.
        kind: the kind of hook, as messages name it.
        result: what the hook returned.
        grads: the tuple of gradients that the hook got, None where there is no gradient.
        owners: the owners of hooks around it, for messages.

    Raises:
        TypeError: `result` is not a tuple with a value for each gradient.
        ValueError: a value has another shape or dtype than its gradient.
    """
    if result is grads or values.is_nothing(result):
        return grads
    if values.is_value(result) and len(grads) == 1:
        result = (result,)

    def who():
        return HookPlace.within(kind, owners).sentence(fn)

    expected = f"expected is None or a tuple of {len(grads)} {values.noun}(s), {describe(grads)}"
    if not isinstance(result, tuple) or len(result) != len(grads):
        raise TypeError(f"{who()} returned {describe(result)}; {expected}.")
    for i, (new, old) in enumerate(zip(result, grads)):
        if new is None and old is None:
            continue
        if not values.is_value(new):
            raise TypeError(f"{who()} returned {describe(new)} for gradient {i}; {expected}.")
        if old is not None and (new.shape != old.shape or values.raw(new).dtype != values.raw(old).dtype):
            raise ValueError(
                f"{who()} returned a gradient of shape {new.shape} and dtype {new.dtype} for gradient {i}, "
                f"but expected are shape {old.shape} and dtype {old.dtype}."
            )
    return result


def check_observer_result(result: object, place: HookPlace, fn: Callable[..., Any]) -> None:
    """Check that an observer, called after the run, returned None; another value could no longer change the run."""
    if not replaces_nothing(result):
        raise TypeError(
            f"In a compiled program, {place.text(fn)} was called after the run, as an observer, but returned {describe(result)}. "
            "Register it with traced=True if it is to change what the network computes."
        )


class HookKind(NamedTuple):
    """One kind of hook.

    Attributes:
        name: the attribute of a HookTable that has the hooks; "" of functions that stand in no table.
        text: how messages name a hook of this kind.
        check: of hooks of gradients, a function of (values, hook function, text, what it returned, the gradients, owners) to the new ones.
    """

    name: str
    text: str
    check: Callable[..., Any] | None = None

    @staticmethod
    def check_gradients(*given: Any) -> tuple[Any, ...]:
        """The check of hooks that may replace a tuple of gradients; see `gradients_result`."""
        return gradients_result(*given)
