"""What is checked: the operations of a traced program that can do something wrong without a NaN, and which elements of theirs are wrong.

Whether code says what is to become of an index that is out of range: by ``mode=`` in the call, or because jax makes the index itself.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from msjax.core.base.libraries import is_own
from msjax.core.tools.checks.asserting import check_p

KINDS = ("index", "division", "user")
_SCATTERS = ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")  # fmt: skip


class CheckedOperation(NamedTuple):
    """An operation that is checked.

    Attributes:
        kind: one of `KINDS`.
        stack: the names that jax gives to where it is.
        traceback: the calls that led to it; if it is in a function of jax's own, those that led to its call.
    """

    kind: str
    eqn: Any
    stack: str
    traceback: Any


class Wrong(NamedTuple):
    """Which elements of a checked operation are wrong.

    Attributes:
        at: where numbers are wrong, an array of bools.
        numbers: an array of that shape, or one to be broadcast to it: the index, the divisor.
        spread: from an array like `at` to one of the shape of the result, in which what came of a wrong number is marked; None if the
            operation is wrong whatever becomes of its result.
    """

    at: Any
    numbers: Any
    spread: Any


def kind_of(eqn: Any, kinds: Collection[str]) -> str | None:
    """What an equation is checked for; None if it isn't."""
    name = eqn.primitive.name
    if "index" in kinds:
        # Mode "clip" may be that of an index of jax.vmap: only the line tells what is meant.
        if name == "gather" and eqn.params["fill_value"] in (None, _own_fill(eqn)):
            return "index"
        if name in _SCATTERS or name in ("dynamic_slice", "dynamic_update_slice"):
            return "index"
    if "division" in kinds and name_of(eqn) in _DIVISIONS and jnp.issubdtype(eqn.outvars[0].aval.dtype, jnp.integer):
        divisor = getattr(eqn.invars[1], "val", 0)  # a number of the program itself is known
        return "division" if np.any(np.asarray(divisor) == 0) else None
    return "user" if "user" in kinds and eqn.primitive is check_p else None


def name_of(eqn: Any) -> str:
    """The name of an equation's primitive; of `%`, which puts another divisor in the place of 0 before it divides, "remainder"."""
    name = eqn.primitive.name
    return "remainder" if name == "jit" and eqn.params["name"] == "remainder" and len(eqn.invars) == 2 else name


_DIVISIONS = ("div", "rem", "remainder")


def _own_fill(eqn):
    """jax's own fill value, which stands for none of the user's, as far as the equation has it."""
    value, dtype = eqn.params["fill_value"], eqn.outvars[0].aval.dtype
    if value is None or jnp.issubdtype(dtype, jnp.inexact):
        return value if value is None or np.isnan(value) else None
    if np.issubdtype(dtype, np.bool_):
        return True
    limits = jnp.iinfo(dtype)
    return limits.max if jnp.issubdtype(dtype, jnp.unsignedinteger) else limits.min


def wrong(source: CheckedOperation, ins: Sequence[Any]) -> Wrong:
    """Which elements of a checked operation's inputs are wrong, as a `Wrong`."""
    rule = source.eqn.primitive.name if source.kind == "index" else source.kind
    return _RULES[rule](source.eqn, ins)


def _gather(eqn, ins):
    operand, indices = ins
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    at = _outside(indices, [operand.shape[d] - sizes[d] for d in numbers.start_index_map])
    out = eqn.outvars[0].aval.shape
    batch = tuple(i for i in range(len(out)) if i not in numbers.offset_dims)
    return Wrong(at, indices, lambda marks: lax.broadcast_in_dim(marks.max(-1, initial=0), out, batch))


def _scatter(eqn, ins):
    operand, indices, updates = ins
    numbers, window = eqn.params["dimension_numbers"], iter(eqn.params["dimension_numbers"].update_window_dims)
    whole = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    sizes = [1 if d in whole else updates.shape[next(window)] for d in range(len(operand.shape))]
    at = _outside(indices, [operand.shape[d] - sizes[d] for d in numbers.scatter_dims_to_operand_dims])
    return Wrong(at, indices, None)


def _outside(indices, most):
    limit = jnp.iinfo(indices.dtype).max
    most = jnp.broadcast_to(np.asarray([min(m, limit) for m in most], indices.dtype), indices.shape)
    return (indices < 0) | (indices > most)


def _dynamic_slice(eqn, ins):
    out = eqn.outvars[0].aval.shape
    return Wrong(*_starts(ins[0], out, ins[1:]), lambda marks: jnp.broadcast_to(marks.max(initial=0), out))


def _dynamic_update_slice(eqn, ins):
    return Wrong(*_starts(ins[0], ins[1].shape, ins[2:]), None)


def _starts(operand, part, starts):
    """(which of the numbers at which a part begins are wrong, these numbers)."""
    numbers = jnp.stack([jnp.asarray(s).astype(int) for s in starts]) if starts else jnp.zeros(0, jnp.int32)
    return _outside(numbers, [n - m for n, m in zip(operand.shape, part)]), numbers


def _division(eqn, ins):
    divisor = jnp.broadcast_to(ins[1], eqn.outvars[0].aval.shape)
    return Wrong(divisor == 0, divisor, lambda marks: marks)


def _user(eqn, ins):
    return Wrong(~ins[0], jnp.zeros(jnp.shape(ins[0]), jnp.int32), None)


_RULES = {
    "gather": _gather, **dict.fromkeys(_SCATTERS, _scatter), "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice,
    "division": _division, "user": _user,
}  # fmt: skip


def axis_of(eqn: Any, component: int) -> tuple[int, int, int]:
    """(axis of the operand that a component of an index counts, its size, the largest index that is allowed)."""
    shape = eqn.invars[0].aval.shape
    name = eqn.primitive.name
    if name == "gather":
        axis = eqn.params["dimension_numbers"].start_index_map[component]
        return axis, shape[axis], shape[axis] - eqn.params["slice_sizes"][axis]
    if name in ("dynamic_slice", "dynamic_update_slice"):
        part = (eqn.outvars[0] if name == "dynamic_slice" else eqn.invars[1]).aval.shape
        return component, shape[component], shape[component] - part[component]
    axis = eqn.params["dimension_numbers"].scatter_dims_to_operand_dims[component]
    return axis, shape[axis], shape[axis] - 1


# With these, an index that is out of range is meant.
_MEANT = ("clip", "drop", "wrap", "reflect", "edge")
# Functions of jax that make indices themselves; those out of range are meant.
_MAKE_INDICES = {
    "repeat", "bincount", "nonzero", "argwhere", "flatnonzero", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "union1d", "intersect1d", "setdiff1d", "setxor1d", "histogram", "histogram2d", "histogramdd", "searchsorted", "digitize", "compress",
    "extract", "insert", "interp", "percentile", "quantile", "median", "roll", "choice", "permutation", "shuffle", "sort", "argsort",
    "lexsort", "associative_scan", "top_k", "approx_max_k", "argpartition", "partition",
}  # fmt: skip


def is_meant(frames: Iterable[Any]) -> bool:
    """Whether an indexing operation of jax was called with a mode that says what an index out of range does; of the calls that led to it,
    innermost first, the first whose line is not jax's own is the last one that is looked at."""
    for frame in frames:
        for mode in _modes(frame.file_name, frame.line_num):
            if mode is not None:
                return mode in _MEANT
        if not is_own(frame.file_name):
            return False
        if frame.function_name in _MAKE_INDICES:
            return True
    return False


@functools.lru_cache(4096)
def _modes(file, number):
    """The texts that calls on a line pass as ``mode``; None for what is no text."""
    return [
        keyword.value.value if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str) else None
        for call in _calls(file)
        if call.lineno <= number <= (call.end_lineno or call.lineno)
        for keyword in call.keywords
        if keyword.arg == "mode"
    ]


@functools.lru_cache(256)
def _calls(file):
    """The calls in a file that pass a ``mode``."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and any(k.arg == "mode" for k in node.keywords)]
    # The innermost first.
    return sorted(found, key=lambda call: (call.end_lineno or call.lineno) - call.lineno)
