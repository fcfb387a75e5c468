"""msjax under the name ``mindspore``, so that MindSpore programs run unchanged."""

import importlib
import importlib.abc
import importlib.util
import sys

_NAME = "mindspore"

# Modules of MindSpore whose names stand elsewhere here.
_MOVED = {
    "mindspore.common.api": "msjax.compile",
    "mindspore.nn.layer": "msjax.nn",
    "mindspore.nn.layer.activation": "msjax.nn.activation",
    "mindspore.nn.layer.basic": "msjax.nn.basic",
    "mindspore.nn.layer.container": "msjax.nn.container",
    "mindspore.nn.layer.conv": "msjax.nn.conv",
    "mindspore.nn.layer.math": "msjax.nn.math",
    "mindspore.nn.layer.normalization": "msjax.nn.norm",
    "mindspore.nn.layer.pooling": "msjax.nn.pooling",
    "mindspore.nn.loss.loss": "msjax.nn.loss",
    "mindspore.nn.optim.momentum": "msjax.nn.optim",
    "mindspore.nn.optim.adam": "msjax.nn.optim",
    "mindspore.nn.optim.sgd": "msjax.nn.optim",
    "mindspore.nn.wrap.cell_wrapper": "msjax.nn.wrap",
    "mindspore.ops.primitive": "msjax.ops.primitive",
    "mindspore.ops.function": "msjax.ops",
}


class _Loader(importlib.abc.Loader):
    """Loads ``mindspore[.x.y]`` as the very module ``msjax[.x.y]``."""

    def __init__(self, real):
        self.real = real

    def create_module(self, spec):
        module = importlib.import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec into the module; it keeps its own.
        module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        real = _MOVED.get(fullname, "msjax" + fullname[len(_NAME) :])
        try:
            importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name is not None and (real == error.name or real.startswith(error.name + ".")):
                raise ModuleNotFoundError(f"msjax doesn't offer the module {fullname}.", name=fullname) from None
            raise
        return importlib.util.spec_from_loader(fullname, _Loader(real), is_package=True)


def install_as_mindspore(x64: bool = True):
    """Make ``import mindspore`` import msjax, in this process.

    Args:
        x64 (bool): True switches jax's 64-bit types on, which MindSpore programs expect: ``Tensor(3)`` is Int64.

    Raises:
        ImportError: the real MindSpore has been imported already.

    Example:
        >>> import msjax
        >>> msjax.install_as_mindspore()
        >>> import mindspore
        >>> mindspore is msjax
        True
    """
    import msjax

    present = sys.modules.get(_NAME)
    if present is not None and present is not msjax:
        raise ImportError("The real mindspore has been imported in this process; install_as_mindspore() has to come first.")
    if x64:
        import jax

        jax.config.update("jax_enable_x64", True)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    sys.modules[_NAME] = msjax
