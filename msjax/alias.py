"""msjax under the name ``mindspore``, so that MindSpore programs run unchanged.

``mindspore.x.y`` is the module ``msjax.x.y`` itself. Where MindSpore splits its files in another way, a
forwarding module under MindSpore's name looks names up in msjax's module.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from functools import partial
from typing import Any

import numpy as np

from msjax.core.base.lazy import missing_name_error
from msjax.engine.settings import precision

_NAME = "mindspore"
# The version of MindSpore that msjax follows; under the alias, programs read it as that of the package.
_FOLLOWED = "2.10.0"

# {msjax's module: {package of MindSpore: files in it that offer the same names}}. Where msjax has a file of that name, it is
# imported, and names that msjax keeps in another file are looked up in the module given here.
_TARGETS = {
    "msjax": {"mindspore": "common context train", "mindspore.train": "callback"},
    "msjax.ops.sparse_tensor": {"mindspore.common": "sparse_tensor"},
    "msjax.train.summary": {"mindspore.train.summary": "summary_record"},
    "msjax.compat.api": {"mindspore.common": "api"},
    "msjax.compat.auto_generate": {
        "mindspore.ops": "auto_generate",
        "mindspore.ops.auto_generate": "gen_ops_prim gen_ops_def pyboost_inner_prim",
    },
    "msjax.compat.c_expression": {"mindspore": "_c_expression"},
    "msjax.compat.checkparam": {"mindspore": "_checkparam", "mindspore.train": "_utils"},
    "msjax.compat.private_names": {
        "mindspore": "_extends",
        "mindspore._extends": "parse",
        "mindspore._extends.parse": "compile_config",
        "mindspore.common": "_stub_tensor hook_handle np_dtype",
        "mindspore.ops": "_primitive_cache _utils",
        "mindspore.ops._utils": "utils",
    },
    "msjax.compat.train_thor": {
        "mindspore.train": "train_thor",
        "mindspore.train.train_thor": "convert_utils dataset_helper model_thor",
    },
    "msjax.device_context.ascend": {"mindspore.device_context.ascend": "op_debug op_precision"},
    "msjax.device_context.cpu": {"mindspore.device_context.cpu": "op_tuning"},
    "msjax.device_context.gpu": {"mindspore.device_context.gpu": "op_precision"},
    "msjax.train.dataset_helper": {"mindspore.train": "data_sink"},
    "msjax.parallel._utils": {"mindspore.parallel": "_auto_parallel_context"},
    "msjax.parallel": {"mindspore.parallel": "auto_parallel checkpoint_transform"},
    "msjax.compat.rewrite": {"mindspore": "rewrite"},
    "msjax.compat.special_ops": {"mindspore.ops.operations": "_quant_ops _rl_inner_ops _csr_ops _infer_ops"},
    "msjax.parallel.kept_settings": {"mindspore.parallel": "algo_parameter_config _cost_model_context _ps_context"},
    "msjax.engine.settings.compiler": {"mindspore.common": "lazy_inline jit_config"},
    "msjax.common.containers": {"mindspore.common": "mutable"},
    "msjax.engine.autograd.recompute": {"mindspore.common": "recompute"},
    "msjax.nn.wrap.derivatives": {"mindspore.nn": "grad", "mindspore.nn.grad": "cell_grad"},
    "multiprocessing": {"mindspore": "multiprocessing"},
    "msjax.common.random": {"mindspore.common": "seed generator"},
    "msjax.nn": {
        "mindspore.nn.layer": (
            "activation basic channel_shuffle combined container conv dense embedding image math normalization padding "
            "pooling rnn_cells rnns timedistributed transformer"
        ),
        "mindspore.nn.loss": "loss",
        "mindspore.nn.wrap": "cell_wrapper grad_reducer loss_scale",
    },
    "msjax.nn.optim": {
        "mindspore.nn.optim": (
            "ada_grad adadelta adafactor adam adamax adasum asgd ftrl lamb lars lazyadam momentum optimizer proximal_ada_grad "
            "rmsprop rprop sgd thor"
        )
    },
    "msjax.experimental.optim": {
        "mindspore.experimental.optim": "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd"
    },
    "msjax.ops": {
        "mindspore.ops": "function primitive",
        "mindspore.ops.function": (
            "array_func clip_func debug_func fft_func image_func linalg_func math_func nn_func other_func parameter_func "
            "random_func sparse_func spectral_func vmap_func"
        ),
        "mindspore.ops.composite": "base math_ops",
    },
    "msjax.ops.not_offered": {"mindspore.ops": "op_info_register"},
    "msjax.ops.operations": {
        "mindspore.ops.operations": (
            "array_ops control_ops custom_ops debug_ops image_ops inner_ops linalg_ops math_ops nn_ops other_ops random_ops "
            "sparse_ops spectral_ops _inner_ops _grad_ops"
        )
    },
    "msjax.serialization": {"mindspore.train": "serialization"},
    "msjax.train": {"mindspore.train": "model loss_scale_manager"},
    "msjax.train.callback": {
        "mindspore.train.callback": "_callback _checkpoint _early_stop _history _lambda_callback _loss_monitor _lr_scheduler_callback "
        "_reduce_lr_on_plateau _summary_collector _time_monitor"
    },
    "msjax.amp": {"mindspore.train": "amp"},
    "msjax.dataset": {"mindspore.dataset": "core engine", "mindspore.dataset.engine": "datasets iterators samplers"},
    "msjax.common.dtype": {"mindspore._c_expression": "typing"},
    "msjax.dataset.checks": {"mindspore.dataset.core": "validator_helpers"},
    "msjax.dataset.config": {"mindspore.dataset.core": "config"},
    "msjax.dataset.vision": {
        "mindspore.dataset.transforms": "vision",
        "mindspore.dataset.transforms.vision": "c_transforms utils",
    },
    "msjax.dataset.vision.py_transforms": {"mindspore.dataset.transforms.vision": "py_transforms"},
    "msjax.numpy": {"mindspore.numpy": "array_creations array_ops logic_ops math_ops"},
}
_FORWARDING = {
    f"{package}.{name}": real
    for real, packages in _TARGETS.items()
    for package, names in packages.items()
    for name in names.split()
}
_WITH_PARTS = frozenset(name.rpartition(".")[0] for name in _FORWARDING)
# Where MindSpore's package has a function of the file's name, which is missing here.
_HIDDEN = frozenset({"mindspore.nn.optim.thor", "mindspore.ops.op_info_register"})


def _shown(name):
    """The name under mindspore of a module of msjax."""
    return _NAME + name.removeprefix("msjax")


class _Same(importlib.abc.Loader):
    """Loads ``mindspore.x.y`` as the module ``msjax.x.y`` itself.

    Args:
        family (str, optional): a package in which names are looked up that MindSpore's module has and this one lacks.
    """

    def __init__(self, real: Any, family: Any = None):
        self.real = real
        self.family = family

    def create_module(self, spec):
        module = importlib.import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec into the module; restore the module's own.
        module.__spec__ = self.spec
        if self.family is not None:
            _attach(module, self.family)


def _attach(module, family):
    """Make a module of msjax look up what it lacks: files that MindSpore's module of that name has, and names of a package."""
    own = vars(module).get("__getattr__")
    if not hasattr(own, "family"):
        places = [] if family is None else [lambda name: getattr(importlib.import_module(family), name)]
        places.append(partial(_part, _shown(module.__name__)))
        module.__getattr__ = _passing_on(_shown(module.__name__), *places, own=own)
        module.__getattr__.family = family


def _part(package, name):
    """The forwarding module of a name in a package, which MindSpore's package imports itself."""
    full = f"{package}.{name}"
    if full in _FORWARDING and full not in _HIDDEN:
        return sys.modules.get(full) or importlib.import_module(full)
    raise AttributeError(name)


def _passing_on(shown, *places, own=None):
    """A module's ``__getattr__`` that looks names up by other functions, after what was its ``__getattr__`` before."""

    def __getattr__(name):
        for look_up in ([own] if own else []) + ([*places] if not name.startswith("__") else []):
            try:
                return look_up(name)
            except (AttributeError, ImportError):
                continue
        raise missing_name_error(f"{shown}.{name}", sys._getframe(1))

    return __getattr__


class _Forwarding(importlib.abc.Loader):
    """Loads a module that forwards to the names of another one."""

    def __init__(self, real: Any):
        self.real = real

    def create_module(self, spec):
        return types.ModuleType(spec.name, f"{spec.name}, as {self.real} offers it.")

    def exec_module(self, module):
        real = importlib.import_module(self.real)
        parent, _, child = module.__name__.rpartition(".")
        # The import system sets this module as an attribute of its parent, an msjax module where the name may mean
        # something else.
        own = getattr(sys.modules.get(parent), child, real)
        if own is module:  # the parent has nothing else of that name
            own = real
        parts = partial(_part, module.__name__)
        module.__getattr__ = _passing_on(module.__name__, partial(getattr, real), partial(getattr, own), parts)
        module.__dir__ = lambda: dir(real)
        vars(module)["__all__"] = list(
            getattr(real, "__all__", None) or (name for name in vars(real) if not name.startswith("_"))
        )


def _exists(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package doesn't exist either
        return False


def _found_with_family(fullname, path):
    """The spec of a module of msjax to which `_attach` adds a family as soon as it is loaded, however the program gets at it."""
    family = _FORWARDING.get(_shown(fullname))
    needed = family is not None or _shown(fullname) in _WITH_PARTS
    spec = importlib.machinery.PathFinder.find_spec(fullname, path) if needed else None
    if spec is not None and spec.loader is not None:
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _attach(module, family)

        spec.loader.exec_module = exec_module
    return spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.startswith("msjax."):
            return _found_with_family(fullname, path)
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        real, family = "msjax" + fullname[len(_NAME) :], _FORWARDING.get(fullname)
        if family is not None and not _exists(real):
            real, family = family, ""
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name is not None and (real == error.name or real.startswith(error.name + ".")):
                raise ModuleNotFoundError(f"msjax doesn't offer {fullname}.", name=fullname) from None
            raise
        loader = _Forwarding(real) if family == "" else _Same(real, family)
        is_package = fullname in _WITH_PARTS or (isinstance(loader, _Same) and hasattr(module, "__path__"))
        return importlib.util.spec_from_loader(fullname, loader, is_package=is_package)


def install_as_mindspore(x64: bool = True) -> None:
    """Make ``import mindspore`` import msjax, in this process.

    On GPUs and TPUs, operands of float32 are rounded as MindSpore rounds them, unless jax has been given a precision: those of
    convolutions are, those of matrix products are not (`set_context`, gpu_config).

    Args:
        x64 (bool): True switches jax's 64-bit types on, which MindSpore programs expect: ``Tensor(3)`` is Int64. It also has numpy print
            its numbers as numpy 1 does, which MindSpore needs: ``[2.0]`` instead of ``[np.float32(2.0)]``
            (``np.set_printoptions(legacy="1.25")``, unless the program has chosen another one). False leaves the settings of jax and numpy as
            they are, that of float32 products included.

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
        precision.follow_mindspore()
        if not np.get_printoptions()["legacy"]:
            np.set_printoptions(legacy="1.25")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in {*_FORWARDING, *_WITH_PARTS}:
        loaded = sys.modules.get("msjax" + name.removeprefix(_NAME))
        if loaded is not None:
            _attach(loaded, _FORWARDING.get(name))
    sys.modules[_NAME] = msjax
    msjax.__version__ = _FOLLOWED
    # What type(tensor) prints.
    msjax.Tensor.__module__ = "mindspore.common.tensor"
