"""The line that shows in a terminal that much is being compiled."""

import io
import sys
import time

from msjax.programs.progress import CompilationProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_long_compilation_shows_and_goes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = CompilationProgress(after=0.05, pause=0.05)
    with progress.of("Conv"), progress.of("BatchNorm"):
        thread = progress._thread
        while "BatchNorm" not in terminal.getvalue():
            time.sleep(0.01)
    thread.join(20)
    assert "msjax: compiling, program 2, 0 s (BatchNorm)" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


def test_short_ones_and_pipes_show_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = CompilationProgress(after=100, pause=0.01)
    with progress.of("Conv"):
        thread = progress._thread
    thread.join(20)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.of("Conv"):
        assert progress._thread is None
    assert terminal.getvalue() == sys.stderr.getvalue() == ""
