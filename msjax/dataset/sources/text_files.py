"""TextFileDataset and CSVDataset: rows that are lines of text files."""

from __future__ import annotations

import contextlib
import csv
import glob
import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_kind, check_str, check_value, is_int
from msjax.dataset import config
from msjax.dataset.checks import check_data, check_list, check_workers, refuse_cache
from msjax.dataset.dataset import Dataset
from msjax.dataset.enums import Shuffle
from msjax.dataset.operations.order import buffered_shuffle
from msjax.dataset.sources.mappable import check_shards
from msjax.dataset.values import FileRow, leading_int

# Rows that a global shuffle draws from.
_BUFFER = 10000
_FLOAT = re.compile(r"\s*[+-]?(?!0x)(inf(inity)?|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.IGNORECASE | re.ASCII)
_TOO_LARGE = 2.0**128 - 2.0**103  # what Float32 rounds to infinity


class RowsOfFiles(Dataset):
    """A source of rows from files that are read from the beginning, such as text files.

    The files are read in sorted order; with several workers as many are read at the same time, row by row in turn.
    """

    _sorts = True
    # The rows of a file.
    _read: Callable[[str], Iterator[Sequence[Any]]]

    def __init__(
        self, dataset_files: str | list[str], num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
        cache: object = None,
    ):  # fmt: skip
        who = type(self).__name__
        refuse_cache(cache, who)
        self._files = sorted(_find(dataset_files, who)) if self._sorts else _find(dataset_files, who)
        self._limit = None if num_samples is None else check_int(num_samples, "num_samples", who, low=0, high=2**63 - 1) or None
        # MindSpore's number of workers where there are CPUs enough, on any machine, since it decides the order of the rows.
        set_number = config.default_workers(8)
        self._together = set_number if num_parallel_workers is None else check_workers(num_parallel_workers, who)
        check_kind(shuffle, isinstance(shuffle, (bool, Shuffle)), "be a bool or a member of Shuffle", "shuffle", who)
        self._shuffle = Shuffle.GLOBAL if shuffle is True else shuffle
        check_shards(who, num_shards, shard_id, RuntimeError)
        self._shards, self._shard = num_shards, shard_id

    def _file_count(self, path) -> int:
        """How many rows a file has."""
        return sum(1 for _ in self._read(path))

    @contextlib.contextmanager
    def _reading(self, path):
        try:
            yield
        except (OSError, TypeError, ValueError, LookupError, SyntaxError) as error:  # SyntaxError: that of XML
            raise RuntimeError(f"{type(self).__name__}: {path} can't be read: {type(error).__name__}: {error}") from error

    def _counted(self, path):
        with self._reading(path):
            return self._file_count(path)

    def is_shuffled(self) -> bool:
        return self._shuffle is not False

    def is_sharded(self) -> bool:
        return self._shards is not None

    def _shards_are_files(self):
        """Whether a shard is some of the files, and not some of the rows."""
        return False

    def _of_files(self, files):
        return files[self._shard :: self._shards] if self._shards_are_files() else files

    def _count(self, endless):
        n = sum(map(self._counted, self._of_files(self._files)))
        n = n if self._shards is None or self._shards_are_files() else -(-n // self._shards)
        return n if self._limit is None else min(n, self._limit)

    def _rows(self, run):
        rng = run.shared_rng()
        files = self._files
        if self._shuffle in (Shuffle.GLOBAL, Shuffle.FILES):
            files = [files[i] for i in rng.permutation(len(files))]
        files = self._of_files(files)
        if self._shards is None or self._shards_are_files():
            parts = [(path, 0, None) for path in files]
        else:
            parts = list(self._of_shard(files))
        readers = [self._of_worker(parts[i :: self._together], rng) for i in range(min(self._together, len(parts)))]
        rows = _in_turn(readers)
        if self._shuffle == Shuffle.GLOBAL:
            rows = buffered_shuffle(rows, _BUFFER, lambda size: int(rng.integers(size)))
        return itertools.islice(rows, self._limit)

    def _of_worker(self, parts, rng):
        for path, start, end in parts:
            rows = (FileRow.of(row, path) for row in itertools.islice(self._read(path), start, end))
            if self._shuffle == Shuffle.INFILE:
                rows = buffered_shuffle(rows, _BUFFER, lambda size: int(rng.integers(size)))
            with self._reading(path):
                yield from rows

    def _of_shard(self, files):
        """What the shard has of the files one after the other, as (path, first row, end); the last shards go on with the first files."""
        counts = [self._counted(path) for path in files]
        each = -(-sum(counts) // self._shards)
        start, end, before = self._shard * each, (self._shard + 1) * each, 0  # pyright: ignore[reportOptionalOperand]
        for path, count in itertools.cycle(zip(files, counts)):
            if before >= end:
                return
            if start < before + count:
                yield path, max(0, start - before), min(count, end - before)
            before += count


class TextFileDataset(RowsOfFiles):
    """The lines of text files in UTF-8; empty lines are left out.

    Column: `text`.

    Args:
        dataset_files (str or list of str): paths, or patterns such as ``data/*.txt``.
        num_samples (int, optional): at most how many rows. Default: all.
        num_parallel_workers (int, optional): how many files are read in turn. Default: the setting's.
        shuffle (bool or Shuffle): what is shuffled. Default: `Shuffle.GLOBAL`, files and rows.
        num_shards, shard_id (int, optional): the rows of one of several shards, which have equally many.
        cache (None): not offered.

    Raises:
        TypeError, ValueError: a wrong argument, such as a file that is not there.
        RuntimeError: a file can't be read (when reading).

    Example:
        >>> with open("poem.txt", "w") as f:
        ...     _ = f.write("one\\n\\ntwo\\n")
        >>> [str(text) for text, in ds.TextFileDataset("poem.txt", shuffle=False)]
        ['one', 'two']
    """

    def _columns(self):
        return ["text"]

    def _read(self, path):
        with open(path, encoding="utf-8", newline="\n") as file:
            for line in file:
                line = line.rstrip("\n")
                if line:
                    yield (np.array(line),)


class CSVDataset(RowsOfFiles):
    """The lines of files of comma-separated values.

    Args:
        dataset_files (str or list of str): paths, or patterns such as ``data/*.csv``.
        field_delim (str): what stands between fields, one character. Default: ",".
        column_defaults (list, optional): a value for each of the first columns that tells its type: an int for int32, of which
            the digits in front are read, a float for float32, a str for text. Default: all are text.
        column_names (list of str, optional): the names of the columns. Default: the first line of each file has them.
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache: as in `TextFileDataset`.

    Raises:
        TypeError, ValueError: a wrong argument, such as a file that is not there.
        RuntimeError: a line has another number of fields, or a field is no number (when reading).

    Example:
        >>> with open("table.csv", "w") as f:
        ...     _ = f.write("id,score\\n1,0.5\\n2,1.5\\n")
        >>> data = ds.CSVDataset("table.csv", column_defaults=[0, 0.0], shuffle=False)
        >>> [(int(row["id"]), float(row["score"])) for row in data.create_dict_iterator()]
        [(1, 0.5), (2, 1.5)]
    """

    def __init__(
        self, dataset_files: str | list[str], field_delim: str = ",", column_defaults: list[Any] | None = None,
        column_names: list[str] | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: object = None,
    ):  # fmt: skip
        who = "CSVDataset"
        check_str(field_delim, "field_delim", who)
        fits = len(field_delim) == 1 and field_delim not in '"\r\n'
        check_value(field_delim, fits, "be one character, no quote and no end of line", "field_delim", who)
        if column_names is not None:
            for name in check_list(column_names, "column_names", who):
                check_kind(column_names, isinstance(name, str), "be a list of str", "column_names", who)
            check_value(column_names, len(set(column_names)) == len(column_names), "not hold a name twice", "column_names", who)
        self._kinds = None
        if column_defaults is not None:
            for value in check_list(column_defaults, "column_defaults", who):
                fits = is_int(value) or isinstance(value, (float, str))
                check_kind(value, fits, "hold int, float and str", "column_defaults", who)
            self._kinds = [np.int32 if is_int(v) else np.float32 if isinstance(v, float) else str for v in column_defaults]
        self._delimiter, self._given = field_delim, column_names
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _columns(self):
        if self._given is not None:
            return self._given
        with self._opened(self._files[0]) as reader:
            names = next(reader, [])
        fits = names and len(set(names)) == len(names)
        return check_data(names, fits, f"the first line of {self._files[0]} should name the columns, each once", "CSVDataset")

    @contextlib.contextmanager
    def _opened(self, path):
        csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # one for all of Python's readers: MindSpore has none
        with self._reading(path), open(path, encoding="utf-8", newline="") as file:
            yield csv.reader(file, delimiter=self._delimiter)

    def _lines(self, path):
        with self._opened(path) as reader:
            if self._given is None:
                header, names = next(reader, None), self._columns()
                fits = header in (None, names)
                check_data(header, fits, f"the first line of {path} should be that of {self._files[0]}, {names}", "CSVDataset")
            for fields in reader:
                if fields:
                    yield reader.line_num, fields

    def _file_count(self, path):
        return sum(1 for _ in self._lines(path))

    def _read(self, path):
        names = self._columns()
        kinds = [*(self._kinds or ()), *[str] * len(names)][: max(len(names), len(self._kinds or ()))]
        for line, fields in self._lines(path):
            if len(fields) != len(names) or len(kinds) != len(names):
                raise RuntimeError(
                    f"CSVDataset: {path}, line {line} has {len(fields)} fields, but there are {len(names)} columns and {len(kinds)} types."
                )
            yield tuple(
                _number(field, kind, f"{path}, line {line}, column {name!r}") for field, kind, name in zip(fields, kinds, names)
            )


def _number(field, kind, where):
    if kind is str:
        return np.array(field)
    try:
        return np.array(leading_int(field) if kind is np.int32 else _leading_float(field), kind)
    except (ValueError, OverflowError) as error:
        raise RuntimeError(f"CSVDataset: {where}: {field!r} is no {kind.__name__}.") from error


def _leading_float(text):
    """The number in front of a text that Float32 can hold, as C reads it: 1.5 of "1.5x"."""
    try:
        number = float(text.partition("_")[0])  # which Python allows between digits
    except ValueError:
        found = _FLOAT.match(text)
        number = float(found.group() if found else text)
    if _TOO_LARGE <= abs(number) < math.inf:
        raise OverflowError(text)
    return number


def _in_turn(readers):
    """A row of each reader in turn, until all are at their end."""
    while readers:
        left = []
        for reader in readers:
            for row in itertools.islice(reader, 1):
                yield row
                left.append(reader)
        readers = left


def _find(files, who):
    """The paths of files that are given as paths or patterns."""
    given = [files] if isinstance(files, (str, os.PathLike)) else files
    fits = isinstance(given, list) and all(isinstance(path, (str, os.PathLike)) for path in given)
    check_kind(files, fits, "be a str or a list of str", "dataset_files", who)
    found = []
    for path in (os.fspath(one) for one in given):
        paths = [path] if os.path.isfile(path) else [match for match in glob.glob(path) if os.path.isfile(match)]
        if not paths:
            raise ValueError(f"For '{who}', 'dataset_files' should name files, but there is none at {path!r}.")
        found += paths
    check_value(found, found, "not be empty", "dataset_files", who)
    return found
