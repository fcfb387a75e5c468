"""Operators that communicate between processes: reductions, gathering, scattering, broadcasts, sending.

Each process of a group calls them with a Tensor of its own, in the same order. A group of one process needs no communication.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_one_of, check_value
from msjax.core.base.errors import describe, where
from msjax.engine.autograd.op import Op, apply
from msjax.engine.processes.groups import PROCESSES, WORLD_NAMES, Group

WORLD = WORLD_NAMES[0]
REDUCTIONS = ("sum", "max", "min", "prod", "avg")


def _run(kernel, group, operands, *static):
    group = group if isinstance(group, Group) else PROCESSES.group(group)
    name = kernel.__name__.strip("_")
    if group.rank is None:
        group.number_of(PROCESSES.place.rank, f"For '{name}'{where()}")
    for value in operands:
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{name}'{where()}, the input should be a Tensor, but got {describe(value)}.")
    op = group.operators.get(kernel)
    if op is None:
        op = group.operators[kernel] = Op(name, functools.partial(kernel, group), jit=group.jit_operator)
    return apply(op, operands, static)


def _over(group, collective, *args, **options):
    """Call a function of jax.lax over the processes of a group."""
    try:
        return collective(*args, axis_name=group.axis_in_trace(), **options)
    except NameError:
        raise NotImplementedError(
            f"{collective.__name__} of group {group.name!r}{where()} is compiled for one process only. Compile the function by msjax (ms.jit, "
            f"graph mode), or map it with jax.shard_map over a mesh with the axis {group.name!r}."
        ) from None


def _sum(group, x):
    return _over(group, jax.lax.psum, x) if group.size > 1 else x


def _own_index(group):
    return _over(group, jax.lax.axis_index)


def _parts(group, x, axis=0):
    """The size along an axis, which has to be the same for each process after splitting."""
    if not x.ndim or x.shape[axis] % group.size:
        raise ValueError(
            f"axis {axis} should split into equal parts for {group.size} processes, but the shape is {tuple(x.shape)}."
        )
    return x.shape[axis] // group.size


def _check_numbers(x):
    if x.dtype == bool:
        raise TypeError("the input should hold numbers, but is of type Bool.")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _extreme(group, collective, x):
    return _over(group, collective, x)


def _extreme_backward(group, collective, kept, gradient):
    x, out = kept
    return (jnp.where(x == out, _sum(group, gradient), jnp.zeros_like(gradient)),)


_extreme.defvjp(lambda group, collective, x: (out := _extreme(group, collective, x), (x, out)), _extreme_backward)


def _AllReduce(group, x, op):
    check_one_of(op, REDUCTIONS, "op")
    _check_numbers(x)
    if group.size == 1:
        return x
    if op in ("max", "min"):
        return _extreme(group, jax.lax.pmax if op == "max" else jax.lax.pmin, x)
    if op == "prod":
        return _over(group, jax.lax.all_gather, x).prod(0, dtype=x.dtype)
    total = _sum(group, x)
    return total if op == "sum" else (total / group.size).astype(x.dtype)


def _ReduceScatter(group, x, op):
    check_one_of(op, REDUCTIONS, "op")
    _check_numbers(x)
    part = _parts(group, x)
    if group.size == 1:
        return x
    if op in ("sum", "avg"):
        total = _over(group, jax.lax.psum_scatter, x, scatter_dimension=0, tiled=True)
        return total if op == "sum" else (total / group.size).astype(x.dtype)
    each = _over(group, jax.lax.all_to_all, x, split_axis=0, concat_axis=0, tiled=True)
    each = each.reshape(group.size, part, *x.shape[1:])
    return each.prod(0, dtype=x.dtype) if op == "prod" else getattr(each, op)(0)


def _AllGather(group, x):
    if not x.ndim:
        raise ValueError("the input should have at least one axis, but its shape is ().")
    return _over(group, jax.lax.all_gather, x, axis=0, tiled=True) if group.size > 1 else x


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _from_root(group, root, x):
    # A sum to which only one process contributes. Booleans have no sum.
    numbers = x.astype(np.int8) if x.dtype == bool else x
    chosen = jnp.where(_own_index(group) == root, numbers, jnp.zeros_like(numbers))
    return _sum(group, chosen).astype(x.dtype)


# As in MindSpore, the gradient does not travel back to the root: each process keeps its own.
_from_root.defvjp(lambda group, root, x: (_from_root(group, root, x), None), lambda group, root, _, gradient: (gradient,))


def _Broadcast(group, *operands):
    *values, root = operands
    _check_rank(group, root, "root_rank")
    return tuple([_from_root(group, root, x) if group.size > 1 else x for x in values])


def _CollectiveScatter(group, x, root):
    _check_rank(group, root, "src_rank")
    part = _parts(group, x)
    if group.size == 1:
        return x
    return jax.lax.dynamic_slice_in_dim(_from_root(group, root, x), _own_index(group) * part, part)


def _AlltoAll(group, x, split, concat):
    _parts(group, x, split)
    if group.size == 1:
        return x
    return _over(group, jax.lax.all_to_all, x, split_axis=split, concat_axis=concat, tiled=True)


def _Send(group, x, source):
    """Between the two processes of a group, from the number `source`."""
    return _over(group, jax.lax.ppermute, x, perm=[(source, 1 - source)])


def _ReduceGradients(group, *operands):
    *gradients, factor = operands
    totals = [_sum(group, g) for g in gradients]
    return tuple(totals if factor == 1 else [t * np.asarray(factor, t.dtype) for t in totals])


def _check_rank(group, rank, name):
    check_value(rank, 0 <= rank < group.size, f"be a number from 0 to {group.size - 1}", name)


def all_reduce(x: Tensor, op: str = "sum", group: str = WORLD) -> Tensor:
    """The sum (or maximum, minimum, product, average) over the processes of a group, which each of them gets.

    The gradient is the sum of the gradients of all processes; for "max" and "min", where this process has the extreme value.

    Args:
        x (Tensor): of numbers; the same shape and dtype in each process.
        op (str): "sum", "max", "min", "prod" or "avg". Default: "sum".
        group (str): the group. Default: all processes.

    Raises:
        TypeError: `x` is not a Tensor of numbers.
        ValueError: an unknown reduction.
        RuntimeError: there is no such group, or this process is not in it.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.AllReduce()(Tensor([1.0, 2.0])))  # one process
        [1. 2.]
    """
    return _run(_AllReduce, group, (x,), op)


def reduce_scatter(x: Tensor, op: str = "sum", group: str = WORLD) -> Tensor:
    """The reduction over the processes, of which each gets its part of the first axis.

    Args:
        x (Tensor): of shape (n * size of the group, ...).
        op, group: as in `all_reduce`.

    Returns:
        Tensor, of shape (n, ...).

    Raises:
        ValueError: the first axis can't be split, or an unknown reduction.
    """
    return _run(_ReduceScatter, group, (x,), op)


def all_gather(x: Tensor, group: str = WORLD) -> Tensor:
    """The Tensors of all processes, joined along the first axis. The gradient is `reduce_scatter`.

    Args:
        x (Tensor): of shape (n, ...), the same in each process.
        group (str): the group. Default: all processes.

    Returns:
        Tensor, of shape (n * size of the group, ...).

    Raises:
        ValueError: `x` has no axis.
    """
    return _run(_AllGather, group, (x,))


def broadcast(values: Sequence[Tensor], root: int, group: str = WORLD) -> tuple[Tensor, ...]:
    """The Tensors that one process has, for each of them. The gradient of each process stays its own.

    Args:
        values (sequence of Tensors): of the same shapes and dtypes in each process.
        root (int): the number of that process in the group.
        group (str): the group. Default: all processes.

    Raises:
        TypeError: not a tuple or list of Tensors.
        ValueError: there is no process of that number.
    """
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"For 'Broadcast'{where()}, the input should be a tuple of Tensors, but got {describe(values)}.")
    return _run(_Broadcast, group, values, root)


def scatter(x: Tensor, root: int, group: str = WORLD) -> Tensor:
    """The part along the first axis that one process has for each of them.

    Args:
        x (Tensor): of shape (n * size of the group, ...); in the other processes only its shape and dtype matter.
        root (int): the number of that process in the group.
        group (str): the group. Default: all processes.
    """
    return _run(_CollectiveScatter, group, (x,), root)


def all_to_all(x: Tensor, split: int, concat: int, group: str = WORLD) -> Tensor:
    """Each process splits its Tensor along one axis, sends a part to each, and joins what it gets along another axis.

    Args:
        x (Tensor): the same shape in each process.
        split, concat (int): the axes.
        group (str): the group. Default: all processes.
    """
    return _run(_AlltoAll, group, (x,), split, concat)


def send(x: Tensor, dest: int, group: str = WORLD) -> None:
    """Send a Tensor to one process, which calls `receive`. No gradient flows back.

    Args:
        x (Tensor): what is sent.
        dest (int): the number of that process in the group.
        group (str): the group. Default: all processes.

    Raises:
        ValueError: there is no process of that number, or it is this one.
    """
    pair, own = _pair(dest, group, "dest_rank")
    # The value in the hands of the sender is of no use, but without waiting for it this could be overtaken.
    jax.block_until_ready(_run(_Send, pair, (x,), own)._value)


def receive(x: Tensor, source: int, group: str = WORLD) -> Tensor:
    """The Tensor that another process sends to this one by `send`.

    Args:
        x (Tensor): of the shape and dtype that will come.
        source (int): the number of that process in the group.
        group (str): the group. Default: all processes.

    Raises:
        ValueError: there is no process of that number, or it is this one.
    """
    pair, own = _pair(source, group, "src_rank")
    return _run(_Send, pair, (x,), 1 - own)


def _pair(other, name, argument):
    """The group of this process and another one, and the number of this one in it."""
    group = PROCESSES.group(name)
    check_value(
        other, 0 <= other < group.size and other != group.rank, f"be the number of another process, below {group.size}", argument
    )
    ranks = tuple(sorted((PROCESSES.place.rank, group.ranks[other])))
    pair = PROCESSES.pair(ranks)
    return pair, pair.rank


def reduce_gradients(gradients: Sequence[Tensor], factor: float = 1.0, group: str = WORLD) -> tuple[Tensor, ...]:
    """The gradients of all processes added up and multiplied by a number, as one program."""
    return _run(_ReduceGradients, group, gradients, float(factor))


def barrier(group: str = WORLD) -> None:
    """Wait until every process of a group has come here."""
    jax.block_until_ready(_run(_AllReduce, group, (Tensor(np.zeros((), np.int32)),), "sum")._value)
