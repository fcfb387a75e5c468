"""splice: models in which an autoencoder or transcoder stands at a place; transplant: values of one prompt in the run of another one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from msjax.core.base.checks import check_bool, check_kind, check_pair
from msjax.core.base.errors import called, check_function, noting
from msjax.core.hooks.place_names import matches_place, split_steps, with_steps
from msjax.core.models.inputs import inputs_of
from msjax.core.models.kept_programs import derived
from msjax.core.study.programs import matching, on_tape
from msjax.core.study.tape import Tape
from msjax.core.study.verbs import axis_of, check_axis, selected_along, spoilt


def splice(
    model: Any,
    coders: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]],
    *,
    edit: dict[Any, Callable[..., Any]] | None = None,
    error: bool = True,
) -> Callable[..., Any]:
    """A model whose values pass through sparse autoencoders or transcoders.

    Args:
        model: an nnx module, or another model or function, as for `capture`.
        coders: {place, or pattern of several: (encode, decode)}: the value is replaced by ``decode(encode(value))``; or, for a transcoder,
            {(place that is read, place that is replaced): (encode, decode)}, such as ``("blocks.0.mlp:in", "blocks.0.mlp")``.
        edit (dict, optional): {key of `coders`: ``fn(features)``}, whose result is decoded in the place of the features.
        error: True to add what the coders don't reconstruct, as a constant (Marks et al., 2024): without an `edit` the model returns what it
            would by itself. False for the reconstruction alone.

    Returns:
        A function, called like the model, for jax.jit and the like; it can be differentiated.

    Raises:
        ValueError: there is no such place; what is decoded has another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def model(x):
        ...     return ms.hooks.site("hidden", x * 2) + 1
        >>> coder = {"hidden": (lambda x: jnp.maximum(x, 0), lambda f: f)}
        >>> x = jnp.array([1.0, -1.0])
        >>> print(ms.hooks.splice(model, coder)(x), ms.hooks.splice(model, coder, error=False)(x))
        [ 3. -1.] [3. 1.]
        >>> print(ms.hooks.splice(model, coder, edit={"hidden": lambda f: f + 1})(x))
        [4. 0.]
    """
    check_kind(edit, edit is None or isinstance(edit, dict), "be a dict of functions", "edit", "splice")
    check_bool(error, "error", "splice")
    edit = dict(edit or {})
    check_kind(coders, isinstance(coders, dict) and coders, "be a dict of at least one place", "coders", "splice")
    for key, coder in coders.items():
        check_pair(coder, "(encode, decode)", f"the coder of {key!r}", "splice")
    pairs = {key: key if isinstance(key, tuple) else (key, key) for key in coders}
    for key in edit:
        if key not in pairs:
            raise ValueError(f"For 'splice', 'edit' has {key!r}, but there are coders for {', '.join(map(repr, pairs))}.")
    for fn, what in (*((fn, "coder") for both in coders.values() for fn in both), *((fn, "edit") for fn in edit.values())):
        check_function(fn, "splice", what, ("value" if what == "coder" else "features",))

    def call(pure, args, kwargs):
        def changed(target, name, value, tape):
            for key, (source, replaced) in pairs.items():
                if replaced == target:
                    given = value if source == target else _read(tape, source, name)
                    value = _through(name, value, given, coders[key], edit.get(key), error)
            return value

        targets = [target for _, target in pairs.values()]
        read = [source for source, _ in pairs.values()]
        return _with_values(pure, (args, kwargs), targets, read, changed, _is_step_of)

    return derived("splice", model, call)


def _with_values(pure, call, targets, read, changed, matches):
    """What a model returns where ``changed(target, name, value, tape)`` stands for the values of the places `targets`, those
    for which ``matches(target, name)`` holds; `read` are other places that are read from the tape."""

    def work(program):
        seen = set()

        def at_place(name, node, tape):
            value = node.value
            for target in dict.fromkeys(targets):
                if matches(target, name):
                    value = changed(target, name, value, tape)
                    seen.add(target)
            return value

        tape = Tape(at_place, derivatives=True)
        result = program.run(tape)[1]
        for target in targets:
            if target not in seen:
                there = ", ".join(map(repr, tape.places))
                raise ValueError(
                    f"For '{called('splice')}', there is no place {target!r} with an array of floats; there are {there}."
                )
        return result

    return on_tape(pure, pure.state, [place for place in (*targets, *read) if ":" in place], call, work, writes=True)


def _is_step_of(target, name):
    """Whether a place is the target, or one of its steps or calls."""
    return target == name or matches_place(target, split_steps(name)[0].partition("#")[0])


def _read(tape, source, target):
    """The value of a place in the same step as another one, or of that name."""
    for each in (with_steps(source, split_steps(target)[1]), source):
        if each in tape.places:
            return tape.places[each].value
    raise ValueError(
        f"For 'splice', {source!r} has to be computed before what is replaced; there are {', '.join(map(repr, tape.places))}."
    )


def _through(name, value, given, coder, edit, error):
    encode, decode = coder
    with noting(f"the coder at {name!r}"):
        features = encode(given)
        plain = decode(features)
    if jnp.shape(plain) != jnp.shape(value):
        raise ValueError(
            f"For 'splice', what is decoded at {name!r} should be of shape {jnp.shape(value)}, but is of {jnp.shape(plain)}."
        )
    with noting(f"the edit at {name!r}"):
        new = plain if edit is None else decode(edit(features))
    return (new + jax.lax.stop_gradient(value - plain) if error else new).astype(value.dtype)


def transplant(
    model: Any, source: Any, places: dict[str, str], *, positions: tuple[Any, Any] | None = None, axis: int | None = None
) -> Callable[..., Any]:
    """A model some of whose values are those of a run on other inputs, both runs in one program (Ghandeharioun et al., 2024).

    Args:
        model: an nnx module, or another model or function, as for `capture`.
        source: the other inputs: an array, a tuple of arguments, or an `Inputs`.
        places: {place that is replaced: place of the run on `source` that is read}.
        positions: (where it is replaced, where it is read): one position each; they may be traced. Default: the whole value.
        axis: of the positions. Default: the last but one.

    Returns:
        A function, called like the model, for jax.jit, jax.vmap and the like.

    Raises:
        ValueError: there is no such place, or a position is out of range; the values have other shapes; `axis` is given without `positions`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def model(x):
        ...     return ms.hooks.site("b", ms.hooks.site("a", x * 2) + 1)
        >>> print(ms.hooks.transplant(model, jnp.ones((2, 1)), {"b": "a"}, positions=(0, 1))(jnp.zeros((2, 1))).ravel())
        [2. 1.]
    """
    fits = isinstance(places, dict) and places and all(isinstance(v, str) for v in places.values())
    check_kind(places, fits, "be a dict of at least one place, to names of places", "places", "transplant")
    fits = positions is None or (isinstance(positions, (tuple, list)) and len(positions) == 2)
    check_kind(positions, fits, "be a pair (where it is replaced, where it is read)", "positions", "transplant")
    check_axis(axis, positions, "axis", "positions=...", "transplant")

    def call(pure, args, kwargs):
        def values_of(program):
            tape = Tape()
            program.run(tape)
            return {name: tape.places[matching(tape, [name], "transplant")[0]].value for name in dict.fromkeys(places.values())}

        wanted = [place for place in places.values() if ":" in place]
        values = on_tape(pure, pure.state, wanted, inputs_of(source), values_of)

        def changed(target, name, value, _tape):
            return _moved(name, value, values[places[target]], positions, axis)

        return _with_values(pure, (args, kwargs), list(places), (), changed, operator.eq)

    return derived("transplant", model, call)


def _moved(name, value, other, positions, axis):
    if positions is None:
        if other.shape != value.shape:
            raise ValueError(
                f"For 'transplant', the value for {name!r} should be of shape {value.shape}, but is of {other.shape}: give positions=..."
            )
        return other.astype(value.dtype)
    to, there = axis_of(value.shape, axis, "axis"), axis_of(other.shape, axis, "axis")
    mask, missed = selected_along(value, to, positions[0], "positions")
    there_mask, missed_too = selected_along(other, there, positions[1], "positions")
    row = jnp.where(there_mask, other, 0).sum(there, keepdims=True)
    missed = missed if missed_too is False else missed_too if missed is False else missed | missed_too
    return spoilt(missed, jnp.where(mask, row.astype(value.dtype), value))
