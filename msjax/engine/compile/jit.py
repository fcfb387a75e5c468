"""jit: functions and methods compiled into one program for each signature; graph mode, where the call of a network, and of its gradient
function, is one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.run_state import COMPILER, ROOT, STATE
from msjax.common.tensor import being_traced
from msjax.core.base.checks import check_options
from msjax.core.base.errors import shorten
from msjax.core.base.typing import CompiledFunction
from msjax.core.base.weak import LiveSet
from msjax.core.door import ACTIVITY, WORKER
from msjax.engine.autograd.recording import check_function_or_cell
from msjax.engine.compile.compiled import Compiled, compiled_for

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Options(TypedDict, total=False):
    """What MindSpore's `jit` takes besides, in one release or another: nothing of it makes a difference to a program of XLA."""

    capture_mode: str
    jit_level: str
    dynamic: int
    backend: str
    disable_format_transform: bool
    exec_order: str
    ge_options: dict[str, Any]
    auto_offload: str
    infer_boost: str
    exc_mode: str
    jit_syntax_level: str
    debug_level: str
    mode: str
    input_signature: Any
    hash_args: Any
    jit_config: Any
    compile_once: bool


_KNOWN = ("fullgraph", *Options.__annotations__)


@overload
def jit(function: Callable[_P, _R], *, fullgraph: bool = False, **options: Unpack[Options]) -> CompiledFunction[_P, _R]: ...
@overload
def jit(
    function: None = None, *, fullgraph: bool = False, **options: Unpack[Options]
) -> Callable[[Callable[_P, _R]], CompiledFunction[_P, _R]]: ...
def jit(function: Callable[..., Any] | None = None, *, fullgraph: bool = False, **options: Unpack[Options]) -> Any:
    """Compile a function, method or Cell: its calls run as one XLA program.

    It is compiled once for each combination of shapes and dtypes of its Tensors, of the values of its other arguments,
    and of the settings of the cells and the hooks that it uses. Parameters, buffers and Tensors that it reads or writes
    are inputs and outputs of the program, however it reaches them.

    Hooks work as in PyNative mode. One that returns None is called after each run, with concrete values and in order;
    one that returns a value is part of the program.

    Args:
        function (callable): what is compiled. Left out, a decorator is returned.
        fullgraph (bool): True makes it an error, and not a warning, if the function can't be compiled.
        **options: MindSpore's other options, such as `jit_level`, `backend` and `input_signature`; without effect, since each signature
            gets a program of its own.

    Returns:
        A function that is called like `function`. Its method ``compilations()`` says how often it was compiled.

    Raises:
        TypeError: `function` is not callable, or there is no such option.

    Example:
        >>> import msjax as ms
        >>> @ms.jit
        ... def f(x, y):
        ...     return x * y + 1
        >>> print(f(ms.Tensor(2.0), ms.Tensor(3.0)))
        7.0
    """
    check_options(options, _KNOWN, "jit")
    if function is None:
        return functools.partial(jit, fullgraph=fullgraph)
    check_function_or_cell(function, "jit", "the argument")
    return _jitted(function, fullgraph)


def ms_function(
    fn: Callable[..., Any] | None = None, obj: object = None, input_signature: object = None, *,
    fullgraph: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """MindSpore 1's name of `jit`."""
    check_options(options, _KNOWN, "ms_function")
    return jit(fn, fullgraph=fullgraph) if fn is not None else functools.partial(ms_function, fullgraph=fullgraph)


def _jitted(function, fullgraph):
    name = getattr(function, "__qualname__", type(function).__name__)
    is_cell = isinstance(function, nnx.Module)
    whole = Compiled(lambda subject, args, kwargs: subject(*args, **kwargs), lambda: function, name, fullgraph=fullgraph)
    made: LiveSet[Compiled] = LiveSet()  # of a method: each cell has programs of its own
    method = not is_cell and _is_method(function)

    def of_cell(ref):
        compiled = Compiled(
            lambda cell, args, kwargs: function(cell, *args, **kwargs), ref, name, roots=(function,), fullgraph=fullgraph
        )
        made.add(compiled)
        return compiled

    def call(*args, **kwargs):
        if _inlined(args, kwargs):
            return function(*args, **kwargs)
        if WORKER.failures.first is not None:
            WORKER.raise_pending()
        try:
            if method and args and isinstance(args[0], nnx.Module):
                return compiled_for(args[0], call, of_cell).call(args[1:], kwargs)
            return whole.call(args, kwargs)
        except Exception as error:
            shorten(error)
            raise

    def compilations():
        """How often the function was compiled."""
        return whole.compilations + sum(f.compilations for f in made)

    if not is_cell:
        functools.update_wrapper(call, function)
    call.compilations = compilations
    return call


def _inlined(args, kwargs) -> bool:
    """True where a call is part of a program that is being compiled already, by msjax or by jax, or where a monitor of this thread wants to see
    operators run one by one, in PyNative mode."""
    return (ACTIVITY.slow_dispatch and STATE.monitor is not None and STATE.monitor.eager) or being_traced(args, kwargs)


def _is_method(function) -> bool:
    try:
        return next(iter(inspect.signature(function).parameters), "") == "self"
    except (TypeError, ValueError):
        return False


def call_cell(cell: CellBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    """Run the call of a cell as one program.

    Returns:
        (True, result), or (False, None) where the call is part of something else: of another cell, of a program, or of
        a gradient function that runs in PyNative mode.
    """
    if _within(args, kwargs):
        return False, None
    name = type(cell).__name__
    compiled = compiled_for(cell, "call", lambda ref: Compiled(lambda cell, *call: cell.call_uncompiled(*call), ref, name))
    return True, compiled.call(args, kwargs)


def _within(args, kwargs) -> bool:
    """True where a call is part of something else, so that it is no program of its own."""
    if STATE.owners or STATE.scope is not ROOT or _inlined(args, kwargs):
        return True
    if WORKER.failures.first is not None:
        WORKER.raise_pending()
    return False


def whole(
    function: Callable[..., Any],
    purpose: tuple[Any, ...],
    body: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    roots: tuple[Any, ...] = (),
) -> tuple[bool, Any]:
    """Run a gradient function as one program.

    Args:
        function: what is differentiated.
        purpose: hashable; what of it is computed. It begins with a word for messages.
        body: the gradient function, called as ``body(function, args, kwargs)``; it holds no reference to `function`.
        roots: Parameters that it uses besides.

    Returns:
        As `call_cell`.
    """
    if _within(args, kwargs):
        return False, None
    owner = getattr(function, "__self__", None)
    name = f"{purpose[0]} of {getattr(function, '__qualname__', type(function).__name__)}"
    if isinstance(owner, nnx.Module):
        inner = function.__func__
        method = inner.__name__
        compiled = compiled_for(owner, (*purpose, inner), lambda ref: Compiled(body, lambda: getattr(ref(), method), name, roots))
    else:
        compiled = compiled_for(function, purpose, lambda ref: Compiled(body, ref, name, roots))
    return True, compiled(args, kwargs)


COMPILER.whole = whole
COMPILER.call_cell = call_cell
