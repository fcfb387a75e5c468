"""The description of what a compiled function is traced from: a text that is the same in every process, and differs where the trace would.

It holds the function or cell, and what the code that it reaches may read: code, closures, defaults, globals, attributes, settings, and the types of
Tensors. Whoever reads something that can't be described, such as a file, the time or an object of an unknown library, has no description, and is
traced in each process.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import hashlib
import random
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common.bases import CellBase
from msjax.common.dtype import Type
from msjax.common.node import RootLeaf
from msjax.common.op_seeds import OP_SEEDS
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.random import default_generator
from msjax.common.tensor import Tensor
from msjax.core.base.code import names_in
from msjax.core.base.context import SETTINGS
from msjax.core.base.flax_slots import is_module_state
from msjax.core.base.libraries import is_library
from msjax.core.base.state import ACTIVITY, ROOT, STATE
from msjax.core.hooks.sites import WITH_HOOKS
from msjax.core.hooks.table import GLOBAL, HookTable
from msjax.engine.processes.groups import PROCESSES
from msjax.engine.programs.libraries import identity
from msjax.engine.programs.own_state import is_at_home, place_of
from msjax.engine.programs.reach import Undescribable, code_digest, describe_plain, held_under
from msjax.engine.programs.store_key import is_plain

# Names whose use makes what code does depend on more than what it reaches, or on how often it was traced.
_IMPURE = frozenset(
    "open exec eval compile input __import__ import_module reload globals locals vars __dict__ __builtins__ breakpoint id hash print "
    "environ getenv putenv urandom argv stdin modules time perf_counter monotonic now today uuid1 uuid4 random rand randn randint shuffle "
    "choice permutation seed set_seed get_seed manual_seed initializer load loads loadtxt genfromtxt fromfile memmap empty empty_like "
    "load_checkpoint load_param_into_net save_checkpoint export gc weakref getsource currentframe _getframe settrace "
    "register_forward_hook register_forward_pre_hook register_backward_hook register_backward_pre_hook register_hook "
    "setattr delattr __setattr__ __delattr__ __globals__ __code__ __closure__ getsizeof get_context set_context "
    "hal runtime dataset profiler get_rng_state load_mindir attrgetter methodcaller".split()
)
_MODULES = frozenset(
    ("msjax", "mindspore", "jax", "numpy", "math", "cmath", "operator", "functools", "itertools", "collections", "typing")
    + ("typing_extensions", "numbers", "enum", "dataclasses", "abc", "types", "builtins", "ml_dtypes")
)
# Of these, `programs.libraries` and `programs.own_state` say what their modules hold.
_LOOKED_AT = frozenset(("msjax", "mindspore", "jax", "numpy"))
# Attributes of cells that follow from others, or belong to programs.
_OF_CELLS = frozenset(("_special", "_prepared", "compiled_families"))
# What classes hold besides what code finds there.
_OF_CLASSES = frozenset(
    "__doc__ __module__ __dict__ __weakref__ __annotations__ __abstractmethods__ __repr__ __str__ __init_subclass__ __del__ __reduce__ "
    "__firstlineno__ __static_attributes__ __parameters__ __orig_bases__ _abc_impl".split()
)
_CODE = (types.FunctionType, staticmethod, classmethod, property)
# Classes of Python's that a user's class may come from: `_object` describes what an instance holds.
_WITH_ITEMS = frozenset((object, tuple, list, dict, set, frozenset))
_WITHOUT_STATE = ("typing", "typing_extensions", "abc")
# What code reaches only where it makes an instance.
_MADE = frozenset(("__init__", "__new__", "__post_init__"))
_WRITES_NAMES = frozenset(dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME") if name in dis.opmap)
_MOST_BYTES = 1 << 26  # of numpy arrays


class StateDescription:
    """What a call of a compiled function is traced from.

    Args:
        roots: the function or cell, what runs it, and further objects in which it looks for Tensors.
        leaves: those of the arguments.
        structure: of the arguments.

    Attributes:
        text: it; the same in every process.
        tensors: the Tensors among it, in the order in which they were found.

    Raises:
        Undescribable: it would not be complete.
    """

    def __init__(self, roots: Sequence[Any], leaves: Sequence[Any], structure: Any):
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self._queue: list[Any] = []
        self._names: set[str] = set()
        # The user's classes and modules, with the names that are always read in them.
        self._spaces: list[tuple[Any, frozenset[str]]] = []
        self._classes: list[tuple[type, bool]] = []
        self._keep: list[Any] = []  # what was made here, so that no other object gets its id
        arguments = [_of_argument(leaf) if _is_array(leaf) else self._value(leaf) for leaf in leaves]
        parts: list[Any] = [_process(), str(structure), arguments, self._value(list(roots)), self._value(default_generator.state)]
        read: set[tuple[int, str]] = set()
        done = 0
        try:
            while True:
                while done < len(self._queue):  # which grows meanwhile
                    parts.append(self._content(self._queue[done]))
                    done += 1
                found = self._read(read)
                if not found:
                    break
                parts += found
        except Undescribable:
            raise
        except Exception as error:  # a user's object may raise anything where it is looked at
            raise Undescribable(f"{type(error).__name__}: {error}") from None
        # Positions among what was found say which object is which.
        self.text: str = hashlib.sha256(repr(parts).encode()).hexdigest()

    def _read(self, read):
        """What the code's names stand for in the user's own classes and modules that it reaches."""
        found = []
        by_text = "getattr" in self._names
        for space, always in self._spaces:
            is_module = isinstance(space, types.ModuleType)
            if is_module and by_text:
                raise Undescribable("getattr beside modules")
            scope = vars(space)
            # A text may name any of them.
            wanted = {name for name in scope if name[:2] != "__"} if by_text else self._names
            for name in sorted(always.union(wanted).intersection(scope)):
                if (id(space), name) in read or name in _OF_CLASSES or is_module_state(name):
                    continue
                read.add((id(space), name))
                found.append((space.__name__, name, self._member(scope[name])))
        return found

    def _member(self, value):
        if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            return "slot"
        if isinstance(value, (staticmethod, classmethod)):
            return type(value).__name__, self._value(value.__func__)
        if isinstance(value, property):
            return [self._value(f) for f in (value.fget, value.fset)]
        return self._value(value)

    # ---- references

    def _value(self, value):
        """What stands for a value: its description, or its number among the objects that are described by themselves."""
        cls = value.__class__
        if cls in (list, dict, set) or not (value is None or cls in (bool, int, float, str, bytes, tuple, frozenset)):
            number = self._numbers.get(id(value))
            if number is None:
                if cls is types.MethodType or (cls not in (list, dict) and _is_simple(value)):
                    return self._simple(value)
                number = self._numbers[id(value)] = len(self._queue)
                self._queue.append(value)
            return "#", number
        return self._simple(value)

    def _simple(self, value: Any) -> Any:
        cls = value.__class__
        if value is NotImplemented:
            return ("NotImplemented",)
        if cls is types.MethodType:
            return "method", self._value(value.__func__), self._value(value.__self__)
        if isinstance(value, Type):
            return "type", repr(value)
        if isinstance(value, np.generic) and cls is not np.void:
            return "number", str(value.dtype), value.tobytes().hex()
        if isinstance(value, ParameterTuple):
            return "parameters", *map(self._value, value)
        found = describe_plain(value, self._value)
        if found is None:
            raise Undescribable(f"{cls.__qualname__} of {cls.__module__}")
        return found

    # ---- objects

    def _content(self, value):
        cls = value.__class__
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, CellBase):
            return self._cell(value)
        if cls in (list, dict, set):
            return describe_plain(value, self._value)
        if cls is types.FunctionType:
            return self._function(value)
        if cls in (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType):
            owner = getattr(value, "__self__", None)
            if owner is not None and not isinstance(owner, (types.ModuleType, type)):
                raise Undescribable(f"a method of {type(owner).__qualname__}")
            named = owner.__module__ if isinstance(owner, type) else getattr(value, "__module__", None)
            module = owner.__name__ if isinstance(owner, types.ModuleType) else str(named or "builtins")
            self._check_module(module.lstrip("_"))
            return "builtin", module, value.__qualname__
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, type):
            return self._class(value, made=True)
        if cls is functools.partial:
            return (
                "partial",
                self._value(value.func),
                self._value(value.args),
                self._value(value.keywords),
                self._value(vars(value)),
            )
        if cls is np.ndarray:
            return self._array(value)
        if isinstance(value, enum.Enum):
            return "enum", self._class(cls, made=False), value.name, self._value(value.value)
        if cls is np.ufunc and getattr(np, value.__name__, None) is value:  # not one of np.frompyfunc
            return "ufunc", value.__name__
        if isinstance(value, HookTable):
            if value.in_calls:
                raise Undescribable("hooks")
            return "no hooks in calls"
        if isinstance(value, (tuple, list, dict, set, frozenset)) or cls.__module__.partition(".")[0] not in (
            "msjax",
            "mindspore",
        ):
            return self._object(value)
        return self._own_object(value)

    def _tensor(self, tensor):
        cls = tensor.__class__
        others = {name: v for name, v in vars(tensor).items() if name not in ("_value", "_used")}
        if not is_plain(tensor._value) or cls.__module__.partition(".")[0] not in ("msjax", "mindspore"):
            raise Undescribable(f"a {cls.__qualname__} on a device of its own, or of a class of its own")
        if others.get("_hooks") is not None or not (others.get("_node") is None or isinstance(others["_node"], RootLeaf)):
            raise Undescribable("a Tensor with hooks, or on the tape")
        self.tensors.append(tensor)
        value = tensor._value
        settings = ()
        if isinstance(tensor, Parameter):
            settings = (tensor.name, tensor.requires_grad)
        others = [(name, self._value(v)) for name, v in sorted(others.items()) if name not in ("_hooks", "_node", "_oidx")]
        return cls.__qualname__, value.shape, str(value.dtype), bool(value.weak_type), settings, others

    def _cell(self, cell):
        members = [
            (name, self._value(value))
            for name, value in vars(cell).items()
            if not is_module_state(name) and name not in _OF_CELLS
        ]
        if any(isinstance(value, HookTable) and value.in_calls for value in vars(cell).values()):
            raise Undescribable("hooks")
        return "cell", self._class(type(cell), made=False), members

    def _object(self, value):
        """An object of a user's class, whose attributes and items are all that it holds."""
        cls = value.__class__
        for base in cls.__mro__:
            foreign = is_library(base.__module__) and base.__module__.partition(".")[0] not in (
                "msjax",
                "mindspore",
                *_WITHOUT_STATE,
            )
            if foreign and base not in _WITH_ITEMS:
                raise Undescribable(
                    f"{cls.__qualname__} of {cls.__module__}, which is a {base.__qualname__} of {base.__module__}"
                )
        items = describe_plain(tuple(value) if not isinstance(value, dict) else tuple(value.items()), self._value) if isinstance(
            value, (tuple, list, dict, set, frozenset)
        ) else ()  # fmt: skip
        return "object", self._class(cls, made=False), items, self._members(value)

    def _own_object(self, value):
        """An object of msjax: by its class, and what it holds."""
        cls = value.__class__
        if cls.__module__.startswith(
            ("msjax.common.initializer", "msjax.dataset", "msjax.common.generators", "msjax.ops.dispatch.streams")
        ):
            if cls.__module__.startswith("msjax.common.initializers"):
                return "initializer", cls.__qualname__, self._members(value)
            raise Undescribable(cls.__qualname__)
        found = getattr(value, "identity", None)
        if found is not None:
            return "own", cls.__module__, cls.__qualname__, self._value(found)
        return "own", cls.__module__, cls.__qualname__, self._members(value)

    def _members(self, value):
        if not hasattr(value, "__dict__") and not any(vars(c).get("__slots__") for c in type(value).__mro__):
            raise Undescribable(f"{type(value).__qualname__} of {type(value).__module__}")
        members = [(name, self._value(v)) for name, v in getattr(value, "__dict__", {}).items()]
        for cls in type(value).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    members.append((name, self._value(getattr(value, name))))
        return members

    def _array(self, array):
        if array.dtype.hasobject or array.nbytes > _MOST_BYTES:
            raise Undescribable("an array")
        return "array", array.shape, str(array.dtype), hashlib.sha256(array.tobytes()).hexdigest()

    def _module(self, module):
        package = module.__name__.partition(".")[0]
        if package in _MODULES or is_library(module.__name__):
            self._check_module(package)
            if package in _LOOKED_AT:
                return "module", module.__name__
        self._spaces.append((module, frozenset()))
        return "module", module.__name__

    def _check_module(self, name):
        if name.partition(".")[0] not in _MODULES:
            raise Undescribable(f"the module {name}")

    # ---- code

    def _class(self, cls, made):
        """A class; `made` where code may make instances of it, and not only call them."""
        if is_library(cls.__module__):
            self._check_module(cls.__module__.lstrip("_"))
            if not _is_under_its_name(cls):
                raise Undescribable(f"a class {cls.__qualname__} that {cls.__module__} doesn't hold")
            return "class", cls.__module__, cls.__qualname__
        if not is_library(type(cls).__module__):
            raise Undescribable(f"{cls.__qualname__}, which has a metaclass")
        if (cls, made) in self._classes:
            return "class again", self._classes.index((cls, made))
        self._classes.append((cls, made))
        found = []
        for owner in cls.__mro__:
            found.append((owner.__module__, owner.__qualname__))
            if not is_library(owner.__module__):
                always = {name for name, v in vars(owner).items() if name[:2] == "__" == name[-2:] and isinstance(v, _CODE)}
                always |= {"construct", "bprop"}
                self._spaces.append((owner, frozenset(always if made else always - _MADE) & set(vars(owner))))
        return "class of the user", found

    def _function(self, fn):
        code = fn.__code__
        name = str(fn.__globals__.get("__name__"))
        if is_library(name) and name != "__main__":
            return self._of_library(fn, name)
        self._check_code(code)
        names = names_in(code)
        self._names.update(names)
        # Other attributes are found in what is described.
        found = []
        for name in names:
            scope = fn.__globals__ if name in fn.__globals__ else vars(builtins)
            if name in scope:
                found.append((name, self._value(scope[name])))
        closure = [self._value(_inside(cell)) for cell in fn.__closure__ or ()]
        return "function", fn.__qualname__, code_digest(code), closure, self._value(fn.__defaults__), self._kept(fn), found

    def _kept(self, fn):
        return self._value(fn.__kwdefaults__), self._value(dict(self._alive(vars(fn)))) if vars(fn) else None

    def _alive(self, namespace):
        made = dict(namespace)
        self._keep.append(made)
        return made

    def _check_code(self, code):
        denied = _IMPURE.intersection(code.co_names)
        if denied or _writes_names(code):
            raise Undescribable(f"code of {code.co_name} that uses {', '.join(sorted(denied)) or 'global names or imports'}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._check_code(constant)

    def _of_library(self, fn, module):
        self._check_module(module)
        wrapped = getattr(fn, "__wrapped__", None)
        # What a library makes of a user's function has that one's name.
        as_its_own = fn.__module__.partition(".")[0] == module.partition(".")[0]
        if module.partition(".")[0] not in ("msjax", "mindspore"):
            if not as_its_own or not _is_under_its_name(fn):
                raise Undescribable(f"a function {fn.__qualname__} that {module} made")
            return "library", identity(fn)
        place = place_of(fn.__code__.co_filename, fn), fn.__qualname__, fn.__code__.co_firstlineno
        if as_its_own and is_at_home(fn.__qualname__, fn):
            return "own", place
        closure = [self._value(_inside(cell)) for cell in fn.__closure__ or ()]
        return "own", place, closure, self._value(fn.__defaults__), self._value(wrapped)


def _is_under_its_name(value):
    """Whether a function or class stands in its module, so that the module's files say all about it."""
    return held_under(value.__module__.replace("mindspore.", "msjax."), value.__qualname__) is value


def _is_simple(value):
    return (
        isinstance(value, (Type, np.generic, np.dtype, ParameterTuple, complex, slice))
        or value is Ellipsis
        or value is NotImplemented
    )


def _is_array(leaf):
    return (isinstance(leaf, Tensor) and not isinstance(leaf, Parameter)) or isinstance(leaf, np.ndarray) or hasattr(leaf, "aval")


def _of_argument(leaf):
    value = leaf._value if isinstance(leaf, Tensor) else leaf
    if not is_plain(value) or (isinstance(leaf, Tensor) and (type(leaf) is not Tensor or leaf._hooks is not None)):
        raise Undescribable("an argument with hooks, or on a device of its own")
    return type(leaf).__qualname__, value.shape, str(value.dtype), bool(getattr(value, "weak_type", False))


@functools.lru_cache(4096)
def _writes_names(code):
    return any(i.opcode in _WRITES_NAMES for i in dis.get_instructions(code))


def _inside(cell):
    try:
        return cell.cell_contents
    except ValueError:
        raise Undescribable("a variable that is not assigned yet") from None


def _process():
    """The state of the process that traces depend on, or change."""
    refused = {
        "hooks for all cells": GLOBAL.table.in_calls,
        "hooks on a model of another framework, anywhere in this process": list(WITH_HOOKS),
        "several processes": PROCESSES.place.size != 1,
        "a cast, or hooks on saved Tensors, of a call that runs": STATE.cast is not None or STATE.saving is not None,
        "a call that is watched, or part of another one": (
            STATE.monitor is not None or ACTIVITY.detect_anomaly or STATE.functional or STATE.trace is not None
        ),
    }
    for why, holds in refused.items():
        if holds:
            raise Undescribable(why)
    settings = {name: repr(value) for name, value in vars(SETTINGS).items() if not name.startswith("compile_cache")}
    of_numpy = repr((np.get_printoptions(), np.geterr()))
    return sorted(settings.items()), STATE.recording, STATE.scope is ROOT, repr(OP_SEEDS.snapshot()), sys.flags.optimize, of_numpy


def generators() -> tuple[Any, ...]:
    """The states of Python's and numpy's own generators, which no trace that is left out may have changed."""
    state: Any = np.random.get_state()
    return random.getstate(), state[0], np.asarray(state[1]).tobytes(), state[2:]
