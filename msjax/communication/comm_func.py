"""Communication between processes as functions: ``mindspore.communication.comm_func``."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.ops.function import collectives
from msjax.ops.operations.comm_ops import CollectiveGather

_WORLD = collectives.WORLD

__all__ = [
    "all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "gather_into_tensor", "irecv", "isend", "recv", "reduce",
    "reduce_scatter_tensor", "scatter_tensor", "send",
]  # fmt: skip


class CommHandle:
    """What a call with ``async_op=True`` returns beside its result. The result is a Tensor that waits by itself when it is read."""

    def wait(self) -> None:
        """Returns at once."""


def all_reduce(tensor: Tensor, op: str = "sum", group: str = _WORLD, async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """The sum (or "max", "min", "prod", "avg") over the processes of a group.

    Args:
        tensor (Tensor): the same shape and dtype in each process.
        op (str): the reduction. Default: "sum".
        group (str): the group. Default: all processes.
        async_op (bool): whether a handle is returned. Default: False.

    Returns:
        (Tensor, handle); the handle is None unless `async_op` is True.

    Example:
        >>> import msjax as ms
        >>> from msjax.communication.comm_func import all_reduce
        >>> total, _ = all_reduce(ms.Tensor([1.0, 2.0]))
        >>> print(total)  # one process
        [1. 2.]
    """
    return collectives.all_reduce(tensor, op, group), handle_if(async_op)


def all_gather_into_tensor(tensor: Tensor, group: str = _WORLD, async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """The Tensors of all processes, joined along the first axis; with a handle, as `all_reduce`."""
    return collectives.all_gather(tensor, group), handle_if(async_op)


def reduce_scatter_tensor(
    tensor: Tensor, op: str = "sum", group: str = _WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """The reduction over the processes, of which each gets its part of the first axis; with a handle, as `all_reduce`."""
    return collectives.reduce_scatter(tensor, op, group), handle_if(async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str = _WORLD) -> Tensor:
    """The reduction over the processes for the process `dst`; the others get their own Tensor."""
    total, found = collectives.all_reduce(tensor, op, group), collectives.PROCESSES.group(group)
    return total if found.rank == found.number_of(dst) else tensor


def broadcast(tensor: Tensor, src: int = 0, group: str = _WORLD) -> Tensor:
    """The Tensor of the process `src`, for all."""
    return collectives.broadcast((tensor,), _number_in(group, src), group)[0]


def scatter_tensor(tensor: Tensor, src: int = 0, group: str = _WORLD) -> Tensor:
    """This process's part along the first axis of the Tensor of the process `src`."""
    return collectives.scatter(tensor, _number_in(group, src), group)


def gather_into_tensor(tensor: Tensor, dst: int = 0, group: str = _WORLD) -> Tensor:
    """The Tensors of all processes, joined along the first axis, for the process `dst`; the others get a zero of shape (1,)."""
    return CollectiveGather(_number_in(group, dst), group)(tensor)


def send(tensor: Tensor, dst: int = 0, group: str = _WORLD, tag: int = 0) -> None:
    """Send a Tensor to the process `dst`, which calls `recv`; `tag` is without effect."""
    collectives.send(tensor, _number_in(group, dst), group)


def recv(tensor: Tensor, src: int = 0, group: str = _WORLD, tag: int = 0) -> Tensor:
    """The Tensor that the process `src` sends, of the shape and dtype of `tensor`; `tag` is without effect."""
    return collectives.receive(tensor, _number_in(group, src), group)


def isend(tensor: Tensor, dst: int = 0, group: str = _WORLD, tag: int = 0) -> CommHandle:
    """`send`, with a handle."""
    send(tensor, dst, group, tag)
    return CommHandle()


def irecv(tensor: Tensor, src: int = 0, group: str = _WORLD, tag: int = 0) -> tuple[Tensor, CommHandle]:
    """`recv`, with a handle: (Tensor, handle)."""
    return recv(tensor, src, group, tag), CommHandle()


def barrier(group: str = _WORLD) -> None:
    """Wait until every process of a group has come here."""
    collectives.barrier(group)


def handle_if(wanted: Any) -> CommHandle | None:
    """The handle, if one is wanted."""
    return CommHandle() if wanted else None


def _number_in(name, rank):
    """The number in a group of the process with a number among all."""
    return collectives.PROCESSES.group(name).number_of(rank)
