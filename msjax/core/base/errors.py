"""Names of cells, values and functions for messages, and checks of callables."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax

from msjax.core.base.libraries import FOLDER
from msjax.core.base.state import STATE


def cell_path(owners: Sequence[Any]) -> str:
    """The innermost of the cells that are running as ``Net.block.fc1 (Dense)``; the empty string outside of cells."""
    if not owners:
        return ""
    path, cls = owners[-1]._named_in(owners[:-1])
    return path if path == cls else f"{path} ({cls})"


def owner_named(owners: Sequence[Any]) -> str:
    """The innermost of the owners of hooks that are running as ``cell Net.fc1 (Dense)``, or ``module blocks.0 (Linear)``; "" outside of all."""
    return f"{owners[-1]._owner_noun} {cell_path(owners)}" if owners else ""


def shorten(error: BaseException, keep: int = 0) -> None:
    """Take msjax's own frames, but so many outermost ones, out of the traceback of an error that is a report: its class has `brief_traceback`."""
    if not getattr(error, "brief_traceback", False):
        return
    kept, entry = [], error.__traceback__
    while entry is not None:
        own = entry.tb_frame.f_code.co_filename.startswith(FOLDER)
        if not own or keep:
            kept.append(entry)
        keep -= bool(own and keep)
        entry = entry.tb_next
    last = None
    for entry in reversed(kept):
        last = types.TracebackType(last, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = last


def has_note(error: BaseException, begins: str | tuple[str, ...]) -> bool:
    """Whether an exception has a note that begins so, or with one of these."""
    return any(note.startswith(begins) for note in getattr(error, "__notes__", ()))


def raised_by(error: BaseException, what: str) -> None:
    """Add a note that says what has raised an exception, unless it has one."""
    if not has_note(error, "raised by "):
        error.add_note(f"raised by {what}")


def where() -> str:
    """`` in cell Net.fc1 (Dense)``, ready to be put into a message; empty outside of cells and modules."""
    owner = owner_named(STATE.owners)
    return f" in {owner}" if owner else ""


def describe(value: Any) -> str:
    """A value as messages name it: shape and dtype of a tensor, the type and value of something small."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "dtype"):
        # jax has several classes of arrays, those that it traces among them.
        name = "array" if isinstance(value, jax.Array) else type(value).__name__
        return f"{name}(shape={list(shape)}, dtype={value.dtype})"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(describe(v) for v in value[:4]) + (", ..." if len(value) > 4 else "")
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, dict):
        return (
            "dict {" + ", ".join(f"{k!r}: {describe(v)}" for k, v in [*value.items()][:4]) + (", ...}" if len(value) > 4 else "}")
        )
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 40 else type(value).__name__


def near(text: str, names: Iterable[str]) -> str:
    """The end of a sentence, which lists the names most like a text; empty if none is like it."""
    found = difflib.get_close_matches(text, list(names), n=3, cutoff=0.6)
    return f"; nearest to {text!r}: {', '.join(map(repr, found))}" if found else ""


def number_among(name: str, names: Iterable[str]) -> int:
    """The number of a name among others; KeyError if it is none of them."""
    names = list(names)
    if name not in names:
        raise KeyError(f"{name!r}; found are {', '.join(map(repr, names[:30]))}{near(name, names)}")
    return names.index(name)


def callable_name(fn: Callable[..., Any]) -> str:
    """A hook or function as messages name it: its qualified name and where it is defined."""
    fn = getattr(fn, "__wrapped__", fn)
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


@contextlib.contextmanager
def on_behalf_of(name: str) -> Iterator[None]:
    """A context, or a decorator: messages of the functions that are used within name the function that the user has called."""
    before, STATE.called = STATE.called, STATE.called or name
    try:
        yield
    finally:
        STATE.called = before


@contextlib.contextmanager
def noting(what: str) -> Iterator[None]:
    """A context for code of the user's: its exceptions say that they were raised by `what`; messages of msjax itself name it anyway."""
    try:
        yield
    except Exception as error:
        if not str(error).startswith("For '"):
            raised_by(error, what)
        raise


@contextlib.contextmanager
def noting_writes() -> Iterator[None]:
    """A context for a traced call: flax's error where it writes to an nnx module that it doesn't have as an argument says what to do."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "TraceContextError" and not has_note(error, "msjax: "):
            error.add_note(
                "msjax: traced code can write only to nnx modules that it has as arguments (BatchNorm writes its statistics unless model.eval() was "
                "called): give it the model as an argument, or give the model itself."
            )
        raise


def called(default: str) -> str:
    """The name of the function that the user has called; `default` if that is the one that asks."""
    return STATE.called or default


def check_function(fn: Any, who: str, what: str = "function", arguments: Sequence[str] = ()) -> Any:
    """`fn`; TypeError unless it, which messages call `what`, can be called, and with these positional arguments if there are any."""
    if not callable(fn):
        raise TypeError(f"For '{called(who)}', the {what} must be callable, but got {describe(fn)}.")
    if arguments:
        check_arity(fn, who, arguments, what)
    return fn


def check_arity(
    fn: Callable[..., Any], who: str, arguments: Sequence[str], what: str = "hook", keywords: Sequence[str] = ()
) -> None:
    """TypeError unless `fn`, which messages call `what`, takes these positional arguments, and these keywords.

    Builtins and what has no signature are not looked at; Python's own types, such as int, take no arrays that are traced.
    """
    if isinstance(fn, types.BuiltinFunctionType):  # whose signature Python parses from a text, in 0.1 ms
        return
    if isinstance(fn, type) and fn.__module__ == "builtins":
        raise TypeError(f"For '{called(who)}', the {what} must be a function, but got {describe(fn)}.")
    try:
        # Of what is called: a wrapper made by functools.wraps may take other arguments than what it wraps.
        signature = inspect.signature(fn, follow_wrapped=False)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments, **dict.fromkeys(keywords))
    except TypeError as error:
        given = ", ".join([*arguments, *(f"{keyword}=..." for keyword in keywords)])
        raise TypeError(
            f"For '{called(who)}', the {what} is called as {what}({given}), but {callable_name(fn)} takes {signature}: {error}."
        ) from None


def check_hook(fn: Callable[..., Any], who: str, observe: bool | None = None, traced: bool | None = None) -> None:
    """Check a hook and what its user says of it.

    Raises:
        TypeError: `fn` can't be called, a call of it would not run it (a coroutine or generator function), or `observe` or
            `traced` is neither a bool nor None.
        ValueError: `observe` and `traced` contradict each other.
    """
    check_function(fn, who, "hook function")
    code = inspect.unwrap(fn.func if isinstance(fn, functools.partial) else fn)
    for function in (code, inspect.getattr_static(type(code), "__call__", None)):
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(
                f"For '{who}', the hook {callable_name(fn)} is a coroutine or generator function: calling it runs nothing of it. "
                "Give a plain function (def without yield); it may hand work to an event loop or a queue."
            )
    for name, value in (("observe", observe), ("traced", traced)):
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"For '{who}', '{name}' should be True, False or None, but got {describe(value)}.")
    if observe is not None and observe is traced:
        raise ValueError(
            f"For '{who}', observe={observe} and traced={traced} contradict each other: a hook either observes (it is called after "
            "each run of a compiled program) or is traced as part of the program. Give one of them."
        )
