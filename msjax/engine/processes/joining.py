"""Joins this process with the others that run the same program, by the environment variables that its launcher sets."""

from __future__ import annotations

import errno
import os
import socket
from typing import NamedTuple

import jax

from msjax.engine.processes.launchers import MSJAX, OTHERS, local_size, number, shown, with_port

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
    """The place that the environment variables give to this process, `ALONE` without them; ValueError if one is missing or is no fitting number."""
    found = MSJAX if number(MSJAX.size) is not None else None
    found = found or next((v for v in OTHERS if number(v.size) is not None and number(v.rank) is not None), None)
    size = number(found.size) if found else None
    if found is None or size is None or size == 1:
        return ALONE
    # MindSpore's variables may name the number of processes alone, and another launcher each one's rank.
    names = [found.rank, *(v.rank for v in OTHERS if found is MSJAX)]
    known = next((name for name in names if number(name) is not None), None)
    if known is None:
        raise ValueError(
            f"Several processes are to run ({shown(found.size)}), but none of {', '.join(n for v in names for n in v)} "
            "gives this one's rank."
        )
    rank = number(known)
    if rank is None or not 0 <= rank < size:
        raise ValueError(f"The environment has {shown(known)} for {shown(found.size)}; ranks are numbers from 0 to {size - 1}.")
    coordinator = os.environ.get("MS_SCHED_HOST") or found.coordinator()
    if not coordinator:
        raise ValueError(f"{found.launcher} started {size} processes, but doesn't say where process 0 is: set MS_SCHED_HOST.")
    here = local_size(found) or size
    own = number(found.local_rank)
    if own is None:
        own = rank % here
    # Where only the number among them is said, there are at least so many.
    return Place(rank, size, own, max(here, own + 1), with_port(coordinator))


def join(place: Place) -> None:
    """Connect this process with the others; returns when all of them have come.

    Raises:
        SystemExit: this is the scheduler process of MindSpore's launcher, which jax does not need.
        RuntimeError: jax is in use already, the port at which process 0 listens is taken, or the others have not come in time (environment
            variable MS_TOPO_TIMEOUT, in seconds; 300 by default).
    """
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        raise SystemExit(0)
    if jax.distributed.is_initialized():
        return
    listen_at = listening_address(place.coordinator) if place.rank == 0 else None
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # By itself, jax waits two minutes for a process that prepares something before it first computes, and then fails in another one; and five
    # minutes at the end for one that still works, as the first one does that evaluates the network alone.
    for name in ("jax_cpu_get_local_topology_timeout_minutes", "jax_cpu_get_global_topology_timeout_minutes"):
        jax.config.update(name, _PREPARING)
    # One GPU for each process of this machine; other platforms don't read this. A launcher may have chosen the GPU itself.
    # A process that is alone on its machine has all of them.
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", ",").count(",") == 0
    gpus = None if chosen or place.local_size == 1 else [place.local_rank]
    jax.distributed.initialize(
        place.coordinator,
        place.size,
        place.rank,
        local_device_ids=gpus,
        coordinator_bind_address=listen_at,
        initialization_timeout=number(("MS_TOPO_TIMEOUT",)) or 300,
        shutdown_timeout_seconds=_ENDING,
    )


def listening_address(coordinator: str) -> str:
    """The "address:port" at which process 0 listens: that of "host:port" alone, so that 127.0.0.1 is not to be seen by other machines.

    The environment variable JAX_COORDINATOR_BIND_ADDRESS gives another one. If the host's address is none of this machine's, as behind a
    gateway or a service, it listens at all of them.

    Raises:
        RuntimeError: the port is taken: jax itself would crash.
    """
    chosen = os.environ.get("JAX_COORDINATOR_BIND_ADDRESS")
    host, _, port = (chosen or coordinator).rpartition(":")
    found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    everywhere = (socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET, "")
    for family, address in [*((family, at[0]) for family, _, _, _, at in found), everywhere]:
        try:
            with socket.socket(family) as probe:
                # As servers do: the connections of one that has just ended don't matter.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, int(port)))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and address:
                continue
            raise RuntimeError(
                f"Process 0 can't listen at port {port}, by which the processes find each other ({error.strerror}). "
                "The environment variable MS_SCHED_PORT chooses another one, for all processes."
            ) from None
        return f"[{address or '::'}]:{port}" if family == socket.AF_INET6 else f"{address or '0.0.0.0'}:{port}"
    raise AssertionError("the last address is tried in any case")
