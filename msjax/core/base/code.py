"""What is read of the bytecode of the user's code, and of Python's: names, whether a function returns something, where a text goes.

Nothing else in msjax reads it. In a compiled program a hook that can only return None is an observer, which is called after each run, with concrete
values; others are part of the program. Such are builtins such as print and list.append, functions that return None everywhere, and functions
that return the result of such a call, like ``lambda cell, inputs, output: log.append(output)``. Guards (`msjax.engine.compile.walk`) are made of what
code names. The text of a Tensor whose value is not known yet is right only where it goes straight to `print`.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import inspect
import itertools
import re
import sys
import types
from collections import ChainMap, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msjax.core.base.libraries import of_library

# Methods of builtin containers and files that return None.
_NONE_METHODS = frozenset(
    "append extend insert remove clear sort reverse add update discard appendleft extendleft rotate put put_nowait "
    "__setitem__ __delitem__ difference_update intersection_update symmetric_difference_update".split()
)
_NONE_BUILTINS = (print, setattr, delattr, breakpoint)
_UNKNOWN = object()

# Methods and functions that write to a Tensor, or register a hook on it, by which a hook without a result changes what the network computes.
_WRITERS = re.compile(
    "register_hook|retain_grad|set_data|assign(_(add|sub|value))?|inplace_\\w+|scatter_(nd_)?(add|sub|mul|div|max|min|update)|"
    "(add|addmm|clamp|copy|div|exp|fill|fill_diagonal|floor|floor_divide|index_add|index_copy|index_fill|index_put|log|masked_fill|"
    "masked_scatter|mul|put|remainder|scatter|set|sigmoid|sign|sub|tanh|zero)_"
)

# Methods of a dict that give it items, other than one by one.
_ITEM_METHODS = frozenset(("update", "setdefault", "__setitem__"))

# Methods assumed to return None if their object is unknown, as in ``found[name].append(x)``.
_LIST_METHODS = frozenset(("append", "extend", "appendleft", "extendleft"))

# The Pythons whose bytecode is read here. Of another one, nothing is known of a hook before it has run.
READ = ((3, 11), (3, 12), (3, 13), (3, 14))


# ---- names


@functools.lru_cache(4096)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a piece of code and in the functions that it defines, in order.

    Example:
        >>> from msjax.core.base.code import names_in
        >>> names_in((lambda x: (print(x.shape), lambda: len(x))).__code__)
        ('print', 'shape', 'len')
    """
    return tuple(dict.fromkeys(name for each in _codes_in(code) for name in each.co_names))


@functools.lru_cache(4096)
def names_read_in(code: types.CodeType) -> tuple[str, ...]:
    """Those of `names_in` that the code reads: attributes that it only assigns to are left out. And, as ``name[:]``, those of them and of
    variables of closures of which it reads what they hold: those to which it only appends are left out.

    Example:
        >>> from msjax.core.base.code import names_read_in
        >>> names_read_in(compile("net.latest = x; log.append(x)", "", "exec"))
        ('x', 'x[:]', 'net', 'net[:]', 'log', 'append', 'append[:]')
    """
    found = []
    for now, then in itertools.pairwise(i for i in _instructions_in(code) if i.opname not in _NO_CODE):
        if (now.opcode in dis.hasname and now.opname != "STORE_ATTR") or now.opname in _FROM_CLOSURE:
            appends = then.opname in ("LOAD_ATTR", "LOAD_METHOD") and then.argval in _LIST_METHODS
            found += [now.argval] if appends else [now.argval, f"{now.argval}[:]"]
    return tuple(dict.fromkeys(found))


_FROM_CLOSURE = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
# How code reads, assigns and deletes globals, that of the body of a class included.
_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"))


@functools.lru_cache(4096)
def globals_in(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals alone in a piece of code and in the functions that it defines, in order: attributes may have any global's name."""
    return tuple(dict.fromkeys(i.argval for i in _instructions_in(code) if i.opname in _GLOBAL))


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """A piece of code, and those of the functions that it defines."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


def _instructions_in(code):
    return itertools.chain.from_iterable(map(dis.get_instructions, _codes_in(code)))


@functools.lru_cache(4096)
def assigned_and_imported_in(code: types.CodeType) -> tuple[frozenset[str], ...]:
    """(the attributes that a piece of code and the functions that it defines assign to, the modules that they import, by their full names)."""
    found = [(i.opname, i.argval) for i in _instructions_in(code)]
    return tuple(frozenset(name for op, name in found if op == each) for each in ("STORE_ATTR", "IMPORT_NAME"))


def imports_from(frame: types.FrameType) -> bool:
    """Whether a frame runs a from-import."""
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


# ---- what functions return


def effects(fn: Callable[..., Any], depth: int = 0, around: Sequence[Any] = ()) -> tuple[bool, list[tuple[Any, str | None]]]:
    """What the code of a hook changes, and that of the user's functions that it calls, as far as it tells.

    Args:
        depth: how many calls within the code of a hook it is.
        around: the values that the code around these calls names.

    Returns:
        (whether it names something that writes to a Tensor or registers a hook on it, or assigns to items of its arguments
        (``grads[0][1] = 0``), or to what is inside of the first one (``cell.weight[0] = 0``); what it stores into). That is (dict, None) of
        items, (list, ``its name[:]``) of what it appends, (object, name) of attributes, (namespace, name) of globals, (cell, name) of
        variables of a closure. Of a function that stores into what it is given, and of `setattr`, it is each value that is named around it.
    """
    given, keywords = (), {}
    while isinstance(fn, functools.partial):
        given, keywords, fn = (*fn.args, *given), {**fn.keywords, **keywords}, fn.func
    if isinstance(fn, (types.BuiltinMethodType, types.MethodWrapperType)):
        owner = fn.__self__
        return False, [(owner, None)] if isinstance(owner, dict) and fn.__name__ in _ITEM_METHODS else []
    function, owner = _readable(fn)
    if depth > 3 or function is None or of_library(function):
        return False, []
    code, names = function.__code__, _names_in_function(function, owner)
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    own = code.co_varnames[owner is not _UNKNOWN : count]
    # What functions within are given may be the cell.
    arguments = dict.fromkeys(own, _Given(depth > 0)) | dict.fromkeys(own[:1], _Given(True))
    names = names._replace(local={**arguments, **names.local, **dict(zip(own, given)), **keywords})
    instructions, read = _read(code)

    def named(kinds):
        """What the code names, of these kinds, and attributes of that; and what the code around it names."""
        known = [*names.local.values(), *names.closed.values(), *map(names.globals.get, globals_in(code))]
        inside = [vars(value).get(name) for value in known if hasattr(value, "__dict__") for name in code.co_names]
        return [v for v in (*known, *inside, *around) if isinstance(v, kinds) and not isinstance(v, _NO_OBJECTS)]

    writes, found, pair = any(map(_WRITERS.fullmatch, names_in(code))), [], _UNKNOWN
    behind = type(owner).__mro__[1:] if "super" in code.co_names else ()
    methods: list[Any] = [vars(each)[name] for each in behind for name in code.co_names if name in vars(each)]
    called: list[Any] = [types.MethodType(each, owner) for each in methods if isinstance(each, types.FunctionType)]
    for n, now in enumerate(instructions):
        if isinstance(now.argval, tuple) and "FAST" in now.opname:  # what is assigned, and what it is assigned to
            pair = names.local.get(now.argval[-1], _UNKNOWN)
        if now.opname == "STORE_GLOBAL":
            found.append((function.__globals__, now.argval))
        elif now.opname == "STORE_DEREF" and now.argval in code.co_freevars:
            found.append(((function.__closure__ or ())[code.co_freevars.index(now.argval)], now.argval))
        elif now.opname in ("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE"):
            target, _ = _called(instructions[: n + 1], names, pair)
            name = now.argval if now.opname == "STORE_ATTR" else None
            if not isinstance(target, _Given):
                found += [] if target is _UNKNOWN else [(target, name)]
            else:
                # An attribute alone may be the cell's own record, unless it is computed from what it was.
                writes = writes or name is None or (target.first and (target.inside or name in read))
                found += [(v, name) for v in named(_CONTAINERS if name is None else object)] if depth else []
        elif now.opname.startswith("CALL"):
            callee, method = _called(instructions[: n + 1], names)
            if method in _LIST_METHODS and isinstance(callee, types.BuiltinMethodType):
                loaded = [i.argval for i in instructions[:n] if _start(i) == _start(now) and i.opname.startswith("LOAD_")]
                found.append((callee.__self__, f"{loaded[-2]}[:]"))
            if depth and isinstance(callee, _Given) and method in (*_LIST_METHODS, *_ITEM_METHODS):
                found += [(v, None) for v in named(_CONTAINERS)]
            if callee is setattr:
                found += [(v, None) for v in named(object) if hasattr(v, "__dict__")]
            if isinstance(callee, types.BuiltinMethodType):
                found += effects(callee)[1]
            elif callable(callee) and not (isinstance(callee, type) or of_library(callee)):
                called.append(callee)
    for each in called:
        inner, more = effects(each, depth + 1, named(object))
        writes, found = writes or inner, [*found, *more]
    return writes, found


_CONTAINERS = (dict, list, set, deque)


class _Given(NamedTuple):
    """An argument that nobody knows yet: whether it may be the cell, and whether it is something inside of that."""

    first: bool
    inside: bool = False


# What nobody stores into.
_NO_OBJECTS = (_Given, type, types.ModuleType, types.FunctionType)


@functools.lru_cache(512)
def _read(code):
    """(the instructions of a piece of code, the attributes that it reads)."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _NO_CODE]
    return instructions, frozenset(i.argval for i in instructions if i.opname == "LOAD_ATTR")


def computes(fn: Callable[..., Any]) -> bool:
    """True if the code of `fn` says that it may return a value that it has computed or made: then it is no mere observer."""
    function, _ = _readable(fn)
    if function is None:
        return False
    instructions, _ = _read(function.__code__)
    ends = [end for n in range(len(instructions)) for end in _return_ends(instructions, n) if end]
    return any(instructions[end - 1].opname.startswith(_MAKES) for end in ends)


def _readable(fn):
    """(the Python function that a call of `fn` runs, None where its code can't be read; the object that is its first argument, or _UNKNOWN)."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    function, owner = getattr(fn, "__func__", fn), fn.__self__ if isinstance(fn, types.MethodType) else _UNKNOWN
    if not isinstance(function, types.FunctionType):
        function, owner = inspect.getattr_static(type(fn), "__call__", None), fn
    return (function if isinstance(function, types.FunctionType) and sys.version_info[:2] in READ else None), owner


_NO_CODE = ("CACHE", "EXTENDED_ARG")
# The operations by which Python computes or makes a value, or takes that of a variable; what a call or an item is, nobody knows.
_MAKES = ("BINARY_OP", "UNARY", "COMPARE", "BUILD", "LOAD_FAST", "LOAD_DEREF")
_RUNS_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def only_returns_none(fn: Callable[..., Any], depth: int = 0) -> bool:
    """True if a call of `fn`, which may be one in the code of another function, can only return None, as far as its code tells."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, (types.BuiltinFunctionType, types.MethodWrapperType)):
        owner = getattr(fn, "__self__", None)
        of_container = owner is not None and not isinstance(owner, types.ModuleType) and fn.__name__ in _NONE_METHODS
        return of_container or any(fn is known for known in _NONE_BUILTINS)
    function, owner = _readable(fn)
    if function is None or isinstance(fn, type) or function.__code__.co_flags & _RUNS_LATER or depth > 3:
        return False
    for returned in _returns(function.__code__):
        nothing = returned
        if not isinstance(returned, bool):
            callee, attribute = _called(returned, _names_in_function(function, owner))
            known = callee is not _UNKNOWN
            nothing = callable(callee) and only_returns_none(callee, depth + 1) if known else attribute in _LIST_METHODS
        if not nothing:
            return False
    return True


@functools.lru_cache(512)
def _returns(code) -> list[Any]:
    """For each value that may be returned: True (None), False (another one), or the instructions up to the call that gives it."""
    instructions, _ = _read(code)
    found = []
    for n, instruction in enumerate(instructions):
        if instruction.opname == "RETURN_CONST":
            found.append(instruction.argval is None)
        elif instruction.opname == "RETURN_VALUE":
            for end in _return_ends(instructions, n):
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
    ends = [n]
    # What jumps bring there are operands of `and`, `or` and `if`; 0 for jumps without a value.
    for i, instruction in enumerate(instructions[:n] if instructions[n].is_jump_target else ()):
        if "JUMP" in instruction.opname and instruction.argval == instructions[n].offset:
            end = i
            while instructions[end - 1].opname in ("COPY", "TO_BOOL"):
                end -= 1
            carries = end < i or instruction.opname.endswith("OR_POP") or instruction.opname == "JUMP_FORWARD"
            ends.append(end if carries else 0)
    return ends


def _called(instructions, names, callee=_UNKNOWN):
    """(callee, attribute name or None) of the call with which the instructions end; the callee may be _UNKNOWN.

    The callee is the expression that begins at the same position as the call; the arguments begin later. So does what is assigned to.

    Args:
        instructions: those of one function, from its beginning.
        names (_Names): what its names stand for.
        callee: with what the expression begins, if no instruction of its own tells.
    """
    start = _start(instructions[-1])
    attribute = None
    if start is None:
        return callee, attribute
    # Where Python has CALL_KW, the names of the keywords are a constant before it, at the position of the call.
    for instruction in instructions[: -2 if instructions[-1].opname == "CALL_KW" else -1]:
        name, arg = instruction.opname, instruction.argval
        # The compiler may copy the call itself into both branches of an argument.
        if (
            _start(instruction) != start
            or instruction.positions == instructions[-1].positions
            or name in ("PUSH_NULL", "KW_NAMES", "COPY", "SWAP", "BINARY_OP")  # the last three of ``self.calls += 1``
        ):
            continue
        attribute = None
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            callee = names.globals.get(arg, _UNKNOWN)
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            callee = names.closed.get(arg, _UNKNOWN)
        elif name.startswith("LOAD_FAST"):
            callee = names.local.get(arg, _UNKNOWN)
        elif name == "LOAD_CONST":
            callee = arg
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            callee, attribute = _attribute(callee, arg), arg
        elif not isinstance(callee, _Given):
            callee = _UNKNOWN
    return callee, attribute


def _start(instruction):
    where = instruction.positions
    return None if where is None or where.lineno is None else (where.lineno, where.col_offset)


# Looking up one of these runs no user code: it binds a function.
_BOUND = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, staticmethod, classmethod)


def _attribute(value, name):
    """value.name, or _UNKNOWN if looking it up would run user code."""
    if value is _UNKNOWN:
        return _UNKNOWN
    if isinstance(value, _Given):
        return value._replace(inside=True)
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        return _UNKNOWN
    if hasattr(type(found), "__get__") and not isinstance(found, _BOUND):
        return _UNKNOWN
    return getattr(value, name)


class _Names(NamedTuple):
    """What the names in a piece of code stand for, by kinds of variables; those that are missing can't be known.

    Attributes:
        constants: those of the code.
    """

    globals: Mapping[str, Any]
    closed: Mapping[str, Any]
    local: Mapping[str, Any]
    constants: tuple[Any, ...] = ()


def _names_in_function(function, owner):
    code, closed = function.__code__, {}
    for name, variable in zip(code.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # not assigned yet
            closed[name] = variable.cell_contents
    # Loops bind a name by a default such as log=log; hooks are called without it.
    defaults, count = function.__defaults__ or (), code.co_argcount
    local = dict(zip(code.co_varnames[count - len(defaults) : count], defaults))
    if owner is not _UNKNOWN:
        local |= dict.fromkeys(code.co_varnames[:1], owner)
    return _Names(ChainMap(function.__globals__, builtins.__dict__), closed, local)


# ---- where texts go

_SKIPPED = ("KW_NAMES", "NOP", "EXTENDED_ARG", "PRECALL", "RESUME")

# %s and its kin with a width or precision, or by name.
_FITTED = re.compile(r"%(\(|[^%a-zA-Z]+[sra])")


def goes_to_print(frame: types.FrameType | None) -> bool:
    """True if the text that the running instruction of a frame asks for goes into `print` or ``sys.stdout.write`` as it is.

    On the way there may be `str`, `repr`, an f-string, ``+``, ``%`` and `str.format`.
    """
    if frame is None:
        return False
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((i for i, instruction in enumerate(instructions) if instruction.offset == frame.f_lasti), None)
    if at is None:
        return False
    names = _Names(ChainMap(frame.f_globals, frame.f_builtins), frame.f_locals, frame.f_locals, frame.f_code.co_consts)
    if instructions[at].opname == "PRECALL":
        at += 1  # Python 3.11, once it has specialized the call to a builtin
    now = instructions[at]
    if now.opname.startswith("CALL"):
        callee = _called(instructions[: at + 1], names)[0]
        if callee is print:
            return _to_stdout(instructions, at, names)
        is_format = isinstance(getattr(callee, "__self__", None), str) and getattr(callee, "__name__", None) == "format"
        if callee is not str and callee is not repr and not is_format:
            return False
    elif now.opname == "BINARY_OP" and now.argrepr == "%":
        if not _plain_percent(instructions, at):
            return False
    elif not now.opname.startswith(("FORMAT_", "CONVERT_VALUE")):
        return False
    return _is_printed(instructions, at, names)


def _is_printed(instructions, at, names):
    """Follow the value that instruction `at` leaves on the stack to where it is used."""
    while True:
        at = _user(instructions, at)
        if at is None:
            return False
        now = instructions[at]
        if now.opname == "BUILD_STRING" or now.opname == "FORMAT_SIMPLE":
            continue
        if now.opname == "FORMAT_VALUE" and not now.arg & 6:  # neither repr or ascii of it nor a width
            continue
        if now.opname == "BINARY_OP" and now.argrepr == "+":
            continue
        if not now.opname.startswith("CALL"):
            return False
        callee = _called(instructions[: at + 1], names)[0]
        if callee is print:
            return _to_stdout(instructions, at, names)
        return getattr(callee, "__name__", None) == "write" and getattr(callee, "__self__", None) is sys.stdout


def _user(instructions, at):
    """The number of the instruction that takes from the stack what instruction `at` left there."""
    height = 1
    for i in range(at + 1, len(instructions)):
        now = instructions[i]
        if now.opname in _SKIPPED:
            if now.opname == "PRECALL":  # with CALL, one step in two
                height += dis.stack_effect(now.opcode, now.arg)
            continue
        if now.opcode in dis.hasjrel or now.opcode in dis.hasjabs:
            return None
        height += dis.stack_effect(now.opcode, now.arg if now.opcode >= dis.HAVE_ARGUMENT else None)
        if height <= 1:
            return i
    return None


def _to_stdout(instructions, at, names):
    """True if a call of print names no file."""
    now = instructions[at]
    if now.opname == "CALL_FUNCTION_EX":
        return not (now.arg or 0) & 1
    for before in reversed(instructions[:at]):
        if before.opname == "KW_NAMES" or (now.opname == "CALL_KW" and before.opname == "LOAD_CONST"):
            return "file" not in names.constants[before.arg]
        if before.opname not in _SKIPPED:
            return True
    return True


def _plain_percent(instructions, at):
    """True if the left operand of ``%`` is a constant that asks for no widths of texts."""
    start = instructions[at].positions
    for before in reversed(instructions[:at]):
        where = before.positions
        if (where.lineno, where.col_offset) == (start.lineno, start.col_offset):
            return before.opname == "LOAD_CONST" and isinstance(before.argval, str) and not _FITTED.search(before.argval)
    return False
