"""Crash bundles: the arguments and the state of one step in one file; and `replay`, which runs it again and finds its fault.

A bundle is an npz file of arrays, and a JSON text that says what they are and how containers hold them. It has no code, and reading it
runs none.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from msjax.core.base.checks import check_path
from msjax.core.base.jax_slots import settings
from msjax.core.base.whole_files import whole_file
from msjax.core.hooks.values import ARRAYS
from msjax.core.page.viewed import Viewed
from msjax.core.tools.checking import Check, On, unraised
from msjax.core.tools.checks.finding import find_in_call
from msjax.core.tools.fault import Fault, Statistics
from msjax.core.tools.model_tools import added, models_of, values_of
from msjax.core.tools.search.program import search_call

_FORMAT = "msjax bundle 1"
# So many rows of a batch are told at most.
_ROWS = 256
# The settings of jax on which a step's numbers depend, those of the random ones included.
_SETTINGS: dict[str, Any] = {
    "enable_x64": jax.enable_x64, "default_prng_impl": jax.default_prng_impl, "threefry_partitionable": jax.threefry_partitionable,
    "default_matmul_precision": jax.default_matmul_precision,
}  # fmt: skip


class Bundle:
    """What one step was given.

    Args:
        about (dict): what JSON can hold: the kind of step, what was looked for, the fault in words.
        args (tuple), kwargs (dict): its arguments.
        state (dict): {name: array} of the Parameters, optimizer and random state.
    """

    def __init__(self, about: dict[str, Any], args: Any, kwargs: Any, state: Mapping[str, Any]):
        self._arrays: list[np.ndarray] = []
        self._types: list[str] = []
        self._text: dict[str, Any] = {
            "format": _FORMAT,
            **about,
            "settings": {name: settings()[f"jax_{name}"] for name in _SETTINGS},
            "args": self._noted((tuple(args), dict(kwargs))),
            "state": {name: self._noted(value) for name, value in state.items()},
            "types": self._types,
        }

    # ---- writing

    def write(self, path: str | os.PathLike[str], fault: Fault | None = None) -> None:
        """Write the file; folders are made. A fault, if it is known, is told of in it, and names it."""
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        if fault is not None:
            self._text["fault"], fault.bundle = fault.view(), os.fspath(path)
        text = json.dumps(self._text)
        with whole_file(path) as file:
            # The arrays as bytes: npz knows no BFloat16.
            arrays: dict[str, Any] = {str(i): a for i, a in enumerate(self._arrays)}
            np.savez(file, about=np.frombuffer(text.encode(), np.uint8), **arrays)

    def _noted(self, value):
        """What JSON can hold of a value, whose arrays are added to the file."""
        if value is None or isinstance(value, (bool, int, str)):
            return {"value": value}
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, Mapping):
            return {"dict": [[self._noted(key), self._noted(v)] for key, v in value.items()]}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = f"{type(value).__module__}:{type(value).__qualname__}"
            return {"named": name, "items": [self._noted(v) for v in value]}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self._noted(v) for v in value]}
        if (kind := values_of(value)) is not ARRAYS:
            return {"tensor": self._array(kind.raw(value))}
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            return {"array": self._array(value)}
        leaves = jax.tree.leaves(nnx.state(value) if isinstance(value, nnx.Module) else value)
        leaves = [v for v in leaves if hasattr(v, "dtype")]
        return {"object": type(value).__name__, "items": [self._noted(v) for v in leaves]}

    def _array(self, value):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            self._types.append(f"key {jax.random.key_impl(value)}")
            value = jax.random.key_data(value)
        else:
            self._types.append(str(value.dtype))
        array = np.asarray(value)
        self._arrays.append(np.frombuffer(array.tobytes(), np.uint8))
        return [len(self._arrays) - 1, list(array.shape)]


def _told(named):
    name, array = named
    rows = [Statistics.of(row) for row in array[:_ROWS]] if array.ndim else []
    told = [[i, float(row.min), float(row.max), float(row.mean), row.nan, row.inf] for i, row in enumerate(rows)]
    return {"name": name, "shape": list(array.shape), "dtype": str(array.dtype), "rows": told}


class ReadBundle(Viewed):
    """A bundle that was read from a file.

    Attributes:
        about (dict): what `Bundle` was given.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no bundle, or is cut off.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(check_path(path, "file", "replay"))
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no file {self.path!r}.")
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                self.about: dict[str, Any] = json.loads(file["about"].tobytes())
                self._arrays = [file[str(i)] for i in range(len(self.about["types"]))]
        except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError, TypeError, AttributeError) as error:
            size = os.path.getsize(path)
            what = "is empty" if not size else "is no crash bundle, or is cut off"
            raise ValueError(f"The file {self.path!r} ({size:,} bytes) {what}.") from error
        if self.about.get("format") != _FORMAT:
            raise ValueError(f"The file {self.path!r} is no crash bundle: its format is {self.about.get('format')!r}.")

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: what the guard found when it was written, if it could be told, the batch, and how to replay it."""
        told = {"kind": "fault", "title": "Crash", "heading": "A step that went wrong", "report": [], "chain": []}
        batch, replay = list(map(_told, self.arrays())), f"msjax.tools.replay({self.path!r}, step)"
        return {**told, **(self.about.get("fault") or {}), "batch": batch, "replay": replay}

    @contextlib.contextmanager
    def settings(self) -> Iterator[None]:
        """A context with those settings of jax that the step was computed with."""
        with contextlib.ExitStack() as stack:
            for name, value in self.about.get("settings", {}).items():
                if name in _SETTINGS:
                    stack.enter_context(_SETTINGS[name](value))
            yield

    def arguments(self, like: Sequence[Any] = ()) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) of the step.

        Args:
            like: in order, an object for each argument that isn't made of arrays, numbers and containers, such as an nnx or
                equinox module: it gets the values (a pytree: a copy).

        Raises:
            ValueError: an object is missing, left over, or is of another kind.
        """
        like = list(like)
        args, kwargs = self._made(self.about["args"], like)
        if like:
            raise ValueError(
                f"For 'replay', {len(like)} more objects were given than the step in {self.path!r} has arguments to fill."
            )
        return args, kwargs

    def arrays(self) -> list[tuple[str, np.ndarray]]:
        """(name, array) of the arrays among the arguments, but for those of objects such as modules."""
        found: list[tuple[str, np.ndarray]] = []

        def walk(name, noted):
            (kind, value), *_ = noted.items()
            if kind in ("array", "tensor") and not self.about["types"][value[0]].startswith("key "):
                found.append((name, np.asarray(self._read(value))))
            elif kind == "dict":
                for key, inner in value:
                    walk(f"{name}[{self._made(key, [])!r}]", inner)
            elif kind in ("list", "tuple", "named"):
                for i, inner in enumerate(noted["items"] if kind == "named" else value):
                    walk(f"{name}[{i}]", inner)

        args, kwargs = self.about["args"]["tuple"]
        walk("args", args)
        walk("kwargs", kwargs)
        return found

    def state(self) -> dict[str, Any]:
        """{name: array}."""
        return {name: self._made(noted, []) for name, noted in self.about["state"].items()}

    def _made(self, noted, like):
        (kind, value), *_ = noted.items()
        if kind == "value":
            return value
        if kind == "float":
            return float.fromhex(value)
        if kind == "dict":
            return {self._made(key, like): self._made(v, like) for key, v in value}
        if kind in ("list", "tuple"):
            items = [self._made(v, like) for v in value]
            return items if kind == "list" else tuple(items)
        if kind == "tensor":
            made = next((tools.values.made for tools in added()), None)
            if made is None:
                raise ValueError(f"The step in {self.path!r} was given Tensors: import msjax before it is replayed.")
            return made(self._read(value))
        if kind == "array":
            return self._read(value)
        items = [self._made(v, like) for v in noted["items"]]
        return _named_tuple(value)(*items) if kind == "named" else self._filled(value, items, like)

    def _read(self, noted):
        number, shape = noted
        kind, data = self.about["types"][number], self._arrays[number]
        if kind.startswith("key "):
            impl = kind.removeprefix("key ")
            return jax.random.wrap_key_data(jnp.asarray(data.view(np.uint32).reshape(shape)), impl=impl)
        return jnp.asarray(data.view(jnp.dtype(kind)).reshape(shape))

    def _filled(self, name, leaves, like):
        if not like:
            raise ValueError(
                f"For 'replay', the step in {self.path!r} has an argument of class {name}, which a file can't hold: give one that is made "
                f"like it, as replay(file, step, {name.lower()})."
            )
        given = like.pop(0)
        module = isinstance(given, nnx.Module)
        old, treedef = jax.tree.flatten(nnx.state(given) if module else given)
        at = [i for i, v in enumerate(old) if hasattr(v, "dtype")]
        if type(given).__name__ != name or [np.shape(old[i]) for i in at] != [np.shape(v) for v in leaves]:
            raise ValueError(
                f"For 'replay', the step in {self.path!r} has an argument of class {name} with {len(leaves)} arrays, but got "
                f"{type(given).__name__} with {len(at)}, or with other shapes."
            )
        for i, value in zip(at, leaves):
            old[i] = value
        new = jax.tree.unflatten(treedef, old)
        if not module:
            return new
        nnx.update(given, new)
        return given


def _named_tuple(name):
    """The class of a named tuple, such as the state of an optimizer."""
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"A bundle has a {name}, which can't be found here: {error}") from error
    if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
        raise ValueError(f"A bundle has a {name}, which is no named tuple here.")
    return found


def replay(
    file: str | os.PathLike[str], step: Callable[..., Any], *like: Any, on: On | None = None, show: bool = True
) -> Fault | None:
    """Run the step of a crash bundle again, with the batch, Parameters, optimizer and random state of then, and find its fault.

    jax's settings of 64-bit types, random numbers and the precision of products are those of then meanwhile.

    `tools.guard(..., bundle=file)` writes the file. A new process, also on another machine, makes network, optimizer and step as the
    first one did; their values come from the file. When the step has run, what they had before is put back.

    Args:
        file: the path of the bundle.
        step: the step that was guarded or called in the guard's block: a Cell, a function of ``ms.jit``, or, if a function was
            guarded, that function. In PyNative mode, the guarded network.
        like: in order, the arguments of a guarded function that a file can't hold, such as nnx or equinox modules; an nnx module gets
            the values of then, and keeps them.
        on (str or callable, optional): what is looked for; by default, as the guard did.
        show (bool): True prints the report. Default: True.

    Returns:
        The `Fault`; None if nothing was wrong this time.

    Raises:
        FileNotFoundError, ValueError: there is no such file, it is no bundle, or another step's.

    Example:
        >>> import os, tempfile
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> file = os.path.join(tempfile.mkdtemp(), "crash.npz")
        >>> def step(x):
        ...     return jnp.log(x).sum()
        >>> try:
        ...     ms.tools.guard(step, bundle=file)(jnp.array([1.0, -1.0]))
        ... except ms.tools.Fault as fault:
        ...     print(fault.operation)
        log
        >>> ms.tools.replay(file, step, show=False).operation
        'log'
    """
    bundle = ReadBundle(file)
    stored = bundle.about["on"]
    if on is None and stored is None:
        raise ValueError(f"For 'replay', give on=..., the function that the guard was given: {bundle.path!r} can't hold it.")
    check = Check(stored if on is None else on, "replay")
    with bundle.settings(), unraised():
        args, kwargs = bundle.arguments(like)
        fault = _run(bundle, step, args, kwargs, check)
    if show:
        none = f"No {check.what} was found: the step is not what it was, or not all of its state is in the file."
        print(none if fault is None else fault)
    return fault


def _run(bundle, step, args, kwargs, check):
    kind = bundle.about["kind"]
    if kind != "function":
        tools = next((tools for tools in added() if tools.kind == kind), None)
        if tools is None:
            raise ValueError(f"For 'replay', the step in {bundle.path!r} is one of {kind}: import msjax, and make the step anew.")
        return tools.replay(bundle, step, args, kwargs, check)
    fn = getattr(step, "__wrapped__", step)
    models, kinds = [*models_of(fn, args, kwargs)], bundle.about.get("checks", ())
    found = find_in_call(fn, args, kwargs, kinds, models) if kinds else None
    return found or search_call(fn, args, kwargs, check, models)[1]
