"""What is the user's code, and what is not: the one list of libraries, whose modules, functions and classes stay as they are while a program runs;
and the lines of the user's code that are under way, for messages and reports."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
from typing import Any, NamedTuple

import jax

# The folder of msjax, with the separator: what lies below it is not the user's.
FOLDER = os.path.dirname(os.path.abspath(sys.modules["msjax"].__file__ or "")) + os.sep

# What computes: the programs of operators depend on these packages, and on no others.
COMPUTING = ("jax", "jaxlib", "numpy", "ml_dtypes", "opt_einsum", "scipy")

# What models and their training are made of. Their objects hold what is the user's: weights, settings, functions.
FRAMEWORKS = ("flax", "equinox", "haiku", "optax", "orbax", "chex", "jaxtyping", "wadler_lindig", "msjax", "mindspore")

_OTHERS = (
    "torch",
    "matplotlib",
    "pandas",
    "PIL",
    "tqdm",
    "rich",
    "IPython",
    "ipykernel",
    "pytest",
    "_pytest",
    "typing_extensions",
)

_LIBRARIES = sys.stdlib_module_names.union(COMPUTING, FRAMEWORKS, _OTHERS) - {"__main__"}


@functools.cache
def is_library(module: str) -> bool:
    """Whether a module, by its full name, belongs to a library."""
    return module.partition(".")[0] in _LIBRARIES


@functools.cache
def is_library_file(file: str) -> bool:
    """Whether a file is Python's, lies where packages are installed, or belongs to a library that was imported from somewhere else."""
    names = file.split(os.sep)
    if file.startswith(sysconfig.get_path("stdlib") + os.sep) or not {"site-packages", "dist-packages"}.isdisjoint(names):
        return True
    loaded = (getattr(sys.modules.get(name), "__file__", None) for name in _LIBRARIES.intersection(names))
    return any(file.startswith(os.path.dirname(at) + os.sep) for at in loaded if at is not None)


def of_library(value: Any) -> bool:
    """Whether a function, class or module is a library's, by the module that it says it comes from."""
    module = getattr(value, "__module__", None) or getattr(value, "__name__", None) or ""
    # A class that is made by `exec` where no module has a name says that it is Python's own; those don't let their attributes be set.
    return is_library(module) and not (module == "builtins" and isinstance(value, type) and not value.__flags__ & _IMMUTABLE)


_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_OWN = (os.path.dirname(jax.__file__) + os.sep, FOLDER)


def is_own(file: str) -> bool:
    """Whether a file is one of jax's or msjax's."""
    return file.startswith(_OWN)


class Line(NamedTuple):
    """A line of the user's code: where it is, and the name of the function that it is in."""

    file: str
    number: int
    function: str

    @property
    def code(self) -> str:
        """Its text; empty if the file can't be read."""
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.number}"


def user_lines() -> tuple[Line, ...]:
    """The lines of the user's code that are under way, innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None and len(found) < 8:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and not file.startswith("<"):
            found.append(Line(file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(found)
