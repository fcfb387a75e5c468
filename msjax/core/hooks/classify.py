"""Classifies hooks as observers or modifiers by their code, without running them.

In a compiled program an observer is called after each run, with concrete values; a modifier is part of
the program. A callable that can only return None is an observer: builtins such as print and
list.append, functions that return None everywhere, and functions that return the result of such a call,
like ``lambda cell, inputs, output: log.append(output)``.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import FunctionType


# Methods of builtin containers and files that return None.
_NONE_METHODS = frozenset(
    "append extend insert remove clear sort reverse add update discard appendleft extendleft rotate put put_nowait "
    "__setitem__ __delitem__ difference_update intersection_update symmetric_difference_update".split()
)
_NONE_BUILTINS = (print, setattr, delattr, breakpoint)
UNKNOWN = object()

# Methods assumed to return None if their object is unknown, as in ``found[name].append(x)``.
_LIST_METHODS = frozenset(("append", "extend", "appendleft", "extendleft"))

_KNOWN: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


# The Pythons whose bytecode is read here. Of another one, nothing is known of a hook before it has run.
READ = ((3, 11), (3, 12), (3, 13), (3, 14))


def observes(fn: Callable[..., Any], observe: bool | None = None, traced: bool | None = None) -> bool:
    """True if a hook is to be called after each run; what the user said of it counts first."""
    if observe is not None:
        return bool(observe)
    if traced is not None:
        return not traced
    return only_observes(fn)


class Adapter:
    """A hook of msjax's own around one of the user's, which returns None where that does.

    Attributes:
        fn: the user's hook.
    """

    fn: Callable[..., Any]


def users_hook(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The hook that the user wrote."""
    return fn.fn if isinstance(fn, Adapter) else fn


def only_observes(fn: Callable[..., Any]) -> bool:
    """True if a call of `fn` can only return None, as far as its code tells."""
    fn = users_hook(fn)
    return sys.version_info[:2] in READ and _returns_none(fn, 0)


def computes(fn: Callable[..., Any]) -> bool:
    """True if the code of `fn` says that it may return a value that it has computed or made: then it is no mere observer."""
    fn = users_hook(fn)
    while isinstance(fn, functools.partial):
        fn = fn.func
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, types.FunctionType):
        function = inspect.getattr_static(type(fn), "__call__", None)
    if sys.version_info[:2] not in READ or not isinstance(function, types.FunctionType):
        return False
    instructions = [i for i in dis.get_instructions(function.__code__) if i.opname not in _NO_CODE]
    ends = [end for n in range(len(instructions)) for end in _return_ends(instructions, n) if end]
    return any(instructions[end - 1].opname.startswith(_MAKES) for end in ends)


_NO_CODE = ("CACHE", "EXTENDED_ARG")
# The operations by which Python computes or makes a value, or takes that of a variable; what a call or an item is, nobody knows.
_MAKES = ("BINARY_OP", "UNARY", "COMPARE", "BUILD", "LOAD_FAST", "LOAD_DEREF")


def _returns_none(fn, depth) -> bool:
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return _builtin_returns_none(fn)
    if isinstance(fn, types.MethodType):
        return _code_returns_none(fn.__func__, fn.__self__, depth)
    if isinstance(fn, types.FunctionType):
        return _code_returns_none(fn, None, depth)
    call = inspect.getattr_static(type(fn), "__call__", None)
    if isinstance(fn, type) or not isinstance(call, types.FunctionType):
        return False
    return _code_returns_none(call, fn, depth)


def _builtin_returns_none(fn) -> bool:
    if any(fn is known for known in _NONE_BUILTINS):
        return True
    owner = getattr(fn, "__self__", None)
    return owner is not None and not isinstance(owner, types.ModuleType) and fn.__name__ in _NONE_METHODS


def _code_returns_none(function, owner, depth) -> bool:
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    if depth > 3:
        return False
    # Only answers that follow from the code alone are cached, since a name's value may change.
    kept = _KNOWN.get(code)
    if kept is not None:
        return kept
    returns = _returns(code)
    if all(r is True for r in returns) or any(r is False for r in returns):
        _KNOWN[code] = all(r is True for r in returns)
        return _KNOWN[code]
    return all(r is True or _calls_for_nothing(r, function, owner, depth) for r in returns)


def _returns(code) -> list[Any]:
    """For each value that may be returned: True (None), False (another one), or the instructions up to the call that gives it."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _NO_CODE]
    found = []
    for n, instruction in enumerate(instructions):
        if instruction.opname == "RETURN_CONST":
            found.append(instruction.argval is None)
        elif instruction.opname == "RETURN_VALUE":
            for end in _return_ends(instructions, n):
                end = _last_of_tuple(instructions, end)
                before = instructions[end - 1].opname if end else ""
                if before == "LOAD_CONST":
                    found.append(instructions[end - 1].argval is None)
                else:
                    found.append(instructions[:end] if before.startswith("CALL") else False)
    return found


def _return_ends(instructions, n):
    """Where the values end that instruction `n` may return, if it returns one from the stack."""
    if instructions[n].opname != "RETURN_VALUE":
        return []
    return [n, *_jumps_with_value(instructions, n)] if instructions[n].is_jump_target else [n]


def _last_of_tuple(instructions, end):
    """Where the value ends that is taken out of a tuple just made, if it is the last of it, as in ``(log.append(x), None)[-1]``."""
    if end < 4 or not _subscript(instructions[end - 1]) or instructions[end - 3].opname != "BUILD_TUPLE":
        return end
    size, number = instructions[end - 3].argval, instructions[end - 2].argval
    return end - 3 if isinstance(number, int) and number in (-1, size - 1) else end


def _subscript(instruction):
    return instruction.opname == "BINARY_SUBSCR" or (instruction.opname == "BINARY_OP" and instruction.argrepr == "[]")


def _jumps_with_value(instructions, n):
    """Where the values end that jumps bring to instruction `n` (operands of `and`, `or` and `if`); 0 for other jumps."""
    ends = []
    for i, instruction in enumerate(instructions[:n]):
        if "JUMP" in instruction.opname and instruction.argval == instructions[n].offset:
            end = i
            while instructions[end - 1].opname in ("COPY", "TO_BOOL"):
                end -= 1
            carries = end < i or instruction.opname.endswith("OR_POP") or instruction.opname == "JUMP_FORWARD"
            ends.append(end if carries else 0)
    return ends


def _calls_for_nothing(instructions, function, owner, depth) -> bool:
    """True if the call that the instructions end with is one that returns None."""
    callee, attribute = called(instructions, _Names(function, owner))
    if callee is UNKNOWN:
        return attribute in _LIST_METHODS
    return callable(callee) and _returns_none(callee, depth + 1)


def called(instructions: list[dis.Instruction], names: Names) -> tuple[Any, str | None]:
    """(callee, attribute name or None) of the call with which the instructions end; the callee may be UNKNOWN.

    The callee is the expression that begins at the same position as the call; the arguments begin later.

    Args:
        instructions: those of one function, from its beginning.
        names: an object whose methods `globally`, `closed` and `local` look up a name's value.
    """
    start = _start(instructions[-1])
    callee, attribute = UNKNOWN, None
    if start is None:
        return callee, attribute
    # Where Python has CALL_KW, the names of the keywords are a constant before it, at the position of the call.
    for instruction in instructions[: -2 if instructions[-1].opname == "CALL_KW" else -1]:
        name, arg = instruction.opname, instruction.argval
        # The compiler may copy the call itself into both branches of an argument.
        if (
            _start(instruction) != start
            or instruction.positions == instructions[-1].positions
            or name in ("PUSH_NULL", "KW_NAMES")
        ):
            continue
        attribute = None
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            callee = names.globally(arg)
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            callee = names.closed(arg)
        elif name.startswith("LOAD_FAST"):
            callee = names.local(arg)
        elif name == "LOAD_CONST":
            callee = arg
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            callee, attribute = _attribute(callee, arg), arg
        else:
            callee = UNKNOWN
    return callee, attribute


def _start(instruction):
    where = instruction.positions
    return None if where is None or where.lineno is None else (where.lineno, where.col_offset)


def _attribute(value, name):
    """value.name, or UNKNOWN if looking it up would run user code."""
    if value is UNKNOWN:
        return UNKNOWN
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        return UNKNOWN
    if isinstance(found, (property, types.MemberDescriptorType)) or (
        hasattr(type(found), "__get__")
        and not isinstance(
            found,
            (
                types.FunctionType,
                types.MethodDescriptorType,
                types.WrapperDescriptorType,
                types.BuiltinFunctionType,
                staticmethod,
                classmethod,
            ),
        )
    ):
        return UNKNOWN
    return getattr(value, name)


class Names(Protocol):
    """What the names in a piece of code stand for: globals, variables of closures, and locals; `UNKNOWN` for what can't be known."""

    def globally(self, name: str) -> Any: ...
    def closed(self, name: str) -> Any: ...
    def local(self, name: str) -> Any: ...


class _Names:
    """Looks up the present values of the names in a function."""

    def __init__(self, function: FunctionType, owner: object):
        self.globals: dict[str, Any] = function.__globals__
        closure = function.__closure__ or ()
        self.cells: dict[str, Any] = dict(zip(function.__code__.co_freevars, closure))
        self.first = function.__code__.co_varnames[:1] if owner is not None else ()
        self.owner = owner
        defaults = function.__defaults__ or ()
        count = function.__code__.co_argcount
        self.defaults = dict(zip(function.__code__.co_varnames[count - len(defaults) : count], defaults))

    def globally(self, name):
        if name in self.globals:
            return self.globals[name]
        return getattr(builtins, name, UNKNOWN)

    def closed(self, name):
        try:
            return self.cells[name].cell_contents
        except (KeyError, ValueError):
            return UNKNOWN

    def local(self, name):
        if self.first and name == self.first[0]:
            return self.owner
        # Loops bind a name by a default such as log=log; hooks are called without it.
        return self.defaults.get(name, UNKNOWN)
