"""Sources of folders: a list of rows is made when it is first needed, and what a row takes of files is read when the row is."""

from __future__ import annotations

import inspect
import os
import wave
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool
from msjax.dataset.checks import check_decrypt, check_folder, check_usage, refuse_cache
from msjax.dataset.operations.shared import row_error
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import FileRow
from msjax.dataset.vision.image import decode_image, file_bytes


class Image(str):
    """The path of an image: the column has the file's bytes, or with ``decode=True`` the image."""


class Sound(str):
    """The path of a WAV file: the column has its waveform, float32 of shape (channels, samples), from -1 to 1."""


class ListedDataset(MappableDataset):
    """A source of a folder with a layout that is known; `listed` makes its subclasses, and says what these attributes are."""

    _known_columns: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]]
    _rows_of: Callable[[dict[str, Any]], Iterable[Sequence[Any]]]
    _parts: dict[Any, Sequence[str]]
    _classes_of: Callable[[dict[str, Any]], dict[str, Any]] | None
    _signature: inspect.Signature

    def __init__(self, *args: Any, **kwargs: Any):
        who = type(self).__name__
        try:
            given = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{who}() {error}") from None
        given.apply_defaults()
        options = self._options = dict(given.arguments)
        refuse_cache(options.pop("cache", None), who)
        self._decrypt = check_decrypt(options.pop("decrypt", None), who)
        self._decode = check_bool(options.pop("decode", None) or False, "decode", who)
        self._named = check_bool(options.pop("extra_metadata", None) or False, "extra_metadata", who)
        if "dataset_dir" in options:
            options["dataset_dir"] = check_folder(options["dataset_dir"], who)
        if "usage" in options and self._parts:
            options["usage"] = check_usage(options["usage"] or [*self._parts][-1], tuple(self._parts), who)
        common = [options.pop(name) for name in _COMMON]
        super().__init__(*common)
        self._columns()  # where they are a function, it checks the options

    def _columns(self):
        columns = self._known_columns
        return [*(columns(self._options) if callable(columns) else columns), *(["_meta-filename"] if self._named else [])]

    @cached_property
    def _list(self):
        usage = self._options.get("usage")
        try:
            return [row for part in self._parts.get(usage, (usage,)) for row in self._rows_of({**self._options, "usage": part})]
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise RuntimeError(f"{type(self).__name__}: its files can't be read: {type(error).__name__}: {error}") from error

    def _length(self):
        return len(self._list)

    def _rows(self, run):
        if not self._list:
            raise RuntimeError(
                f"{type(self).__name__}: there is nothing in {next(iter(self._options.values()))!r} that it reads."
            )
        return super()._rows(run)

    def _row(self, index):
        row = self._list[index]
        values = tuple(self._value(value, index) for value in row)
        path = next((value for value in row if isinstance(value, (Image, Sound))), None)
        if self._named:
            values = (*values, np.array(os.path.splitext(os.path.basename(path or ""))[0]))
        return values if path is None else FileRow.of(values, path)

    def _value(self, value, index):
        try:
            if isinstance(value, Image):
                content = file_bytes(value, self._decrypt)
                return decode_image(content).array() if self._decode else content
            return waveform(value)[0] if isinstance(value, Sound) else np.asarray(value).copy()
        except Exception as error:
            raise row_error(type(self).__name__, index, error, f", file {value}") from error

    def _labels(self, column):
        if column not in self._columns():
            return super()._labels(column)
        place = self._columns().index(column)
        return np.array([row[place] for row in self._list])

    def num_classes(self) -> Any:
        if type(self).__name__ in _WITH_CLASSES:
            if self._classes_of is not None:
                return len(self.get_class_indexing())
            return len({int(row[-1]) for row in self._list})
        return super().num_classes()

    def get_class_indexing(self) -> dict[str, Any]:
        return super().get_class_indexing() if self._classes_of is None else self._classes_of(self._options)


_COMMON = ("num_samples", "shuffle", "sampler", "num_shards", "shard_id", "num_parallel_workers")
# MindSpore counts the classes of these alone.
_WITH_CLASSES = ("Caltech256Dataset", "IMDBDataset", "LSUNDataset", "ManifestDataset", "OmniglotDataset", "RenderedSST2Dataset")

# The parameters that most have behind their own ones: of images, and of others.
IMAGES = "num_samples num_parallel_workers shuffle decode sampler num_shards shard_id cache"
OTHERS = "num_samples num_parallel_workers shuffle sampler num_shards shard_id cache"

_DOC = """{about}

    Columns: {columns}.

    Args:
        {first} (str): the folder.
{options}

    Raises:
        TypeError, ValueError: a wrong argument, such as a folder that is not there.
        RuntimeError: a file is missing or damaged (when reading).
    """


def listed(
    columns: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]],
    parameters: str,
    usages: str = "",
    classes: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    shown: str | None = None,
) -> Callable[[Callable[[dict[str, Any]], Iterable[Sequence[Any]]]], Any]:
    """A decorator that makes a class of datasets, of the same name, of a function from the options to the rows.

    A row has a value for each column: an array, an `Image` or a `Sound`. The function's docstring says what the dataset is.

    Args:
        columns: their names, or a function of the options, which checks these.
        parameters: all parameters in their order, with defaults, as text.
        usages: what `usage` may be, the default last; "all" is None. Empty if there is no such option, or it may be anything. With "=", and for one
            with "+", what stands in its place: the function is called for each part, one after the other.
        classes: from the options to {name of a class: label}, as `get_class_indexing` gives it; None if there are none.
        shown: what the docstring says of the columns. Default: their names.
    """
    made = []
    for word in parameters.split():
        own, _, default = word.partition("=")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        value = inspect.Parameter.empty if own in _REQUIRED else _DEFAULTS.get(default, default)
        made.append(inspect.Parameter(own, kind, default=value))
    signature = inspect.Signature(made)
    options = [f"        {p.name}: see the dataset's own page." for p in made[1:] if p.name not in (*_COMMON, "cache", "decode")]
    parts = {name: (stands_for or name).split("+") for name, _, stands_for in (word.partition("=") for word in usages.split())}
    if parts:
        options.append(f"        `usage` is one of {', '.join(parts)}.")
    options.append(
        "        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache: as in `ImageFolderDataset`."
    )

    def make(rows):
        doc = _DOC.format(
            about=rows.__doc__, first=made[0].name, columns=shown or ", ".join(f"`{c}`" for c in columns),
            options="\n".join(options),
        )  # fmt: skip
        values = {
            "_known_columns": staticmethod(columns) if callable(columns) else columns,
            "_rows_of": staticmethod(rows),
            "_parts": parts,
            "_classes_of": classes and staticmethod(classes),
            "_signature": signature,
            "__signature__": signature,
            "__doc__": doc,
            "__module__": rows.__module__,
        }
        return type(rows.__name__, (ListedDataset,), values)

    return make


_REQUIRED = ("dataset_dir", "dataset_file", "annotation_file")
_DEFAULTS = {"": None, "True": True, "False": False, "2": 2}


def waveform(path: str) -> tuple[np.ndarray, int]:
    """(float32 of shape (channels, samples), samples in a second) of a WAV file of 8, 16 or 32 bits."""
    try:
        with wave.open(path, "rb") as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            data = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise ValueError(f"{path} is no WAV file of whole numbers: {error}") from error
    if width not in (1, 2, 4):
        raise ValueError(f"{path} has samples of {8 * width} bits; of 8, 16 and 32 bits they are read")
    numbers = np.frombuffer(data, {1: "u1", 2: "<i2", 4: "<i4"}[width]).astype(np.float64) - (128 if width == 1 else 0)
    return (numbers / (2 ** (8 * width - 1) - 1)).astype(np.float32).reshape(-1, channels).T.copy(), rate


def files_in(folder: str, *endings: str) -> list[str]:
    """The paths of the files of a folder, sorted, those with one of some endings."""
    return sorted(e.path for e in os.scandir(folder) if e.is_file() and (not endings or e.name.lower().endswith(endings)))


def folders_in(folder: str) -> list[str]:
    """The paths of the folders in a folder, sorted."""
    return sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())


def lines_of(*parts: str) -> list[str]:
    """The lines of a text file that are not empty."""
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip()]
