"""Whether operators are recorded: no_grad, enable_grad and set_grad_enabled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from msjax.common.run_state import STATE
from msjax.core.base import jax_slots
from msjax.core.base.checks import check_kind

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]


_F = TypeVar("_F", bound=Callable[..., Any])


class _Recording:
    """A context manager and decorator that sets whether operators are recorded, in this thread."""

    # What was set before, where the setting holds from the beginning, not only in the block.
    _until_made: Any = None

    _recording: bool

    def __init__(self):
        self._before: list[tuple[bool, Any]] = []

    def __enter__(self) -> Self:
        self._before.append(self._until_made or (STATE.recording, STATE.stopped))
        self._set()
        return self

    def _set(self):
        STATE.recording, STATE.stopped = self._recording, None if self._recording else jax_slots.trace_state()

    def __exit__(self, *_exception: Any) -> None:
        STATE.recording, STATE.stopped = self._before.pop()

    def __call__(self, fn: _F) -> _F:
        """Decorate `fn` so that this setting holds whenever it runs."""
        fits = callable(fn) and not inspect.isgeneratorfunction(fn)
        check_kind(
            fn, fits, "be a function that is no generator; within one, use `with`", "what it decorates", type(self).__name__
        )

        @functools.wraps(fn)
        def call(*args, **kwargs):
            with enable_grad() if self._recording else no_grad():
                return fn(*args, **kwargs)

        return call  # pyright: ignore[reportReturnType]


class no_grad(_Recording):
    """Switches recording off: results require no gradient, and nothing is kept in memory for one.

    Usable as a context manager and as a decorator. Gradient functions such as `ms.grad` still record inside it. Where jax
    differentiates, it holds for Tensors at the level at which it is entered: a function that `jax.lax.scan`, `jax.jit` and the
    like call is traced once for all callers, and has it in its own code where it should hold.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor([1.0, 2.0]).requires_grad_()
        >>> with ms.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    _recording = False

    @overload
    def __new__(cls, fn: None = None) -> Self: ...
    @overload
    def __new__(cls, fn: _F) -> _F: ...
    def __new__(cls, fn: Callable[..., Any] | None = None) -> Any:
        # `@ms.no_grad` without parentheses decorates, too.
        made = super().__new__(cls)
        if fn is None:
            return made
        made.__init__()
        return made(fn)


class enable_grad(_Recording):
    """Switches recording on, even inside `no_grad`. Usable as a context manager and as a decorator.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor([1.0, 2.0]).requires_grad_()
        >>> with ms.no_grad(), ms.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    _recording = True


class set_grad_enabled(_Recording):
    """Switches recording on or off from this call on; used as a context manager, until the end of the block.

    Args:
        mode (bool): True to record.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor(1.0).requires_grad_()
        >>> with ms.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.requires_grad, ms.is_grad_enabled()
        (False, True)
    """

    def __init__(self, mode: bool):
        super().__init__()
        self._recording = bool(mode)
        self._until_made = STATE.recording, STATE.stopped
        self._set()

    def __call__(self, fn: _F) -> _F:
        STATE.recording, STATE.stopped = self._until_made
        return super().__call__(fn)


def is_grad_enabled() -> bool:
    """Whether operators are recorded; False under `no_grad` and in the hooks of a backward pass.

    Example:
        >>> import msjax as ms
        >>> ms.is_grad_enabled()
        True
    """
    return STATE.recording
