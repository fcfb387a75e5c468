"""Ablating and steering: models with some of their values changed. Each is a few lines on `capture`.

Of values of classes that jax knows as pytrees, such as named arrays, what holds for an array is done to their only leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_axis_number, check_kind, check_numeric, check_positive_int, check_value, is_numeric
from msjax.core.base.errors import called, describe, on_behalf_of
from msjax.core.hooks.place_names import path_text
from msjax.core.models.capture import capture_options
from msjax.core.models.kept_programs import derived
from msjax.core.models.where import names_of


def ablate(
    model: Any,
    at: str | Iterable[str],
    *,
    heads: Any = None,
    axis: int | None = None,
    n_heads: int | None = None,
    value: Any = 0.0,
) -> Callable[..., Any]:
    """A model without what some of its places contribute.

    Args:
        model: an nnx module, a Cell, or another model or function, as for `capture`.
        at (str or list of str): places, such as ``"blocks.3.mlp"`` or ``"blocks.*.attn.o_proj:in"``.
        heads (int, or list or array of int, optional): which heads are ablated, from the end if negative; they may be traced, for vmap: where
            a traced one is out of range, the value is NaN. Default: the whole value.
        axis (int, optional): the axis of the heads. Default: the last but one.
        n_heads (int, optional): of a value whose last axis holds all heads one after the other, how many there are, in the place of `axis`.
        value: what stands there instead: a number or an array that is broadcast, or "mean" for the mean over all axes but those of heads and
            features, within jax.vmap those of one example. Default: 0.

    Returns:
        A function, called like the model, that returns what the model would. The model's state stays. It may be used in jax.jit, jax.vmap
        and the like; jax.jit compiles it.

    Raises:
        ValueError: no place, or no head, is selected; a head or the axis is out of range; there is no axis for "mean"; `axis` or `n_heads` is
            given without `heads`, or both are.
        TypeError: `heads` are no integers.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 2, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), jnp.sum)
        >>> print(model(jnp.array([3.0])), ms.hooks.ablate(model, "layers.0", heads=1, n_heads=2)(jnp.array([3.0])))
        6.0 3.0
    """

    def of_array(v):
        if n_heads is not None and v.shape[-1] % n_heads:
            raise ValueError(f"For 'ablate', 'n_heads' should divide the value's last axis, of {v.shape[-1]}, but got {n_heads}.")
        split = v.reshape(*v.shape[:-1], n_heads, -1) if n_heads is not None else v
        shape = v.shape if heads is None else split.shape
        fits = _is_mean(value) or broadcasts(jnp.shape(value), shape)
        check_value(value, fits, f"broadcast to what it replaces, of shape {shape}", "value", "ablate")
        if heads is None:
            return jnp.broadcast_to(_mean(v, 1) if _is_mean(value) else jnp.asarray(value), v.shape).astype(v.dtype)
        at_axis = axis_of(split.shape, axis, "axis")
        mask, missed = selected_along(split, at_axis, heads, "heads")
        other = _mean(split, split.ndim - at_axis) if _is_mean(value) else jnp.asarray(value)
        return spoilt(missed, jnp.where(mask, other.astype(v.dtype), split).reshape(v.shape))

    if n_heads is not None:
        check_positive_int(n_heads, "n_heads", "ablate")
        check_value(n_heads, heads is not None, "come with heads=, which says which of them", "n_heads", "ablate")
        check_value(axis, axis is None, "not come with n_heads=, which divides the last axis", "axis", "ablate")
    check_axis(axis, heads, "axis", "heads=...", "ablate")
    check_kind(value, _is_mean(value) or is_numeric(value), "be a number, an array or 'mean'", "value", "ablate")
    return edited("ablate", model, {place: lambda v, index: jax.tree.map(of_array, v) for place in names_of(at, "at", "ablate")})


def _is_mean(value):
    return isinstance(value, str) and value == "mean"


def _mean(value, kept):
    should = f"be an array, since a value of shape {value.shape} has no axes before those of heads and features (within jax.vmap, it is that of one example)"
    check_value("mean", value.ndim > kept, should, "value", "ablate")
    return value.mean(tuple(range(value.ndim - kept)), keepdims=True)


def steer(
    model: Any, vectors: dict[str, Any], *, scale: Any = 1.0, positions: Any = None, axis: int | None = None
) -> Callable[..., Any]:
    """A model to some of whose values vectors are added.

    Args:
        model: see `ablate`.
        vectors (dict): {place: array that is added, of the value's last axis or broadcast}.
        scale (float): a factor of all of them; it may be traced.
        positions (int, or list or array of int, optional): where along `axis` they are added; see `heads` of `ablate`. Default: everywhere.
        axis (int, optional): the axis of positions. Default: the last but one.

    Returns:
        A function, called like the model; see `ablate`.

    Raises:
        ValueError, TypeError: see `ablate`; a vector doesn't broadcast to the value; `axis` is given without `positions`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 2, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), jnp.sum)
        >>> print(ms.hooks.steer(model, {"layers.0": jnp.array([1.0, 0.5])}, scale=2)(jnp.array([3.0])))
        9.0
    """

    def added(place, vector):
        def edit(value, index):
            for given, name in ((vector, f"vectors[{place!r}]"), (scale, "scale")):
                fits = broadcasts(np.shape(given), value.shape)
                check_value(given, fits, f"broadcast to the value, of shape {value.shape}", name, "steer")
            more = jnp.asarray(vector, value.dtype) * jnp.asarray(scale, value.dtype)
            if positions is None:
                return value + jnp.broadcast_to(more, value.shape)
            mask, missed = selected_along(value, axis_of(value.shape, axis, "axis"), positions, "positions")
            return spoilt(missed, value + jnp.broadcast_to(more * mask, value.shape))

        return edit

    check_kind(vectors, isinstance(vectors, dict), "be a dict of places", "vectors", "steer")
    check_numeric(scale, "scale", "steer")
    check_axis(axis, positions, "axis", "positions=...", "steer")
    return edited("steer", model, {place: on_leaf(place, added(place, vector)) for place, vector in vectors.items()})


def check_axis(axis: Any, along: Any, name: str, other: str, who: str) -> None:
    """Raise if an argument, None if it isn't given, can't be the number of an axis, or if nothing asks for it: None is
    selected along it by the argument that is called `other`."""
    if axis is not None:
        check_axis_number(axis, name, who)
        check_value(axis, along is not None, f"come with {other}, without which it says nothing", name, who)


def axis_of(shape: tuple[int, ...], axis: int | None, name: str) -> int:
    """The number of an axis, None for the last but one, counted from 0; `name` is the argument that gives it. ValueError if it is none."""
    axis = -2 if axis is None else axis
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"For '{called('ablate')}', {name!r} should be an axis of a value of shape {shape}, but got {axis!r}.")
    return axis % len(shape)


def selected_along(value: jax.Array, axis: int, numbers: Any, name: str) -> tuple[jax.Array, Any]:
    """Which elements of an axis are selected.

    Args:
        axis: counted from 0.
        numbers: one or several, from the end if negative; they may be traced. The argument called `name` gives them.

    Returns:
        (a mask of the value's shape and sharding, whether a traced number is out of range).

    Raises:
        ValueError: there are none, or one that isn't traced is out of range.
        TypeError: they are no integers.
    """
    shape, size, who = value.shape, value.shape[axis], f"For '{called('ablate')}', {name!r} should be"
    known = not any(map(is_tracer, jax.tree.leaves(numbers)))
    given = (np if known else jnp).atleast_1d((np if known else jnp).asarray(numbers))
    if given.size == 0:
        raise ValueError(f"{who} at least one number, but got {describe(numbers)}.")
    if not jnp.issubdtype(given.dtype, jnp.integer):
        raise TypeError(f"{who} integers, but got {describe(numbers)}.")
    outside = ((given < -size) | (given >= size)).any()
    if known and outside:
        raise ValueError(
            f"{who} from {-size} to {size - 1}, since axis {axis} of a value of shape {shape} is that long, but got {numbers}."
        )
    mask = jnp.isin(jnp.arange(size), jnp.where(given < 0, given + size, given))
    mask = mask.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return jnp.ones_like(value, dtype=bool) & mask, False if known else outside


def spoilt(missed: Any, value: jax.Array) -> jax.Array:
    """A value that is NaN, or for integers the largest number, where a traced number selects nothing of it: that can't raise an error."""
    if missed is False:
        return value
    loud = jnp.nan if jnp.issubdtype(value.dtype, jnp.inexact) else jnp.iinfo(value.dtype).max
    return jnp.where(missed, jnp.asarray(loud, value.dtype), value)


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of a shape can be broadcast to another one."""
    return len(shape) <= len(to) and all(one in (1, other) for one, other in zip(reversed(shape), reversed(to)))


def edited(who: str, model: Any, edit: dict[str, Callable[[Any, Any], Any]]) -> Callable[..., Any]:
    """A model with edits: a function, called like the model, that returns what the model would. `who` is what the user has called."""
    with on_behalf_of(who):
        options = capture_options([], edit=edit)._replace(writes=True)
    return derived(who, model, lambda pure, args, kwargs: pure.run(pure.state, options, args, kwargs)[0])


def on_leaf(name: str, fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make an edit of an array into one of a value, at the place of a name, that holds a single array, such as a tuple of one.

    It raises TypeError for a value with several leaves, and names its elements.
    """

    def edit(value, index):
        return jax.tree.unflatten(jax.tree.structure(value), [fn(only_leaf(name, value), index)])

    return edit


def only_leaf(name: str, value: Any) -> Any:
    """The array that a value is, or holds; TypeError if it has several leaves."""
    found = jax.tree_util.tree_leaves_with_path(value)
    if len(found) == 1:
        return found[0][1]
    place, mark, call = name.partition("#")
    close = ", ".join(repr(f"{place}{'' if ':' in place else ':out'}{path_text(path)}{mark}{call}") for path, _ in found)
    raise TypeError(
        f"For '{called('capture')}', the value of a place should be an array, but that of {name!r} is {describe(value)}: "
        f"name one of its elements, such as {close}."
    )
