"""Communication between processes under PyTorch's names: ``mindspore.mint.distributed``.

The collective operations are those of ``msjax.communication``. As in PyTorch, results are written into Tensors that the caller gives, and a
group that is None is that of all processes. A call with ``async_op=True`` returns a handle; a Tensor waits by itself when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from msjax import communication, ops
from msjax.common.tensor import Tensor
from msjax.communication import comm_func
from msjax.communication.comm_func import CommHandle, handle_if
from msjax.core.base.checks import check_one_of, check_type, check_value
from msjax.core.base.lazy import on_first_use
from msjax.engine.processes.groups import PROCESSES, WORLD_NAMES
from msjax.engine.processes.objects import packed, unpacked
from msjax.ops.function import collectives

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "get_backend", "get_global_rank", "get_group_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "init_process_group", "irecv", "is_available", "is_initialized",
    "isend", "new_group", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip


def is_available() -> bool:
    """Whether processes can communicate: always."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` or `communication.init` has been called."""
    return PROCESSES.initialized


def init_process_group(backend: str = "hccl", init_method: str | None = None, timeout: Any = None, world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None) -> None:  # fmt: skip
    """Join the other processes; see `communication.init`.

    Args:
        backend (str): "hccl", "nccl" or "mccl", without effect.
        init_method, timeout: without effect: the launcher's environment variables say where the others are.
        world_size, rank (int): what the caller expects. Default: -1, whatever the launcher says.
        store, group_name, pg_options, device_id: without effect.

    Raises:
        ValueError: an unknown backend, or `world_size` or `rank` is not that of the launcher.

    Example:
        >>> from msjax.mint import distributed
        >>> distributed.init_process_group()
        >>> distributed.get_rank(), distributed.get_world_size()
        (0, 1)
        >>> distributed.destroy_process_group()
    """
    communication.init(backend)
    for name, wanted, there in (("world_size", world_size, get_world_size()), ("rank", rank, get_rank())):
        check_value(wanted, wanted in (-1, there), f"be -1 or that of the launcher, {there}", name, "init_process_group")


def destroy_process_group(group: str | None = None) -> None:
    """Drop a group; None leaves the other processes."""
    if group is None or group in WORLD_NAMES:
        communication.release()
    else:
        communication.destroy_group(group)


def new_group(
    ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None,
) -> str:  # fmt: skip
    """Make a group of some processes; None is all. Every process calls it. The other arguments are without effect.

    Returns:
        str, the group's name: the same for the same ranks.
    """
    if ranks is None:
        return collectives.WORLD
    name = f"processes {', '.join(map(str, ranks))}"
    PROCESSES.create(name, ranks)
    return name


def get_rank(group: str | None = None) -> int:
    """The number of this process in a group; -1 if it is not in it."""
    rank = PROCESSES.group(group).rank
    return -1 if rank is None else rank


def get_world_size(group: str | None = None) -> int:
    """How many processes a group has; -1 if this one is not in it."""
    found = PROCESSES.group(group)
    return -1 if found.rank is None else found.size


def get_backend(group: str | None = None) -> str:
    """The name of the communication library: "nccl" between GPUs, "mccl" between CPUs."""
    PROCESSES.group(group)
    return "nccl" if jax.default_backend() == "gpu" else "mccl"


def get_global_rank(group: str | None, group_rank: int) -> int:
    """The number among all processes of the process with a number in a group."""
    return communication.get_world_rank_from_group_rank(_name(group), group_rank)


def get_group_rank(group: str | None, global_rank: int) -> int:
    """The number in a group of the process with a number among all."""
    return communication.get_group_rank_from_world_rank(global_rank, _name(group))


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The numbers that the processes of a group have among all."""
    return communication.get_process_group_ranks(_name(group))


# ---- collective operations


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Put the sum (or "max", "min", "prod", "avg") over the processes into `tensor`.

    Example:
        >>> import msjax as ms
        >>> from msjax.mint import distributed
        >>> x = ms.Tensor([1.0, 2.0])
        >>> distributed.all_reduce(x)
        >>> print(x)  # one process
        [1. 2.]
    """
    return _put(tensor, collectives.all_reduce(tensor, op, _name(group)), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Put the Tensors of all processes, joined along the first axis, into `output_tensor`."""
    return _put(output_tensor, collectives.all_gather(input_tensor, _name(group)), async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Put the Tensor of each process into a Tensor of the list."""
    joined = collectives.all_gather(tensor.expand_dims(0), _name(group))
    return _put_all(tensor_list, list(joined), async_op, "all_gather")


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Put this process's part, along the first axis, of the reduction over the processes into `output`."""
    return _put(output, collectives.reduce_scatter(input, op, _name(group)), async_op)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Put the reduction over the processes of the list's Tensor with this process's number into `output`."""
    own = get_rank(group)
    _check_length(input_list, group, "reduce_scatter")
    totals = [collectives.all_reduce(tensor, op, _name(group)) for tensor in input_list]
    return _put(output, totals[own], async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Put the reduction over the processes into the Tensor of the process `dst`; the others keep theirs."""
    return _put(tensor, comm_func.reduce(tensor, dst, op, _name(group)), async_op)


def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Put the Tensor of the process `src` into `tensor`."""
    return _put(tensor, comm_func.broadcast(tensor, src, _name(group)), async_op)


def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int = 0, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Put the Tensor of each process into a Tensor of the list of the process `dst`."""
    joined = collectives.all_gather(tensor.expand_dims(0), _name(group))
    if get_global_rank(group, get_rank(group)) != dst:
        return handle_if(async_op)
    return _put_all(gather_list, list(joined), async_op, "gather")


def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int = 0, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Put the Tensor with this process's number of the list of the process `src` into `tensor`."""
    found = PROCESSES.group(group)
    if found.number_of(src) == found.rank:
        _check_length(scatter_list, group, "scatter")
        parts = ops.stack(list(scatter_list or ()))
    else:
        parts = ops.stack([tensor] * found.size)
    return _put(tensor, comm_func.scatter_tensor(parts, src, _name(group))[0], async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Send each process a Tensor of one list, of the same shape, and put what comes from each into the other list."""
    _check_length(input_tensor_list, group, "all_to_all")
    exchanged = collectives.all_to_all(ops.stack(list(input_tensor_list)), 0, 0, _name(group))
    return _put_all(output_tensor_list, list(exchanged), async_op, "all_to_all")


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Send each process a part of `input` along the first axis, and put what comes from each into `output`.

    Raises:
        NotImplementedError: parts of different sizes.
    """
    for name, sizes in (("output_split_sizes", output_split_sizes), ("input_split_sizes", input_split_sizes)):
        if sizes and len(set(sizes)) > 1:
            raise NotImplementedError(f"For 'all_to_all_single', '{name}' should be the same for all processes, but got {sizes}.")
    return _put(output, collectives.all_to_all(input, 0, 0, _name(group)), async_op)


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> CommHandle | None:
    """Wait until every process of a group has come here."""
    collectives.barrier(_name(group))
    return handle_if(async_op)


def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Send a Tensor to the process `dst`, which calls `recv`."""
    comm_func.send(tensor, dst, _name(group), tag)


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Put the Tensor that the process `src` sends into `tensor`; returns `src`."""
    tensor.copy_(comm_func.recv(tensor, src, _name(group), tag))
    return src


def isend(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """`send`, with a handle."""
    return comm_func.isend(tensor, dst, _name(group), tag)


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """`recv`, with a handle."""
    recv(tensor, src, group, tag)
    return CommHandle()


# ---- objects


def all_gather_object(object_list: list[Any], obj: Any, group: str | None = None) -> None:
    """Put the object of each process, which pickle can write, into the list.

    Objects of other classes than Python's plain ones, arrays and Tensors need a secret of the launch; see docs/run_mindspore.md.

    Example:
        >>> from msjax.mint import distributed
        >>> found = [None]
        >>> distributed.all_gather_object(found, {"loss": 0.5})
        >>> found
        [{'loss': 0.5}]
    """
    _check_length(object_list, group, "all_gather_object")
    object_list[:] = _objects(obj, group)


def broadcast_object_list(object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None) -> None:
    """Put the objects of the list of the process `src`, which pickle can write, into the lists of all."""
    check_type(object_list, list, "object_list", "broadcast_object_list")
    object_list[:] = _objects(object_list, group)[PROCESSES.group(group).number_of(src)]


def _objects(obj, group):
    """The objects of all processes, which are sent as ints: first their lengths in bytes, then their bytes, filled up to the longest."""
    if PROCESSES.group(group).size == 1:
        return [obj]
    data = packed(obj)
    lengths = collectives.all_gather(Tensor(np.array([len(data)], np.int32)), _name(group)).asnumpy()
    padded = data + bytes(-int(lengths.max()) % 4 + int(lengths.max()) - len(data))
    joined = collectives.all_gather(Tensor(np.frombuffer(padded, np.int32)[None]), _name(group)).asnumpy()
    return [unpacked(row.tobytes()[:length]) for row, length in zip(joined, lengths)]


# ---- shared


def _name(group):
    return PROCESSES.group(group).name


def _put(tensor, value, async_op):
    tensor.copy_(value)
    return handle_if(async_op)


def _put_all(tensors, values, async_op, who):
    check_type(tensors, (list, tuple), "the list of results", who)
    check_one_of(len(tensors), (len(values),), "the number of results", who)
    for tensor, value in zip(tensors, values):
        tensor.copy_(value)
    return handle_if(async_op)


def _check_length(listed, group, who):
    size = PROCESSES.group(group).size
    fits = isinstance(listed, (list, tuple)) and len(listed) == size
    check_value(listed, fits, f"have an entry for each of the {size} processes", "the list", who)


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__, {"[A-Z]*": "the operations of this module take Tensors of the same shape from all processes."}
    )
