"""Events: hook calls, printed text and flags of tools in a traced program. The primitive `hook_p` binds an event with its values. `Template`
makes what they are given anew after each run: nested containers with holes in the places of the arrays that the program computes.

An observer is called through a slot, a position in a list of hooks: the program looks up who stands there at each run, so observers may come
and go without a new program. Modifiers are part of the program: their functions and options are in its key.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import is_tracer, rows_of
from msjax.core.base.state import ACTIVITY
from msjax.core.hooks.kinds import HookPlace, ValueKind, check_observer_result


def each_lane(run: Callable[[Sequence[Any]], Any], arrays: Sequence[Any], lanes: int) -> None:
    """Call a function once for each example of `lanes` nested vmaps, with that example's values."""
    if not lanes:
        run(arrays)
        return
    drops = ACTIVITY.drops
    for row in zip(*map(rows_of, arrays)):
        if ACTIVITY.drops == drops:
            each_lane(run, row, lanes - 1)


class Slot:
    """A position in one list of hooks.

    Args:
        present: returns the owner's current hook table, or another object with a tuple of hooks as attribute for each kind.
        kind: "forward" and the like.
        number: the index in the list of hooks of this kind.
        key: of the hook at this index while the program is traced.

    Attributes:
        follows: whether there is another one before it in the list.
    """

    __slots__ = ("_key", "_kind", "_number", "_present", "follows")

    def __init__(self, present: Callable[[], Any], kind: str, number: int, key: Hashable):
        self._present, self._kind, self._number, self._key = present, kind, number, key
        self.follows: bool = number > 0 and any(hook.in_slot for hook in getattr(present(), kind, ())[:number])

    def hook(self) -> HasFunction:
        """The hook that is there now; one that does nothing if there is none."""
        hooks = getattr(self._present(), self._kind, ())
        if self._number < len(hooks) and hooks[self._number].key == self._key:
            return hooks[self._number]
        return NOBODY


class HasFunction:
    """What stands in the place of a `Hook`: it has its function only."""

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn


NOBODY = HasFunction(lambda *_args: None)


class Event:
    """One call at one place of a program: of an observer, of the hook that is in a slot, or of a function of msjax's own, as for printed text.

    Args:
        fn: the function, which returns None; of a slot, the hook that was there when the program was traced.
        args: a Template of its arguments.
        place: where it stands, for messages.
        slot: the slot, if it is a hook that is in one.

    Attributes:
        observes: whether it is a call of user code, which may change what programs are compiled for.
        first: whether it runs before all other events of the program; of several such, those with the larger number come first.
        collected: whether a callback keeps its values for the code that runs after the program; otherwise the callback runs it.
    """

    observes = True
    first: int = False
    collected = False

    def __init__(self, fn: Callable[..., Any], args: Template, place: HookPlace, slot: Slot | None = None):
        own = HasFunction(fn)
        # The present hook: a program keeps none that comes and goes.
        self.hook: Callable[[], HasFunction] = (lambda: own) if slot is None else slot.hook
        self.args = args
        self.place = place
        self.slot = slot

    @classmethod
    def own(cls, fn: Callable[..., Any], values: Sequence[Any], what: str, first: int = False) -> tuple[Event, list[Any]]:
        """(a call of a function of msjax's own, which changes nothing that programs are compiled for, the arrays that it needs).

        Args:
            fn: called with what `values` are in a run: nested lists and tuples of arrays of the program.
        """
        event = cls(fn, Template(tuple(values), ValueKind()), HookPlace(what))
        event.observes, event.first = False, first
        return event, event.args.taken()

    @property
    def what(self) -> str:
        """How messages name it."""
        return self.place.text(self.hook().fn) if self.observes else self.place.kind

    def call(self, fn: Callable[..., Any], given: Sequence[Any]) -> None:
        """Call the hook of this place; an exception of a user's hook gets a note that names the hook."""
        try:
            result = fn(*given)
        except Exception as error:
            if self.observes:
                self.place.note(error, fn)
            raise
        if result is not None:
            check_observer_result(result, self.place, fn)


class Standing:
    """Runs the events of one run, given in the order in which they come, each with the hook that its slot has then.

    All observers of one call of a module are looked up when the first of them runs, since a hook may remove itself.
    """

    def __init__(self, events: Iterable[Event]):
        self._together: dict[Event, list[Event]] = {together[0]: together for together in in_lists(events)}
        self._fns: dict[Event, Callable[..., Any]] = {}

    def __call__(self, event: Event, arrays: Sequence[Any], lanes: int = 0) -> None:
        """Run an event with the values that the run has computed; `lanes` vmaps are around it."""
        for each in self._together.get(event, ()):
            self._fns[each] = each.hook().fn
        fn = self._fns[event]
        each_lane(lambda row: event.call(fn, event.args.fill(row)), arrays, lanes)


def in_lists(events: Iterable[Event]) -> list[list[Event]]:
    """The events in lists: one for all observers of a call of a module, and one for each other event."""
    lists: list[list[Event]] = []
    for event in events:
        if lists and event.slot is not None and event.slot.follows:
            lists[-1].append(event)
        else:
            lists.append([event])
    return lists


@dataclass(frozen=True)
class BoundEvent:
    """One event of an equation `hook_p`, which may have several, and the numbers of its operands.

    Attributes:
        at: which of the equation's operands are its values.
        lanes: how many vmaps are around it.
    """

    event: Event
    at: tuple[int, ...]
    lanes: int = 0

    def __call__(self, operands: Sequence[Any], standing: Standing) -> None:
        standing(self.event, [operands[i] for i in self.at], self.lanes)


# ---- what an event, or the call of a program, is given: made anew of the values of each run


def _keys(impl, value):
    """Random keys; made anew from their data, which is what a callback brings."""
    return value if isinstance(value, jax.Array) else jax.random.wrap_key_data(value, impl=impl)


class Template:
    """A value to be made anew after each run of a program, by Python code that is written once.

    Args:
        tree: the value while the program is traced. Its traced values become holes; other values are made anew around the same
            array, and all else is the same object each time.
        weakly: a class whose instances are held weakly.
        head: functions whose results come before the items of `tree`, a tuple then; the module, for most hooks.

    Attributes:
        arrays: while the program is traced, the arrays for the holes, in order; taken by `taken`.
    """

    def __init__(self, tree: Any, values: ValueKind, weakly: tuple[type, ...] = (), head: tuple[Callable[[], Any], ...] = ()):
        self.arrays: list[Any] = []
        # The code: texts, numbers of holes, and each object that the code names, in a tuple.
        self._code: list[Any] = []
        if head:
            self._code += "(", *[part for get in head for part in ((get,), "(), ")]
            self._add_all(tree, ("", ")"), values, weakly)
        else:
            self._add(tree, values, weakly)

    def taken(self) -> list[Any]:
        """Take the arrays for the holes out of the template."""
        arrays, self.arrays = self.arrays, []
        return arrays

    def _add(self, value, values, weakly):
        """Add the code for a part of the value."""
        code = self._code
        if values.is_value(value) and not values.is_fixed(value):
            array = values.raw(value)
            code += (values.made,), "("
            if is_tracer(array):
                self._add_hole(array)
            else:
                code.append((array,))
            code.append(")")
        elif value.__class__ in (tuple, list):
            self._add_all(value, "()" if value.__class__ is tuple else "[]", values, weakly)
        elif value.__class__ is dict:
            code.append("{")
            for key, item in value.items():
                code += (key,), ": "
                self._add(item, values, weakly)
                code.append(", ")
            code.append("}")
        elif is_tracer(value):
            self._add_hole(value)
        elif isinstance(value, weakly):
            code += (weakref.ref(value),), "()"
        else:
            leaves, treedef = jax.tree.flatten(value, is_leaf=values.is_leaf)
            if len(leaves) == 1 and leaves[0] is value:  # the same object each time
                code.append((value,))
            else:
                code += (jax.tree.unflatten,), "(", (treedef,), ", "
                self._add_all(leaves, "[]", values, weakly)
                code.append(")")

    def _add_all(self, items, brackets, values, weakly):
        self._code.append(brackets[0])
        for item in items:
            self._add(item, values, weakly)
            self._code.append(", ")
        self._code.append(brackets[1])

    def _add_hole(self, array):
        number = next((n for n, known in enumerate(self.arrays) if known is array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            self._code += (functools.partial(_keys, jax.random.key_impl(array)),), "(", number, ")"
        else:
            self._code.append(number)

    @functools.cached_property
    def fill(self) -> Callable[[Sequence[Any]], Any]:
        """A function from the arrays for the holes to the value."""
        return self.filled_from(None)

    def filled_from(self, numbers: Sequence[int] | None) -> Callable[[Sequence[Any]], Any]:
        """A function from arrays to the value; `numbers` says which of them are for the holes, None for all in order."""
        names: dict[str, Any] = {}

        def name(value):
            key = f"k{len(names)}"
            names[key] = value
            return key

        code = [
            p if p.__class__ is str else f"o[{p if numbers is None else numbers[p]}]" if p.__class__ is int else name(p[0])
            for p in self._code
        ]
        return eval(f"lambda o: {''.join(code)}", names)
