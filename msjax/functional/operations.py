"""ops: the single operations of a program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from msjax.base.errors import check_callable
from msjax.common.bases import is_cell
from msjax.functional.functionalize import functionalize
from msjax.functional.hooked import as_function
from msjax.functional.nnx_outputs import module_and_method, pure_call
from msjax.hooks.places import Edits, Tracing
from msjax.jaxprs.control_flow import rules
from msjax.jaxprs.interpreter import Program
from msjax.jaxprs.plan import Planner

if TYPE_CHECKING:
    from flax import nnx


class Operation(NamedTuple):
    """A single operation of a program.

    Attributes:
        name: the primitive and the source line, such as "dot_general@model.py:42"; with "#1" and so on if it is not the first
            of the name. It is a place of `capture`.
        shape, dtype: of its result; None if it has several.
        path: the forms of control flow around it, such as "jit(step)/scan".
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: Any
    path: str


def ops(fn: Callable[..., Any] | nnx.Module) -> Callable[..., list[Operation]]:
    """The single operations of what a function computes, in program order; nothing is computed.

    Args:
        fn: a function of jax arrays, a Cell, an nnx module or another model, as for `capture`.

    Returns:
        A function, to be called like `fn` (of a Cell: with its params, buffers and arguments), that returns a list of
        `Operation`. The lines are those outside of jax's own code. An operation is captured or edited by its name, or by a pattern
        such as ``"div@attention.py:*"``.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def f(x):
        ...     return jnp.exp(x).sum()
        >>> for operation in ms.hooks.ops(f)(jnp.ones(3)):
        ...     print(operation.name.split("@")[0], operation.shape)
        exp (3,)
        reduce_sum ()
        >>> out, found = ms.hooks.capture(f, "exp@*", gradients=True)(jnp.zeros(2))
        >>> print(*found.activations.values(), *found.gradients.values())
        [1. 1.] [1. 1.]
    """
    fn = as_function(fn)
    check_callable(fn, "ops")
    module = module_and_method(fn)
    if is_cell(fn):
        fn = functionalize(fn)[0]
    elif module is not None:
        call, state = pure_call(*module, lambda path: False)
        fn = functools.partial(_unpacked, call, state)

    def run(*args, **kwargs):
        planner = Planner(rules(), lambda *names: False, operations=True)
        planner.block(Program(fn, args, kwargs, Tracing(Edits())).closed)
        return [Operation(o.name, o.shape, o.dtype, o.path) for o in planner.listed if o.kind == "operation"]

    return run


def _unpacked(call, state, *args, **kwargs):
    return call(state, args, kwargs)
