"""Joins this process with the others that run the same program, by the environment variables that its launcher sets: which process this is, of how
many, and where process 0 listens.

A launcher starts the processes of a program itself, or starts `msjax run --workers N` once on each host.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Callable
from typing import NamedTuple

import jax

PORT = "8118"


class Variables(NamedTuple):
    """The variables of one launcher; of several names, the first that is set counts.

    Attributes:
        launcher: its name, for messages.
        size, rank: the number of processes, and that of this one.
        local_rank, local_size: the same among the processes of this host.
        coordinator: a function to "host" or "host:port" of process 0, or None where the launcher doesn't tell.
        on_a_host: how many processes run on this host, where no variable says it; None for all of them.
    """

    launcher: str
    size: tuple[str, ...]
    rank: tuple[str, ...]
    local_rank: tuple[str, ...] = ()
    local_size: tuple[str, ...] = ()
    coordinator: Callable[[], str | None] = lambda: None
    on_a_host: int | None = 1


def first_host(hosts: str) -> str:
    """The first name of a list of hosts as Slurm writes it.

    Example:
        >>> from msjax.engine.processes.joining import first_host
        >>> first_host("node[007-009,12],other"), first_host("a-b,c")
        ('node007', 'a-b')
    """
    found = re.match(r"([^\[,]*)(?:\[([^\],-]*)[^\]]*\]([^,]*))?", hosts)
    assert found is not None  # every part of it may be empty
    return found[1] + (found[2] or "") + (found[3] or "")


def _slurm():
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST")
    if not nodes:
        return None
    # Jobs that share a host need ports of their own.
    job, step = (int(os.environ.get(name) or 0) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    return f"{first_host(nodes)}:{61440 + (job * 16 + step) % 4096}"


def _slurm_local_size():
    """The number of this step's processes on this host, of a text such as "2(x3),1"."""
    counts: list[str] = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ.get("SLURM_STEP_TASKS_PER_NODE", "")):
        counts += [count] * int(times or 1)
    node = int(os.environ.get("SLURM_NODEID") or 0)
    return int(counts[node]) if node < len(counts) else None


def _open_mpi():
    # mpirun's own host, where process 0 runs unless it was told otherwise.
    found = re.search(r"tcp://([^,:;]+)", os.environ.get("OMPI_MCA_orte_hnp_uri", ""))
    if found:
        return found[1]
    one = os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") == os.environ.get("OMPI_COMM_WORLD_SIZE")
    return "127.0.0.1" if one else None


def _pod():
    """The name of pod 0 of an indexed job or a stateful set: that of this pod, with another number, within the service's domain."""
    name, dot, domain = socket.getfqdn().partition(".")
    stem, dash, number = name.rpartition("-")
    return f"{stem}-0{dot}{domain}" if dash and number.isdecimal() else None


def _given(*names):
    """ "host" or "host:port" from two variables."""

    def coordinator():
        host, port = (os.environ.get(name) for name in names)
        return host if not host or not port or ":" in host else f"{host}:{port}"

    return coordinator


MSJAX = Variables(
    "msjax or MindSpore",
    ("MS_WORKER_NUM", "RANK_SIZE"),
    ("MS_NODE_ID", "RANK_ID"),
    ("DEVICE_ID",),
    ("MSJAX_LOCAL_WORKERS",),
    lambda: "127.0.0.1",
    None,
)
OTHERS = (
    # What operators of Kubernetes set for jobs of jax, and of PyTorch, as do other launchers.
    Variables(
        "Kubernetes",
        ("NUM_PROCESSES",),
        ("PROCESS_ID", "JOB_COMPLETION_INDEX"),
        coordinator=lambda: _given("COORDINATOR_ADDRESS", "COORDINATOR_PORT")() or _pod(),
    ),
    Variables(
        "Kubernetes", ("WORLD_SIZE",), ("RANK",), ("LOCAL_RANK",), ("LOCAL_WORLD_SIZE",), _given("MASTER_ADDR", "MASTER_PORT")
    ),
    Variables(
        "Open MPI",
        ("OMPI_COMM_WORLD_SIZE",),
        ("OMPI_COMM_WORLD_RANK",),
        ("OMPI_COMM_WORLD_LOCAL_RANK",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
        _open_mpi,
        None,
    ),
    # Those of a step: a batch script has SLURM_NTASKS, too, and is alone.
    Variables("Slurm", ("SLURM_STEP_NUM_TASKS",), ("SLURM_PROCID",), ("SLURM_LOCALID",), (), _slurm),
    # An indexed job says how many pods there are only if its author does: by `msjax run --hosts`.
    Variables("Kubernetes", (), ("JOB_COMPLETION_INDEX",), coordinator=_pod),
)


def number(names: tuple[str, ...]) -> int | None:
    """What the first variable that is set says, None if none is; ValueError if it is no number."""
    for name in names:
        text = os.environ.get(name)
        if text is not None:
            if not text.isdecimal():
                raise ValueError(f"The environment variable {name} should be a number, but is {text!r}.")
            return int(text)
    return None


def shown(names: tuple[str, ...]) -> str:
    """The variables that are set, and what they say."""
    return ", ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)


def local_size(variables: Variables) -> int | None:
    """How many processes of a launcher run on this host; None for all of them."""
    found = _slurm_local_size() if variables.launcher == "Slurm" else number(variables.local_size)
    return found or variables.on_a_host


class Host(NamedTuple):
    """Which host this is, among those on which `msjax run` was started.

    Attributes:
        number, count: its number, from 0 on, and how many there are.
        coordinator: "host:port", where process 0, on host 0, listens.
    """

    number: int
    count: int
    coordinator: str


ONE_HOST = Host(0, 1, "")


def host(given: int | None, count: int | None) -> Host:
    """The Host that flags and the variables of a launcher give.

    Args:
        given, count: its number, and how many hosts there are; None where the launcher says it.

    Raises:
        ValueError: something is missing, or does not fit.
    """
    found = next((v for v in OTHERS if number(v.rank) is not None and (v.size == () or number(v.size) is not None)), None)
    if count is None:
        count = (number(found.size) or 1) if found else 1
    if count == 1 and not given:
        return ONE_HOST
    if given is None:
        given = number(found.rank) if found else None
    if given is None:
        raise ValueError("the number of this host, from 0 on, is needed: give --host, since no launcher's variable says it")
    if not given < count:
        raise ValueError(f"--host should be a number from 0 to {count - 1} for {count} hosts, but is {given}")
    coordinator = os.environ.get("MS_SCHED_HOST") or (found.coordinator() if found else None)
    if not coordinator:
        raise ValueError("the address of host 0 is needed, where process 0 listens: give --coordinator HOST or HOST:PORT")
    return Host(given, count, with_port(coordinator))


def with_port(address: str) -> str:
    """An address with its port: its own, that of MS_SCHED_PORT, or 8118.

    Example:
        >>> from msjax.engine.processes.joining import with_port
        >>> with_port("node1"), with_port("node1:9000"), with_port("[::1]")
        ('node1:8118', 'node1:9000', '[::1]:8118')
    """
    if re.search(r"^[^:]*:\d+$|\]:\d+$", address):
        return address
    return f"{address}:{os.environ.get('MS_SCHED_PORT', PORT)}"


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
