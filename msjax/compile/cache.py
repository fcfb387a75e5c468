"""Where compiled programs are kept: with the cell or function that they were made of, to go when it goes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msjax.compile.compiled import Compiled


_OTHERS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def compiled_for(owner: object, salt: Hashable, make: Callable[[Any], Compiled]) -> Compiled:
    """The Compiled of an owner for a purpose, made when it is first asked for.

    Args:
        owner: a cell or function.
        salt: hashable; the purpose.
        make: a function from a weak reference to the owner to the Compiled.
    """
    by_salt = getattr(owner, "compiled_families", None)
    if by_salt is None:
        by_salt = {}
        try:
            # Hooks may hold the cell: kept on the cell itself, all of it is found by the garbage collector.
            object.__setattr__(owner, "compiled_families", by_salt)
        except (AttributeError, TypeError):
            try:
                by_salt = _OTHERS.setdefault(owner, by_salt)
            except TypeError:  # no weak references to it: compiled anew at each call
                return make(lambda: owner)
    found = by_salt.get(salt)
    if found is None:
        found = by_salt[salt] = make(weakref.ref(owner))
    return found
