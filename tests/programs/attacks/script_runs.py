"""Runs of scripts by `msjax run`, each in a process of its own: new ones, or forks of one that has imported msjax and computed nothing.

Importing takes most of the time of a short script. A fork of a process that has only imported is as good as a new one: there is no
device, no program and no thread yet, and nothing has been asked of the environment.
"""

import json
import os
import subprocess
import sys
from typing import NamedTuple

# What the tests set for themselves; attacks say what they need.
_OF_TESTS = ("JAX_", "XLA_", "MSJAX_", "NPROC", "PYTEST_")


class Run(NamedTuple):
    """What a script left.

    Attributes:
        out: what it printed, but for its last line.
        compiled: how many programs XLA compiled for it; None for a script that broke off.
        err: what is on stderr.
        status: how it ended; minus the number of a signal.
    """

    out: str
    compiled: int | None
    err: str
    status: int


def environment(**changes):
    """The environment without what tests set for themselves, with changes; None takes a variable away."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(_OF_TESTS)}
    return {name: str(value) for name, value in {**plain, **changes}.items() if value is not None}


def _arguments(script, cache):
    return ["run", *([] if cache else ["--no-cache"]), str(script)]


def _run_of(out, err, status):
    *lines, last = out.splitlines() or [""]
    try:
        compiled = json.loads(last)["compiled"]
    except (ValueError, TypeError, KeyError):
        lines, compiled = [*lines, last], None
    return Run("\n".join(lines), compiled, err, status)


def run_new(script, variables, *, cache=True, python=(), cwd=None):
    """Run a script in a new process of Python.

    Args:
        variables: its environment.
        cache: whether programs may be kept.
        python: options of Python.
        cwd: the folder that it starts in.
    """
    command = [sys.executable, *python, "-m", "msjax", *_arguments(script, cache)]
    done = subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True, timeout=300)
    return _run_of(done.stdout, done.stderr, done.returncode)


class Forks:
    """A process that has imported msjax, and runs each script in a fork of itself."""

    def __init__(self):
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, script, variables, *, cache=True, umask=0o022, file_size=None, kill_after=None, user=None, cwd="/"):
        """Begin to run a script; returns what `finish` waits for.

        Args:
            umask: of the process.
            file_size: the most bytes that a file may have, as on a disk that is full then.
            kill_after: the process is killed after so many seconds.
            user: the number of the user whose process it is; needs root.
        """
        job = {"umask": umask, "file_size": file_size, "kill_after": kill_after, "user": user, "cwd": str(cwd)}
        return self._begin({**job, "argv": _arguments(script, cache), "environment": variables, "stdin": os.devnull})

    def command(self, *words, cwd="/", stdin=os.devnull, **variables):
        """What `python -m msjax` with these words gives, as a `subprocess.CompletedProcess`.

        Args:
            stdin: the file that it reads.
            variables: of the environment, beside those that tests leave.
        """
        argv = [str(word) for word in words]
        # What hangs is killed.
        job = {"umask": 0o022, "file_size": None, "kill_after": 300, "user": None, "cwd": str(cwd), "stdin": str(stdin)}
        out, err, status = self._end(self._begin({**job, "argv": argv, "environment": environment(**variables)}))
        return subprocess.CompletedProcess(argv, status, out, err)

    def _begin(self, job):
        # Pipes, as a limit on files holds for others; what scripts print here fits.
        pipes = [os.pipe(), os.pipe()]
        files = [f"/proc/{os.getpid()}/fd/{writing}" for _, writing in pipes]
        return pipes, self._ask({**job, "files": files})

    def finish(self, begun):
        """The `Run` of what `begin` has returned."""
        return _run_of(*self._end(begun))

    def _end(self, begun):
        pipes, child = begun
        status, texts = self._ask({"wait": child}), []
        for reading, writing in pipes:
            os.close(writing)
            with open(reading, errors="replace") as file:
                texts.append(file.read())
        return (*texts, status)

    def run(self, script, variables, **options):
        """Run a script; the options are those of `begin`."""
        return self.finish(self.begin(script, variables, **options))

    def _ask(self, job):
        print(json.dumps(job), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def _serve():
    import threading

    import jax.experimental.serialize_executable
    import jax.interpreters.ad  # noqa: F401

    import msjax.everything  # noqa: F401
    from msjax import alias, cli, nn, ops  # noqa: F401

    assert threading.active_count() == 1
    for line in sys.stdin:
        job = json.loads(line)
        if "wait" in job:
            _, status = os.waitpid(job["wait"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        child = os.fork()
        if not child:
            _become(job)
        print(child, flush=True)


def _become(job):
    """Be the process of a job."""
    import resource
    import signal

    for target, file in enumerate([job["stdin"], *job["files"]]):
        os.dup2(os.open(file, os.O_RDONLY if target == 0 else os.O_WRONLY), target)
    os.environ.clear()
    os.environ.update(job["environment"])
    os.umask(job["umask"])
    os.chdir(job["cwd"])
    if job["user"] is not None:
        os.setgid(job["user"])
        os.setuid(job["user"])
    if job["file_size"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], job["file_size"]))
        sys.dont_write_bytecode = True  # Python would leave modules behind of which only the beginning is there
    if job["kill_after"] is not None:
        signal.setitimer(signal.ITIMER_REAL, job["kill_after"])
    from msjax.cli import main

    sys.exit(main(job["argv"]))


if __name__ == "__main__":
    _serve()
