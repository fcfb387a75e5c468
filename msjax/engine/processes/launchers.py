"""What the environment variables of launchers say: which process this is, of how many, and where process 0 listens.

A launcher starts the processes of a program itself, or starts `msjax run --workers N` once on each host.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from typing import NamedTuple

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
        >>> from msjax.engine.processes.launchers import first_host
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
        >>> from msjax.engine.processes.launchers import with_port
        >>> with_port("node1"), with_port("node1:9000"), with_port("[::1]")
        ('node1:8118', 'node1:9000', '[::1]:8118')
    """
    if re.search(r"^[^:]*:\d+$|\]:\d+$", address):
        return address
    return f"{address}:{os.environ.get('MS_SCHED_PORT', PORT)}"
