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
    others = threads()
    with progress.of("Conv"), progress.of("BatchNorm"):
        (thread,) = threads() - others
        while "BatchNorm" not in terminal.getvalue():
            time.sleep(0.01)
    thread.join(20)
    assert "msjax: compiling, program 2, 0 s (BatchNorm)" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


def test_short_ones_and_pipes_show_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = CompilationProgress(after=100, pause=0.01)
    others = threads()
    with progress.of("Conv"):
        (thread,) = threads() - others
    thread.join(20)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.of("Conv"):
        assert not threads() - others
    assert terminal.getvalue() == sys.stderr.getvalue() == ""
