"""Attacks that need new processes of Python: edited sources, and variables that Python, jax and XLA read once.

Each is a function of a `Case`.
"""

import os
import shutil
import sys
from pathlib import Path

import msjax

COMPUTED = 'of("softsign")\nof("tanh")'
_KERNEL = msjax, "ops/function/nn_func/activations.py", "x / (1 + magnitude(x))", "x / (2 + magnitude(x))"
# Files of msjax, and texts that are replaced by others of the same length.
_EDITS = {
    "a kernel of msjax": _KERNEL,
    "a helper of msjax": (msjax, "ops/function/math_func/elementary.py", "    return jnp.abs(x)\n", "    return jnp.cos(x)\n"),
}


def _copied(package, case):
    """A copy of a package's folder; the variable of the environment with which Python finds it."""
    source = Path(package.__file__).parent
    target = case.folder / "packages" / source.name
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    own = str(Path(msjax.__file__).parents[1])
    others = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return target, {"PYTHONPATH": os.pathsep.join([str(target.parent), own, *others])}


def _edit(path, before, after):
    """Replace a text in a file, as tools do that keep its time."""
    status, text = path.stat(), path.read_text()
    assert before in text and len(before) == len(after), (path, before)
    path.write_text(text.replace(before, after, 1))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _edited(package, name, before, after):
    """An attack that edits a file between runs, and back."""

    def attack(case):
        target, found = _copied(package, case)
        for some, others in ((before, after), (after, before), (before, after)):
            case.compare_new(COMPUTED, found)
            _edit(target / name, some, others)
            shutil.rmtree((target / name).parent / "__pycache__", ignore_errors=True)
        case.compare_new(COMPUTED, found)

    return attack


SOURCES = {f"{name}, edited": _edited(*edit) for name, edit in _EDITS.items()}

# (variables of the first run, of the second one, the script's beginning): the third run is as the first.
_EXP = 'of("exp")\nof("tanh")\nof("log", x=X * X + 1)\nof("gelu", "tanh")'
_FLAGS = "--xla_cpu_enable_fast_math=true --xla_cpu_fast_math_honor_nans=false"
_FORGOTTEN = "import os\nos.environ.pop('XLA_FLAGS', None)"
_READ_AND_FORGOTTEN = "import os\njax.devices()\nos.environ.pop('XLA_FLAGS', None)"
_CHANGED = "import os\njax.devices()\nos.environ['XLA_FLAGS'] = '--xla_cpu_enable_fast_math=false'"
VARIABLES = {
    "XLA_FLAGS": ({}, {"XLA_FLAGS": _FLAGS}, ""),
    "XLA_FLAGS that the script takes away": ({}, {"XLA_FLAGS": _FLAGS}, _FORGOTTEN),
    "XLA_FLAGS that the script takes away later": ({}, {"XLA_FLAGS": _FLAGS}, _READ_AND_FORGOTTEN),
    "XLA_FLAGS that the script changes": ({}, {"XLA_FLAGS": _FLAGS}, _CHANGED),
    "XLA_FLAGS of a file that changes": ({"XLA_FLAGS": "{at}/flags"}, {"XLA_FLAGS": "{at}/flags"}, ""),
    "XLA_FLAGS for eight devices": ({}, {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}, ""),
    "64-bit types": ({}, {"JAX_ENABLE_X64": "0"}, ""),
    "products": ({}, {"JAX_DEFAULT_MATMUL_PRECISION": "bfloat16"}, ""),
    "no jit": ({}, {"JAX_DISABLE_JIT": "1"}, ""),
    "no optimizations": ({}, {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}, ""),
    "NaNs": ({}, {"JAX_DEBUG_NANS": "1"}, ""),
    "errors of jax's cache": ({}, {"JAX_RAISE_PERSISTENT_CACHE_ERRORS": "1"}, ""),
    "jax's cache off": ({}, {"JAX_ENABLE_COMPILATION_CACHE": "0"}, ""),
    "jax's cache elsewhere": ({}, {"JAX_COMPILATION_CACHE_DIR": "{at}/jax"}, ""),
    "XLA's caches": ({}, {"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "all"}, ""),
    "devices": ({}, {"JAX_NUM_CPU_DEVICES": "3"}, ""),
    "threads": ({}, {"NPROC": "3"}, ""),
    "no assertions": ({}, {"PYTHONOPTIMIZE": "2"}, ""),
    "hashes": ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"}, ""),
    "a locale": ({}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, ""),
}


def of_variables(first, second, beginning):
    """The attack of a row of `VARIABLES`."""

    def attack(case):
        flags = case.folder / "flags"
        for content, variables in (("", first), (_FLAGS, second), ("", first)):
            flags.write_text(content)
            case.compare_new(_EXP, {k: v.format(at=case.folder) for k, v in variables.items()}, beginning)

    return attack


def one_core(case):
    """A process that may use one core only, and again all of them."""
    case.compare_new(COMPUTED, {})
    case.compare_new(COMPUTED, {}, "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")
    case.compare_new(COMPUTED, {})


if hasattr(os, "sched_setaffinity") and sys.platform == "linux":
    SOURCES["one core"] = one_core
