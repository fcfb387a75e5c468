"""The rows of `tools.summary` for a Cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from msjax.common.tensor import Tensor, is_leaf, tensors_in
from msjax.core.base.arrays import TracedValueError
from msjax.core.tools.describing import hooks_in_words
from msjax.engine.functional.functionalize import functionalize


def rows(net: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The fields of each `SummaryRow`: the network, then each cell in it."""
    hooks = {name: hooks_in_words(cell) for name, cell in net.cells_and_names()}
    called = _outputs(net, inputs, kwargs) if inputs or kwargs else {}
    counted = set()
    for name, cell in net.cells_and_names():
        own = [p for _, p in cell._own_parameters() if id(p) not in counted]
        counted.update(map(id, own))
        trainable = sum(p.size for p in own if p.requires_grad)
        other = sum(p.size for p in own if not p.requires_grad)
        outputs = called.get(name, [])
        yield name, type(cell).__name__, outputs[0] if outputs else None, len(outputs), trainable, other, hooks[name]


def _outputs(net, inputs, kwargs):
    """{path: for each call of the cell, ((shape, dtype), ...) of its outputs}."""
    called, handles = {}, []
    apply, params, buffers = functionalize(net)
    leaves, treedef = jax.tree.flatten((inputs, kwargs), is_leaf=is_leaf)
    leaves = [leaf._value if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    # Only arrays go through jax; other arguments are passed directly.
    at = [i for i, leaf in enumerate(leaves) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]

    def run(params, buffers, *arrays):
        given = list(leaves)
        for i, array in zip(at, arrays):
            given[i] = array
        args, named = jax.tree.unflatten(treedef, given)
        out, new = apply(params, buffers, *args, **named)
        return [leaf for leaf in jax.tree.leaves((out, new)) if hasattr(leaf, "dtype")]

    try:
        for name, cell in net.cells_and_names():
            handles.append(cell.register_forward_hook(_noting(called.setdefault(name, [])), traced=True))
        jax.eval_shape(run, params, buffers, *[leaves[i] for i in at])
    except (TracedValueError, jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        raise RuntimeError(
            f"For 'summary', the network runs on shapes only, but it reads the values of Tensors: {str(error).splitlines()[0]}"
        ) from error
    finally:
        for handle in handles:
            handle.remove()
    return called


def _noting(calls):
    def note(cell, args, output):
        tensors = tensors_in(output)
        calls.append(tuple((tuple(t.shape), str(t.dtype)) for t in tensors))

    return note
