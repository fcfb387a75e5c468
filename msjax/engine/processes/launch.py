"""Starts the processes of one program that run on this machine, and ends all of them when one fails or hangs."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, TextIO

from msjax.engine.processes.joining import ONE_HOST, Host
from msjax.engine.processes.objects import VARIABLE as TOKEN
from msjax.engine.processes.progress import VARIABLE, Progress

# How long processes have to end after they were asked to, and how long a hung one has to say where it is.
_GRACE = 1.0
# How often progress is looked at.
_LOOK = 0.2


def launch(command: list[str], workers: int, timeout: float | None, host: Host = ONE_HOST) -> int:
    """Run a command in several processes and copy what they print, each line after its process's number.

    Args:
        command: what each process runs. Its environment says which one it is; see `msjax.engine.processes.joining`.
        workers: how many on this machine.
        timeout: after so many seconds in which no process begins a collective while some wait for others in one, all are ended. None waits forever. Processes of other machines are not seen.
        host: this machine among those on which this function is called for the same program, with as many workers each.

    Returns:
        int, the exit status: 0 if all processes succeed, otherwise that of the first that fails, or 1 if it was killed, hung, or ended while
        others waited for it; 130 after Ctrl-C.
    """
    with tempfile.NamedTemporaryFile(prefix="msjax-") as file:
        file.write(bytes(Progress.size_of(workers)))
        file.flush()
        return _Launcher(command, workers, file.name, host).watch(timeout)


class _Launcher:
    def __init__(self, command, workers, path, host):
        self.first = host.number * workers  # the number of the first process of this machine
        self.progress = Progress(path)
        self.ended: queue.Queue[int] = queue.Queue()
        self.quiet = False
        self.lock = threading.Lock()
        address = host.coordinator or f"127.0.0.1:{_free_port()}"
        # On several hosts, their commands would have to agree on it: whoever starts them sets it.
        token = {} if host.count > 1 else {TOKEN: secrets.token_hex(32)}
        self.workers = [
            _Worker(self.first + i, command, _environment(i, workers, host, address, path) | token, self) for i in range(workers)
        ]

    def watch(self, timeout) -> int:
        previous = signal.signal(signal.SIGTERM, _exit) if threading.current_thread() is threading.main_thread() else None
        try:
            return self._watch(timeout)
        except KeyboardInterrupt:
            self.quiet = True
            self.say("interrupted; all processes were ended.")
            return 128 + signal.SIGINT
        finally:
            self._end_all()
            if previous is not None:
                signal.signal(signal.SIGTERM, previous)

    def _watch(self, timeout):
        left, seen, since = set(range(len(self.workers))), [], time.monotonic()
        while left:
            try:
                rank = self.ended.get(timeout=_LOOK)
            except queue.Empty:
                rank = None
            counts = self.progress.counts()
            if rank is not None:
                left.remove(rank)
                status = self.workers[rank].process.returncode
                if status:
                    return self._failed(rank, status, left)
            most = max([counts[each] for each in left], default=0)
            missing = [each for each, count in enumerate(counts) if each not in left and count < most]
            if missing:
                return self._missing(missing, counts, left)
            if counts != seen or rank is not None:
                seen, since = counts, time.monotonic()
            late = [each for each in left if counts[each] < most]
            if timeout is not None and late and time.monotonic() - since > timeout:
                return self._hung(late, [each for each in left if counts[each] == most], most, timeout)
        return 0

    def _missing(self, ranks, counts, left):
        self.quiet = True  # what the others say now is that they have lost these
        for rank in ranks:
            self.workers[rank].drain()
        most = max(counts[rank] for rank in left)
        waiting = [rank for rank in sorted(left) if counts[rank] == most]
        self.say(
            f"{self.listed(ranks)} ended without an error before collective {most}, for which {self.listed(waiting)} "
            f"wait{'s' if len(waiting) == 1 else ''}; the others were ended."
        )
        return 1

    def _failed(self, rank, status, left):
        self.quiet = True  # what the others say now is that they have lost this one
        worker = self.workers[rank]
        worker.drain()
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"failed with exit status {status}"
        others = "; the others were ended" if left else ""
        last = f": {worker.last_error}" if worker.last_error else "."
        self.say(f"process {worker.rank} {how}{others}{last}")
        return status if status > 0 else 1

    def _hung(self, late, waiting, collective, timeout):
        self.say(
            f"{self.listed(late)} hung: no sign within {timeout:g} s of coming to collective {collective}, where "
            f"{self.listed(waiting)} waited. The stacks of the threads that hung:"
        )
        for rank in late:
            # Workers print the stacks of their threads then.
            self.workers[rank].process.send_signal(signal.SIGUSR1)
        time.sleep(min(_GRACE, timeout))
        return 1

    def listed(self, workers):
        return f"process{'es' if len(workers) > 1 else ''} {', '.join(str(self.first + i) for i in workers)}"

    def say(self, text):
        with self.lock:
            print(f"msjax run: {text}", file=sys.stderr, flush=True)

    def _end_all(self):
        self.quiet = True
        running = [worker.process for worker in self.workers if worker.process.poll() is None]
        for process in running:
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        for process in running:
            try:
                process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal_group(process, signal.SIGKILL)
                process.wait()


class _Worker:
    """One process, and the threads that copy what it prints."""

    def __init__(self, rank: int, command: list[str], environment: dict[str, str], launcher: _Launcher):
        self.rank = rank
        self.launcher = launcher
        self.last_error = ""
        # In a group of its own, so that what it has started ends with it.
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        pipes = ((self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr))
        self.copying = [threading.Thread(target=self._copy, args=pipe, daemon=True) for pipe in pipes]
        for thread in (*self.copying, threading.Thread(target=self._wait, daemon=True)):
            thread.start()

    def _wait(self):
        self.process.wait()
        self.drain()
        self.launcher.ended.put(self.rank - self.launcher.first)

    def drain(self):
        """Copy what is left; a process that it has started may keep the pipe open."""
        deadline = time.monotonic() + _GRACE
        for thread in self.copying:
            thread.join(max(0, deadline - time.monotonic()))

    def _copy(self, pipe: IO[str], target: TextIO):
        with pipe:
            for line in pipe:
                if pipe is self.process.stderr and line.strip():
                    self.last_error = line.strip()
                if not self.launcher.quiet:
                    with self.launcher.lock:
                        target.write(f"[{self.rank}] {line.rstrip(chr(10))}\n")
                        target.flush()


def _environment(local, workers, host, address, path):
    """The environment of a process: `local` is its number among those of this machine."""
    rank, size = host.number * workers + local, host.count * workers
    name, _, port = address.rpartition(":")
    return {
        **os.environ,
        "MS_WORKER_NUM": str(size),
        "MS_NODE_ID": str(rank),
        "MS_ROLE": "MS_WORKER",
        "MS_SCHED_HOST": name,
        "MS_SCHED_PORT": port,
        "DEVICE_ID": str(local),
        "RANK_ID": str(rank),
        "RANK_SIZE": str(size),
        "MSJAX_LOCAL_WORKERS": str(workers),
        "PYTHONUNBUFFERED": "1",
        VARIABLE: path,
    }


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _signal_group(process, number):
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(process.pid, number)


def _exit(number, _frame):
    raise SystemExit(128 + number)
