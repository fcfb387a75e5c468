"""The line that shows in a terminal that much is being compiled."""

import io
import sys
import threading
import time

from msjax.engine.programs.compilation import CompilationProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def threads():
    return set(threading.enumerate())


def test_a_long_compilation_shows_and_goes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = CompilationProgress(after=0.05, pause=0.05)
    with progress.of("Conv"), progress.of("BatchNorm"):
        while "BatchNorm" not in terminal.getvalue():
            time.sleep(0.01)
        assert "msjax: compiling, program 2 (BatchNorm)" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


def test_many_short_ones_count_as_one_until_there_is_a_pause(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = CompilationProgress(after=0, pause=100)
    for name in "abc":
        with progress.of(name):
            while f"({name})" not in terminal.getvalue():
                time.sleep(0.01)
    assert "program 3 (c)" in terminal.getvalue()
    progress.pause = 0
    time.sleep(0.01)
    with progress.of("d"):
        while "program 1 (d)" not in terminal.getvalue():
            time.sleep(0.01)


def test_short_ones_and_pipes_show_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress, others = CompilationProgress(after=100, pause=0.01), threads()
    with progress.of("Conv"):
        pass
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.of("Conv"):
        assert threads() == others
    assert terminal.getvalue() == sys.stderr.getvalue() == ""
