"""Iterators that compiled code makes as sequences: those of generator expressions, `map`, `filter`, `zip` and `enumerate`.

In MindSpore's compiled functions these are lists and tuples, which have a length and items and can be passed over twice; Python's iterators are
empty at the second pass, and a sum over them is 0 in silence. So while a program is traced, the user's functions have code that makes a
`Lazy` of each: a sequence that takes its items from the iterator as they are asked for, and keeps them. Its first pass therefore calls hooks and
prints in the order of PyNative mode. Nothing but names and constants of the code is exchanged, so that line numbers, closures and
variables are the same; afterwards the functions have their own code again, which guards and keys on disk are made of.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from msjax.core.base.code import cell_contents, names_in
from msjax.core.base.libraries import is_library
from msjax.engine.compile.guards import Guard, Name


class _Pass:
    """An iterator over the items of a `Lazy`."""

    def __init__(self, lazy: Lazy):
        self._lazy: Lazy | None = lazy
        self._at = 0

    @property
    def ended(self) -> bool:
        return self._lazy is None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._lazy is None:
            raise StopIteration
        try:
            found = self._lazy.item(self._at)
        except StopIteration:
            self._lazy = None
            raise
        self._at += 1
        return found


def _no_pass():
    return None


class Lazy:
    """A list or tuple of what an iterator gives, taken when it is asked for.

    Where code calls `next` on it, it goes on as the iterator that it is in PyNative mode: a pass that is under way then has one item less,
    and one that comes later begins with the next item.

    Args:
        source: gives the items.
        kind: list or tuple, which it is to `isinstance`.
    """

    def __init__(self, source: Iterable[Any], kind: type):
        self._source = iter(source)
        self._items: list[Any] = []
        self._kind = kind
        self._next = 0
        self._under_way: Callable[[], _Pass | None] = _no_pass  # a weak reference

    @property
    def __class__(self) -> Any:
        return self._kind

    def __iter__(self) -> Iterator[Any]:
        if self._next:
            return self
        begun = _Pass(self)
        self._under_way = weakref.ref(begun)
        return begun

    def item(self, at: int) -> Any:
        """The item of that number; StopIteration where there is none."""
        if at == len(self._items):
            self._items.append(next(self._source))
        return self._items[at]

    def __next__(self) -> Any:
        under_way = self._under_way()
        if under_way is not None and not under_way.ended:
            return next(under_way)
        found = self.item(self._next)
        self._next += 1
        return found

    def whole(self) -> Any:
        """All items, as a list that is kept, or as a tuple."""
        self._items.extend(self._source)
        return self._items if self._kind is list else tuple(self._items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._kind, name):
            raise AttributeError(f"{self._kind.__name__!r} object has no attribute {name!r}")
        return getattr(self.whole(), name)

    def __hash__(self) -> int:
        return hash(self.whole())

    def __radd__(self, other: Any) -> Any:
        return other + self.whole()

    def __iadd__(self, other: Any) -> Any:
        if self._kind is tuple:
            return self.whole() + other
        self.whole().extend(other)
        return self


def _passed_on(name):
    def method(self, *args):
        return getattr(self.whole(), name)(*[arg.whole() if type(arg) is Lazy else arg for arg in args])

    method.__name__ = name
    return method


for _name in (
    "__len__ __getitem__ __setitem__ __delitem__ __contains__ __reversed__ __repr__ __str__ __format__ __eq__ __ne__ __lt__ __le__ __gt__ "
    "__ge__ __add__ __mul__ __rmul__"
).split():
    setattr(Lazy, _name, _passed_on(_name))

jax.tree_util.register_pytree_node(Lazy, lambda lazy: (tuple(lazy.whole()), lazy._kind), lambda kind, items: kind(items))


def _kind_of_map(_function, *sources):
    return list if all(isinstance(source, list) for source in sources) else tuple


class _StandIn(type):
    """The class of what stands for Python's own: their names, texts and instances."""

    def __repr__(cls) -> str:
        return repr(cls.__mro__[1])


def _stand_in(own: Any, kind: Callable[..., type]) -> Any:
    """What `map` and its like stand for in compiled code: a class whose calls give a `Lazy`."""

    def make(_cls, *args, **kwargs):
        return Lazy(own(*args, **kwargs), kind(*args))

    return _StandIn(own.__name__, (own,), {"__new__": make, "__module__": "builtins", "__doc__": own.__doc__})


def _of_generator(generator):
    return Lazy(generator, list)


# {name in the user's code: the name of what stands for it there}, and what that is. The names are no identifiers: nobody else has them.
_RENAMED = {name: f"{name} in compiled code" for name in ("map", "filter", "zip", "enumerate")}
_GENERATOR = "generator expression in compiled code"
_STAND_INS = {
    _RENAMED["map"]: _stand_in(map, _kind_of_map),
    _RENAMED["filter"]: _stand_in(filter, lambda *_args: list),
    _RENAMED["zip"]: _stand_in(zip, lambda *_args: tuple),
    _RENAMED["enumerate"]: _stand_in(enumerate, lambda *_args: tuple),
    _GENERATOR: _of_generator,
}


@contextmanager
def sequences_in(found: list[Guard]) -> Iterator[None]:
    """While it is open, the user's functions that a walk has found make sequences of their iterators.

    Functions that are made meanwhile, and are called later, keep their code.

    Args:
        found: the guards of the walk.
    """
    changed = []
    try:
        for function in _functions(found):
            code, namespace = function.__code__, function.__builtins__
            hidden = frozenset(
                name for name in _RENAMED if name in function.__globals__ or namespace.get(name) is not getattr(builtins, name)
            )
            made = _rewritten(code, code.co_filename, hidden)
            if made is not code:
                namespace.update(_STAND_INS)
                changed.append((function, code))
                function.__code__ = made
        yield
    finally:
        for function, code in changed:
            function.__code__ = code


def _functions(found):
    """The user's functions among the guards of a walk, and those that their code names, however deep."""
    waiting = [guard.owner for guard in found if isinstance(guard, Name) and guard.name == "__code__"]
    seen = {}
    while waiting:
        function = waiting.pop()
        if id(function) in seen or not isinstance(function, types.FunctionType):
            continue
        waiting.append(getattr(function, "__wrapped__", None))
        namespace = function.__globals__
        if is_library(namespace.get("__name__") or ""):
            continue
        seen[id(function)] = function
        waiting += [namespace[name] for name in names_in(function.__code__) if name in namespace]
        waiting += [cell_contents(cell) for cell in function.__closure__ or ()]
    return seen.values()


# Equal pieces of code may come from different files.
@functools.lru_cache(4096)
def _rewritten(code: types.CodeType, filename: str, hidden: frozenset[str]) -> types.CodeType:
    """Code that makes sequences; the same object where there is nothing to be made one.

    Args:
        code: of a function, a class body, or what lies in one.
        filename: its file.
        hidden: names that stand for something else than Python's own.
    """
    constants = tuple([_constant(value, filename, hidden) for value in code.co_consts])
    renamed = _RENAMED.keys() & set(code.co_names) - hidden
    if renamed:
        code = _with_names(code, renamed)
    if all(new is old for new, old in zip(constants, code.co_consts)):
        return code
    return code.replace(co_consts=constants)


def _constant(value, filename, hidden):
    if not isinstance(value, types.CodeType):
        return value
    made = _rewritten(value, filename, hidden)
    if value.co_name == "<genexpr>" and value.co_flags & inspect.CO_GENERATOR:
        return _calling(made)
    return made


def _with_names(code, names):
    """Code that finds the stand-ins under the names of Python's own, where these are globals; attributes of the same names stay."""
    others = {i.argval for i in dis.get_instructions(code) if i.opcode in dis.hasname and i.opname != "LOAD_GLOBAL"}
    made = tuple([_RENAMED[name] if name in names - others else name for name in code.co_names])
    body = bytearray(code.co_code)
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in names & others:
            stands = _RENAMED[instruction.argval]
            made = made if stands in made else (*made, stands)
            given = instruction.arg or 0
            number = made.index(stands) << 1 | given & 1
            if number < 256 and given < 256:
                body[instruction.offset + 1] = number
    return code.replace(co_names=made, co_code=bytes(body))


def _calling(code):
    """The code of a function that makes a `Lazy` of the generator whose code is given, from the same iterator and variables."""
    template = _template(code.co_freevars)
    inner = next(value for value in template.co_consts if isinstance(value, types.CodeType))
    if template.co_freevars != code.co_freevars or inner.co_freevars != code.co_freevars:
        return code
    return template.replace(
        co_consts=tuple([code if value is inner else value for value in template.co_consts]),
        co_names=(_GENERATOR,),
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


@functools.lru_cache(1024)
def _template(variables):
    """The code of a function that hands its argument to another one, which uses these variables, and that one's result to a third."""
    names = ", ".join(variables)
    source = f"def f({names}):\n def g(items):\n  def h(items): yield items, {names}\n  return lazy(h(items))\n return g"
    outer = next(value for value in compile(source, "<msjax>", "exec").co_consts if isinstance(value, types.CodeType))
    return next(value for value in outer.co_consts if isinstance(value, types.CodeType))
