"""ops: the single operations of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msjax.core.base.errors import on_behalf_of
from msjax.core.models.capture import capture_options, capturing


class Operation(NamedTuple):
    """A single operation of a program.

    Attributes:
        name: the primitive and the source line, such as "dot_general@model.py:42"; with "#1" and so on if it is not the first
            of the name. It is a place of `capture`.
        shape, dtype: of its result; None if it has several.
        path: the forms of control flow around it, such as "jit(step)/scan".
        module, call: the path of the innermost module that computes it, and which call of that module this is, from 0.
        places: its names by its module: of the primitive, such as "blocks.0.attn/div", and of the functions of jax.nn and jax.numpy whose
            last operation it is, such as "blocks.0.attn/softmax"; with "#1" and so on if it is not the first of the name.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: Any
    path: str
    module: str = ""
    call: int = 0
    places: tuple[str, ...] = ()


def ops(fn: Callable[..., Any], *, functions: bool = False) -> Callable[..., list[Operation]]:
    """The single operations of what a function computes, in program order; nothing is computed.

    Args:
        fn: a function of jax arrays, a Cell, an nnx module or another model, as for `capture`.
        functions (bool): True to list functions with a jit of their own, too, such as jax.nn.silu, behind the operations in them: by
            their modules, as places of `capture`, such as "mlp/silu". Default: False.

    Returns:
        A function, to be called like `fn` (of a Cell: with its params, buffers and arguments), that returns a list of
        `Operation`. The lines are those outside of jax's own code. An operation is captured or edited by its name, or by a pattern
        such as ``"div@attention.py:*"`` or, by its module, ``"blocks.*.attn/softmax"``.

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
    with on_behalf_of("ops"):
        listing = capturing(fn, capture_options([])._replace(listing=True))

    def run(*args, **kwargs):
        kinds = ("operation", "function") if functions else ("operation",)
        return [
            Operation(o.name, o.shape, o.dtype, o.path, o.module, o.call, o.places)
            for o in listing(*args, **kwargs)[1]
            if o.kind in kinds
        ]

    return run
