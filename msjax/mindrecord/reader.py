"""Reading MindRecord files: `FileReader`, and the rows by number for `MindDataset`."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_kind
from msjax.core.base.errors import describe
from msjax.mindrecord import format

# What reading meets in bytes that are no MindRecord file's. msgpack's own errors are of these, too.
_DAMAGED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    sqlite3.Error,
    MemoryError,
    OverflowError,
    BufferError,
)


class MindRecordFile:
    """One file and its index, whose path has ``.db`` added to it: the header, {name: {"type": ..., "shape": ...}} of the schema, and where each row lies.

    Raises:
        ValueError: there is no such file.
        RuntimeError: it is no MindRecord file, or it was cut or damaged.
    """

    def __init__(self, path: str):
        self.path = path
        for needed in (path, f"{path}.db"):
            if not os.path.isfile(needed):
                raise ValueError(f"The MindRecord file {needed!r} does not exist.")
        try:
            with open(path, "rb") as f:
                self.header: dict[str, Any] = json.loads(f.read(int.from_bytes(f.read(8), "little")))
            schema = self.header["schema"][0]
            self.fields: dict[str, dict[str, Any]] = schema["schema"]
            self.blobs: list[str] = schema["blob_fields"]
            index = sqlite3.connect(f"{pathlib.Path(path).absolute().as_uri()}.db?mode=ro", uri=True)
            try:
                self.places: list[tuple[int, ...]] = index.execute(
                    "SELECT PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, PAGE_OFFSET_BLOB_END "
                    "FROM INDEXES ORDER BY ROW_ID"
                ).fetchall()
            finally:
                index.close()
            self._check()
        except _DAMAGED as error:
            raise RuntimeError(f"{path!r} is no MindRecord file, or damaged: {type(error).__name__}: {error}") from error
        self._content: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_content": None}

    def _check(self):
        """Compare what the header and the index say, and the size of the file."""
        if not all(isinstance(f, dict) and f.get("type") in format.TYPES for f in self.fields.values()):
            raise ValueError("its schema has fields of unknown types")
        if sorted(self.blobs) != sorted(name for name, field in self.fields.items() if format.is_blob(field)):
            raise ValueError("its schema names other fields of bytes and arrays than it has")
        self.header["shard_addresses"], self.header["index_fields"]  # pyright: ignore[reportUnusedExpression]
        start, size = self.header["header_size"], self.header["page_size"]
        pages = {page["page_id"]: page for page in self.header["page"]}
        used = {number: page["page_size"] for number, page in pages.items()}
        # Of several files one may have no rows, and ends before its pages then.
        needed = max((start + size * number + length for number, length in used.items() if length), default=0)
        there = os.path.getsize(self.path)
        if there < needed:
            raise ValueError(f"it has {there} bytes of the {needed} that its header tells of")
        rows = max(page["end_row_id"] for page in pages.values() if page["page_type"] == "BLOB_DATA")
        if rows != len(self.places):
            raise ValueError(f"its header tells of {rows} rows, and its index of {len(self.places)}")
        for place in self.places:
            for number, begin, end in (place[:3], place[3:]):
                if not 0 <= begin <= end - 8 <= used[number] - 8:
                    raise ValueError(f"a row lies at {begin} to {end} of page {number}, which has {used[number]} bytes")

    def row(self, number: int, names: Sequence[str]) -> dict[str, Any]:
        """The values of some fields of a row: numpy scalars, arrays, str and bytes."""
        with self._reading(number):
            raw_page, raw_start, raw_end, page, start, end = self.places[number]
            found: dict[str, Any] = {}
            if any(name not in self.blobs for name in names):
                plain = self._plain(raw_page, raw_start, raw_end)
                for name in names:
                    if name not in self.blobs:
                        kind = self.fields[name]["type"]
                        found[name] = plain[name] if kind == "string" else np.dtype(kind).type(plain[name])
            if any(name in self.blobs for name in names):
                parts = format.separated(self._bytes(page, start, end), len(self.blobs))
                found.update((n, format.decoded(part, self.fields[n])) for n, part in zip(self.blobs, parts) if n in names)
            return {name: found[name] for name in names}

    def stored(self, number: int) -> tuple[dict[str, Any], bytes]:
        """A row as it is stored: the fields of numbers and text, and the bytes of the others, joined."""
        with self._reading(number):
            raw_page, raw_start, raw_end, page, start, end = self.places[number]
            return self._plain(raw_page, raw_start, raw_end), self._bytes(page, start, end)

    @contextlib.contextmanager
    def _reading(self, number):
        try:
            yield
        except _DAMAGED as error:
            raise RuntimeError(f"{self.path!r} is damaged: row {number}: {type(error).__name__}: {error}") from error

    def _plain(self, page, start, end):
        import msgpack

        return dict(msgpack.unpackb(self._bytes(page, start, end)))

    def _bytes(self, page, start, end):
        if self._content is None:
            self._content = np.memmap(self.path, np.uint8, "r")
        at = self.header["header_size"] + self.header["page_size"] * page
        length = int.from_bytes(self._content[at + start : at + start + 8].tobytes(), "little")
        if length != end - start - 8:
            raise ValueError(f"it has {length} bytes, and {end - start - 8} in the index")
        return self._content[at + start + 8 : at + end].tobytes()


def open_files(file_name: str | Sequence[str], who: str) -> list[MindRecordFile]:
    """The files of a name, with the others that were written together with it; or those of a list, and no others."""
    if isinstance(file_name, str):
        first = MindRecordFile(file_name)
        folder = os.path.dirname(file_name)
        names = [os.path.join(folder, os.path.basename(name)) for name in first.header["shard_addresses"]]
        names = names if os.path.basename(file_name) in map(os.path.basename, names) else [file_name]
    elif isinstance(file_name, (list, tuple)) and file_name and all(isinstance(name, str) for name in file_name):
        names = list(file_name)
    else:
        raise TypeError(f"For '{who}', the files should be a path or a list of paths, but got {describe(file_name)}.")
    files = [MindRecordFile(name) for name in names]
    for file in files:
        if file.fields != files[0].fields:
            raise RuntimeError(f"{who}: {file.path!r} has another schema than {files[0].path!r}.")
    return files


class FileReader:
    """Reads MindRecord files row by row.

    Args:
        file_name (str or list of str): a file, of which all that were written together are read; or the files.
        num_consumer (int): accepted for compatibility with MindSpore, without effect. Default: 4.
        columns (list of str, optional): the fields to read. Default: all.
        operator (None): MindSpore's reserved argument.

    Raises:
        RuntimeError, TypeError, ValueError: no such file or field, or a wrong argument.

    Example:
        >>> from msjax.mindrecord import FileReader, FileWriter
        >>> writer = FileWriter("squares.mindrecord", overwrite=True)
        >>> _ = writer.add_schema({"n": {"type": "int32"}, "square": {"type": "int32"}})
        >>> _ = writer.write_raw_data([{"n": n, "square": n * n} for n in (2, 3)])
        >>> _ = writer.commit()
        >>> [(int(row["n"]), int(row["square"])) for row in FileReader("squares.mindrecord").get_next()]
        [(2, 4), (3, 9)]
    """

    def __init__(
        self, file_name: str | Sequence[str], num_consumer: int = 4, columns: list[str] | None = None, operator: None = None
    ):
        check_int(num_consumer, "num_consumer", "FileReader", low=1)
        try:
            self._files = open_files(file_name, "FileReader")
        except ValueError as error:
            raise RuntimeError(f"For 'FileReader': {error}") from error
        self._names = chosen_columns(self._files[0], columns, "FileReader")

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows, as dicts."""
        for file in self._files:
            for number in range(len(file.places)):
                yield {
                    name: value.item() if isinstance(value, np.generic) else value
                    for name, value in file.row(number, self._names).items()
                }

    def len(self) -> int:
        """How many rows there are."""
        return sum(len(file.places) for file in self._files)

    def schema(self) -> dict[str, Any]:
        """The fields and their types."""
        return self._files[0].fields

    def close(self) -> None:
        """Accepted for compatibility with MindSpore: files are closed when the reader is gone."""


def chosen_columns(file: MindRecordFile, columns: list[str] | None, who: str) -> list[str]:
    """The columns that were asked for, all in their order by default."""
    if columns is None:
        return sorted(file.fields)
    fits = isinstance(columns, (list, tuple)) and all(isinstance(name, str) for name in columns)
    check_kind(columns, fits, "be a list of str", "the columns", who)
    missing = [name for name in columns if name not in file.fields]
    if missing:
        raise RuntimeError(f"{who}: {file.path!r} has no field {missing[0]!r}; its fields are {', '.join(sorted(file.fields))}.")
    return list(columns)
