"""Backward hooks that need concrete values and return some: run on the host, in the middle of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.state import ACTIVITY, Tracing, swap


def call_on_host(fn: Callable[..., Any], args: Any, what: str, carries: Any, check: Any) -> Any:
    """Call a backward hook that needs concrete values and returns some, within the program, on numpy arrays.

    Args:
        carries: the number of the argument that the result replaces: a Tensor, or a tuple of Tensors and None.
        check: a function from what the hook returned, and the argument, to the new one; it raises if it doesn't fit.

    Returns:
        That argument with new Tensors.
    """
    leaves, treedef = jax.tree.flatten(tuple(args), is_leaf=is_leaf)
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    single = isinstance(args[carries], Tensor)
    group = (args[carries],) if single else args[carries]
    there = [i for i, t in enumerate(group) if t is not None]

    def on_host(*values):
        full = list(leaves)
        for i, value in zip(at, values):
            full[i] = wrap(np.array(value))
        given = jax.tree.unflatten(treedef, full)
        with _HostOnly(what):
            result = check(fn(*given), given[carries])
            result = (result,) if single else result
            return tuple(np.asarray(result[i]._value) for i in there)

    shapes = tuple(jax.ShapeDtypeStruct(group[i].shape, group[i]._value.dtype) for i in there)
    values = jax.pure_callback(on_host, shapes, *[leaves[i]._value for i in at], vmap_method="sequential")
    new = list(group)
    for i, value in zip(there, values):
        new[i] = wrap(value)
    return new[0] if single else tuple(new)


class _HostOnly(Tracing):
    """Where a hook runs within XLA's callback: computing with jax there could wait forever."""

    def __init__(self, what: Any):
        super().__init__()
        self.what = what

    def __enter__(self) -> None:
        self._swap = swap(trace=self)
        self._swap.__enter__()
        ACTIVITY.add(traces=1)

    def __exit__(self, *_exception: Any) -> None:
        self._swap.__exit__()
        ACTIVITY.add(traces=-1)

    def see(self, operands):
        raise RuntimeError(
            f"In a program under someone else's jax.jit, {self.what} runs on the host, since it returns a value for which it "
            "needs concrete ones; operators can't run there. Use numpy on t.asnumpy(), and return ms.Tensor(array)."
        )
