"""msjax: MindSpore's hook programming and PyNative debugging, on JAX.

Use it under its own name (``import msjax as ms``), or run a MindSpore script as it is: ``msjax run script.py``. ``from msjax import
hooks`` is a tool of its own, for models of flax, equinox and haiku: nothing of Tensors and Cells is imported for it.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from typing import TYPE_CHECKING

from msjax import hooks as hooks
from msjax.version import __version__

if TYPE_CHECKING:
    from msjax.everything import *
else:
    # What is imported without the rest: the wing of hooks, and doors that choose themselves what they import.
    _ALONE = {"alias", "alias_path", "cli", "core", "engine", "everything", "hooks", "tools", "version", "__main__"}
    _ALONE |= {f"engine.{package}" for package in ("processes", "programs", "settings")}

    class _Opening(importlib.abc.MetaPathFinder):
        """Imports `msjax.everything` before the first module that needs it, so that operators and methods are attached to Tensor
        in their order, whatever is imported first."""

        def find_spec(self, name, path=None, target=None):
            package, *rooms = name.split(".")
            room = ".".join(rooms[: 2 if rooms[:1] == ["engine"] else 1])
            if package != "msjax" or room in _ALONE or "msjax.everything" in sys.modules:
                return None
            importlib.import_module("msjax.everything")
            there = sys.modules.get(name)
            if there is None:
                return None
            # Python loads what the spec of the module in sys.modules says.
            spec = importlib.util.spec_from_loader(name, _There(there), origin=there.__spec__.origin)
            spec.submodule_search_locations = there.__spec__.submodule_search_locations
            there.__spec__ = spec
            return spec

    class _There(importlib.abc.Loader):
        """The loader of a module that was imported while it was looked for: hands out that module. For all else it is the module's own
        loader."""

        def __init__(self, module):
            self.module, self.spec = module, module.__spec__

        def create_module(self, spec):
            return self.module

        def exec_module(self, module):
            module.__spec__ = self.spec

        def __getattr__(self, name):
            return getattr(self.spec.loader, name)

    sys.meta_path.insert(0, _Opening())

    def __getattr__(name):
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module 'msjax' has no attribute {name!r}")
        if importlib.util.find_spec(f"msjax.{name}") is not None:
            return importlib.import_module(f"msjax.{name}")
        everything = importlib.import_module("msjax.everything")
        found = vars(everything)[name] if name in vars(everything) else everything.__getattr__(name, sys._getframe(1))
        if name in vars(everything):  # not a placeholder
            globals()[name] = found
        return found

    def __dir__():
        return sorted({*globals(), *dir(importlib.import_module("msjax.everything"))})
