"""Places: named values of a traced program, which `capture` returns and edits.

`site` binds a primitive that is an identity with a name. It lowers to nothing, and passes every transformation of jax; a
function that nobody captures has none in its program.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self, TypeVar

import jax
import jax.core
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from msjax.core.base import jax_slots
from msjax.core.base.checks import check_str
from msjax.core.base.errors import called, describe, noting
from msjax.core.base.state import STATE
from msjax.core.base.typing import JaxArray, PyTree
from msjax.core.hooks.place_names import Part, steps_asked

# Part of the key of every cache of jax: a function inside of another jax.jit is traced again when it is captured for the
# first time. Made when msjax is imported, since jax forgets all that it has traced so far when a context is added.
TRACED_FOR = jax_slots.user_context(None)
# The same for the hooks of models of other frameworks, which jax doesn't see: it traces again when hooks come, and finds its
# earlier programs when they go.
HOOKED_WITH = jax_slots.user_context(None)


class WholeEdit(functools.partial[Any]):
    """An edit ``fn(value, index)`` that gets a value as captures have it: under vmaps, those of all examples at once, with the axes of the
    vmaps in front. It edits one call of the place, the one whose number is in its pattern."""


@dataclass(frozen=True, eq=False)
class Edit:
    """What changes the values of places. Compared by identity: its function may be no hashable one.

    Attributes:
        selects: a function that says of a name whether it counts.
        fn: ``fn(value, index)``, or a `WholeEdit`.
        pattern: what it was asked for; a text may name one step of a place in loops.
    """

    selects: Callable[..., bool]
    fn: Callable[..., Any]
    pattern: object = None

    @property
    def whole(self) -> bool:
        """Whether it is a `WholeEdit`."""
        return isinstance(self.fn, WholeEdit)


@dataclass(frozen=True, eq=False)
class Edits:
    """The edits with which a function is traced."""

    rows: tuple[Edit, ...] = ()
    # Stands for them in the keys of jax's caches: they hold values of the user's, and of traces.
    key: object = field(default_factory=object, repr=False)

    def of(self, name: str) -> list[Edit]:
        """The edits of a place, while the function is traced."""
        return [edit for edit in self.rows if not edit.whole and edit.selects(name)]

    def of_call(self, name: str, numbered: str, traced: bool) -> list[Edit]:
        """The edits of one call of a place, which is "place#1" and so on if it is not the first, where the program is run.

        Args:
            traced: whether those that `of` gives were made while the function was traced.
        """
        return [
            edit
            for edit in self.rows
            if (edit.selects(numbered) if edit.whole else edit.selects(name, numbered) and not (traced and edit.selects(name)))
        ]


class Tracing:
    """A context in which `site` names values, and edits them.

    Args:
        parts: (pattern of a path, Part) of the parts of modules that are places.
        scopes: whether operations note in which module they are.
    """

    def __init__(self, edits: Edits, parts: Sequence[tuple[str, Part]] = (), scopes: bool = False):
        self.edits = edits
        self.parts = tuple(dict.fromkeys(parts))
        self.scopes = scopes
        self._calls: dict[str, int] = {}

    def __enter__(self) -> Self:
        self.before, STATE.capture = STATE.capture, self
        if self.before is not None:
            # A captured function that calls another one edits its sites, too.
            self.edits = Edits((*self.edits.rows, *(r for r in self.before.edits.rows if r not in self.edits.rows)))
            self.parts = tuple(dict.fromkeys((*self.parts, *self.before.parts)))
            self.scopes = self.scopes or self.before.scopes
        # Without edits, one capture can use what another one has traced of inner functions.
        self.key = TRACED_FOR((self.edits.key if self.edits.rows else True, self.parts, self.scopes))
        self.key.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        STATE.capture = self.before
        self.key.__exit__(*exception)

    def parts_of(self, path: str, side: str) -> list[tuple[Part, bool]]:
        """The parts of a module's inputs or outputs that are places, and whether they have to be there: the module was named, not matched."""
        return [(part, paths == path) for paths, part in self.parts if part.side == side and fnmatch.fnmatchcase(path, paths)]

    def scope_of(self, path: str) -> Any:
        """A context manager around a call of a module."""
        if not self.scopes:
            return contextlib.nullcontext()
        call = self._calls[path] = self._calls.get(path, -1) + 1
        return jax_slots.module_scope(path, call)


def module_call(
    path: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], named: bool = True
) -> Any:
    """Call a module; within a capture, those parts of its values that are asked for are places, and if `named`, its output as a whole."""
    if STATE.capture is None:
        return function(*args, **kwargs)
    with scope_of(path):
        args, kwargs = with_inputs(path, args, kwargs)
        out = with_outputs(path, function(*args, **kwargs))
        # Within the scope, which tells it from a value that the user's code has named so.
        return placed(path, out) if named else out


def scope_of(path: str) -> Any:
    """A context manager around a call of a module, in which its operations note that they belong to it."""
    return contextlib.nullcontext() if STATE.capture is None else STATE.capture.scope_of(path)


def with_inputs(
    path: str, args: tuple[Any, ...], kwargs: dict[str, Any], name: Callable[[str, Any], Any] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a module, of which those parts have become places that the capture under way asks for.

    Args:
        name (callable, optional): names a value, as `placed` does.
    """
    for part, named in [] if STATE.capture is None else STATE.capture.parts_of(path, "in"):
        if part.keys and isinstance(part.keys[0], str):
            kwargs = _with_part(path, part, named, kwargs, name)
        elif part.keys:
            args = _with_part(path, part, named, args, name)
        else:
            one = len(args) == 1
            new = (name or placed)(f"{path}{part.text}", args[0] if one else args)
            args = (new,) if one else tuple(new)
    return args, kwargs


def with_outputs(path: str, out: Any, name: Callable[[str, Any], Any] | None = None) -> Any:
    """Let those parts of a module's output that are asked for be places; see `with_inputs`."""
    for part, named in [] if STATE.capture is None else STATE.capture.parts_of(path, "out"):
        out = _with_part(path, part, named, out, name)
    return out


def _with_part(path, part, named, value, name):
    try:
        inner = part.of(value)
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        if not named:
            return value
        what = "arguments" if part.side == "in" else "output"
        raise ValueError(
            f"For '{called('capture')}', there is no place {path + part.text!r}: the {what} of the module: {describe(value)}."
        ) from error
    return part.put(value, (name or placed)(f"{path}{part.text}", inner))


_T = TypeVar("_T")


def site(name: str, value: _T) -> _T:
    """Name a value inside a function, so that `capture` finds it; otherwise it does nothing.

    Args:
        name (str): the name.
        value: an array, or a pytree of arrays, whose elements are places, too: "name:out[0]", "name:out[logits]".

    Returns:
        The value; go on with it, so that an edit of the place takes effect.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def f(x):
        ...     return ms.hooks.site("square", x**2).sum()
        >>> out, found = ms.hooks.capture(f, gradients=True)(jnp.array([1.0, 2.0]))
        >>> print(out, found.activations["square"], found.gradients["square"])
        5.0 [1. 4.] [1. 1.]
    """
    if STATE.capture is None:
        return value
    return placed(name, with_outputs(check_str(name, "name", "site"), value))


def placed(name: str, value: _T) -> _T:
    """A value that has become a place of the capture under way, as a whole."""
    capture = STATE.capture
    if capture is None:
        return value
    edits = capture.edits.of(name)
    if edits:
        # An edit that calls the model gets it without edits.
        STATE.capture = None
        try:
            with TRACED_FOR(None):
                value = edited(name, value, edits, LoopIndex(name, value))
        finally:
            STATE.capture = capture
    leaves, treedef = jax.tree.flatten(value)
    at = [i for i, leaf in enumerate(leaves) if is_array_or_number(leaf)]
    if not at:
        return value
    arrays = [jnp.asarray(leaves[i]) for i in at]
    # What is no array, such as a text, is None in what is found.
    found = jax.tree.structure(jax.tree.unflatten(treedef, [0 if i in at else None for i in range(len(leaves))]))
    out = place_p.bind(*arrays, name=name, treedef=found, batched=((),) * len(arrays), edited=bool(edits))
    for i, array in zip(at, out):
        leaves[i] = array
    return jax.tree.unflatten(treedef, leaves)


def is_array(leaf: Any) -> bool:
    """Whether a leaf of a pytree is an array that jax can trace."""
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype") and leaf.dtype != jax.dtypes.float0


def is_array_or_number(leaf: Any) -> bool:
    """Whether a leaf of a pytree is an array or a number of Python's."""
    return is_array(leaf) or isinstance(leaf, (bool, int, float, complex))


def edited(name: str, value: PyTree, edits: Sequence[Edit], index: Any) -> PyTree:
    """A value after its edits, each of which returns a new one of the same structure, shapes and dtypes, or None."""
    for edit in edits:
        label = f"edit {getattr(edit.fn, '__qualname__', edit.fn)} of the place {name!r}"
        with noting(f"the {label}"):
            new = edit.fn(value, index)
        if new is None:
            continue
        leaves, treedef = jax.tree.flatten(value)
        given, other = jax.tree.flatten(new)
        if other != treedef or not all(is_array_or_number(leaf) for old, leaf in zip(leaves, given) if is_array(old)):
            raise TypeError(f"The {label} should return None or {describe(value)}, but returned {describe(new)}.")
        for old, leaf in zip(leaves, given):
            if is_array(old) and (jnp.shape(leaf), jnp.result_type(leaf)) != (old.shape, old.dtype):
                raise ValueError(
                    f"The {label} returned {describe(jnp.asarray(leaf))}, but expected is {describe(jnp.asarray(old))}."
                )
        for level, step in enumerate(steps_asked(edit.pattern, name)):
            here = index[level] == step
            new = jax.tree.map(
                lambda after, before, here=here: jnp.where(here, after, before) if is_array(before) else after, new, value
            )
        value = new
    return value


class LoopIndex:
    """The numbers of the iterations, from 0, of the loops around a place: ``index[0]`` of the outermost, ``index[-1]`` of the innermost.

    A number is traced: compute with it (``jnp.where(index[0] == 7, 0, value)``). How many loops there are is known only
    when the whole program has been traced, so that it has no length.
    """

    def __init__(self, name: str, value: PyTree):
        self._name = name
        # The counter depends on the value, so that jax doesn't move it out of the loop.
        self._leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(value) if is_array(leaf)][:1]

    def __getitem__(self, level: int) -> JaxArray:
        return index_p.bind(*self._leaves, level=int(level), name=self._name)

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"How many loops are around the place {self._name!r} is known only when the program has been traced: write index[0] "
            "for the outermost loop, index[-1] for the innermost, and don't unpack the index."
        )

    __iter__ = __len__


# ---- the identity with a name

place_p = jax.extend.core.Primitive("msjax_place")
place_p.multiple_results = True
place_p.def_impl(lambda *values, **_: list(values))
place_p.def_abstract_eval(lambda *avals, **_: list(avals))
mlir.register_lowering(place_p, lambda ctx, *values, **_: list(values))


def _place_batched(values, axes, *, batched, **params):
    # `batched` has, for each value, where the axes of vmaps are, from the innermost vmap to the outermost.
    batched = tuple(
        at if axis is None else (*(b + (b >= axis) for b in at), axis) for at, axis in zip(batched, axes, strict=True)
    )
    return place_p.bind(*values, batched=batched, **params), list(axes)


ad.primitive_jvps[place_p] = lambda primals, tangents, **params: (place_p.bind(*primals, **params), list(tangents))
batching.primitive_batchers[place_p] = _place_batched


# ---- the number of an iteration, which the interpreter of jaxprs fills in

index_p = jax.extend.core.Primitive("msjax_loop_index")
index_p.def_abstract_eval(lambda *_, **__: jax.core.ShapedArray((), np.dtype("int32")))


@index_p.def_impl
def _index_unknown(*_values, level, name):
    raise ValueError(f"The edit of the place {name!r} asks for index[{level}] where its loops can't be followed.")


_NO_TANGENT = ad.Zero(jax.core.ShapedArray((), jax.dtypes.float0))
mlir.register_lowering(index_p, lambda ctx, *values, **params: _index_unknown(**params))
ad.primitive_jvps[index_p] = lambda primals, _, **params: (index_p.bind(*primals, **params), _NO_TANGENT)
batching.primitive_batchers[index_p] = lambda values, axes, **params: (index_p.bind(*values, **params), None)


# ---- what brings a gradient out

tap_p = jax.extend.core.Primitive("msjax_tap")
tap_p.def_impl(lambda x, *_probes, measure: x)
tap_p.def_abstract_eval(lambda x, *_probes, measure: x)
mlir.register_lowering(tap_p, lambda ctx, x, *_probes, measure: [x])


def _tap_transpose(ct, x, *probes, measure):
    avals = [p.aval if ad.is_undefined_primal(p) else None for p in probes]
    if isinstance(ct, ad.Zero):
        return [ct if ad.is_undefined_primal(x) else None, *(a and ad.Zero(a) for a in avals)]
    found = [None if a is None else m.astype(a.dtype) for a, m in zip(avals, measure(ct))]
    return [ct if ad.is_undefined_primal(x) else None, *found]


def _tap_batched(values, axes, *, measure):
    size = next(v.shape[a] for v, a in zip(values, axes) if a is not None)
    front = [jnp.broadcast_to(v, (size, *v.shape)) if a is None else jnp.moveaxis(v, a, 0) for v, a in zip(values, axes)]
    return tap_p.bind(*front, measure=measure.batched()), 0


ad.deflinear2(tap_p, _tap_transpose)
batching.primitive_batchers[tap_p] = _tap_batched


@dataclass(frozen=True)
class Measure:
    """A statistic of one array, which may have axes of vmaps; the array itself if there is none.

    Attributes:
        statistic: from an array to a pytree of arrays, or None.
        axes: where the axes of vmaps are, from the innermost vmap to the outermost.
    """

    statistic: Any
    axes: tuple[Any, ...] = ()

    def batched(self) -> Measure:
        """This measure for an array with one more axis in front."""
        return Measure(self.statistic, (*(a + 1 for a in self.axes), 0))

    def tree(self, x: JaxArray) -> PyTree:
        """The statistic of each example: a pytree, with the axes of vmaps in front, the outermost first."""
        x = jnp.moveaxis(x, self.axes[::-1], range(len(self.axes))) if self.axes else x
        statistic = self.statistic
        if statistic is None:
            return x
        for _ in self.axes:
            statistic = jax.vmap(statistic)
        return jax.tree.map(jnp.asarray, statistic(x))

    def __call__(self, x: JaxArray) -> list[JaxArray]:
        return jax.tree.leaves(self.tree(x))
