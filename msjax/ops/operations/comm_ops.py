"""Operator classes that communicate between processes, and the names of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

from msjax.base.typing import TensorLike
from msjax.common.dtype import to_jax
from msjax.common.tensor import Tensor, wrap
from msjax.ops.function import collectives
from msjax.ops.function.collectives import WORLD
from msjax.ops.primitive import REQUIRED, class_form, given_as, name_classes, operator_class
from msjax.processes.groups import PROCESSES

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


class ReduceOp:
    """Names of reductions over processes."""

    AVG = "avg"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    SUM = "sum"


AllReduce = class_form(collectives.all_reduce, op=ReduceOp.SUM, group=WORLD)
AllGather = class_form(collectives.all_gather, group=WORLD)
ReduceScatter = class_form(collectives.reduce_scatter, op=ReduceOp.SUM, group=WORLD)
Broadcast = class_form(collectives.broadcast, root_rank=given_as("root"), group=WORLD)
CollectiveScatter = class_form(collectives.scatter, src_rank=given_as("root", 0), group=WORLD)


@operator_class(dest_rank=REQUIRED, op=ReduceOp.SUM, group=WORLD)
def Reduce(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The sum (or another reduction) over the processes of a group; what all but one get is without meaning.

    Args:
        dest_rank (int): the number of the process that gets it.
        op (str): "sum", "max", "min", "prod" or "avg". Default: "sum".
        group (str): the group. Default: all processes.
    """
    return collectives.all_reduce(x, self.op, self.group)


@operator_class(dest_rank=REQUIRED, group=WORLD)
def CollectiveGather(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The Tensors of all processes, joined along the first axis, for one of them; the others get a zero of shape (1,).

    Args:
        dest_rank (int): the number of the process that gets them.
        group (str): the group. Default: all processes.
    """
    joined = collectives.all_gather(x, self.group)
    return joined if PROCESSES.group(self.group).rank == self.dest_rank else wrap(jnp.zeros(1, joined._value.dtype))


@operator_class(split_count=REQUIRED, split_dim=REQUIRED, concat_dim=REQUIRED, group=WORLD)
def AlltoAll(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """Each process splits its Tensor along one axis, sends a part to each, and joins what it gets along another axis.

    Args:
        split_count (int): the number of parts: that of the processes.
        split_dim, concat_dim (int): the axes.
        group (str): the group. Default: all processes.

    Raises:
        ValueError: the number of parts is not that of the processes, or the axis can't be split.
    """
    size = PROCESSES.group(self.group).size
    if self.split_count != size:
        raise ValueError(f"For 'AlltoAll', 'split_count' should be the number of processes, {size}, but got {self.split_count}.")
    return collectives.all_to_all(x, self.split_dim, self.concat_dim, self.group)


@operator_class(sr_tag=REQUIRED, dest_rank=REQUIRED, group=WORLD, group_back=WORLD)
def Send(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """Send a Tensor to another process, which calls `Receive`; returns it. No gradient flows back.

    Args:
        sr_tag (int): without effect: Tensors arrive in the order in which they are sent.
        dest_rank (int): the number of that process in the group.
        group (str): the group. Default: all processes.
        group_back (str): without effect.
    """
    collectives.send(x, self.dest_rank, self.group)
    return x


@operator_class(sr_tag=REQUIRED, src_rank=REQUIRED, shape=REQUIRED, dtype=REQUIRED, group=WORLD, group_back=WORLD)
def Receive(self: PrimitiveSelf, x: TensorLike | None = None) -> Tensor:
    """The Tensor that another process sends by `Send`.

    Args:
        sr_tag (int): without effect.
        src_rank (int): the number of that process in the group.
        shape (tuple): the Tensor's shape.
        dtype (ms.dtype): its type.
        group (str): the group. Default: all processes.
        group_back (str): without effect.
    """
    template = jnp.zeros(tuple(self.shape), to_jax(self.dtype))
    return collectives.receive(wrap(template), self.src_rank, self.group)


@operator_class(group=WORLD)
def Barrier(self: PrimitiveSelf) -> None:
    """Wait until every process of a group has come here.

    Args:
        group (str): the group. Default: all processes.
    """
    collectives.barrier(self.group)


name_classes(globals(), "ReduceOp")
