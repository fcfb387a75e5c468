"""Compiled functions of arrays: how PyNative mode compiles the function of an operator, and how many it keeps.

An operator is compiled again for each combination of settings, shapes and dtypes. All that is compiled is
counted in `KEPT_PROGRAMS`, which drops what was not used for longest.
"""

from __future__ import annotations

import collections
import functools
import warnings
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax

from msjax.base.context import SETTINGS
from msjax.base.errors import where
from msjax.base.state import STATE
from msjax.common.background import BACKGROUND, has_idle_core
from msjax.common.operator_compiler import compile_operator, is_nested, quick_options
from msjax.common.program_store import NUMBERS, STORE, OtherCall
from msjax.common.progress import PROGRESS

# A function that was compiled for so many signatures finds its programs by the signature from then on, so that each of them can
# be dropped alone.
_SIGNATURES = 64


def run(programs: Programs, key: Any, values: Sequence[Any]) -> Any:
    """Call a compiled function, or the function itself within a transformation."""
    try:
        return programs[key](*values)
    except ValueError as error:
        if not is_nested(error):
            raise
        return programs.function(key)(*values)


def shape_of(value: Any) -> Any:
    """What stands for an operand, other than None, when a function is traced or compiled ahead."""
    if value is None:
        return None
    aval = jax.typeof(value)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class KeptPrograms:
    """Keeps the number of compiled programs below the setting `program_cache_size`.

    Programs are kept in tables, which register here. When half of the number has been compiled or used since the last
    time, each table is told to set aside what it has. What it finds there again it moves back; the rest is dropped
    the next time. So calls of kept programs have nothing to note.
    """

    def __init__(self):
        self._tables = weakref.WeakValueDictionary()
        self._recent = 0

    def register(self, table: Any) -> None:
        """Count a table in, an object with the method `set_aside`."""
        self._tables[id(table)] = table

    def add(self, number: int = 1) -> None:
        """Note programs that were compiled, or used for the first time since the tables set theirs aside."""
        self._recent += number
        if self._recent > max(SETTINGS.program_cache_size // 2, 1):
            self._recent = number
            for table in list(self._tables.values()):
                table.set_aside()


KEPT_PROGRAMS = KeptPrograms()


class Programs(dict):
    """Compiled functions by key.

    Args:
        function: from a key to the function of arrays that is compiled.
        jit: compiles it; None for `compile_operator`.
        name: as messages show it.
        identity: of the one function whose programs this table holds by signature, if they are stored (see `program_store`).
    """

    __slots__ = ("function", "jit", "name", "identity", "_aside", "__weakref__")

    def __init__(
        self,
        function: Callable[[Any], Callable[..., Any]],
        jit: Callable[..., Any] | None = None,
        name: str = "",
        *,
        identity: str | None = None,
    ):
        self.function = function
        self.jit = jit
        self.name: str = name
        self.identity: str | None = identity
        self._aside = None

    def __missing__(self, key: Any) -> Callable[..., Any]:
        found = None if self._aside is None else self._aside.pop(key, None)
        if found is None:
            return _FirstCall(self, key)
        self[key] = found
        KEPT_PROGRAMS.add(getattr(getattr(found, "__wrapped__", None), "signatures", 1))
        return found

    def kept(self, key: Any) -> Callable[..., Any] | None:
        """The program of a key, also one that was set aside; None if there is none."""
        return self.get(key) or (self._aside or {}).get(key)

    def keep(self, key: Any, program: Callable[..., Any]) -> None:
        """Put a program into the table."""
        if self._aside is None:
            self._aside = {}
            KEPT_PROGRAMS.register(self)
        self[key] = program

    def compile_ahead(self, key: Any, values: Sequence[Any]) -> None:
        """Compile the program of a key in the background, for operands like `values`."""
        if self.jit is None and has_idle_core() and self.kept(key) is None:
            shapes = [v if v.__class__ in NUMBERS else shape_of(v) for v in values]
            BACKGROUND.submit((id(self), key), lambda: _FirstCall(self, key).compile(shapes))

    def set_aside(self) -> None:
        """Drop what was not used since the last time, and be ready to drop the rest."""
        self._aside = dict(self)
        self.clear()

    def __reduce__(self):
        raise TypeError("compiled programs can't be copied")


_MADE = Programs(lambda key: functools.partial(key[0], *key[1:]), name="array")


def make_array(fn: Callable[..., Any], *settings: Hashable) -> Any:
    """The array that a function of jax makes of settings only, such as `jnp.zeros`; jax itself would keep its program for good."""
    return run(_MADE, (fn, *settings), ())


class _FirstCall:
    """Stands for a program until it has operands to be compiled for."""

    __slots__ = ("table", "key")

    def __init__(self, table, key):
        self.table = table
        self.key = key

    def __call__(self, *values: Any) -> Any:
        table, key = self.table, self.key
        BACKGROUND.take((id(table), key))
        program = table.kept(key)
        if program is not None:
            return program(*values)
        fn = table.function(key)
        by_signature = self._by_signature(fn)
        if by_signature is not None:
            table.keep(key, by_signature)
            return by_signature(*values)
        stored, program, executable = self._from_disk(fn, values)
        if program is not None:
            out = program(*values)
            if executable is None or executable.checked:
                self._keep_loaded(program if executable is None else executable.fast_path() or program)
                return out
            STORE.unusable = True
        with PROGRESS.of(table.name or "gradient"):
            counted, program, by_size = self._compiled(fn, values)
            with STORE.compiling(stored, program, values):
                out = program(*values)
        self._keep(counted, program, by_size)
        return out

    def _from_disk(self, fn, values):
        """(key on disk, program, its executable), each of them or None."""
        stored = STORE.key(self.table.identity, values, quick_options())
        loaded = None if stored is None else STORE.load(stored, values, fn)
        if loaded is None:
            return stored, None, None
        program, executable = loaded
        if executable is None:
            program = _Unchanged(_Counted(fn, self.table, self.key), program, values)
        return stored, program, executable

    def _by_signature(self, fn):
        """The programs of a function that are on disk, or will be, each of them found by its signature."""
        table, key = self.table, self.key
        if table.jit is not None or isinstance(key, _Signature) or not STORE.folder():
            return None
        identity = STORE.identity(fn)
        return None if identity is None else _BySignature(fn, table, key, identity)

    def _compiled(self, fn, values):
        table, key = self.table, self.key
        counted = _Counted(fn, table, key)
        if table.jit is not None:
            return counted, table.jit(counted), False
        if getattr(counted.fn, "may_return_operands", False):
            program = _Unchanged.of(counted, values)
            if program is not None:
                return counted, program, False
        program, by_size = compile_operator(counted, values)
        return counted, program, by_size and not isinstance(key, _Signature)

    def compile(self, values: Sequence[Any]) -> None:
        """Compile the program for the shapes of operands, and keep it."""
        table = self.table
        fn = table.function(self.key)
        by_signature = self._by_signature(fn)
        if by_signature is not None:
            by_signature.compile(values)
            table.keep(self.key, by_signature)
            return
        stored, program, _ = self._from_disk(fn, values)
        if program is not None:
            self._keep_loaded(program)
            return
        counted, program, by_size = self._compiled(fn, values)
        with STORE.compiling(stored, program, values):
            if not isinstance(program, _Unchanged):
                program.lower(*values).compile()  # pyright: ignore[reportFunctionMemberAccess]
        self._keep(counted, program, by_size)

    def _keep(self, counted, program, by_size):
        # Only now: what has run, or was compiled ahead, knows its first signature.
        if by_size:
            program = _BySignature(counted.fn, self.table, self.key, programs=dict.fromkeys(counted.seen, program))
        self.table.keep(self.key, program)

    def _keep_loaded(self, program):
        self.table.keep(self.key, program)
        KEPT_PROGRAMS.add()


class _Unchanged:
    """Stands for a program without equations: returns the operands themselves, where XLA would compile and run copies."""

    def __init__(self, counted: _Counted, positions: list[int], values: Sequence[Any]):
        self._other = jax.jit(counted)
        self.positions: list[int] = positions
        self._signature = signature_of(values)

    @classmethod
    def of(cls, counted: _Counted, values: Sequence[Any]) -> _Unchanged | None:
        """The stand-in for the function's program for operands like `values`; None if that computes something."""
        jaxpr = jax.jit(counted).trace(*values).jaxpr.jaxpr
        if jaxpr.eqns or any(v not in jaxpr.invars for v in jaxpr.outvars):
            return None
        return cls(counted, [jaxpr.invars.index(v) for v in jaxpr.outvars], values)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        if signature_of(values) != self._signature:
            return self._other(*values)
        return tuple([values[i] for i in self.positions])


class _Counted:
    """A function that counts the signatures it is traced, and so compiled, for."""

    def __init__(self, fn: Callable[..., Any], table: Programs, key: Any):
        self.fn = fn
        self.table = weakref.ref(table)
        self.key = key
        self.seen = set()
        self.kept = []
        # The only signature of a program that is stored.
        self.only = None if table.identity is None else key
        # jax names programs after it.
        self.__name__ = getattr(fn, "__name__", "op")

    @property
    def signatures(self) -> int:
        return len(self.seen)

    def __call__(self, *values: Any) -> Any:
        signature = signature_of(values)
        if self.only is not None and signature != self.only:
            raise OtherCall("a program that is stored was compiled for another signature")
        if signature not in self.seen:
            self.seen.add(signature)
            if len(self.seen) > 1:
                with PROGRESS.of(self.__name__):
                    pass  # jax compiles afterwards
            KEPT_PROGRAMS.add()
            table = self.table()
            if table is not None:
                _count_shapes(table, self.key)
                program = table.kept(self.key)
                if len(self.seen) >= max(2, min(_SIGNATURES, SETTINGS.program_cache_size // 16)) and program is not None:
                    table.keep(self.key, _BySignature(self.fn, table, self.key, programs=dict.fromkeys(self.seen, program)))
        result = self.fn(*values)
        # What the program needs later, and what jax would otherwise have to keep.
        kept = getattr(self.fn, "kept", None)
        if kept is not None:
            self.kept.append(kept(result))
        return result


class _BySignature:
    """A function with a program for each signature: finds the program of a call by its signature.

    Args:
        fn: the function. Not a `_Counted`: jax keeps what it compiled for that as long as it lives.
        table, key: where this object stands.
        identity: of the function, if its programs are stored.
        programs: those that there are already.
    """

    def __init__(self, fn: Any, table: Programs, key: Any, identity: str | None = None, programs: dict[Any, Any] | None = None):
        self._fn = fn
        self._table = weakref.ref(table)
        self._key = key
        self._programs = Programs(self._function, table.jit, identity=identity)
        for signature, program in (programs or {}).items():
            self._programs.keep(signature, program)
        # For calls that a stored program refuses: while jax traces, under other settings, on other devices.
        self._otherwise = Programs(self._function, table.jit) if identity is not None else self._programs
        # Most functions are called for one signature only, and a stored program checks it faster than it is found.
        self._single = None
        self._has_several = identity is None
        KEPT_PROGRAMS.register(self)

    def _function(self, _):
        return self._fn

    def __call__(self, *values: Any) -> Any:
        single = self._single
        if single is not None:
            try:
                return single(*values)
            except TypeError:
                self._single = None
        signature = signature_of(values)
        programs = self._programs
        program = programs[signature]
        if program.__class__ is _FirstCall and programs.identity is not None:
            _count_shapes(self._table(), self._key)
        try:
            out = program(*values)
        except TypeError as error:
            if self._otherwise is programs or not (
                isinstance(error, OtherCall) or any(isinstance(v, jax.core.Tracer) for v in values)
            ):
                raise
            return self._otherwise[signature](*values)
        if not self._has_several:
            if len(programs) > 1:
                self._has_several = True
            else:
                self._single = programs.kept(signature)
        return out

    def compile(self, values: Sequence[Any]) -> None:
        """Compile a program ahead."""
        _FirstCall(self._programs, signature_of(values)).compile(values)

    def set_aside(self) -> None:
        """Look the program up next time, so that `KEPT_PROGRAMS` sees that it is used."""
        self._single = None


def signature_of(values: Sequence[Any]) -> Hashable:
    """What jax compiles a function for: shapes, dtypes and weak types of its operands."""
    try:
        return _Signature([
            None if v is None else _of_number(v.__class__) if v.__class__ in NUMBERS else (v.shape, v.dtype, v.weak_type)
            for v in values
        ])  # fmt: skip
    except AttributeError:
        return _Signature([None if v is None else _signature(jax.typeof(v)) for v in jax.tree.leaves(values, is_leaf=_is_none)])


def _of_number(cls):
    kind = cls, jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    found = _NUMBERS.get(kind)
    if found is None:
        found = _NUMBERS[kind] = _signature(jax.typeof(cls(0)))
    return found


_NUMBERS = {}


class _Signature(tuple):
    """A key of programs that are found by their signature."""

    __slots__ = ()


def _signature(aval):
    return aval.shape, aval.dtype, aval.weak_type


def _is_none(value):
    return value is None


_COUNTS = weakref.WeakKeyDictionary()


def _count_shapes(table, key):
    """Count an operator's compilation for new shapes in the running network; many of them lead to one warning for each network."""
    if table is None or not STATE.owners or not table.name:
        return
    counts = _COUNTS.setdefault(STATE.owners[0], collections.Counter())
    counts[table.name, key] += 1
    if counts[table.name, key] == _SIGNATURES and not counts[None]:
        counts[None] += 1
        warn_of_shapes(f"Operator {table.name!r}{where()}")


def warn_of_shapes(what: str) -> None:
    """Warn that something is compiled again and again."""
    warnings.warn(
        f"{what} was compiled for {_SIGNATURES} combinations of shapes, and each compilation takes time. Pad inputs of "
        "changing lengths to a few lengths (buckets), such as multiples of 32.",
        stacklevel=2,
    )
