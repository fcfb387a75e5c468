"""Runs tests of MindSpore's in processes of their own, and goes on where one dies or hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

_CHILD = Path(__file__).with_name("pytest_process.py")
_START = 120  # seconds that a process may need before its first test


def run(root: Path, tests: Sequence[str], which: str, seconds: int) -> dict[str, dict[str, str]]:
    """Run tests, and return {name: how it ended}.

    Args:
        root: the checkout of MindSpore's test repository.
        tests: files, or tests of files, below `root`.
        which: ``"msjax"`` or ``"mindspore"``.
        seconds: how long a test may take.
    """
    found: dict[str, dict[str, str]] = {}
    for folder, several in _by_folder(tests).items():
        pending = list(several)
        while pending:
            entries, running = _one_process(root, folder, pending, which, seconds)
            found.update(entries)
            if running is not None:
                found[running] = {"test": running, "ends": "died", "why": "the process dies or hangs"}
            pending = [] if running is None else _left(pending, found, running)
    return found


def _by_folder(tests: Iterable[str]) -> dict[str, list[str]]:
    """The tests by the folder in which they expect to run."""
    found: dict[str, list[str]] = {}
    for test in tests:
        folder = "tests/ut/python" if test.startswith("tests/ut/python") else "tests/st"
        found.setdefault(folder, []).append(test)
    return found


def _left(pending: list[str], found: dict[str, dict[str, str]], running: str) -> list[str]:
    """What has not been run when a process died: of files, those behind the one in which it did."""
    if "::" in pending[0]:
        return [test for test in pending if test not in found]
    return pending[pending.index(running.partition("::")[0]) + 1 :]


def _one_process(root, folder, tests, which, seconds):
    """(the results of a process, the test in which it died or hung)."""
    with tempfile.TemporaryDirectory() as place:
        results, output = Path(place) / "results", Path(place) / "output"
        results.touch()
        command = [sys.executable, str(_CHILD), str(results), str(seconds), which, *tests]
        environment = {**os.environ, "TESTS_ROOT": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        if which == "msjax":
            environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        with output.open("w") as file:
            process = subprocess.Popen(
                command, cwd=root / folder, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
            _wait(process, results, seconds)
        entries, running = {}, None
        for line in results.read_text().splitlines():
            entry = json.loads(line)
            if "begins" in entry:
                running = entry["test"]
                continue
            # A test that passes may still fail when what it has set up is taken down.
            if entries.get(entry["test"], {}).get("ends") != "failed":
                entries[entry["test"]] = entry
            if entry["test"] == running:
                running = None
        return entries, running if process.returncode not in (0, 1, 5) else None


def _wait(process, results, seconds):
    """Wait until a process ends; end it where no result comes for so long that it hangs in something that no signal ends."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = results.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > _START + seconds:
            os.killpg(process.pid, 9)
            process.wait()
