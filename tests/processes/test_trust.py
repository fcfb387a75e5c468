"""Whom processes of one program listen to, and which objects they take."""

import fractions
import pickle
import socket
import sys

import pytest

from msjax.engine.processes.joining import listening_address
from msjax.engine.processes.launch import launch
from msjax.engine.processes.objects import VARIABLE, packed, unpacked

RAN = []


class Code:
    """What an attacker would send: it runs code where it is unpickled."""

    def __reduce__(self):
        return RAN.append, ("code of somebody else",)


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_process_0_listens_at_its_address_alone(port, monkeypatch):
    monkeypatch.delenv("JAX_COORDINATOR_BIND_ADDRESS", raising=False)
    assert listening_address(f"127.0.0.1:{port}") == f"127.0.0.1:{port}"
    # An address that belongs to no machine: somebody passes on what arrives there.
    assert listening_address(f"192.0.2.1:{port}") in (f"[::]:{port}", f"0.0.0.0:{port}")
    monkeypatch.setenv("JAX_COORDINATOR_BIND_ADDRESS", f"127.0.0.1:{port}")
    assert listening_address(f"192.0.2.1:{port}") == f"127.0.0.1:{port}"


def test_objects_of_this_launch(monkeypatch):
    monkeypatch.setenv(VARIABLE, "secret")
    assert unpacked(packed(fractions.Fraction(1, 3))) == fractions.Fraction(1, 3)


def test_what_others_have_written_runs_no_code(monkeypatch):
    monkeypatch.setenv(VARIABLE, "another")
    forged = packed(Code())
    monkeypatch.setenv(VARIABLE, "secret")
    for data in (forged, forged[:-1], b"", pickle.dumps(Code())):
        with pytest.raises(pickle.UnpicklingError, match=VARIABLE):
            unpacked(data)
    assert not RAN


def test_without_a_secret_no_objects_are_sent(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for call in (packed, unpacked):
        with pytest.raises(ValueError, match=f"{VARIABLE} should be set to the same secret text"):
            call(b"")


def test_the_processes_of_a_launch_have_one_secret_and_each_launch_another(capfd, monkeypatch):
    monkeypatch.setenv(VARIABLE, "of an outer launch")
    code = f"import os; print(os.environ[{VARIABLE!r}])"
    secrets = []
    for _ in range(2):
        assert launch([sys.executable, "-S", "-I", "-c", code], 2, None) == 0
        (secret,) = {line.partition(" ")[2] for line in capfd.readouterr().out.splitlines()}
        secrets.append(secret)
    assert len({*secrets, "of an outer launch"}) == 3
