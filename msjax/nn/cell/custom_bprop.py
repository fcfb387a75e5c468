"""Cells that define their own gradient: ``bprop(self, *inputs, out, dout)``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, filled_like, mark_used, renewed, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import cell_path, describe
from msjax.core.door import ACTIVITY
from msjax.engine.autograd.imperative import register_hook_list
from msjax.engine.autograd.inplace import at_the_place_of
from msjax.nn.cell.parts import CellPart


def call_with_bprop(cell: CellPart, /, *args: Any, **kwargs: Any) -> Any:
    """Run `construct` without recording; `bprop` computes the gradient."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    edges, base = place_on_tape(tensors)
    by_jax = TENSORS.under_jax_transform(tensors)
    if base is None:
        # Off the tape, code that looks into a functionalized network, as `capture` does, differentiates its forward.
        functional = STATE.in_functional_run() and any(is_tracer(t._value) for t in tensors)
        if (by_jax or functional) and not STATE.stops_jax():
            return _call_under_jax_transform(cell, args, kwargs, tensors)
        return renewed(cell.construct(*args, **kwargs))
    with STATE.swap(recording=False):
        # A gradient function of msjax within a transformation of jax: both differentiate.
        out = _call_under_jax_transform(cell, args, kwargs, tensors) if by_jax else cell.construct(*args, **kwargs)
    leaves, treedef, at = TENSORS.find(out)
    cells = tuple(STATE.owners)
    plain = [wrap(leaves[i]._value) for i in at]
    saved = tuple(wrap(a._value, a._node, a._oidx) if isinstance(a, Tensor) else a for a in args)
    for i in at:
        leaves[i] = None

    def back(grads):
        # bprop gets a gradient for every output: zeros where none arrived.
        grads = [filled_like(o._value, 0) if g is None else g for g, o in zip(grads, plain)]
        given = _unflatten(treedef, leaves, at, plain), _unflatten(treedef, leaves, at, grads)
        return _checked(cell.bprop(*saved, *given), saved, cells)  # pyright: ignore[reportOptionalCall]

    node = FunctionNode(
        base,
        edges,
        len(at),
        back,
        f"bprop of {type(cell).__name__}",
        keeps=[*plain, *(s for s in saved if isinstance(s, Tensor))],
    )
    if ACTIVITY.slow_dispatch and (monitor := STATE.monitor) is not None:
        monitor.called(node, node.name, [t._value for t in tensors])
    outputs = [wrap(t._value, node if t.dtype.kind in "fiuc" else None, i) for i, t in enumerate(plain)]
    return _unflatten(treedef, leaves, at, outputs)


def _call_under_jax_transform(cell, args, kwargs, tensors):
    """The same under a jax transformation: a custom_vjp whose backward calls `bprop`."""
    # A Tensor that is given twice is one within the cell, too: a write to one argument shows in the other.
    given = {id(t): t for t in tensors}
    stopped = {key: wrap(jax.lax.stop_gradient(t._value)) for key, t in given.items()}
    before = {key: t._value for key, t in stopped.items()}
    out = cell.construct(*[stopped[id(a)] if isinstance(a, Tensor) else a for a in args], **kwargs)
    for key, tensor in stopped.items():
        if tensor._hooks is not None:
            # A hook that construct registers on an input is the input's.
            register_hook_list(given[key], tensor._hooks)
    mark_used(tensors)
    values = [t._value for t in tensors]
    leaves, treedef, at = TENSORS.find(out)
    results = [jax.lax.stop_gradient(leaves[i]._value) for i in at]
    written = {key: t._value for key, t in stopped.items() if t._value is not before[key]}
    cells, n, m = tuple(STATE.owners), len(values), len(at)
    # bprop gets its inputs as construct has left them.
    places = {key: n + m + k for k, key in enumerate(written)}
    kept = [*(places.get(id(t), i) for i, t in enumerate(tensors)), *range(n, n + m)]

    @jax.custom_vjp
    def tie(*both):
        return both[n : n + m]

    def forward(*both):
        return both[n : n + m], [both[i] for i in kept]

    def backward(both, cts):
        inputs = iter(map(wrap, both[:n]))
        saved = tuple(next(inputs) if isinstance(a, Tensor) else a for a in args)
        outputs = list(map(wrap, both[n:]))
        grads = [
            wrap(c) if jnp.issubdtype(o._value.dtype, jnp.inexact) else filled_like(o._value, 0) for c, o in zip(cts, outputs)
        ]
        given = _unflatten(treedef, leaves, at, outputs), _unflatten(treedef, leaves, at, grads)
        with STATE.swap(pulled=cells):
            found = _checked(cell.bprop(*saved, *given), saved, cells)
        # jax expects no gradient for integers.
        of_inputs = [g._value if jnp.issubdtype(v.dtype, jnp.inexact) else None for g, v in zip(found, both)]
        return (*of_inputs, *[None] * (m + len(written)))

    tie.defvjp(forward, backward)
    tied = tie(*values, *results, *written.values())
    for key, value in written.items():
        tensor = given[key]
        while tensor is not None:
            # A write that is not recorded leaves the Tensor where it was on the tape: its gradient goes on to what it was.
            with STATE.swap(recording=False):
                tensor._set_value(at_the_place_of(tensor._value, value))
            # What was computed before still counts: a later hook would miss the gradient of the call.
            mark_used([tensor])
            tensor = tensor.__dict__.get("_stands_for")
    return _unflatten(treedef, leaves, at, list(map(wrap, tied)))


def _unflatten(treedef, leaves, at, tensors):
    leaves = list(leaves)
    for i, tensor in zip(at, tensors):
        leaves[i] = tensor
    return jax.tree.unflatten(treedef, leaves)


def _checked(result, args, cells):
    """Check what bprop returned, one gradient for each argument; returns those of the Tensors."""
    path = cell_path(cells)
    if isinstance(result, Tensor):
        result = (result,)
    if not isinstance(result, (tuple, list)):
        raise TypeError(
            f"The bprop of cell {path} should return a tuple of {len(args)} gradient(s), but returned {describe(result)}."
        )
    if len(result) < len(args):
        raise RuntimeError(
            f"The bprop of cell {path} should return {len(args)} gradients, one for each input, but returned {len(result)}."
        )
    grads = []
    for i, (arg, grad) in enumerate(zip(args, result)):
        if not isinstance(arg, Tensor):
            continue
        if grad is None:  # nothing that depends on it
            grad = filled_like(arg._value, 0)
        if not isinstance(grad, Tensor):
            raise TypeError(f"The bprop of cell {path} should return a Tensor for input {i}, but returned {describe(grad)}.")
        if grad.shape != arg.shape:
            raise ValueError(
                f"The bprop of cell {path} returned a gradient of shape {grad.shape} for input {i} of shape {arg.shape}."
            )
        grads.append(grad if grad.dtype == arg.dtype else grad.astype(arg.dtype))
    return grads
