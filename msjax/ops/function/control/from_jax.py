"""from_jax: any function of jax arrays as an operator on Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from flax.errors import TraceContextError

from msjax.common.run_state import STATE
from msjax.common.tensor import is_tensor
from msjax.common.tensor_values import TENSORS
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import callable_name, check_function
from msjax.core.base.flax_slots import RAW_VALUE
from msjax.core.base.weak import identity
from msjax.core.door import ACTIVITY, VERSION
from msjax.engine.autograd.op import Op, apply
from msjax.engine.compile.guards import Hooks
from msjax.engine.compile.walk import Walk
from msjax.ops.function.control.lifted import Reached, captured


class _Known:
    """What is known of a lifted function. In slots: programs that use the function are not compiled for it.

    Attributes:
        structures: {key of the call: (structure of what it has returned, numbers of the Tensors that it has written to)}.
    """

    __slots__ = ("_fn", "_hooks", "_version", "structures")

    def __init__(self, fn: Callable[..., Any]):
        self.structures: dict[Any, Any] = {}
        self._fn = fn
        self._hooks: tuple[Any, ...] | None = None
        self._version = VERSION.n

    def hooks(self) -> tuple[Any, ...] | None:
        """The hooks of the modules that the function calls, since a program has those with which it was traced; None if it calls none, and
        until something has changed, since most functions are called once."""
        if self._version != VERSION.n:
            self._version = VERSION.n
            self._hooks = _hooks_within(self._fn)
        return self._hooks


def from_jax(
    fn: Callable[..., Any], *, static_argnums: int | tuple[int, ...] = (), static_argnames: str | tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Lift a function of jax arrays to one of Tensors, differentiable and hookable like any operator.

    Args:
        fn (callable): from jax arrays, in any pytrees, to jax arrays, in any pytree. It must be pure, but for Cells that it calls, which
            may write to their Parameters, such as the statistics of BatchNorm, outside of a transformation of jax.
        static_argnums (int or tuple of int): positions of arguments that are not arrays; they must be hashable.
        static_argnames (str or tuple of str): names of keyword arguments that are not arrays.

    Returns:
        A function that takes Tensors (and arrays and numbers) where `fn` takes arrays, and returns Tensors.

    Raises:
        TypeError: `fn` is not callable.
        flax.errors.TraceContextError: a call writes to variables of nnx, as BatchNorm and Dropout do in training.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> softplus = ms.from_jax(jax.nn.softplus)
        >>> print(ms.grad(softplus)(ms.Tensor(0.0)))
        0.5
    """
    check_function(fn, "from_jax")
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    known = _Known(fn)

    def flat(*operands):
        *leaves, treedef, static_args, static_kwargs, reached, _, key = operands
        args, kwargs = jax.tree.unflatten(treedef, leaves[: len(leaves) - len(reached)])
        args = list(args)
        for i, value in static_args:
            args.insert(i, value)
        with reached.holding(leaves[len(leaves) - len(reached) :]) as written:
            try:
                out, tree = jax.tree.flatten(fn(*args, **kwargs, **dict(static_kwargs)))
            except TraceContextError as error:
                error.add_note(
                    f"{name} writes to variables of nnx, as layers do in training: `ms.from_jax` takes it as it is in `module.eval()`"
                )
                raise
            new = written()
        known.structures[key] = tree, tuple(new)
        return (*out, *new.values())

    name = getattr(fn, "__name__", type(fn).__name__)
    # Code that lifts a function each time that it runs means the same operator.
    op = Op(name, flat, int_grad=False, runs_cells=True, made_of=(name, getattr(fn, "__code__", type(fn))))

    @functools.wraps(fn, updated=())
    def lifted(*args, **kwargs):
        static_args = tuple((i, args[i]) for i in numbers if i < len(args))
        static_kwargs = tuple((k, kwargs.pop(k)) for k in names if k in kwargs)
        dynamic = tuple(a for i, a in enumerate(args) if i not in numbers)
        leaves, treedef = jax.tree.flatten((dynamic, kwargs), is_leaf=is_tensor)
        shapes = tuple((leaf.shape, str(leaf.dtype)) if hasattr(leaf, "shape") else type(leaf) for leaf in leaves)
        variables: list[Any] = []
        tensors = captured(fn, variables)
        found = [(variable, RAW_VALUE.__get__(variable)) for variable in variables]
        weights = [(variable, value) for variable, value in found if _is_operand(value)]
        fixed = tuple(identity(value) for _, value in found if not _is_operand(value))
        reached = Reached(tensors, [variable for variable, _ in weights])
        key = (treedef, static_args, static_kwargs, shapes, reached, known.hooks())
        operands = [*STATE.delivery.before_loop(TENSORS, [*leaves, *tensors]), *(value for _, value in weights)]
        out = apply(op, operands, (treedef, static_args, static_kwargs, reached, fixed, key))
        if key not in known.structures:
            raise RuntimeError(f"The function {callable_name(fn)} left no trace of what it returns.")
        if ACTIVITY.callbacks and not any(is_tracer(v._value) for v in out):
            STATE.delivery.settle()  # the hooks of cells in `fn` come before what follows
        structure, written = known.structures[key]
        for number, new in zip(written, out[len(out) - len(written) :]):
            tensors[number]._set_value(new._value)
        return jax.tree.unflatten(structure, list(out[: len(out) - len(written)]))

    return lifted


def _is_operand(value: Any) -> bool:
    return isinstance(value, jax.Array) and not jax.numpy.issubdtype(value.dtype, jax.dtypes.extended)


def _hooks_within(fn: Any) -> tuple[Any, ...] | None:
    """The hooks of the modules that a function calls, as far as a walk finds them, those of all cells first; None if it calls none."""
    walk = Walk([fn])
    keys = tuple([guard.seen for guard in walk.found if isinstance(guard, Hooks) and guard.seen])
    # The same hooks on other modules are others.
    return (keys and (*keys, *map(identity, walk.modules))) if walk.modules else None
