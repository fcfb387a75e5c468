"""What the parts of the protocol know of the values that hooks get, of the frames that hooks stand around, and of what hooks return: checks,
and errors that name the hook and its cell or module."""

from __future__ import annotations

import sys
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import callable_name, describe, owner_named, raised_by
from msjax.core.base.state import STATE


def replaces_nothing(result: object) -> bool:
    """Whether a hook of arrays returned None, or a container of nothing but None, as ``jax.tree.map(log.append, output)`` does."""
    if result is None:
        return True
    if not isinstance(result, (list, tuple, dict)) or not result:
        return False
    return all(leaf is None for leaf in jax.tree.leaves(result, is_leaf=lambda leaf: leaf is None))


# Classes of values that are neither containers nor tracers; that of jax's arrays is added when the first of them comes.
_KNOWN: set[type[Any]] = {bool, int, float, complex, str, type(None), np.ndarray}


def are_known(args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> bool:
    """Whether all arguments are arrays with values, and numbers, none of them in a container."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if value.__class__ not in _KNOWN:
            if is_tracer(value) or not isinstance(value, jax.Array):
                return False
            _KNOWN.add(value.__class__)
    return True


class ValueKind:
    """A kind of values in nested containers: jax arrays in pytrees, unless a subclass says otherwise.

    Attributes:
        noun: what a value is called in messages.
        reading: how a hook reads one.
        uncompiled: what else to do where a hook has to.
    """

    noun = "array"
    reading = "np.asarray"
    uncompiled = "call the model outside of jit"

    # ---- values in containers

    def is_leaf(self, value: Any) -> bool:
        """For jax.tree's `is_leaf`: what is not taken apart. Modules and variables go through as they are; None is no empty tree."""
        return value is None or _is_of_nnx(value)

    def is_value(self, leaf: Any) -> TypeGuard[Any]:
        """Whether a leaf is a value: hooks of gradients count these."""
        return isinstance(leaf, (jax.Array, np.ndarray)) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)

    def is_fixed(self, leaf: Any) -> bool:
        """Whether an observer is to get the leaf itself, although it is a value."""
        return False

    def raw(self, leaf: Any) -> Any:
        """The array of a value."""
        return leaf

    def made(self, array: Any) -> Any:
        """A value of an array."""
        return array

    def is_nothing(self, result: Any) -> bool:
        """Whether what a hook returned replaces nothing; see `replaces_nothing`."""
        return replaces_nothing(result)

    def find(self, tree: Any) -> tuple[list[Any], Any, list[int]]:
        """(leaves, treedef, indices of the leaves that are values)."""
        leaves, treedef = jax.tree.flatten(tree, is_leaf=self.is_leaf)
        return leaves, treedef, [i for i, leaf in enumerate(leaves) if self.is_value(leaf)]

    def arrays(self, tree: Any) -> list[Any]:
        """The arrays of the values in nested containers."""
        leaves, _, at = self.find(tree)
        return [self.raw(leaves[i]) for i in at]

    def has_tracers(self, args: Any, kwargs: Any = None) -> bool:
        """Whether jax traces a value among the arguments of a call."""
        if are_known(args, kwargs) or jax_slots.trace_state() == jax_slots.NO_TRACE:
            return False
        return any(map(is_tracer, jax.tree.leaves((args, kwargs), is_leaf=self.is_leaf)))

    def depending(self, array: Any, value: Any) -> Any:
        """A value of `array`, which equals that of `value` and depends on something else, too; it has the place of `value` on the tape."""
        return array


def _is_of_nnx(value):
    # flax is not imported for that: without it, there are no modules of it.
    nnx: Any = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, (nnx.Module, nnx.Variable, nnx.Rngs, nnx.RngStream))


# ---- what hooks return


class HookPlace(NamedTuple):
    """Where a hook stands, for messages. The owner's path, for which a network is searched, is found when a message needs it.

    Attributes:
        kind: such as "forward hook".
        owners: weak references to the owners of hooks around it, the innermost last: a program that a network keeps must not keep the network.
    """

    kind: str
    owners: tuple[weakref.ref[Any], ...] = ()

    @classmethod
    def within(cls, kind: str, owners: Sequence[Any] | None = None) -> HookPlace:
        """The place of a hook of these owners, the innermost last; by default, of those that are being called."""
        return cls(kind, tuple(map(weakref.ref, STATE.owners if owners is None else owners)))

    def text(self, fn: Callable[..., Any]) -> str:
        """The hook that stands there, as messages name it."""
        owners = [owner for ref in self.owners if (owner := ref()) is not None]
        of = f" of {owner_named(owners)}" if owners and len(owners) == len(self.owners) else ""
        return f"the {self.kind} {callable_name(fn)}{of}"

    def sentence(self, fn: Callable[..., Any]) -> str:
        """`text` with a capital, to begin a sentence."""
        return f"T{self.text(fn)[1:]}"

    def note(self, error: Exception, fn: Callable[..., Any]) -> None:
        """Add a note with the hook that stands there to an exception that it has raised, unless a hook within it was the one."""
        if not getattr(error, "brief_traceback", False):
            raised_by(error, self.text(fn))


def check_has_run(fn: Callable[..., Any], kind: str, result: object, owners: Sequence[Any] | None = None) -> None:
    """TypeError if a forward hook or forward pre hook returned a coroutine, as ``lambda *given: save(*given)`` does where `save` is one."""
    if isinstance(result, types.CoroutineType):
        result.close()
        raise TypeError(
            f"{HookPlace.within(kind, owners).sentence(fn)} returned a coroutine: nothing of it has run. Give its work to an event loop or a "
            "queue, and return None."
        )


def forward_pre_result(
    values: ValueKind, fn: Callable[..., Any], with_kwargs: bool, result: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) after a forward pre hook."""
    if values.is_nothing(result):
        return args, kwargs
    check_has_run(fn, "forward pre hook", result)
    if not with_kwargs:
        return (result if isinstance(result, tuple) else (result,)), kwargs
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{HookPlace.within('forward pre hook').sentence(fn)}, registered with_kwargs=True, should return None or a tuple "
            f"(new_args, new_kwargs), but returned {describe(result)}."
        )
    new_args, new_kwargs = result
    if not isinstance(new_args, (tuple, list)) or not isinstance(new_kwargs, dict):
        raise TypeError(
            f"{HookPlace.within('forward pre hook').sentence(fn)} should return (tuple, dict), but returned "
            f"({describe(new_args)}, {describe(new_kwargs)})."
        )
    return tuple(new_args), new_kwargs


def check_forward_result(fn: Callable[..., Any], result: Any, output: Any, owners: Sequence[Any] | None) -> None:
    """Check what a forward hook of a module puts in the place of its output; another structure or dtype is warned of.

    Raises:
        TypeError: neither an array nor a number stands for an array.
        ValueError: an array has another shape, which broadcasts to the output's or from it, so that nothing behind would notice.
    """

    def came(new, old, text=describe):
        return f"{HookPlace.within('forward hook', owners).sentence(fn)} returned {text(new)} in the place of {text(old)}"

    (new, structure), (old, expected) = jax.tree.flatten(result), jax.tree.flatten(output)
    if structure != expected:
        # The static data of a class of one's own, such as names of axes, may be others.
        if type(result) is not type(output) or isinstance(result, (tuple, list, dict)):
            warnings.warn(f"{came(result, output)}: it has another structure, with which the model goes on.", stacklevel=2)
        return
    for one, other in zip(new, old):
        if not isinstance(other, (jax.Array, np.ndarray)):
            continue
        if not isinstance(one, (jax.Array, np.ndarray, np.generic, int, float, complex)):
            raise TypeError(f"{came(one, other)}.")
        if (shape := np.shape(one)) != other.shape and all(1 in (a, b) or a == b for a, b in zip(shape[::-1], other.shape[::-1])):
            raise ValueError(
                f"{came(one, other)}, to which it would broadcast in silence. If that is meant, return jnp.broadcast_to(value, output.shape)."
            )
        if (dtype := getattr(one, "dtype", other.dtype)) != other.dtype:
            warnings.warn(
                f"{came(dtype, other.dtype, str)}, with which the model goes on; value.astype(output.dtype) has the output's dtype, "
                "and so does what is registered with cast=True.",
                stacklevel=2,
            )


def gradients_result(
    values: ValueKind, fn: Callable[..., Any], kind: str, result: Any, grads: tuple[Any, ...], owners: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """The gradients after a backward hook, backward pre hook or HookBackward function.

    Args:
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
    """Check that an observer returned None: called after the run of a compiled program, it could change nothing."""
    if not replaces_nothing(result):
        raise TypeError(
            f"{place.sentence(fn)} is an observer, which compiled programs call after the run, but returned {describe(result)}. "
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

    check_gradients = staticmethod(gradients_result)  # of hooks that may replace a tuple of gradients


@dataclass(frozen=True)
class Rules:
    """What hooks get, and where the nodes sit that call hooks of gradients.

    Attributes:
        nodes_around_forward_hooks: True puts the backward hooks' node on the outputs after the forward hooks, which get the
            inputs after the node on the inputs; False puts it before the forward hooks.
        names_subject: hooks get the str ``Name(id)`` instead of their owner.
        grad_output_first: backward hooks get the gradient of the outputs before that of the inputs.
    """

    nodes_around_forward_hooks: bool = False
    names_subject: bool = False
    grad_output_first: bool = False

    def text_of(self, subject: object) -> str:
        """The first argument of hooks if `names_subject` is set."""
        return f"{type(subject).__name__}({id(subject)})"


@dataclass(slots=True)
class HookSettings:
    """The present settings.

    Attributes:
        rules: those that calls from now on follow.
        queue_bytes: how many bytes of values may wait for hooks of programs that jax compiles.
    """

    rules: Rules = Rules()
    queue_bytes: int = 256 << 20

    def follow(self, **rules: bool) -> None:
        """Change these attributes of the `Rules` for all later hook calls."""
        self.rules = Rules(**rules)


HOOK_SETTINGS = HookSettings()
