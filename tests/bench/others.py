"""Contenders of other Pythons: PyTorch's and MindSpore's, each in a process that waits while the others are timed."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
VARIABLES = {"torch": "MSJAX_BENCH_TORCH", "mindspore": "MSJAX_BENCH_MINDSPORE"}


class Unavailable(Exception):
    """A contender that can't run here; the message says why."""


class Server:
    """The process of one framework, started when it is first asked."""

    def __init__(self, python):
        self.process = subprocess.Popen(
            [python, "-m", "tests.bench.child", "serve"], cwd=ROOT, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def ask(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Unavailable(f"the process ended (exit status {self.process.wait()})")
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise Unavailable(answer["error"])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Remote:
    """A contender in another process, with the methods of one that is here."""

    def __init__(self, server, case, contender):
        self.key = case, contender
        self.server = server

    def losses(self, count):
        return self.server.ask("losses", *self.key, count)

    def time(self, steps):
        return self.server.ask("time", *self.key, steps)


class Others:
    """The servers by framework."""

    def __init__(self):
        self.servers = {}

    def make(self, case, contender):
        return Remote(self._server(contender), case, contender)

    def _server(self, contender):
        framework = framework_of(contender)
        if framework not in self.servers:
            self.servers[framework] = Server(python_of(contender))
        return self.servers[framework]

    def close(self):
        for server in self.servers.values():
            server.close()


def framework_of(contender):
    """ "torch" or "mindspore"; None for those of this process."""
    return next((name for name in VARIABLES if contender.startswith(name)), None)


def python_of(contender):
    """The Python that a contender runs in.

    Raises:
        Unavailable: no Python was named for it.
    """
    framework = framework_of(contender)
    if framework is None:
        return sys.executable
    python = os.environ.get(VARIABLES[framework])
    if not python:
        raise Unavailable(f"{VARIABLES[framework]} is not set")
    return python


def once(case, contender, folder=""):
    """{"first": seconds of the first step, "memory": MiB at most} of a contender in a process of its own.

    `folder` is where msjax keeps programs and finds those of an earlier process; "" for nowhere.
    """
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": ""}
    command = [python_of(contender), "-m", "tests.bench.child", "once", case, contender, folder]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    if done.returncode:
        raise Unavailable((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return json.loads(done.stdout)
