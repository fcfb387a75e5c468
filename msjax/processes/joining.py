"""Joins this process with the others that run the same program, by the environment variables that its launcher sets."""

from __future__ import annotations

import os
from typing import NamedTuple

from msjax.processes.launchers import MSJAX, OTHERS, local_size, number, shown, with_port


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
    return Place(rank, size, rank % here if own is None else own, here, with_port(coordinator))


def join(place: Place) -> None:
    """Connect this process with the others; returns when all of them have come.

    Raises:
        SystemExit: this is the scheduler process of MindSpore's launcher, which jax does not need.
        RuntimeError: jax is in use already, or the others have not come in time (environment variable MS_TOPO_TIMEOUT,
            in seconds; 300 by default).
    """
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        raise SystemExit(0)
    import jax

    if jax.distributed.is_initialized():
        return
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # One GPU for each process of this machine; other platforms don't read this. A launcher may have chosen the GPU itself.
    # A process that is alone on its machine has all of them.
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", ",").count(",") == 0
    gpus = None if chosen or place.local_size == 1 else [place.local_rank]
    jax.distributed.initialize(
        place.coordinator,
        place.size,
        place.rank,
        local_device_ids=gpus,
        initialization_timeout=number(("MS_TOPO_TIMEOUT",)) or 300,
    )
