"""Debuggers that start while a program is traced: standard output is captured and values are not known, so tracing is given up."""

from __future__ import annotations

import bdb
import os
import sys
import threading
from collections.abc import Callable
from typing import Any


class RefuseDebuggers:
    """A context manager in which `breakpoint()`, and debuggers built on `bdb` such as pdb, call a function instead of starting.

    Only in this thread: in others, debuggers start as usual.

    Args:
        refuse: called with a sentence; it raises.
    """

    def __init__(self, refuse: Callable[[str], Any]):
        self._refuse = refuse

    def __enter__(self):
        hook, start, thread, refuse = sys.breakpointhook, bdb.Bdb.set_trace, threading.get_ident(), self._refuse
        self._before = hook, start

        def breakpointhook(*args, **kwargs):
            if threading.get_ident() == thread and os.environ.get("PYTHONBREAKPOINT") != "0":
                refuse("it starts a debugger with breakpoint()")
            return hook(*args, **kwargs)

        def set_trace(self, *args, **kwargs):
            if threading.get_ident() == thread:
                refuse(f"it starts a debugger ({type(self).__name__})")
            return start(self, *args, **kwargs)

        sys.breakpointhook, bdb.Bdb.set_trace = breakpointhook, set_trace
        return self

    def __exit__(self, *_exception):
        sys.breakpointhook, bdb.Bdb.set_trace = self._before
