"""The place of compiled programs: the cell or function that they were made of, so that they go when it goes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msjax.engine.compile.compiled import Compiled


# {owner: {purpose: Compiled}} of owners that have no attributes.
_OTHERS: weakref.WeakKeyDictionary[Any, dict[Hashable, Compiled]] = weakref.WeakKeyDictionary()


def compiled_for(owner: object, purpose: Hashable, make: Callable[[Any], Compiled]) -> Compiled:
    """The Compiled of an owner for a purpose, made when it is first asked for.

    Args:
        owner: a cell or function.
        purpose: what of it is compiled: its call, or a certain gradient.
        make: makes it from a weak reference to the owner.
    """
    by_purpose = getattr(owner, "compiled_families", None)
    if by_purpose is None:
        by_purpose = {}
        try:
            # Hooks may hold the cell: kept on the cell itself, all of it is found by the garbage collector.
            object.__setattr__(owner, "compiled_families", by_purpose)
        except (AttributeError, TypeError):
            try:
                by_purpose = _OTHERS.setdefault(owner, by_purpose)
            except TypeError:  # no weak references to it: compiled anew at each call
                return make(lambda: owner)
    found = by_purpose.get(purpose)
    if found is None:
        found = by_purpose[purpose] = make(weakref.ref(owner))
    return found
