"""Runs a program as Python runs it: as the module `__main__`, which stays there when the program has ended, for its threads."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

STDIN = "-"


class NoProgram(Exception):
    """There is no such script or module, or it can't be run; the message says which and why."""


def run_script(script: str, arguments: Sequence[str] = ()) -> None:
    """Run a file, a folder or an archive with a `__main__.py`, or what comes from standard input ("-"), as `python SCRIPT` does.

    Raises:
        NoProgram: there is no such file, or no program in it.
    """
    if script == STDIN:
        _begin([STDIN, *arguments], "")
        loader: Any = importlib.machinery.BuiltinImporter
        _run(compile(sys.stdin.read(), "<stdin>", "exec"), file="<stdin>", loader=loader, package=None)
        return
    path = os.path.join(os.getcwd(), script)
    if not os.path.exists(path):
        raise NoProgram(f"there is no script {script!r}")
    spec = importlib.machinery.PathFinder.find_spec("__main__", [path])  # finds something in folders and archives only
    if spec is None and os.path.isdir(path):
        raise NoProgram(f"there is no '__main__' module in {script!r}")
    if spec is not None:
        _begin([script, *arguments], path)
        _run_spec(spec, script)
        return
    _begin([script, *arguments], os.path.dirname(os.path.realpath(path)))
    if path.endswith(".pyc"):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        code = loader.get_code("__main__")
    else:
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        code = loader.source_to_code(loader.get_data(path), path)
    _run(code, file=path, loader=loader, package=None)


def run_code(code: str, arguments: Sequence[str] = ()) -> None:
    """Run code from the command line, as `python -c CODE` does."""
    _begin(["-c", *arguments], "")
    _run(compile(code, "<string>", "exec"), file=None, loader=importlib.machinery.BuiltinImporter, package=None)


def run_module(name: str, arguments: Sequence[str] = ()) -> None:
    """Run a module, or the `__main__` of a package, as `python -m NAME` does: found from the working folder, too; `NoProgram` if there is none."""
    _begin(["-m", *arguments], os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise NoProgram(f"no module {name!r} can be run ({type(error).__name__}: {error})") from error
    if spec is not None and spec.origin is not None:
        sys.argv[0] = spec.origin
    _run_spec(spec, name)


def _begin(argv, folder):
    """What Python does before it reads the program: imports are searched first in the program's folder."""
    sys.argv = argv
    sys.path.insert(0, folder)


def _run_spec(spec, shown):
    if spec is None or spec.loader is None:
        raise NoProgram(f"No module named {shown}")
    code = spec.loader.get_code(spec.name)
    if code is None:
        raise NoProgram(f"the module {shown!r} has no code of Python")
    _run(code, spec.origin, spec.loader, spec.parent, spec)


def _run(code, file, loader, package, spec=None):
    module = types.ModuleType("__main__")
    module.__spec__, module.__loader__, module.__package__ = spec, loader, package
    vars(module).update(__builtins__=builtins, __annotations__={})
    if file is not None:
        vars(module).update(__file__=file, __cached__=None if spec is None else spec.cached)
    _replaced.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    exec(code, vars(module))


_replaced = []  # the main modules that went before, whose functions may still run
