"""collect: activations of many batches in memory-mapped files; Shards: reading them."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_int, check_kind, check_path, check_value
from msjax.core.base.errors import check_arity, describe, on_behalf_of
from msjax.core.base.whole_files import whole_file
from msjax.core.models.inputs import batches_of, inputs_of
from msjax.core.models.kept_programs import compile
from msjax.core.models.where import names_of
from msjax.core.study.verbs import only_leaf

_INDEX = "index.json"


def collect(
    model: Any,
    places: str | Sequence[str],
    batches: Iterable[Any],
    *,
    to: str | Path,
    dtype: Any = None,
    row_axes: int = 1,
    per_shard: int = 16,
    stop_after: str | None = None,
    progress: bool | Callable[[int, int | None], Any] = False,
) -> Shards:
    """Run a model on batches, and write the values of some places to files.

    A folder that holds some of the batches is gone on with: as many batches are skipped as it has, so `batches` must come in the same order, and be at
    least as many. Each shard is written under another name first, so that a run that was stopped leaves no half shard.

    Args:
        model: an nnx module, or another model or function, as for `capture`.
        places: which places. Their values are arrays with the same number of rows.
        batches: of arguments of the model: arrays, tuples, or `Inputs`.
        to: the folder.
        dtype (optional): of the files, such as ``"bfloat16"``. Default: that of each value.
        row_axes: how many axes at the end make a row; all axes before them are rows. Default: 1, features; rows are positions of examples.
        per_shard: so many batches are in one file, and in memory.
        stop_after (str, optional): the name of the last place that is computed.
        progress: True to show a bar; or ``progress(done, total)``, called after each batch with numbers of batches, `total` None if it isn't known.

    Returns:
        The `Shards` in the folder.

    Raises:
        ValueError: no place is selected, places have other numbers of rows, the folder has other places or another dtype, or it holds more
            batches than there are.

    Example:
        >>> import tempfile
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> def model(x):
        ...     return ms.hooks.site("square", x**2).sum()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shards = ms.hooks.collect(model, "square", [jnp.ones((2, 3)), jnp.zeros((2, 3))], to=folder, dtype="bfloat16")
        ...     print(len(shards), shards[0]["square"])
        4 [1 1 1]
    """
    check_int(per_shard, "per_shard", "collect", low=1)
    check_int(row_axes, "row_axes", "collect", low=0)
    check_kind(progress, isinstance(progress, bool) or callable(progress), "be a bool, or a function", "progress", "collect")
    if callable(progress):
        check_arity(progress, "collect", ("done", "total"), "progress")
    batches_of(batches, "collect")
    dtype = _named(dtype)
    folder = Path(check_path(to, "to", "collect"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        check_value(to, False, "be the path of a folder, and is that of a file", "to", "collect")
    asked = {
        "places": list(names_of(places, "places", "collect")),
        "dtype": dtype,
        "row_axes": row_axes,
    }
    with _alone(folder), on_behalf_of("collect"):
        index = _read(folder) or {**asked, "arrays": {}, "rows": [], "batches": 0}
        other = {name: index[name] for name in asked if index[name] != asked[name]}
        if other:
            raise ValueError(
                f"For 'collect', the folder {str(folder)!r} was written with {other}: take another one, or the same arguments."
            )
        run = compile(model, asked["places"], stop_after=stop_after)
        todo = iter(batches)
        skipped = sum(1 for _ in itertools.islice(todo, index["batches"]))
        held = f"be at least {index['batches']}, as many as {str(folder)!r} holds, which hooks.Shards reads"
        check_value(skipped, skipped == index["batches"], held, "the number of batches", "collect")
        with _bar(progress, index["batches"], batches) as advance:
            while group := list(itertools.islice(todo, per_shard)):
                each = []
                for batch in group:
                    args, kwargs = inputs_of(batch)
                    each.append(_rows(index, run(*args, **kwargs)[1].activations))
                    advance()
                _write(folder, index, each)
    if not index["rows"]:
        raise ValueError("For 'collect', there should be at least one batch, but there is none.")
    return Shards(folder)


@contextlib.contextmanager
def _alone(folder):
    """Have no other process, nor another thread, write to the folder meanwhile, where the system can say so; one that is killed lets go of it."""
    if os.name != "posix":
        yield
        return
    import fcntl  # Windows has none

    holding = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(holding, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"For 'collect', another run is writing to the folder {str(folder)!r}: take another one.") from None
        for left in folder.glob(".*.msjax-*.tmp"):  # by one that was killed
            left.unlink()
        yield
    finally:
        os.close(holding)


def _named(dtype):
    """The name of a dtype, or None."""
    try:
        known = jnp.dtype(float if dtype is None else dtype)
    except TypeError:
        known = jnp.dtype(object)
    check_kind(dtype, jnp.issubdtype(known, jnp.number) or known.kind == "b", "be a dtype of arrays", "dtype", "collect")
    return None if dtype is None else known.name


def _rows(index, found):
    """{place: the rows of one batch}; the index notes what they are in the first one."""
    rows, now, row_axes = dict[str, np.ndarray](), dict[str, Any](), index["row_axes"]
    for number, (name, value) in enumerate(found.items()):
        value = only_leaf(name, value)
        if not isinstance(value, jax.Array) or value.ndim < row_axes:
            raise ValueError(
                f"For 'collect', the value of {name!r} should be an array of at least {row_axes} axes, but is {describe(value)}."
            )
        array = np.asarray(value if index["dtype"] is None else value.astype(index["dtype"]))
        count, shape = math.prod(array.shape[: array.ndim - row_axes]), array.shape[array.ndim - row_axes :]
        rows[name] = array.reshape(count, *shape)
        now[name] = {"file": f"{number}", "shape": list(shape), "dtype": array.dtype.name}
    known = index["arrays"] = index["arrays"] or now
    for name in {**known, **now}:
        if known.get(name) != now.get(name):
            told = [f"{each['dtype']} {each['shape']}" if each else "not there" for each in (known.get(name), now.get(name))]
            raise ValueError(f"For 'collect', rows of {name!r} should be {told[0]}, as in the batches before, but are {told[1]}.")
    counts = {name: len(array) for name, array in rows.items()}
    if len(set(counts.values())) != 1:
        raise ValueError(f"For 'collect', all places should have as many rows, but have {counts}. Collect them apart.")
    return rows


def _write(folder, index, batches):
    """Write one shard, and then the index, which makes it count."""
    for name, known in index["arrays"].items():
        array = np.concatenate([rows[name] for rows in batches])
        with whole_file(folder / f"{known['file']}_{len(index['rows'])}.npy", lasting=False) as file:
            # numpy's files know no bfloat16, nor the others that numpy does not have itself.
            np.save(file, array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}"))
    index["rows"].append(sum(len(next(iter(rows.values()))) for rows in batches))
    index["batches"] += len(batches)
    with whole_file(folder / _INDEX, lasting=False) as file:
        file.write(json.dumps(index).encode())


def _read(folder):
    path = folder / _INDEX
    if not path.exists():
        return None
    try:
        index = json.loads(text := path.read_text(errors="replace"))
    except ValueError:
        index = text
    fits = isinstance(index, dict) and {"places", "arrays", "rows", "batches"} <= {*index}
    return check_kind(index, fits, f"be that of shards, in {path}", "the content", "collect")


@contextlib.contextmanager
def _bar(wanted, done, batches):
    """A function that notes that one more batch is done."""
    total = len(batches) if hasattr(batches, "__len__") else None
    if callable(wanted):
        numbers = itertools.count(done + 1)
        yield lambda: wanted(next(numbers), total)
        return
    if not wanted:
        yield lambda: None
        return
    from rich.progress import Progress  # only where a bar is shown

    with Progress() as bar:
        task = bar.add_task("collect", total=total, completed=done)
        yield lambda: bar.advance(task)


class Shards:
    """Rows of activations in files, which are mapped into memory: a random-access data source, as grain takes one.

    Args:
        folder: what `collect` has written to.

    Raises:
        FileNotFoundError: there is nothing of that kind.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(check_path(folder, "folder", "Shards"))
        index = _read(self.folder)
        if index is None:
            raise FileNotFoundError(f"There are no shards in {str(folder)!r}: it has no {_INDEX}.")
        self._arrays, self._ends = index["arrays"], np.cumsum(index["rows"])
        self._open: dict[tuple[str, int], np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        # A process that reads, too, maps the files itself: pickle would copy their content.
        return {**self.__dict__, "_open": {}}

    @property
    def names(self) -> list[str]:
        """The places."""
        return list(self._arrays)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __repr__(self) -> str:
        return f"Shards({str(self.folder)!r}, {len(self)} rows of {', '.join(self.names)})"

    def __getitem__(self, number: Any) -> dict[str, np.ndarray]:
        """{place: a row}, or for a slice, list or array of numbers rows."""
        numbers = np.arange(len(self))[number] if isinstance(number, slice) else np.asarray(number)
        fits = not numbers.size or numbers.dtype.kind in "iu"
        check_kind(number, fits, "be an int, a slice or several ints", "a row's number", "Shards")
        numbers = numbers.astype(int)
        if numbers.size and not (-len(self) <= numbers.min() and numbers.max() < len(self)):
            raise IndexError(f"There are {len(self)} rows, but asked for is {number}.")
        flat = numbers.reshape(-1) % len(self)
        shards = np.searchsorted(self._ends, flat, side="right")
        found = {}
        for name, known in self._arrays.items():
            rows = np.empty((len(flat), *known["shape"]), jnp.dtype(known["dtype"]))
            for shard in np.unique(shards):
                here = shards == shard
                rows[here] = self._mapped(name, int(shard))[flat[here] - (self._ends[shard - 1] if shard else 0)]
            found[name] = rows.reshape(*numbers.shape, *known["shape"])
        return found

    def batches(self, size: int, *, seed: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """Batches of all rows, once; the last one may be smaller.

        Args:
            seed: of the order, over all shards; None for that of the files.
        """
        check_int(size, "size", "Shards.batches", low=1)
        order = np.arange(len(self)) if seed is None else np.random.default_rng(seed).permutation(len(self))
        for start in range(0, len(order), size):
            yield self[order[start : start + size]]

    def _mapped(self, name, shard):
        if (name, shard) not in self._open:
            known = self._arrays[name]
            mapped = np.load(self.folder / f"{known['file']}_{shard}.npy", mmap_mode="r")
            self._open[name, shard] = mapped.view(jnp.dtype(known["dtype"]))
        return self._open[name, shard]
