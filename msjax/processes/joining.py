"""Joins this process with the others that run the same program, by the environment variables that its launcher sets."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

# The variables of MindSpore's launcher come first, then those of Open MPI's.
_SIZE = ("MS_WORKER_NUM", "RANK_SIZE", "OMPI_COMM_WORLD_SIZE")
_RANK = ("MS_NODE_ID", "RANK_ID", "OMPI_COMM_WORLD_RANK")
_LOCAL_RANK = ("DEVICE_ID", "OMPI_COMM_WORLD_LOCAL_RANK")
_LOCAL_SIZE = ("MSJAX_LOCAL_WORKERS", "OMPI_COMM_WORLD_LOCAL_SIZE")
_PORT = "8118"
# How long processes wait for others that have not computed anything yet, in minutes, and at their ends, in seconds: the launcher looks
# after them meanwhile.
_PREPARING, _ENDING = 10, 24 * 3600


class Place(NamedTuple):
    """Which process this is.

    Attributes:
        rank, size: its number among all processes, and how many there are.
        local_rank, local_size: the same among the processes of this machine.
        coordinator: "host:port", where process 0 waits for the others.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    coordinator: str


ALONE = Place(0, 1, 0, 1, "")


def place_in_environment() -> Place:
    """The place that the environment variables give to this process; `ALONE` without them.

    Raises:
        ValueError: a variable is missing or is not a fitting number.
    """
    size = _number(_SIZE, 1)
    if size == 1:
        return ALONE
    rank = _number(_RANK, None)
    if not 0 <= rank < size:
        raise ValueError(f"The environment has {_shown(_RANK)} for {_shown(_SIZE)}; ranks are numbers from 0 to {size - 1}.")
    host = os.environ.get("MS_SCHED_HOST", "127.0.0.1")
    local_size = _number(_LOCAL_SIZE, size)
    coordinator = f"{host}:{os.environ.get('MS_SCHED_PORT', _PORT)}"
    return Place(rank, size, _number(_LOCAL_RANK, rank % local_size), local_size, coordinator)


def join(place: Place) -> None:
    """Connect this process with the others; returns when all of them have come.

    Raises:
        SystemExit: this is the scheduler process of MindSpore's launcher, which jax does not need.
        RuntimeError: jax is in use already, the port at which process 0 listens is taken, or the others have not come in time (environment
            variable MS_TOPO_TIMEOUT, in seconds; 300 by default).
    """
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        raise SystemExit(0)
    import jax

    from msjax.base import jax_slots

    if jax.distributed.is_initialized():
        return
    if place.rank == 0:
        _check_port(place.coordinator)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # By itself, jax waits two minutes for a process that prepares something before it first computes, and then fails in another one; and five
    # minutes at the end for one that still works, as the first one does that evaluates the network alone.
    for name in ("jax_cpu_get_local_topology_timeout_minutes", "jax_cpu_get_global_topology_timeout_minutes"):
        if name in jax_slots.settings():
            jax.config.update(name, _PREPARING)
    # One GPU for each process of this machine; other platforms don't read this. A launcher may have chosen the GPU itself.
    gpus = None if os.environ.get("CUDA_VISIBLE_DEVICES", ",").count(",") == 0 else [place.local_rank]
    jax.distributed.initialize(
        place.coordinator,
        place.size,
        place.rank,
        local_device_ids=gpus,
        initialization_timeout=_number(("MS_TOPO_TIMEOUT",), 300),
        shutdown_timeout_seconds=_ENDING,
    )


def _check_port(coordinator):
    """Check that process 0 can listen at the port of "host:port": jax itself would crash."""
    port = int(coordinator.rpartition(":")[2])
    with socket.socket() as probe:
        # As servers do: the connections of one that has just ended don't matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise RuntimeError(
                f"Process 0 can't listen at port {port}, by which the processes find each other ({error.strerror}). "
                "The environment variable MS_SCHED_PORT chooses another one, for all processes."
            ) from None


def _number(names, default):
    for name in names:
        text = os.environ.get(name)
        if text is not None:
            if not text.isdecimal():
                raise ValueError(f"The environment variable {name} should be a number, but is {text!r}.")
            return int(text)
    if default is None:
        raise ValueError(f"Several processes are to run ({_shown(_SIZE)}), but none of {', '.join(names)} gives this one's rank.")
    return default


def _shown(names):
    return ", ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)
