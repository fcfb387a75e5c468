"""capture: values and gradients of places as ordinary outputs, without any callback; and edits of them."""

from __future__ import annotations

import functools
import hashlib
import importlib
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, ItemsView, Iterable, KeysView, Sequence, ValuesView
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.checks import check_bool, check_kind, check_positive_int, check_value
from msjax.core.base.errors import called, check_function, describe, near, number_among
from msjax.core.base.state import STATE
from msjax.core.base.typing import PyTreeDef
from msjax.core.base.weak import Recent
from msjax.core.hooks.place_names import split_part, steps_asked, with_steps
from msjax.core.hooks.places import Edit, Edits, Tracing, is_array_or_number
from msjax.core.jaxprs.control_flow import RULES
from msjax.core.jaxprs.interpreter import Interpreter, Program
from msjax.core.jaxprs.plan import Patterns, Planner
from msjax.core.models.frameworks.framework import framework_of_function
from msjax.core.models.hooked import as_function
from msjax.core.page.viewed import graph_view, plot, repr_html, to_dict, to_pandas


class Captured(NamedTuple):
    """What `capture` found, in program order; ``found["blocks.0"]`` is the activation of that name.

    Attributes:
        activations: {name: value}.
        gradients: {name: gradient with respect to the value}, where asked for; None where a value has none (integers).
        counts: for places inside of a cond or the body of a while_loop, {name: how often the program passed the place}. Where
            it is 0, the activation is filled with zeros.
    """

    activations: dict[str, Any]
    gradients: dict[str, Any]
    counts: dict[str, jax.Array]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        number_among(key, self.activations)
        return self.activations[key]

    def __contains__(self, key: object) -> bool:
        return key in self.activations if isinstance(key, str) else tuple.__contains__(self, key)

    def keys(self) -> KeysView[str]:
        """The names of the activations."""
        return self.activations.keys()

    def values(self) -> ValuesView[Any]:
        """The activations."""
        return self.activations.values()

    def items(self) -> ItemsView[str, Any]:
        """The names and activations."""
        return self.activations.items()

    def view(self, edited: Iterable[str] = ()) -> dict[str, Any]:
        """The data of its graph on a page; the places in `edited` (ablated, patched) are marked."""
        return graph_view(self.activations, self.gradients, edited)

    to_dict, to_pandas, plot, _repr_html_ = to_dict, to_pandas, plot, repr_html


def capture(
    fn: Callable[..., Any],
    select: str | Iterable[str] | Callable[[str], bool] = "*",
    *,
    gradients: bool = False,
    statistic: Callable[[jax.Array], Any] | None = None,
    loss: Callable[[Any], jax.Array] | None = None,
    edit: dict[str, Callable[[Any, Any], Any]] | None = None,
    max_steps: int | None = None,
    stop_after: str | None = None,
) -> Callable[..., tuple[Any, Captured]]:
    """A function that returns the values of chosen places, and gradients with respect to them, beside the result.

    Places are what a function names with `site`, the outputs of a network's cells by their paths, what
    ``jax.ad_checkpoint.checkpoint_name`` names, and single operations as `ops` lists them. They may be anywhere: inside of jit, scan
    (the values are stacked), cond, the body of a while_loop, checkpoint, vmap, shard_map, custom_jvp, custom_vjp, nested.

    Args:
        fn: a function of jax arrays; a flax nnx module (or a method of one), whose places are the outputs of its modules, by
            their paths ("" is the module itself); a Cell, whose places are the outputs of its cells; or a model that
            `hooked` takes or made, with the same places, called like a linen module's or a haiku transform's `apply`.
        select (str, list of str, or callable): which places: a pattern such as ``"layers.*.relu"`` (fnmatch), several, or a
            function of the name. Single operations are selected by patterns with an "@", such as ``"exp@*"``.
        gradients (bool): True for the gradients of the result, summed, with respect to the activations. Default: False.
        statistic (callable, optional): from an array to a pytree of arrays; returned in the place of each activation and
            gradient, and computed inside of loops, so that whole values aren't stacked.
        loss (callable, optional): from the result to a scalar, which is differentiated in the place of its sum.
        edit (dict, optional): {pattern: ``fn(value, index)``}, whose result (of the same shapes and dtypes; None for no
            change) the program goes on with. `index` has the numbers of the iterations of the loops around the place:
            ``index[0]`` of the outermost, ``index[-1]`` of the innermost. Activations are those after the edit.
        max_steps (int, optional): of places in a while_loop, the values of so many first steps, stacked. Default: the last
            step's value.
        stop_after (str, optional): the name of a place after which nothing is computed any more: the result is None, and places
            behind it are not there. A loop is computed as a whole.

    Returns:
        A function. Of a function or an nnx module `fn`: ``run(*args, **kwargs)`` returns (result, Captured); the state of the
        module, and of nnx modules and variables among the arguments, changes as by a plain call. Of a Cell: ``run(params, buffers,
        *args, **kwargs)`` returns ((out, new_buffers), Captured), as a functionalized network. The second and later times that
        the program passes a name, it is called "relu#1" and so on. It may be used in jax.jit and other transformations.

    Raises:
        TypeError: `fn` is neither, or `select` or `edit` is of another type, or an edit returned another structure.
        ValueError: no place has a selected name (the message lists those there are), a place can't be reached, or an edit returned
            another shape or dtype; both `gradients` and `stop_after` are given.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def f(x):
        ...     def layer(x, w):
        ...         return ms.hooks.site("layer", x * w), None
        ...     return jax.lax.scan(layer, x, jnp.array([1.0, 2.0]))[0]
        >>> out, found = jax.jit(ms.hooks.capture(f, "layer"))(0.5)
        >>> print(found.activations["layer"])
        [0.5 1. ]
        >>> skip = {"layer": lambda value, index: jnp.where(index[0] == 0, 0, value)}
        >>> out, _ = ms.hooks.capture(f, [], edit=skip)(0.5)
        >>> print(out)
        0.0
    """
    return capturing(fn, capture_options(select, gradients, statistic, loss, edit, max_steps, stop_after)._replace(writes=True))


def capturing(fn: Any, options: CaptureOptions) -> Callable[..., tuple[Any, Any]]:
    """The function that captures as the options say; see `capture`."""
    fn = as_function(fn)
    check_function(fn, "capture")
    framework = framework_of_function(fn)
    return options.of_function(fn) if framework is None else framework.capture(fn, options)


def capture_options(
    select: Any = "*",
    gradients: bool = False,
    statistic: Any = None,
    loss: Any = None,
    edit: Any = None,
    max_steps: int | None = None,
    stop_after: str | None = None,
) -> CaptureOptions:
    """What a capture was asked for, checked; see `capture`."""
    who = called("capture")
    check_bool(gradients, "gradients", who)
    for fn, what, argument in ((statistic, "statistic", "array"), (loss, "loss", "result")):
        if fn is not None:
            check_function(fn, who, what, (argument,))
    check_value(loss, loss is None or gradients, "come with gradients=True", "loss", who)
    if max_steps is not None:
        check_positive_int(max_steps, "max_steps", who)
    if stop_after is not None:
        check_kind(stop_after, isinstance(stop_after, str), "be the name of a place", "stop_after", who)
    if statistic is not None:
        # jax keeps it in a table: a partial is hashable, whatever it calls.
        statistic = functools.partial(statistic)
    options = CaptureOptions(
        Patterns(select),
        _edits(edit),
        gradients,
        statistic,
        sum_of_floats if loss is None else loss,
        max_steps,
        None if stop_after is None else Patterns([stop_after]),
    )
    if gradients and stop_after is not None:
        raise ValueError(
            f"For '{who}', there are no gradients with 'stop_after': nothing is computed from which they could come."
        )
    return options


class CaptureOptions(NamedTuple):
    """What a capture was asked for."""

    select: Patterns
    edits: Edits
    gradients: bool
    statistic: Callable[[jax.Array], Any] | None
    total: Callable[[Any], Any]
    max_steps: int | None
    stop: Patterns | None = None
    names: Sequence[Any] = ()  # places that the function has, beside those that its program shows
    writes: bool = False  # whether what the call writes to the nnx objects among its arguments is written to the caller's
    listing: bool = False  # whether nothing is computed, and what is found is the list of the places, single operations included

    @property
    def patterns(self):
        """All patterns of places."""
        return [self.select, *(row.selects for row in self.edits.rows), *([] if self.stop is None else [self.stop])]

    @property
    def parts(self):
        """(pattern of a path, Part) of the parts of modules that are places."""
        return [part for pattern in self.patterns for part in pattern.parts]

    def looks_at(self, path: str) -> bool:
        """Whether something of the module of this path may be a place."""
        # A captured function that calls what this captures, such as an ablated model, finds all modules, too.
        within = STATE.capture is not None and STATE.capture.before is not None
        return self.listing or within or any(pattern.looks_at(path) for pattern in self.patterns)

    def of_function(self, fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        """The capturing function of a function of arrays."""

        def run(*args, **kwargs):
            scopes = self.listing or any(pattern.operations for pattern in self.patterns)
            program = Program(with_written(fn), args, kwargs, Tracing(self.edits, self.parts, scopes))
            planner = Planner(
                RULES,
                self.select,
                self.edits,
                self.gradients,
                self.statistic,
                lines=self.listing or any(pattern.lines for pattern in self.patterns),
                operations=scopes,
                max_steps=self.max_steps,
            )
            block = planner.block(program.closed)
            if self.listing:
                return None, planner.listed
            _check_selected(self, planner)
            interpreter = Interpreter(self.edits, self.max_steps)
            if self.stop is not None:
                # What the wanted values don't need, the compiler leaves out.
                names = {place.name for place in _until(self.stop, planner.listed)}
                before = [i for i, found in enumerate(block.found) if found.name in names]

                def first(consts, inputs):
                    own = replace(block, closed=block.closed.replace(consts=consts))
                    return [interpreter.run(own, inputs)[1][i] for i in before]

                got = run_same_program(first, block.closed.consts, program.inputs)
                return None, _captured(self.select, [block.found[i] for i in before], got)

            def probed(probes):
                outs, got = interpreter.run(block, program.inputs, (), probes)
                result, written = program.result(outs)
                total = self._differentiated(result) if self.gradients else None
                return total, (result, written, got)

            if self.gradients:
                probes = [shape.zeros() for found in block.found for shape in found.probes]
                try:
                    grads, (result, written, got) = jax.grad(probed, has_aux=True)(probes)
                except jax.errors.UnexpectedTracerError as error:
                    raise ValueError(_CLOSED_OVER.format(who=called("capture"))) from error
            else:
                grads, (_, (result, written, got)) = (), probed(())
            if self.writes:
                write_to((args, kwargs), written)
            return result, _captured(self.select, block.found, got, grads)

        return run

    def _differentiated(self, result):
        total = self.total(result)
        if not is_array_or_number(total) or jnp.shape(total) or not jnp.issubdtype(jnp.result_type(total), jnp.floating):
            raise NothingToDifferentiateError(
                f"For '{called('capture')}', what is differentiated should be a real floating-point number, but the loss or metric (by "
                f"default the result's sum) returned {describe(total)}."
            )
        return total

    def of_pure_call(self, names: Sequence[str], call: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        """The capturing function of one that returns (result, state), of which the result is differentiated; for `names`, see the attribute."""
        total = self.total
        return self._replace(names=names, total=lambda result: total(result[0])).of_function(call)


def _edits(edit):
    if edit is None:
        return Edits()
    check_kind(edit, isinstance(edit, dict), "be a dict of functions", "edit", called("capture"))
    for fn in edit.values():
        check_function(fn, "capture", "edit", ("value", "index"))
    return Edits(tuple([Edit(Patterns(pattern, "edit"), fn, pattern) for pattern, fn in edit.items()]))


_CLOSED_OVER = """For '{who}', a rule of jax.custom_jvp or jax.custom_vjp uses a traced value of the function around it, which is
gone when the captured program is differentiated. Pass the value to the custom function as an argument; a rule of jax.custom_vjp gets it by the
residuals."""


def _until(stop, listed):
    """The places up to the one to stop after; all, without one."""
    ends = [i for i, place in enumerate(listed) if stop is not None and stop.match(place.name)]
    return listed[: ends[0] + 1] if ends else listed


def _check_selected(options, planner):
    wanted = [(options.select, "no place was selected by")] if options.select.patterns or not options.edits.rows else []
    wanted += [(edit.selects, "no place was found for the edit of") for edit in options.edits.rows]
    if options.stop is not None and options.stop(*(place.name for place in planner.listed)) is False:
        wanted.append((options.stop, "no place was found to stop after"))
    stop, passed = options.stop, _until(options.stop, planner.listed)
    for patterns, what in wanted:
        _check_steps(patterns, planner.listed)
        until = "" if stop is None or patterns is stop else f" up to {stop.patterns[0]!r}, where the run stops"
        unmatched = patterns.unmatched([name for place in passed for name in (place.name, *place.places)] if until else None)
        if unmatched or not patterns.patterns:
            by_module = any("/" in str(pattern) for pattern in unmatched)
            listed = [name for place in passed for name in (by_module and place.places) or (place.name,)]
            names = list(dict.fromkeys([*(() if until else options.names), *listed]))
            there = (
                f"there are {', '.join(map(repr, names[:50]))}"
                if names
                else "there is none: name values with ms.hooks.site, or give a model itself, whose modules are places"
            )
            more = f" and {len(names) - 50} more" if len(names) > 50 else ""
            by = ", ".join(map(repr, unmatched or [patterns.given]))
            close = near(split_part(str(unmatched[0]))[0], names) if unmatched else ""
            function = str(unmatched[0]) if unmatched else ""
            if any(hasattr(module, function) for module in (jax.nn, jnp, jax.lax)):
                close += f"; results of {function} are places named '*/{function}', as hooks.ops lists them"
            raise ValueError(f"For '{called('capture')}', {what} {by}{until}; {there}{more}{close}.")


def _check_steps(patterns, listed):
    """ValueError if a pattern asks for a step of a place that its loops don't have."""
    for pattern in patterns.patterns:
        for place in listed:
            steps, loops = steps_asked(pattern, place.name), place.loops
            if steps and not (len(steps) == len(loops) and all(step < size for step, size in zip(steps, loops))):
                around = (
                    f"in loops of {loops} steps" if any(loops) else "in a while_loop or on devices" if loops else "in no loop"
                )
                raise ValueError(
                    f"For '{called('capture')}', there is no place {pattern!r}: {place.name!r} is {around}. Name it without a step: its values "
                    "are stacked, and an edit can compare index[0] with the number of the step."
                )


def _captured(select, places, got, grads=()):
    activations, gradients, counts = OrderedDict(), OrderedDict(), OrderedDict()
    grads = iter(grads)
    for found, values in zip(places, got):
        if found.kind == "edited":
            continue
        values = list(values)
        count = values.pop() if found.counted else None
        cast = [next(grads).astype(dtype) for dtypes in found.probed for dtype in dtypes or ()]
        for steps in select.steps_of(found.name):
            name, at = with_steps(found.name, steps), replace(found, stacked=found.stacked and not steps)
            counts |= {} if count is None else {name: count[steps]}
            activations[name] = _joined(at, _rows(values, steps), [t.num_leaves for t in found.trees])
            if any(dtypes is not None for dtypes in found.probed):
                gradients[name] = _joined(at, _rows(cast, steps), [None if d is None else len(d) for d in found.probed])
    return Captured(activations, gradients, counts)


def _rows(arrays, steps):
    return iter([array[steps] for array in arrays] if steps else arrays)


def _joined(found, values, sizes):
    leaves = [None if n is None else jax.tree.unflatten(t, [next(values) for _ in range(n)]) for t, n in zip(found.trees, sizes)]
    if (found.stacked or any(m.axes or m.statistic for m in found.measures)) and _has_own_class(found.tree):
        # Such as a named array, whose class would hold axes that the leaves don't have.
        return leaves[0] if len(leaves) == 1 else leaves
    return jax.tree.unflatten(found.tree, leaves)


# Classes that hold leaves of any shape.
_CONTAINERS = (dict, list, tuple, OrderedDict, defaultdict, type(None))


def _has_own_class(tree: PyTreeDef) -> bool:
    """Whether there is a class in a structure that may know the shapes of its leaves, and would not fit stacked ones."""
    data = tree.node_data()
    if data is None:
        return False
    cls = data[0]
    return not (cls in _CONTAINERS or issubclass(cls, tuple)) or any(map(_has_own_class, tree.children()))


class NothingToDifferentiateError(ValueError):
    """The result, or what a loss made of it, has no gradient."""


def sum_of_floats(result: Any) -> Any:
    """The sum of a result's floating-point values, which is differentiated where no loss is given."""
    leaves = [leaf for leaf in jax.tree.leaves(result) if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)]
    if not leaves:
        raise NothingToDifferentiateError(
            f"For '{called('capture')}', the result has no floating-point values to differentiate: give a loss=, or gradients=False."
        )
    return sum(jnp.sum(leaf) for leaf in leaves)


def objects_among(given: Any) -> Any:
    """The nnx objects among arguments, as `msjax.core.models.frameworks.nnx_outputs.Objects`; None if there are none."""
    if "flax.nnx" not in sys.modules:
        return None
    module: Any = importlib.import_module("msjax.core.models.frameworks.nnx_outputs")
    return module.Objects(given) or None


def with_written(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (the result of `fn`, its writes to nnx objects among the arguments, as `Objects.write` takes them, or None)."""

    def call(*args, **kwargs):
        objects = objects_among((args, kwargs))
        written = None if objects is None else objects.noted()
        out = fn(*args, **kwargs)
        return out, None if written is None else written()

    return call


def write_to(given: Any, written: Any) -> None:
    """Write to the user's arguments what a call has written to copies of them."""
    if written is not None:
        objects_among(given).write(*written)


# So many executables are kept, those that were used last.
_MOST = 32
_KEPT: Recent[Any, Callable[..., Any]] = Recent()


def run_same_program(fn: Callable[..., Any], *given: Sequence[Any]) -> Any:
    """``fn(*given)``, compiled once for all functions that compute the same.

    The function is traced at each call. The program's text, in which all that it computes stands, tells whether it is compiled already:
    other values that it closes over make another program, or are arguments, which are sequences of arrays.
    """
    arguments, arrays = list(map(list, given)), [value for values in given for value in values]
    if any(map(is_tracer, arrays)) or staged() or jax_slots.settings()["jax_disable_jit"]:
        return fn(*arguments)
    lowered = jax.jit(fn, keep_unused=True).lower(*arguments)
    places = tuple([getattr(value, "sharding", None) for value in arrays])
    key = hashlib.sha256(lowered.as_text().encode()).digest(), places, lowered.out_tree
    return _KEPT.of(key, lowered.compile, _MOST)(*arguments)
