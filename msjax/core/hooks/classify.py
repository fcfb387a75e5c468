"""Whether hooks are observers or modifiers: as the user says, or else as their code tells, without running them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.core.base import code


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
    """True if a call of a hook can only return None, as far as its code tells."""
    return code.only_returns_none(users_hook(fn))


def computes(fn: Callable[..., Any]) -> bool:
    """True if the code of a hook says that it may return a value that it has computed or made: then it is no mere observer."""
    return code.computes(users_hook(fn))
