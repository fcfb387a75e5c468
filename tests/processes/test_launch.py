"""`msjax run --workers`: what the launcher does with processes that fail, are killed, hang or succeed.

Most processes here are plain Python, which starts quickly.
"""

import functools
import json
import os
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import msjax as ms
from msjax.alias import install_as_mindspore
from msjax.cli import main
from msjax.engine.processes.joining import Place, join
from msjax.engine.processes.launch import launch
from msjax.engine.processes.progress import Progress


def start(code, workers=3, timeout=None):
    # -S and -I make Python start faster.
    return launch([sys.executable, "-S", "-I", "-c", code], workers, timeout)


HEAD = """
import mmap, os, signal, struct, sys, time
rank, size = int(os.environ["MS_NODE_ID"]), int(os.environ["MS_WORKER_NUM"])
def wait_for_the_others():
    time.sleep(60)
    print("nobody has ended it")
"""


def test_output_has_the_number_of_its_process(capfd):
    assert start(HEAD + "print('out', rank, size); print('err', rank, file=sys.stderr)") == 0
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == [f"[{i}] out {i} 3" for i in range(3)]
    assert sorted(err.splitlines()) == [f"[{i}] err {i}" for i in range(3)]


@pytest.mark.parametrize(
    "fault, status, text",
    [
        ("raise ValueError('no such file')", 1, "failed with exit status 1; the others were ended: ValueError: no such file"),
        ("sys.exit(7)", 7, "failed with exit status 7; the others were ended."),
        ("os.kill(os.getpid(), signal.SIGKILL)", 1, "was killed by SIGKILL; the others were ended."),
    ],
)
def test_one_that_fails_ends_the_others(fault, status, text, capfd):
    assert start(HEAD + f"if rank == 1: {fault}\nwait_for_the_others()") == status
    out, err = capfd.readouterr()
    assert out == "" and err.splitlines()[-1] == f"msjax run: process 1 {text}"


@pytest.mark.long
def test_one_that_hangs_is_named(capfd):
    code = """
if rank != 1:
    with open(os.environ["MSJAX_PROGRESS"], "r+b") as file:
        struct.pack_into("q", mmap.mmap(file.fileno(), 0), 8 * rank, 5)
signal.signal(signal.SIGUSR1, lambda *_: (print("here", file=sys.stderr, flush=True), os._exit(0)))
wait_for_the_others()
"""
    assert start(HEAD + code, timeout=1) == 1
    err = capfd.readouterr().err.splitlines()
    assert err[0].startswith(
        "msjax run: process 1 hung: no sign within 1 s of coming to collective 5, where processes 0, 2 waited."
    )
    assert err[1] == "[1] here"


def test_ctrl_c_ends_all(capfd, request):
    # A shell's background jobs ignore it, and so what they start.
    request.addfinalizer(
        functools.partial(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
    )
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    assert start(HEAD + "print('here', flush=True)\nwait_for_the_others()") == 130
    out, err = capfd.readouterr()
    assert "nobody" not in out and err == "msjax run: interrupted; all processes were ended.\n"


@pytest.mark.parametrize(
    "leave, texts",
    [
        ("sys.exit(0)", ["process 1 ended without an error before collective 5, for which process"]),
        ("os._exit(0)", ["process 1 ended without an error before collective 5, for which process"]),
        ("put(rank, 5); sys.exit(0)", []),
    ],
)
def test_one_that_others_wait_for_in_vain_is_named(leave, texts, capfd):
    code = f"""
def put(place, number):
    with open(os.environ["MSJAX_PROGRESS"], "r+b") as file:
        struct.pack_into("q", mmap.mmap(file.fileno(), 0), 8 * place, number)
if rank == 1:
    {leave}
put(rank, 5)
{"wait_for_the_others()" if texts else "time.sleep(0.3)"}
"""
    assert start(HEAD + code) == (1 if texts else 0)
    out, err = capfd.readouterr()
    err = err.splitlines()
    assert out == "" and len(err) == len(texts)
    for line, text in zip(err, texts):
        assert line.startswith(f"msjax run: {text}") and line.endswith("; the others were ended.")


def test_processes_tell_how_far_they_are():
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(Progress.size_of(3)))
        file.flush()
        ours, theirs = Progress(file.name), Progress(file.name)
        ours.advance(2)
        ours.advance(2)
        ours.advance(0)
        assert theirs.counts() == [1, 0, 2]


def test_the_command_line(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr("msjax.engine.processes.launch.launch", lambda *args: calls.append(args) or 5)
    assert main(["run", "--workers", "4", "--mode", "graph", "--timeout", "9", __file__, "a", "-b"]) == 5
    command, workers, timeout = calls[0]
    assert command[1:] == ["-m", "msjax", "run", "--mode", "graph", __file__, "a", "-b"] and (workers, timeout) == (4, 9)
    with pytest.raises(SystemExit, match="2"):
        main(["run", "--workers", "0", __file__])
    assert "should be positive" in capsys.readouterr().err


@pytest.mark.long
def test_two_processes_train_as_one_with_the_whole_batch(capfd, no_alias_left):
    script = str(Path(__file__).with_name("data_parallel.py"))
    assert launch([sys.executable, "-m", "msjax", "run", script, "1,0", "2", "small"], 2, 120) == 0
    lines = [json.loads(line.partition("] ")[2]) for line in capfd.readouterr().out.splitlines() if "{" in line]
    install_as_mindspore()
    try:
        from tests.processes import data_parallel

        alone = data_parallel.main(ms.GRAPH_MODE, 2, "small")
    finally:
        ms.communication.release()
    assert len(lines) == 4  # of two processes in two modes
    for line in lines:
        np.testing.assert_allclose(line["losses"], alone["losses"], rtol=1e-5)
        np.testing.assert_allclose(line["sum"], alone["sum"], rtol=1e-5)
        # Each process's hooks see its own part of the batch.
        assert line["seen"] == [["forward", [4, 10]], ["backward", [4, 10]]] * 2
    assert alone["seen"] == [("forward", (8, 10)), ("backward", (8, 10))] * 2


@pytest.mark.long
def test_a_script_that_fails_after_a_collective(tmp_path, capfd):
    script = tmp_path / "fails.py"
    script.write_text(
        "import mindspore as ms\n"
        "from mindspore import ops, Tensor\n"
        "from mindspore.communication import get_rank, init\n"
        "init('mccl')\n"
        "print(ops.AllReduce()(Tensor([1.0])))\n"
        "from mindspore.mint import distributed\n"
        "parts, objects = [Tensor([0]), Tensor([0])], [None, None]\n"
        "distributed.all_to_all(parts, [Tensor([10 * get_rank()]), Tensor([10 * get_rank() + 1])])\n"
        "distributed.all_gather_object(objects, 'x' * 9 * get_rank())\n"
        "print([int(part) for part in parts], objects)\n"
        "ops.AllReduce()(Tensor([1.0]))  # both have printed\n"
        "assert get_rank() == 0, 'process 1 stops'\n"
        "print('never', ops.AllReduce()(Tensor([1.0])))\n"
    )
    assert launch([sys.executable, "-m", "msjax", "run", str(script)], 2, 120) == 1
    out, err = capfd.readouterr()
    assert "[0] [0, 10] ['', 'xxxxxxxxx']" in out and "[1] [1, 11] ['', 'xxxxxxxxx']" in out
    assert "[0] [2.]" in out and "[1] [2.]" in out and "never" not in out
    assert (
        err.splitlines()[-1]
        == "msjax run: process 1 failed with exit status 1; the others were ended: AssertionError: process 1 stops"
    )
    assert "[0] Traceback" not in err and os.path.basename(str(script)) in err


def test_a_port_that_is_taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(RuntimeError, match=f"Process 0 can't listen at port {port}.*MS_SCHED_PORT"):
            join(Place(0, 2, 0, 2, f"127.0.0.1:{port}"))
