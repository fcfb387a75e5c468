"""`msjax run` on several hosts: what flags and launchers' variables say, and two "hosts" on this machine."""

import os
import socket
import subprocess
import sys

import pytest

from msjax.cli import main
from msjax.engine.processes import joining
from msjax.engine.processes.joining import ALONE, ONE_HOST, Host, host, place_in_environment

PREFIXES = (
    "MS_",
    "RANK",
    "OMPI_",
    "SLURM_",
    "WORLD_SIZE",
    "MASTER_",
    "LOCAL_",
    "NUM_PROC",
    "PROCESS_ID",
    "COORD",
    "JOB_COMP",
    "DEVICE_ID",
)


@pytest.fixture
def environment(monkeypatch):
    """A function that sets the variables of a launcher, in an environment with none."""
    for name in list(os.environ):
        if name.startswith(PREFIXES):
            monkeypatch.delenv(name)

    def set_all(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))

    return set_all


SLURM = dict(SLURM_STEP_NODELIST="gpu[07-08]", SLURM_JOB_ID=3, SLURM_STEP_ID=1, SLURM_NODEID=1)


@pytest.mark.parametrize(
    "variables, place",
    [
        # Two hosts with two processes each, the third process.
        (
            dict(SLURM, SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=2, SLURM_LOCALID=0, SLURM_STEP_TASKS_PER_NODE="2(x2)"),
            (2, 4, 0, 2, "gpu07:61489"),
        ),
        (
            dict(SLURM, SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=3, SLURM_LOCALID=0, SLURM_STEP_TASKS_PER_NODE="3,1"),
            (3, 4, 0, 1, "gpu07:61489"),
        ),
        (
            dict(
                OMPI_COMM_WORLD_SIZE=4, OMPI_COMM_WORLD_RANK=3, OMPI_COMM_WORLD_LOCAL_RANK=1, OMPI_COMM_WORLD_LOCAL_SIZE=2,
                OMPI_MCA_orte_hnp_uri="1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
            ),
            (3, 4, 1, 2, "10.96.0.1:8118"),
        ),
        (
            dict(OMPI_COMM_WORLD_SIZE=2, OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_LOCAL_RANK=1, OMPI_COMM_WORLD_LOCAL_SIZE=2),
            (1, 2, 1, 2, "127.0.0.1:8118"),
        ),
        (dict(NUM_PROCESSES=8, PROCESS_ID=5, COORDINATOR_ADDRESS="job-0.svc:1234"), (5, 8, 0, 1, "job-0.svc:1234")),
        (dict(NUM_PROCESSES=8, JOB_COMPLETION_INDEX=5), (5, 8, 0, 1, "train-0.jobs.default.svc:8118")),
        (
            dict(WORLD_SIZE=8, RANK=5, LOCAL_RANK=1, LOCAL_WORLD_SIZE=4, MASTER_ADDR="h0", MASTER_PORT=99),
            (5, 8, 1, 4, "h0:99"),
        ),
        (dict(WORLD_SIZE=2, RANK=1, LOCAL_RANK=1, MASTER_ADDR="h0", MASTER_PORT=99), (1, 2, 1, 2, "h0:99")),
        # MindSpore's variables come first; the rank may be another launcher's.
        (dict(SLURM, MS_WORKER_NUM=2, MS_SCHED_HOST="h0", SLURM_PROCID=1), (1, 2, 1, 2, "h0:8118")),
        (dict(MS_WORKER_NUM=1, WORLD_SIZE=4, RANK=1), ALONE),
        # A batch script and a number without a rank start nothing.
        (dict(SLURM_JOB_ID=3, SLURM_NTASKS=4, SLURM_PROCID=0), ALONE),
        (dict(WORLD_SIZE=4), ALONE),
        (dict(JOB_COMPLETION_INDEX=1), ALONE),
    ],
)  # fmt: skip
def test_places(variables, place, environment, monkeypatch):
    monkeypatch.setattr(joining.socket, "getfqdn", lambda: "train-5.jobs.default.svc")
    environment(**variables)
    assert place_in_environment() == place


def test_what_a_launcher_does_not_say_is_asked_for(environment):
    environment(
        OMPI_COMM_WORLD_SIZE=4, OMPI_COMM_WORLD_RANK=3, OMPI_COMM_WORLD_LOCAL_RANK=1, OMPI_COMM_WORLD_LOCAL_SIZE=2
    )  # fmt: skip
    with pytest.raises(ValueError, match="Open MPI started 4 processes, but doesn't say where process 0 is: set MS_SCHED_HOST"):
        place_in_environment()
    with pytest.raises(ValueError, match="give --coordinator HOST or HOST:PORT"):
        host(None, None)


@pytest.mark.parametrize(
    "variables, flags, expected",
    [
        ({}, (None, None), ONE_HOST),
        ({}, (0, 1), ONE_HOST),
        (dict(MS_SCHED_HOST="h0"), (1, 2), Host(1, 2, "h0:8118")),
        (dict(SLURM, SLURM_STEP_NUM_TASKS=2, SLURM_PROCID=1), (None, None), Host(1, 2, "gpu07:61489")),
        (dict(JOB_COMPLETION_INDEX=2, MS_SCHED_HOST="train-0.jobs", MS_SCHED_PORT="7"), (None, 3), Host(2, 3, "train-0.jobs:7")),
        # A worker of msjax that starts workers itself is one host.
        (dict(MS_WORKER_NUM=4, MS_NODE_ID=2, MS_SCHED_HOST="h0"), (None, None), ONE_HOST),
    ],
)
def test_hosts(variables, flags, expected, environment):
    environment(**variables)
    assert host(*flags) == expected


@pytest.mark.parametrize(
    "flags, text",
    [
        (["--hosts", "2"], "the number of this host, from 0 on, is needed: give --host"),
        (["--hosts", "2", "--host", "2", "--coordinator", "h"], "--host should be a number from 0 to 1 for 2 hosts, but is 2"),
        (["--hosts", "2", "--host", "1"], "give --coordinator HOST or HOST:PORT"),
    ],
)
def test_wrong_flags(flags, text, environment, capsys):
    assert main(["run", *flags, __file__]) == 2
    assert text in capsys.readouterr().err


def test_addresses():
    assert joining.first_host("a[1-3]b,c") == "a1b" and joining.first_host("one") == "one"
    assert joining.with_port("[fe80::1]:9") == "[fe80::1]:9"


SCRIPT = """
import sys
import numpy as np
import mindspore as ms
from mindspore import ops
from mindspore.communication import get_group_size, get_rank, init
init()
if sys.argv[1:] == [str(get_rank())]:
    raise ValueError("broken")
total = ops.AllReduce()(ms.Tensor(np.array([get_rank() + 1.0], np.float32)))
print(f"rank {get_rank()} of {get_group_size()}: {float(total)}")
"""


def start_hosts(tmp_path, *args):
    """Two hosts with a process each; test_places has more of both."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "msjax", "run", "--workers", "1", "--hosts", "2", "--coordinator", address, "--host"]
    environment = {n: v for n, v in os.environ.items() if not n.startswith(PREFIXES)} | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}
    return [
        subprocess.Popen([*command, str(i), str(script), *args], stdout=-1, stderr=-1, text=True, env=environment) for i in (0, 1)
    ]


@pytest.mark.long
def test_two_hosts_are_one_program(tmp_path):
    for number, started in enumerate(start_hosts(tmp_path)):
        out, err = started.communicate(timeout=120)
        assert started.returncode == 0, err
        said = [line for line in out.splitlines() if "[Gloo]" not in line]
        assert said == [f"[{number}] rank {number} of 2: 3.0"]


@pytest.mark.long
def test_a_process_that_fails_has_its_number_among_all(tmp_path):
    first, second = start_hosts(tmp_path, "1")
    try:
        _, err = second.communicate(timeout=120)
        assert second.returncode == 1
        assert "msjax run: process 1 failed with exit status 1: ValueError: broken" in err
    finally:
        # Its processes wait for those of the other host, until jax misses these.
        first.terminate()
        first.communicate(timeout=30)
    assert first.returncode
