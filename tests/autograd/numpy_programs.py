"""Operators whose programs numpy runs, where tests need thousands of them once: XLA takes 20 ms and more for each, numpy nothing to begin.

What jax has traced is evaluated equation by equation: the arithmetic and moving of elements below by numpy, other primitives by jax.
"""

from __future__ import annotations

import contextlib

import jax
import numpy as np

from msjax.engine.compile import attempt
from msjax.engine.programs import cache
from msjax.engine.programs.signature import signature_of


@contextlib.contextmanager
def run_by_numpy():
    """A context in which programs of operators, and of what `ms.jit` and graph mode compile, are run by numpy where they are made anew."""
    compiled = cache.compile_operator, attempt.compile_program
    cache.compile_operator = lambda traced, values: (_Program(traced), False)
    attempt.compile_program = lambda program, jaxpr, donated: _Program(program)
    try:
        yield
    finally:
        cache.compile_operator, attempt.compile_program = compiled


def by_numpy(fn, *values):
    """A function of arrays, traced by jax and run by numpy."""
    return _Program(fn)(*values)


class _Program:
    def __init__(self, traced):
        self.traced, self.known = traced, {}

    def __call__(self, *values):
        if any(isinstance(v, jax.core.Tracer) for v in jax.tree.leaves(values)):
            return self.traced(*values)
        signature = signature_of(values)
        if signature not in self.known:
            made = jax.jit(self.traced).trace(*values)
            self.known[signature] = made.jaxpr, jax.tree.structure(made.out_info)
        closed, tree = self.known[signature]
        given = [np.asarray(v, a.dtype) for v, a in zip(jax.tree.leaves(values), closed.in_avals)]
        found = _evaluate(closed.jaxpr, [np.asarray(c) for c in closed.consts], given)
        found = [np.asarray(v, a.dtype).reshape(a.shape) for v, a in zip(found, closed.out_avals)]
        return jax.tree.unflatten(tree, jax.device_put(found))


def _evaluate(jaxpr, consts, given):
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *given]))

    def value(v):
        return np.asarray(v.val, v.aval.dtype) if isinstance(v, jax.extend.core.Literal) else known[v]

    for eqn in jaxpr.eqns:
        values, name = [value(v) for v in eqn.invars], eqn.primitive.name
        inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if name in ("jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2") and inner is not None:
            closed = hasattr(inner, "consts")
            found = _evaluate(inner.jaxpr if closed else inner, inner.consts if closed else (), values)
        elif name in _BY_NUMPY:
            with np.errstate(all="ignore"):
                found = _BY_NUMPY[name](eqn.outvars[0].aval, *values, **eqn.params)
            found = [np.asarray(found, eqn.outvars[0].aval.dtype)]
        else:
            found = eqn.primitive.bind(*values, **eqn.params)
            found = [np.asarray(v) for v in (found if eqn.primitive.multiple_results else [found])]
        known.update(zip(eqn.outvars, found))
    return [value(v) for v in jaxpr.outvars]


def _plain(f):
    return lambda aval, *values, **_: f(*values)


def _broadcast(aval, x, *, shape, broadcast_dimensions, **_):
    wide = [1] * len(shape)
    for n, at in zip(x.shape, broadcast_dimensions):
        wide[at] = n
    return np.broadcast_to(x.reshape(wide), shape)


def _slice(aval, x, *, start_indices, limit_indices, strides):
    return x[tuple(slice(*each) for each in zip(start_indices, limit_indices, strides or [None] * x.ndim))]


def _at(x, starts, sizes):
    return tuple(slice(s, s + n) for s, n in ((min(max(int(s), 0), m - n), n) for s, m, n in zip(starts, x.shape, sizes)))


def _update(aval, x, new, *starts, **_):
    x = x.copy()
    x[_at(x, starts, new.shape)] = new
    return x


def _pad(aval, x, fill, *, padding_config):
    out = np.full(
        [(n - 1) * step + 1 if n else 0 for n, (_, _, step) in zip(x.shape, [(a, b, c + 1) for a, b, c in padding_config])], fill
    )
    out[tuple(slice(None, None, c + 1) for _, _, c in padding_config)] = x
    out = np.pad(out, [(max(a, 0), max(b, 0)) for a, b, _ in padding_config], constant_values=fill)
    return out[tuple(slice(-a if a < 0 else None, b if b < 0 else None) for a, b, _ in padding_config)]


def _gather(aval, x, starts, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
    d = dimension_numbers
    grid = np.indices(aval.shape)
    batch = [grid[i] for i in range(len(aval.shape)) if i not in d.offset_dims]
    start = starts[tuple(batch)] if batch else np.broadcast_to(starts, (*aval.shape, starts.shape[-1]))
    at, outside = [np.zeros(aval.shape, np.int64) for _ in x.shape], np.zeros(aval.shape, bool)
    for i, axis in enumerate(d.start_index_map):
        first, most = start[..., i].astype(np.int64), x.shape[axis] - slice_sizes[axis]
        outside |= (first < 0) | (first > most)
        at[axis] = at[axis] + np.clip(first, 0, most)
    for axis, own in zip(d.operand_batching_dims, d.start_indices_batching_dims):
        at[axis] = at[axis] + batch[own]
    window = [axis for axis in range(x.ndim) if axis not in (*d.collapsed_slice_dims, *d.operand_batching_dims)]
    for axis, where in zip(window, d.offset_dims):
        at[axis] = at[axis] + grid[where]
    found = x[tuple(at)]
    if "FILL" in str(mode):
        return np.where(outside, fill_value if fill_value is not None else _fill(x.dtype), found)
    return found


def _fill(dtype):
    return (
        np.nan
        if dtype.kind in "fc"
        else np.iinfo(dtype).min
        if dtype.kind == "i"
        else np.iinfo(dtype).max
        if dtype.kind == "u"
        else True
    )


def _scatter(put):
    def run(aval, x, starts, new, *, dimension_numbers, mode, **_):
        d = dimension_numbers
        x, grid = x.copy(), np.indices(new.shape)
        batch = [grid[i] for i in range(new.ndim) if i not in d.update_window_dims]
        start = starts[tuple(batch)] if batch else np.broadcast_to(starts, (*new.shape, starts.shape[-1]))
        window = [a for a in range(x.ndim) if a not in (*d.inserted_window_dims, *d.operand_batching_dims)]
        size = dict(zip(window, (new.shape[i] for i in d.update_window_dims)))
        at, inside = [np.zeros(new.shape, np.int64) for _ in x.shape], np.ones(new.shape, bool)
        for i, axis in enumerate(d.scatter_dims_to_operand_dims):
            first, most = start[..., i].astype(np.int64), x.shape[axis] - size.get(axis, 1)
            if "CLIP" in str(mode):
                first = np.clip(first, 0, most)
            inside &= (first >= 0) & (first <= most)
            at[axis] = at[axis] + first
        for axis, own in zip(d.operand_batching_dims, d.scatter_indices_batching_dims):
            at[axis] = at[axis] + batch[own]
        for axis, where in zip(window, d.update_window_dims):
            at[axis] = at[axis] + grid[where]
        put(x, tuple(a[inside] for a in at), new[inside])
        return x

    return run


def _selected(aval, which, *cases):
    return np.choose(np.broadcast_to(which, aval.shape).astype(int), cases)


_BY_NUMPY = {
    "add": _plain(np.add), "add_any": _plain(np.add), "sub": _plain(np.subtract), "mul": _plain(np.multiply), "neg": _plain(np.negative),
    "lt": _plain(np.less), "le": _plain(np.less_equal), "gt": _plain(np.greater), "ge": _plain(np.greater_equal), "eq": _plain(np.equal),
    "ne": _plain(np.not_equal), "and": _plain(np.bitwise_and), "or": _plain(np.bitwise_or), "not": _plain(np.invert),
    "real": _plain(np.real), "imag": _plain(np.imag), "complex": _plain(lambda a, b: a + 1j * b), "conj": _plain(np.conj),
    "copy": _plain(np.copy), "copy_p": _plain(np.copy), "stop_gradient": _plain(np.copy), "max": _plain(np.maximum), "min": _plain(np.minimum),
    "clamp": lambda aval, low, x, high: np.clip(x, low, high),
    "convert_element_type": lambda aval, x, **_: x.astype(aval.dtype),
    "broadcast_in_dim": _broadcast,
    "reshape": lambda aval, x, **_: x.reshape(aval.shape),
    "squeeze": lambda aval, x, **_: x.reshape(aval.shape),
    "expand_dims": lambda aval, x, **_: x.reshape(aval.shape),
    "transpose": lambda aval, x, *, permutation: x.transpose(permutation),
    "rev": lambda aval, x, *, dimensions: np.flip(x, dimensions),
    "slice": _slice,
    "dynamic_slice": lambda aval, x, *starts, slice_sizes: x[_at(x, starts, slice_sizes)],
    "dynamic_update_slice": _update,
    "concatenate": lambda aval, *values, dimension: np.concatenate(values, dimension),
    "pad": _pad,
    "iota": lambda aval, *, dimension, **_: np.indices(aval.shape)[dimension],
    "reduce_sum": lambda aval, x, *, axes, **_: x.sum(tuple(axes), dtype=x.dtype),
    "select_n": _selected,
    "gather": _gather,
    "scatter": _scatter(lambda x, at, new: x.__setitem__(at, new)),
    "scatter-add": _scatter(np.add.at),
}  # fmt: skip
