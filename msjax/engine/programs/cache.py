"""The cache of an operator's compiled programs, and the kinds of entries that it has.

PyNative mode compiles the function of an operator once for each combination of its settings (the key of a `ProgramCache`), shapes
and dtypes (the key of a `SignatureCache`). An absent program is a `PendingProgram` until it is called; then it is read from disk or
compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn

import jax
import jax.core

from msjax.core.door import STATE
from msjax.engine.programs.compiler_options import compile_operator, is_nested, quick_options
from msjax.engine.programs.limits import CACHE_LIMIT
from msjax.engine.programs.signature import OtherCall, SignatureKey, signature_of
from msjax.engine.programs.store import STORE


class ProgramCache(dict[Any, Any]):
    """The compiled programs of a family of functions, by key. An absent one is compiled when it is called.

    `CacheLimit` bounds how many there are.

    Args:
        function: from a key to the function of arrays that is compiled.
        jit: compiles it; None for `compile_operator`.
        name: as messages show it.
        description: if the keys are the signatures of one function, and its programs are stored on disk, that of the function.
    """

    __slots__ = ("function", "jit", "name", "description", "__weakref__")

    def __init__(
        self,
        function: Callable[[Any], Callable[..., Any]],
        jit: Callable[..., Any] | None = None,
        name: str = "",
        *,
        description: str | None = None,
    ):
        self.function: Callable[[Any], Callable[..., Any]] = function
        self.jit: Callable[..., Any] | None = jit
        self.name: str = name
        self.description: str | None = description

    def __missing__(self, key: Any) -> Callable[..., Any]:
        return PendingProgram(self, key)

    def put(self, key: Any, program: Callable[..., Any]) -> None:
        """Make a program the one of a key."""
        if not self:
            CACHE_LIMIT.register(self)
        self[key] = program

    def __reduce__(self) -> NoReturn:
        raise TypeError("compiled programs can't be copied")


def run_cached(cache: ProgramCache, key: Any, values: Sequence[Any]) -> Any:
    """Call the program of a key, or the function itself within a transformation of jax."""
    try:
        return cache[key](*values)
    except ValueError as error:
        if not is_nested(error):
            raise
        return cache.function(key)(*values)


_ARRAYS = ProgramCache(lambda key: functools.partial(key[0], *key[1:]), name="array")


def make_array(fn: Callable[..., Any], *settings: Hashable) -> Any:
    """The array that a function of jax makes of settings only, such as `jnp.zeros`; jax itself would keep its program for good."""
    return run_cached(_ARRAYS, (fn, *settings), ()) if STATE.nothing_is_traced() else fn(*settings)


class PendingProgram:
    """The entry of a program that is not there yet. Called, it gets the program from disk or compiles it, and puts it into the cache."""

    __slots__ = ("cache", "key")

    def __init__(self, cache: ProgramCache, key: Any):
        self.cache = cache
        self.key = key

    def __call__(self, *values: Any) -> Any:
        cache, key = self.cache, self.key
        program = cache.get(key)
        if program is not None:  # another thread has just compiled it
            return program(*values)
        fn, of_signature = cache.function(key), isinstance(key, SignatureKey)
        if cache.jit is None and not of_signature and (description := STORE.describe(fn)) is not None:
            # A file of the store has the program of one signature.
            program = SignatureCache(fn, cache, key, description)
            out = program(*values)
            cache.put(key, program)
            return out
        stored_as = STORE.key(cache.description, values, quick_options())
        if stored_as is not None and (found := self._call_stored(fn, stored_as, values)) is not None:
            return found[0]
        traced = TracedFunction(fn, cache, key)
        program, by_size = compile_operator(traced, values) if cache.jit is None else (cache.jit(traced), False)
        with STORE.compiling(stored_as, program, values):
            out = program(*values)
        # Only now: what has run knows its first signature.
        if by_size and not of_signature:
            program = SignatureCache(fn, cache, key, programs=dict.fromkeys(traced.seen, program))
        cache.put(key, program)
        return out

    def _call_stored(self, fn, stored_as, values):
        """Run the program from disk, put it into the cache and return (its result,); None if there is none or it fails."""
        loaded = STORE.load(stored_as, values, fn)
        if loaded is None:
            return None
        program, executable = loaded
        try:
            out = program(*values)
        except Exception:
            # If it is the call's fault, the compiled program raises as well.
            STORE.discard(stored_as)
            return None
        if not executable.checked:
            STORE.unusable = True
            return None
        self.cache.put(self.key, executable.fast_path() or program)
        CACHE_LIMIT.count()
        return (out,)


class TracedFunction:
    """A function as jax traces it: counts its signatures, and holds what its programs need as long as they live.

    Args:
        fn: the function; one whose programs have metadata is a `msjax.engine.autograd.residuals.Forward`.
        cache, key: where its program stands.

    Attributes:
        seen: the signatures that it was traced, and so compiled, for.
        metadata: of the program for each of them. jax holds this object, and so the metadata, as long as the programs.
    """

    def __init__(self, fn: Callable[..., Any], cache: ProgramCache, key: Any):
        self.fn = fn
        self._name, self._key = cache.name, key
        self.seen = set()
        self.metadata = []
        # The only signature of a program that is stored.
        self._only = None if cache.description is None else key
        # jax names programs after it.
        self.__name__ = getattr(fn, "__name__", "op")

    def __call__(self, *values: Any) -> Any:
        signature = signature_of(values)
        if self._only is not None and signature != self._only:
            raise OtherCall("a program that is stored was compiled for another signature")
        if signature not in self.seen:
            self.seen.add(signature)
            CACHE_LIMIT.count()
            CACHE_LIMIT.count_shapes(self._name, self._key)
        with_metadata = getattr(self.fn, "with_metadata", None)
        if with_metadata is None:
            return self.fn(*values)
        result, metadata = with_metadata(*values)
        self.metadata.append(metadata)
        return result


class SignatureCache:
    """The cache of one function's programs by the signatures of their operands, as an entry of a `ProgramCache`.

    Where a function needs none, jax itself finds the program of a signature.

    Args:
        fn: the function. Not a `TracedFunction`: jax keeps what it compiled for that as long as it lives.
        cache, key: where this object stands.
        description: of the function, if its programs are stored on disk.
        programs: those that there are already, by signature.
    """

    def __init__(
        self, fn: Any, cache: ProgramCache, key: Any, description: str | None = None, programs: dict[Any, Any] | None = None
    ):
        self._name, self._key = cache.name, key
        self.programs = ProgramCache(lambda _: fn, cache.jit, description=description)
        for signature, program in (programs or {}).items():
            self.programs.put(signature, program)
        # For calls that a stored program refuses: while jax traces, under other settings, on other devices.
        self._otherwise = self.programs if description is None else ProgramCache(lambda _: fn, cache.jit)
        # Most functions are called for one signature only, and a stored program checks it faster than it is found.
        self._single = None

    def __call__(self, *values: Any) -> Any:
        single = self._single
        if single is not None:
            try:
                return single(*values)
            except TypeError:
                self._single = None
        signature = signature_of(values)
        programs = self.programs
        program = programs[signature]
        if program.__class__ is PendingProgram and programs.description is not None:
            CACHE_LIMIT.count_shapes(self._name, self._key)
        try:
            out = program(*values)
        except TypeError as error:
            if self._otherwise is programs or not (
                isinstance(error, OtherCall) or any(isinstance(v, jax.core.Tracer) for v in values)
            ):
                raise
            return self._otherwise[signature](*values)
        if programs.description is not None and len(programs) == 1:
            self._single = programs.get(signature)
        return out
