"""Events: what happens when a run of a program has come to a place. `hook_p` binds them together with the values that they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from msjax.core.hooks.returns import check_observer_result
from msjax.core.hooks.template import Template

if TYPE_CHECKING:
    from msjax.core.hooks.returns import HookLabel


class Code(Protocol):
    """The Python function that msjax writes of the events of a program, which runs after the program."""

    def name(self, value: Any) -> str:
        """A name in the function for an object."""
        ...

    def line(self, text: str) -> None:
        """Add a line to the function."""
        ...

    def present(self, get: Callable[[], Any]) -> str:
        """A name in the function for what `get` returns when the function begins."""
        ...


class _Drops:
    """Counts how often the calls that wait were dropped, as by Ctrl-C: what is left of those that run ends then."""

    count = 0


DROPS = _Drops()


class Event:
    """What happens at one place of a program.

    Attributes:
        what: how messages name it.
        first: whether it happens before all other events of the run; of several such, those with the larger number come first.
        observes: whether it is a call of user code, which may change what programs are compiled for.
        bounds: whether it changes what is called if a later event fails, see `msjax.core.hooks.boundaries`.
        collected: whether callbacks bring its values for the code that runs after the program; otherwise it happens at once.
    """

    what: Any = ""
    first: int = False
    observes = False
    collected = False
    bounds = False

    def __call__(self, arrays: Sequence[Any]) -> None:
        """Let it happen, with the values of a run."""
        raise NotImplementedError

    def write(self, code: Code, outputs: Sequence[str]) -> None:
        """Write the code that lets it happen, with code for its values."""
        code.line(f"{code.name(self)}([{', '.join(outputs)}])")

    def present(self) -> Callable[[Sequence[Any]], None]:
        """What lets it happen in a run that begins now."""
        return self

    def follows(self, other: Event) -> bool:
        """Whether both call observers of one kind of one call, which may change, and this is a later one."""
        return False

    def all_lanes(self, arrays: Sequence[Any], lanes: int) -> None:
        """Let it happen once for each example of `lanes` nested vmaps, with that example's values."""
        if not lanes:
            self(arrays)
            return
        drops = DROPS.count
        for i in range(arrays[0].shape[0]):
            if DROPS.count == drops:
                self.all_lanes([a[i] for a in arrays], lanes - 1)


class HookCall(Event):
    """The call of an observer.

    Args:
        fn: the hook, which returns None.
        head: a tuple of functions whose results are the first arguments; the module, for most hooks.
        args: a Template of the other arguments.
        what: names the hook in messages.
    """

    observes = True

    def __init__(self, fn: Callable[..., Any], head: tuple[Callable[[], Any], ...], args: Template, what: HookLabel | str):
        self.fn = fn
        self.head = head
        self.args = args
        self.what = what

    def __call__(self, arrays: Sequence[Any]) -> None:
        result = self.fn(*[get() for get in self.head], *self.args.fill(arrays))
        if result is not None:
            check_observer_result(result, self.what)

    def write(self, code: Code, outputs: Sequence[str]) -> None:
        head = "".join(f"{code.name(get)}(), " for get in self.head)
        code.line(f"r = {code.name(self.fn)}({head}*{self.args.source(code.name, outputs)})")
        code.line(f"if r is not None: {code.name(check_observer_result)}(r, {code.name(self.what)})")


class OwnCall(HookCall):
    """The call of a function of msjax, which changes nothing that programs are compiled for.

    Args:
        first: see `Event.first`.
    """

    observes = False

    def __init__(self, fn: Callable[..., Any], args: Template, what: str, first: int = False):
        super().__init__(fn, (), args, what)
        self.first = first


@dataclass(frozen=True)
class Bound:
    """An event as a part of an equation `hook_p`, which may have several.

    Attributes:
        event: the Event.
        at: which of the equation's operands are its values.
        lanes: how many vmaps are around it.
    """

    event: Event
    at: tuple[int, ...]
    lanes: int = 0

    def __call__(self, operands: Sequence[Any]) -> None:
        self.event.all_lanes([operands[i] for i in self.at], self.lanes)

    def present(self) -> Callable[[Sequence[Any]], None]:
        """The same with what lets the event happen now."""
        if self.lanes:
            return self
        happens = self.event.present()
        return lambda operands: happens([operands[i] for i in self.at])

    def renumbered(self, numbers: Sequence[int]) -> Bound:
        """The same in an equation that has operand number i at ``numbers[i]``."""
        return Bound(self.event, tuple(numbers[i] for i in self.at), self.lanes)
