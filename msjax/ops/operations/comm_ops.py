"""Operator classes that communicate between processes, and the names of reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from msjax.common.dtype import to_jax
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_value
from msjax.engine.processes.groups import PROCESSES
from msjax.ops.function import collectives
from msjax.ops.function.collectives import WORLD
from msjax.ops.primitive import Form, OfX

__all__ = [
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "CollectiveScatter", "Reduce", "CollectiveGather", "AlltoAll",
    "Send", "Receive", "Barrier", "ReduceOp",
]  # fmt: skip


class ReduceOp:
    """Names of reductions over processes."""

    AVG = "avg"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    SUM = "sum"


class _Reduction(OfX):
    op: str = ReduceOp.SUM
    group: str = WORLD


# fmt: off
class AllReduce(_Reduction, of=collectives.all_reduce): ...
class ReduceScatter(_Reduction, of=collectives.reduce_scatter): ...
class AllGather(OfX, of=collectives.all_gather): group: str = WORLD
# fmt: on


class Broadcast(Form, of=collectives.broadcast, root_rank="root"):
    root_rank: int
    group: str = WORLD

    def __call__(self, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return collectives.broadcast(values, self.root_rank, self.group)


class CollectiveScatter(OfX, of=collectives.scatter, src_rank="root"):
    src_rank: int = 0
    group: str = WORLD


class Reduce(Form):
    """The sum (or another reduction) over the processes of a group; what all but one get is without meaning.

    Args:
        dest_rank (int): the number of the process that gets it.
        op (str): "sum", "max", "min", "prod" or "avg". Default: "sum".
        group (str): the group. Default: all processes.
    """

    dest_rank: int
    op: str = ReduceOp.SUM
    group: str = WORLD

    def __call__(self, x: Tensor) -> Tensor:
        return collectives.all_reduce(x, self.op, self.group)


class CollectiveGather(Form):
    """The Tensors of all processes, joined along the first axis, for one of them; the others get a zero of shape (1,).

    Args:
        dest_rank (int): the number of the process that gets them.
        group (str): the group. Default: all processes.
    """

    dest_rank: int
    group: str = WORLD

    def __call__(self, x: Tensor) -> Tensor:
        joined = collectives.all_gather(x, self.group)
        return joined if PROCESSES.group(self.group).rank == self.dest_rank else wrap(jnp.zeros(1, joined._value.dtype))


class AlltoAll(Form):
    """Each process splits its Tensor along one axis, sends a part to each, and joins what it gets along another axis.

    Args:
        split_count (int): the number of parts: that of the processes.
        split_dim, concat_dim (int): the axes.
        group (str): the group. Default: all processes.

    Raises:
        ValueError: the number of parts is not that of the processes, or the axis can't be split.
    """

    split_count: int
    split_dim: int
    concat_dim: int
    group: str = WORLD

    def __call__(self, x: Tensor) -> Tensor:
        size = PROCESSES.group(self.group).size
        check_value(self.split_count, self.split_count == size, f"be the number of processes, {size}", "split_count", "AlltoAll")
        return collectives.all_to_all(x, self.split_dim, self.concat_dim, self.group)


class Send(Form):
    """Send a Tensor to another process, which calls `Receive`; returns it. No gradient flows back.

    Args:
        sr_tag (int): without effect: Tensors arrive in the order in which they are sent.
        dest_rank (int): the number of that process in the group.
        group (str): the group. Default: all processes.
        group_back (str): without effect.
    """

    sr_tag: int
    dest_rank: int
    group: str = WORLD
    group_back: str = WORLD

    def __call__(self, x: Tensor) -> Tensor:
        collectives.send(x, self.dest_rank, self.group)
        return x


class Receive(Form):
    """The Tensor that another process sends by `Send`.

    Args:
        sr_tag (int): without effect.
        src_rank (int): the number of that process in the group.
        shape (tuple): the Tensor's shape.
        dtype (ms.dtype): its type.
        group (str): the group. Default: all processes.
        group_back (str): without effect.
    """

    sr_tag: int
    src_rank: int
    shape: Sequence[Any]
    dtype: DTypeLike
    group: str = WORLD
    group_back: str = WORLD

    def __call__(self, x: TensorLike | None = None) -> Tensor:
        template = jnp.zeros(tuple(self.shape), to_jax(self.dtype))
        return collectives.receive(wrap(template), self.src_rank, self.group)


class Barrier(Form):
    """Wait until every process of a group has come here.

    Args:
        group (str): the group. Default: all processes.
    """

    group: str = WORLD

    def __call__(self) -> None:
        collectives.barrier(self.group)
