"""patch_sweep and attribute: which of a model's places matter for a number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_number, check_one_of, check_positive_int, check_value
from msjax.core.base.errors import check_function, on_behalf_of
from msjax.core.base.weak import Same
from msjax.core.hooks.places import WholeEdit
from msjax.core.models.capture import capture_options
from msjax.core.models.inputs import call_of, inputs_of
from msjax.core.models.kept_programs import run_kept
from msjax.core.models.where import names_of
from msjax.core.page.viewed import Labels, maps_view, plot, repr_html, to_dict, to_pandas
from msjax.core.study.programs import check_steps, integral
from msjax.core.study.verbs import axis_of, check_axis, on_leaf, only_leaf

_DEFAULT_AXES = {"position": 1, "head": -2, "neuron": -1}
_AXES = ("layer", *_DEFAULT_AXES)


class PatchSweep(NamedTuple):
    """What `patch_sweep` found.

    Attributes:
        values: the metric of each patched run, an array with an axis for each of `over`.
        over: the axes.
        layers: the places along the axis "layer"; of a place in a scan, one for each step, as "layers.mlp[0]".
        clean, corrupt: the metric of the runs that nothing is patched in.
    """

    values: jax.Array
    over: tuple[str, ...]
    layers: list[str]
    clean: jax.Array
    corrupt: jax.Array

    @property
    def recovery(self) -> jax.Array:
        """`values` on a scale on which the corrupt run is 0 and the clean one 1."""
        return (self.values - self.corrupt) / (self.clean - self.corrupt)

    def view(self, labels: Labels | None = None) -> dict[str, Any]:
        """The data of its view on a page; `labels` are texts along the axes, such as ``{"position": tokens}``."""
        maps = {"patched metric": self.values}
        if self.clean.size == 1 and self.clean != self.corrupt:
            maps = {"share recovered": self.recovery, **maps}
        note = f"clean {float(self.clean):.4g}, corrupt {float(self.corrupt):.4g}" if self.clean.size == 1 else ""
        return maps_view(maps, self.over, {"layer": self.layers, **(labels or {})}, "Patch sweep", [note] if note else ())

    to_dict, to_pandas, plot, _repr_html_ = to_dict, to_pandas, plot, repr_html


@on_behalf_of("patch_sweep")
def patch_sweep(
    model: Any,
    clean: Any,
    corrupt: Any,
    at: str | Iterable[str],
    *,
    metric: Callable[[Any], jax.Array],
    over: str | Sequence[str] = ("layer", "position"),
    position_axis: int | None = None,
    head_axis: int | None = None,
    neuron_axis: int | None = None,
    chunk: int = 32,
    memory: float | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> PatchSweep:
    """Run a model on corrupted inputs many times, each time with one of its values as on clean inputs.

    All runs are one compiled program, which is kept.

    Args:
        model: an nnx module, a Cell, or another model or function, as for `capture`.
        clean, corrupt: the inputs of the two runs: an array, a tuple of the arguments (for a linen model, ``(params, x)``), or an `Inputs`.
        at (str or list of str): the places that are patched, such as ``"blocks.*"``. Their values are arrays.
        metric (callable): from the model's result to an array, for most a number.
        over (str or tuple of str): what is patched one at a time: "layer" (a place, or a step of a place in a scan), "position", "head", "neuron".
            What isn't named is patched as a whole. Default: ("layer", "position").
        position_axis, head_axis, neuron_axis (int, optional): the axes of positions, heads and neurons in the values, of those that `over`
            names. Default: 1, -2, -1.
        chunk (int): at most so many runs at a time are vectorized. Default: 32.
        memory (float, optional): a bound, in bytes, for what the runs of a chunk compute, all values of a run counted: chunks get smaller.
        progress (callable, optional): ``progress(done, total)``, called with numbers of runs while the program runs.

    Returns:
        A `PatchSweep`.

    Raises:
        ValueError: no place is selected, `over` names something else, or not what an axis is given for, or places have no such axis or other
            numbers of positions or heads.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> one = nnx.initializers.ones
        >>> model = nnx.Sequential(*[nnx.Linear(1, 1, kernel_init=one, rngs=nnx.Rngs(0)) for _ in range(2)])
        >>> clean, corrupt = jnp.array([[[1.0], [2.0]]]), jnp.array([[[0.0], [0.0]]])
        >>> print(ms.hooks.patch_sweep(model, clean, corrupt, "layers.*", metric=jnp.sum).values)
        [[1. 2.]
         [1. 2.]]
    """
    check_function(metric, "patch_sweep", "metric", ("result",))
    at, over = names_of(at, "at", "patch_sweep"), names_of(over, "over", "patch_sweep")
    for name in over or ("",):
        check_one_of(name, _AXES, "over", "patch_sweep")
    given = {"position": position_axis, "head": head_axis, "neuron": neuron_axis}
    for name, axis in given.items():
        check_axis(axis, name if name in over else None, f"{name}_axis", f"{name!r} in over=", "patch_sweep")
    axes = {name: default if given[name] is None else given[name] for name, default in _DEFAULT_AXES.items()}
    check_positive_int(chunk, "chunk", "patch_sweep")
    if memory is not None:
        check_number(memory, "memory", "patch_sweep", above=0)
    if progress is not None:
        check_function(progress, "patch_sweep", "progress", ("done", "total"))
    layers: list[str] = []

    def program(pure, state, clean, corrupt):
        out, found, _ = pure.run(state, capture_options(at), *clean)
        values = {name: only_leaf(name, value) for name, value in found.activations.items()}
        depths = _depths(pure, state, corrupt, values)
        rows = [(name, step) for name in values for step in (range(values[name].shape[0]) if depths[name] else [None])]
        shapes = {name: value.shape[1:] if depths[name] else value.shape for name, value in values.items()}
        sizes = [len(rows) if name == "layer" else _size(shapes, axes[name], name) for name in over]

        def patched(numbers):
            chosen = dict(zip(over, numbers))
            edit = {name: WholeEdit(on_leaf(name, _patch(name, values, depths, rows, chosen, axes))) for name in values}
            return metric(pure.run(state, capture_options([], edit=edit), *corrupt)[0])

        grid = jnp.asarray(np.array(list(itertools.product(*map(range, sizes))), np.int32))
        swept = _in_chunks(patched, grid, chunk, memory, progress)
        plain, _, _ = pure.run(state, capture_options(at), *corrupt)
        names = [name if step is None else f"{name}[{step}]" for name, step in rows]
        return swept.reshape(*sizes, *swept.shape[1:]), names, metric(out), metric(plain)

    key = ("patch_sweep", at, over, Same(metric), *axes.values(), chunk, memory, Same(progress))
    values, layers, before, after = run_kept(model, key, program, inputs_of(clean), inputs_of(corrupt))
    return PatchSweep(values, over, layers, before, after)


def _in_chunks(fn, grid, chunk, memory, progress):
    """The function of each row of a grid; so many rows at a time are vectorized, as fit."""
    chunk = min(chunk, len(grid))
    if memory is not None:
        eqns = jax.make_jaxpr(fn)(grid[0]).jaxpr.eqns
        size = sum(v.aval.size * v.aval.dtype.itemsize for eqn in eqns for v in eqn.outvars if hasattr(v.aval, "size"))
        chunk = max(1, min(chunk, int(memory // max(size, 1))))
    if progress is None:
        return jax.lax.map(fn, grid, batch_size=chunk)
    steps = -(-len(grid) // chunk)
    padded = jnp.concatenate([grid, jnp.repeat(grid[-1:], steps * chunk - len(grid), 0)]).reshape(steps, chunk, -1)

    def of_chunk(numbered):
        number, rows = numbered
        out = jax.vmap(fn)(rows)
        jax.debug.callback(lambda n, _: progress(min((int(n) + 1) * chunk, len(grid)), len(grid)), number, out, ordered=True)
        return out

    swept = jax.lax.map(of_chunk, (jnp.arange(steps), padded))
    return swept.reshape(-1, *swept.shape[2:])[: len(grid)]


def _size(shapes, axis, name):
    """How many positions, or heads, the values of all places have."""
    sizes = {place: shape[axis_of(shape, axis, f"{name}_axis")] for place, shape in shapes.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{place!r} {size}" for place, size in sizes.items())
        raise ValueError(f"For 'patch_sweep', all places should have as many {name}s along 'over', but have: {told}.")
    return next(iter(sizes.values()))


def _depths(pure, state, call, values):
    """{place: how many loops are around it}, of which a capture stacks the values."""
    depths = {}

    def noted(name):
        def edit(value, index):
            depths[name] = values[name].ndim - jnp.ndim(value)
            if values[name].shape[depths[name] :] != jnp.shape(value):
                raise ValueError(
                    f"For 'patch_sweep', the clean and the corrupt inputs should have the same shapes, but the value of {name!r} is of shape "
                    f"{values[name].shape[depths[name] :]} on the clean ones, and {jnp.shape(value)} on the corrupt ones."
                )
            return value

        return edit

    options = capture_options([], edit={name: WholeEdit(on_leaf(name, noted(name))) for name in values})
    jax.eval_shape(lambda: pure.run(state, options, *call)[0])
    return depths


def _patch(name, values, depths, rows, chosen, axes):
    """The edit of one place: its clean value, where that is chosen."""

    def edit(value, index):
        # Of the value's own sharding, where axes of devices are explicit.
        other, mask = values[name], jnp.ones_like(value, dtype=bool)
        numbers = [number for number, (place, _) in enumerate(rows) if place == name]
        step = jnp.int32(0)
        if depths[name]:
            step = index[0]
            other = jax.lax.dynamic_index_in_dim(other, step, keepdims=False)
        if "layer" in chosen:
            mask = mask & (chosen["layer"] == numbers[0] + step)
        for what, axis in axes.items():
            if what in chosen:
                at_axis = axis % value.ndim
                along = jnp.arange(value.shape[at_axis]) == chosen[what]
                mask = mask & along.reshape([-1 if i == at_axis else 1 for i in range(value.ndim)])
        return jnp.where(mask, other.astype(value.dtype), value)

    return edit


@on_behalf_of("attribute")
def attribute(
    model: Any,
    *args: Any,
    at: str | Iterable[str],
    metric: Callable[[Any], jax.Array] | None = None,
    method: str = "gradient x activation",
    corrupt: Any = None,
    steps: int = 32,
    **kwargs: Any,
) -> dict[str, jax.Array]:
    """How much each value of some places contributes to a number, to first order or along a line.

    Args:
        model: an nnx module, a Cell, or another model or function, as for `capture`.
        args, kwargs: what it is called with.
        at (str or list of str): the places.
        metric (callable, optional): from the model's result to a scalar. Default: its sum.
        method (str): "gradient x activation"; "integrated gradients", along the line from the values on `corrupt` (zeros by default) to those
            on `args`, for each place by itself; or "attribution patching", what patching the value on `args` into the run on `corrupt` would
            change, to first order.
        corrupt: other inputs: an array, a tuple of arguments, or an `Inputs`.
        steps (int): points of the integral, by Gauss-Legendre's rule. Default: 32.

    Returns:
        {place: array of the value's shape}, for a value of a registered class one of that class. The program is compiled, and kept.

    Raises:
        ValueError: no place is selected, `method` is none of these, "attribution patching" has no `corrupt`, or "gradient x activation" has one.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), lambda x: x**2)
        >>> for method in ("gradient x activation", "integrated gradients"):
        ...     print(ms.hooks.attribute(model, jnp.array([3.0]), at="layers.0", method=method)["layers.0"])
        [18.]
        [9.]
    """
    at = names_of(at, "at", "attribute")
    check_one_of(method, _METHODS, "method", "attribute")
    check_steps(steps, "attribute")
    if method == "attribution patching" and corrupt is None:
        raise ValueError("For 'attribute', 'attribution patching' needs other inputs: corrupt=...")
    unused = corrupt is not None and method == "gradient x activation"
    check_value(method, not unused, "be another one where other inputs are given: corrupt=...", "method", "attribute")
    if metric is not None:
        check_function(metric, "attribute", "metric", ("result",))

    def program(pure, state, call, corrupt):
        return _METHODS[method](_Runs(pure, state, at, metric), call, corrupt, steps)

    key = ("attribute", at, Same(metric), method, steps)
    return dict(run_kept(model, key, program, call_of(args, kwargs), None if corrupt is None else inputs_of(corrupt)))


class _Runs:
    """Runs of a model with the values and gradients of some places."""

    def __init__(self, pure, state, at, metric):
        self.pure, self.state, self.at, self.metric = pure, state, at, metric

    def values(self, call):
        """{place: its value} of those that have gradients."""
        return _with_gradients(self.pure.run(self.state, capture_options(self.at), *call)[1].activations)

    def gradients(self, call, at=None, edit=None):
        options = capture_options(self.at if at is None else at, True, loss=self.metric, edit=edit)
        return self.pure.run(self.state, options, *call)[1]


def _with_gradients(found):
    """Those places whose values have gradients, as integers have none."""
    values = {name: v for name, v in found.items() if all(jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in jax.tree.leaves(v))}
    if not values:
        names = ", ".join(map(repr, found))
        raise ValueError(
            f"For 'attribute', a place should have floating-point values, which have gradients, but {names} has others."
        )
    return values


def _to_first_order(runs, call, corrupt, steps):
    if corrupt is None:
        found = runs.gradients(call)
        change = _with_gradients(found.activations)
    else:
        clean, found = runs.values(call), runs.gradients(corrupt)
        change = {name: jax.tree.map(jnp.subtract, value, found.activations[name]) for name, value in clean.items()}
    return {name: jax.tree.map(jnp.multiply, found.gradients[name], value) for name, value in change.items()}


def _integrated_gradients(runs, call, corrupt, steps):
    ends = runs.values(call)
    starts = jax.tree.map(jnp.zeros_like, ends) if corrupt is None else runs.values(corrupt)

    def of(name):
        start, end = only_leaf(name, starts[name]), only_leaf(name, ends[name])

        def gradient(part):
            def edit(value, index):
                between = start + part.astype(end.dtype) * (end - start)
                if between.ndim > value.ndim:
                    between = jax.lax.dynamic_index_in_dim(between, index[0], keepdims=False)
                return between

            found = runs.gradients(call, [name], {name: WholeEdit(on_leaf(name, edit))})
            return only_leaf(name, found.gradients[name])

        return jax.tree.unflatten(jax.tree.structure(ends[name]), [integral(gradient, steps) * (end - start)])

    return {name: of(name) for name in ends}


_METHODS = {
    "gradient x activation": _to_first_order,
    "integrated gradients": _integrated_gradients,
    "attribution patching": _to_first_order,
}
