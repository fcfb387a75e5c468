"""Hooks that stay ready beside a model: the next block of a tool like an earlier one finds that one's hooks, and so its programs.

A program is found by its hooks. If each ``with tools.guard(net):`` made new ones, each would compile a program, which jax keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from msjax.core.base.weak import Recent, identity
from msjax.core.models.frameworks.framework import registry_of

T = TypeVar("T", bound="Standing")

# So many are kept of one model, those that were used last: a function as an option may be a new one each time.
_MOST = 8
_OF_MODELS: Recent[Hashable, Recent[Any, Any]] = Recent()


class Standing:
    """The hooks of one tool for one model, and what programs with them refer to. It keeps the model alive only while a block uses it.

    Attributes:
        hooks: a set of hooks, with methods `on` and `off`.
        user: the tool whose block it is; None between blocks.
    """

    hooks: Any
    user: Any = None


def standing(model: Any, key: Hashable, make: Callable[[], T], user: Any) -> T:
    """The `Standing` of a model (of all copies of what `hooks.hooked` made) and of what it depends on, with a user: made once in the model's life by
    `make`, which must not refer to the model strongly; a second one while a block uses the first."""
    registry = registry_of(model)
    anchor = model if registry is None else registry.life()
    found = _OF_MODELS.of(identity(anchor), Recent, math.inf, (anchor,)).of(key, make, _MOST)
    if found.user is not None:
        found = make()
    found.user = user
    return found
