"""Joining the other processes of a program, ranks, and groups of processes: ``mindspore.communication.management``."""

from __future__ import annotations

from typing import Any

from msjax.communication._comm_helper import GlobalComm as GlobalComm
from msjax.core.base.checks import check_int, check_one_of
from msjax.engine.processes.groups import PROCESSES, WORLD_NAMES, Group

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = WORLD_NAMES
_WORLD = HCCL_WORLD_COMM_GROUP

__all__ = [
    "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP", "create_group", "destroy_group", "get_comm_name",
    "get_group_rank_from_world_rank", "get_group_size", "get_local_rank", "get_local_rank_size", "get_process_group_ranks",
    "get_rank", "get_world_rank_from_group_rank", "init", "release",
]  # fmt: skip


def init(backend_name: str | None = None) -> None:
    """Join the other processes of this program, which ``msjax run --workers N`` or another launcher has started.

    A program that runs alone is process 0 of 1. Under ``msjax run --workers``, processes have joined before the script starts.

    Args:
        backend_name (str, optional): "hccl", "nccl" or "mccl", without effect: jax uses NCCL between GPUs and gloo between CPUs.

    Raises:
        ValueError: an unknown backend, or environment variables that don't fit.
        RuntimeError: jax has computed something before, or the others have not come in time.

    Example:
        >>> from msjax import communication
        >>> communication.init()
        >>> communication.get_rank(), communication.get_group_size()
        (0, 1)
        >>> communication.release()
    """
    if backend_name is not None:
        check_one_of(backend_name, ("hccl", "nccl", "mccl"), "backend_name", "init")
    PROCESSES.initialize()


def release() -> None:
    """Leave the other processes: from then on, this one is alone."""
    PROCESSES.release()


def get_rank(group: str = _WORLD) -> int:
    """The number of this process in a group; 0 if it is alone.

    Raises:
        TypeError: the name is not a str.
        RuntimeError: there is no such group, or this process is not in it.
    """
    return _own_group(group).rank  # pyright: ignore[reportReturnType]


def get_group_size(group: str = _WORLD) -> int:
    """The number of processes in a group.

    Raises:
        TypeError: the name is not a str.
        RuntimeError: there is no such group.
    """
    return PROCESSES.group(group).size


def get_local_rank(group: str = _WORLD) -> int:
    """The number of this process among those of a group on the same machine."""
    return _on_this_machine(group).index(PROCESSES.place.rank)


def get_local_rank_size(group: str = _WORLD) -> int:
    """How many processes of a group run on this machine."""
    return len(_on_this_machine(group))


def get_process_group_ranks(group: str = _WORLD) -> list[int]:
    """The numbers that the processes of a group have among all processes."""
    return list(PROCESSES.group(group).ranks)


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The number among all processes of the process with a number in a group.

    Raises:
        ValueError: the group has no process of that number.
    """
    ranks = PROCESSES.group(group).ranks
    return ranks[check_int(group_rank_id, "group_rank_id", "get_world_rank_from_group_rank", low=0, high=len(ranks) - 1)]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The number in a group of the process with a number among all processes.

    Raises:
        ValueError: the process is not in the group.
    """
    ranks = PROCESSES.group(group).ranks
    check_one_of(world_rank_id, ranks, "world_rank_id", "get_group_rank_from_world_rank")
    return ranks.index(world_rank_id)


def create_group(group: str, rank_ids: list[int], options: Any = None) -> None:
    """Make a group of processes. Every process of the program may call it, those outside of the group, too.

    Args:
        group (str): its name.
        rank_ids (list of int): its processes, by their numbers among all.
        options: without effect.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: numbers that repeat or that no process has, or a name that another group has.

    Example:
        >>> from msjax import communication
        >>> communication.create_group("first", [0])
        >>> communication.get_group_size("first")
        1
        >>> communication.destroy_group("first")
    """
    PROCESSES.create(group, rank_ids)


def destroy_group(group: str) -> None:
    """Drop a group.

    Raises:
        ValueError: it is the group of all processes.
        RuntimeError: there is no such group.
    """
    PROCESSES.destroy(group)


def get_comm_name(group: str = _WORLD) -> str:
    """The name by which the communication library knows a group: none here, so the empty string."""
    PROCESSES.group(group)
    return ""


def _own_group(name) -> Group:
    group = PROCESSES.group(name)
    group.number_of(PROCESSES.place.rank)
    return group


def _on_this_machine(name):
    place = PROCESSES.place
    first = place.rank - place.local_rank
    return [rank for rank in _own_group(name).ranks if first <= rank < first + place.local_size]
