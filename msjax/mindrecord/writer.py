"""Writing MindRecord files."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import sqlite3
from typing import Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_int, check_kind, check_str, check_type, check_value
from msjax.core.base.errors import describe
from msjax.core.base.whole_files import FileBeside, sync_folder
from msjax.mindrecord import format
from msjax.mindrecord.reader import open_files

_NAME = re.compile(r"\w+", re.ASCII)
_SQL_TYPES = {"int32": "INTEGER", "int64": "INTEGER", "float32": "NUMERIC", "float64": "NUMERIC", "string": "TEXT"}


class FileWriter:
    """Writes rows into one or several MindRecord files, which MindSpore reads, too.

    Args:
        file_name (str): the path; several files get their numbers added to it.
        shard_num (int): how many files the rows are spread over. Default: 1.
        overwrite (bool): replace files that exist. Default: False.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, a schema that can't be, or a file that exists.

    Example:
        >>> import numpy as np
        >>> from msjax import dataset as ds
        >>> from msjax.mindrecord import FileWriter
        >>> writer = FileWriter("pairs.mindrecord", overwrite=True)
        >>> _ = writer.add_schema({"x": {"type": "float32", "shape": [2]}, "label": {"type": "int64"}}, "two numbers and a label")
        >>> _ = writer.write_raw_data([{"x": np.array([1, 2], np.float32), "label": 5}])
        >>> _ = writer.commit()
        >>> [row["label"].item() for row in ds.MindDataset("pairs.mindrecord").create_dict_iterator(1)]
        [5]
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False):
        check_str(file_name, "file_name", "FileWriter")
        count = check_int(shard_num, "shard_num", "FileWriter", low=1, high=1000)
        check_bool(overwrite, "overwrite", "FileWriter")
        width = len(str(count - 1))
        self._paths = [file_name] if count == 1 else [f"{file_name}{i:0{width}d}" for i in range(count)]
        self._start()
        for path in [name + end for name in self._paths for end in ("", ".db")]:
            if os.path.exists(path) and not overwrite:
                raise RuntimeError(f"For 'FileWriter', the file {path!r} exists; overwrite=True replaces it.")

    def _start(self):
        self._header_size, self._page_size = format.HEADER_SIZE, format.PAGE_SIZE
        self._fields: dict[str, dict[str, Any]] | None = None
        self._description = ""
        self._indexed: list[str] | None = None
        self._rows: list[tuple[dict[str, Any], bytes]] = []
        self._compressed = 0
        # The rows that lie in the files already.
        self._kept: list[list[tuple[dict[str, Any], bytes]]] = [[] for _ in self._paths]

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer that adds rows to files; their schema and index stay.

        Args:
            file_name (str): one of the files that were written together.

        Raises:
            TypeError, RuntimeError: no path of a MindRecord file.

        Example:
            >>> from msjax import dataset as ds
            >>> from msjax.mindrecord import FileWriter
            >>> writer = FileWriter("numbers.mindrecord", overwrite=True)
            >>> _ = writer.add_schema({"x": {"type": "int32"}}), writer.write_raw_data([{"x": 1}]), writer.commit()
            >>> writer = FileWriter.open_for_append("numbers.mindrecord")
            >>> _ = writer.write_raw_data([{"x": 2}]), writer.commit()
            >>> len(ds.MindDataset("numbers.mindrecord"))
            2
        """
        check_str(file_name, "file_name", "FileWriter.open_for_append")
        try:
            files = open_files(file_name, "FileWriter.open_for_append")
        except ValueError as error:
            raise RuntimeError(f"For 'FileWriter.open_for_append': {error}") from error
        writer, header = cls.__new__(cls), files[0].header
        writer._paths = [file.path for file in files]
        writer._start()
        writer._header_size, writer._page_size = header["header_size"], header["page_size"]
        writer._fields, writer._description = files[0].fields, header["schema"][0]["desc"]
        writer._indexed = [index["index_field"] for index in header["index_fields"] or ()]
        writer._compressed = header.get("compression_size", 0)
        writer._kept = [[file.stored(i) for i in range(len(file.places))] for file in files]
        return writer

    def add_schema(self, content: dict[str, dict[str, Any]], desc: str | None = None) -> int:
        """Say which fields the rows have.

        Args:
            content (dict): {name: {"type": one of int32, int64, float32, float64, string, bytes; "shape": list, for an array}}.
            desc (str, optional): a description.

        Returns:
            int, the number of the schema.
        """
        check_kind(content, isinstance(content, dict) and content, "be a dict of fields", "content", "add_schema")
        for name, field in content.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise ValueError(f"For 'add_schema', a field's name should be of letters, digits and '_', but got {name!r}.")
            if not isinstance(field, dict) or field.get("type") not in format.TYPES or field.keys() - {"type", "shape"}:
                raise ValueError(
                    f"For 'add_schema', field {name!r} should be {{'type': one of {', '.join(format.TYPES)}[, 'shape': list]}}, but "
                    f"got {describe(field)}."
                )
            if "shape" in field and (field["type"] in ("string", "bytes") or not isinstance(field["shape"], list)):
                raise ValueError(f"For 'add_schema', the shape of field {name!r} should be a list, and its type that of numbers.")
        if any(self._kept):
            raise RuntimeError("For 'add_schema', the files have a schema already.")
        self._fields, self._description = {name: dict(content[name]) for name in sorted(content)}, desc or ""
        return 0

    def add_index(self, index_fields: list[str]) -> None:
        """Say which fields the index holds. Default: the first ones that are numbers or text."""
        fits = isinstance(index_fields, list) and index_fields
        check_kind(index_fields, fits, "be a list of names", "index_fields", "add_index")
        for name in index_fields:
            if name not in self._schema() or format.is_blob(self._schema()[name]):
                raise ValueError(f"For 'add_index', {name!r} is no field of a number or of text.")
        self._indexed = list(index_fields)

    def set_header_size(self, header_size: int) -> None:
        """Set the size of the header, in bytes. Default: 16 MiB."""
        self._header_size = self._size(header_size, "header_size", 1 << 14, 1 << 27)

    def set_page_size(self, page_size: int) -> None:
        """Set the size of pages, in bytes; a row has to fit into one. Default: 32 MiB."""
        self._page_size = self._size(page_size, "page_size", 1 << 15, 1 << 28)

    @staticmethod
    def _size(value, name, low, high):
        check_int(value, name, f"set_{name}", low=low, high=high)
        check_value(value, not value % 4, "be a multiple of 4", name, f"set_{name}")
        return value

    def open_and_set_header(self) -> None:
        """Accepted for compatibility with MindSpore: `commit` writes everything."""

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> None:
        """Add rows.

        Args:
            raw_data (list): the rows, dicts by the fields of the schema.
            parallel_writer (bool): accepted for compatibility with MindSpore, without effect.

        Raises:
            TypeError, ValueError: a row lacks a field, or has a value of another type.
        """
        fields = self._schema()
        rows: list[Any] = [raw_data] if isinstance(raw_data, dict) else list(raw_data)
        for row in rows:
            check_type(row, dict, "a row", "write_raw_data")
            missing = fields.keys() - row.keys()
            if missing:
                raise ValueError(f"For 'write_raw_data', a row lacks the field {sorted(missing)[0]!r}.")
            plain, blobs = {}, []
            for name, field in fields.items():
                value = row[name].asnumpy() if isinstance(row[name], Tensor) else row[name]
                if not format.is_blob(field):
                    plain[name] = _plain(value, field["type"], name)
                    continue
                blobs.append(format.encoded(value, field, name))
                if field["type"] in ("int32", "int64"):
                    self._compressed += np.asarray(value).size * np.dtype(field["type"]).itemsize - len(blobs[-1])
            self._rows.append((plain, format.joined(blobs)))

    def commit(self) -> None:
        """Write the files.

        They are written beside what is there, and replace it when all are complete. If the process ends before that, the old files stay.
        Where it ends while they take their places, an index is missing, and readers say so.

        Raises:
            RuntimeError: the header or a row is too large.
            OSError: the files can't be written, for example to a disk that is full.
        """
        fields = self._schema()
        plain = [name for name in fields if not format.is_blob(fields[name])]
        indexed = plain[:1] if self._indexed is None else self._indexed
        counts = [len(self._rows) // len(self._paths) + (i < len(self._rows) % len(self._paths)) for i in range(len(self._paths))]
        ends = itertools.accumulate(counts)
        kept = [[*rows, *self._rows[end - n : end]] for rows, n, end in zip(self._kept, counts, ends)]
        files, indices = [], []
        try:
            for number, path in enumerate(self._paths):
                files.append(FileBeside(path))
                places = self._write(files[-1].file, path, number, kept[number], indexed)
                indices.append(FileBeside(f"{path}.db"))
                indices[-1].file.write(self._index(path, kept[number], places, indexed))
            for file in [*files, *indices]:
                file.complete()
            # An old index beside a new file would name other places: it goes first.
            for path in self._paths:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(f"{path}.db")
            for file in [*files, *indices]:
                file.replace()
        except BaseException as error:
            for file in [*files, *indices]:
                file.drop(error)
            raise
        for folder in {os.path.dirname(os.path.realpath(path)) for path in self._paths}:
            sync_folder(folder)
        self._kept, self._rows = kept, []

    def _schema(self):
        if self._fields is None:
            raise RuntimeError("For 'FileWriter', 'add_schema' has to come first.")
        return self._fields

    def _write(self, file, path, number, rows, indexed):
        """Write a file; returns where its rows lie."""
        import msgpack

        pages = _Pages(self._page_size, number)
        places = []
        for i, (plain, blob) in enumerate(rows):
            raw = format.with_length(bytes(msgpack.packb(dict(sorted(plain.items())) or {"id": 0}) or b""))
            places.append((*pages.put("RAW_DATA", raw, i), *pages.put("BLOB_DATA", format.with_length(blob), i)))
        fields = self._schema()
        header = {
            "header_size": self._header_size,
            "index_fields": [{"index_field": name, "schema_id": 0} for name in indexed] or None,
            "page": pages.described,
            "page_size": self._page_size,
            "compression_size": max(0, self._compressed),
            "schema": [
                {
                    "blob_fields": [name for name in fields if format.is_blob(fields[name])],
                    "desc": self._description,
                    "schema": fields,
                }
            ],
            "shard_addresses": [os.path.basename(name) for name in self._paths],
            "shard_id": number,
            "statistics": None,
            "version": format.VERSION,
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        if len(text) + 8 > self._header_size:
            raise RuntimeError(
                f"FileWriter: the header of {path!r} needs {len(text) + 8} bytes; set_header_size sets their number."
            )
        file.write(format.with_length(text))
        for place, parts in enumerate(pages.parts):
            file.seek(self._header_size + place * self._page_size)
            file.write(b"".join(parts))
        return places

    def _index(self, path, rows, places, indexed):
        """The content of the index."""
        fields = self._schema()
        columns = [f'INC_{i} INT, "{name}_0" {_SQL_TYPES[fields[name]["type"]]}' for i, name in enumerate(indexed)]
        fixed = (
            "ROW_ID INT NOT NULL, PAGE_ID_RAW INT NOT NULL, PAGE_OFFSET_RAW INT NOT NULL, PAGE_OFFSET_RAW_END INT NOT NULL, "
            "ROW_GROUP_ID INT NOT NULL, PAGE_ID_BLOB INT NOT NULL, PAGE_OFFSET_BLOB INT NOT NULL, PAGE_OFFSET_BLOB_END INT NOT NULL"
        )
        key = ", ".join(["ROW_ID", *(f"INC_{i}" for i in range(len(indexed)))])
        index = sqlite3.connect(":memory:")
        try:
            index.execute(f"CREATE TABLE INDEXES({', '.join([fixed, *columns])}, PRIMARY KEY({key}))")
            index.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
            index.execute("INSERT INTO SHARD_NAME VALUES(?)", (os.path.basename(path),))
            for i, ((plain, _), (raw_page, _, raw_start, raw_end, page, group, start, end)) in enumerate(zip(rows, places)):
                extra = [value for name in indexed for value in (0, plain[name])]
                values = (i, raw_page, raw_start, raw_end, group, page, start, end, *extra)
                index.execute(f"INSERT INTO INDEXES VALUES({','.join('?' * len(values))})", values)
            index.commit()
            return index.serialize()
        finally:
            index.close()


class _Pages:
    """The pages of one file, as they are filled."""

    def __init__(self, size, shard):
        self._size, self._shard = size, shard
        # What the header says of the pages, and their rows.
        self.described: list[dict[str, Any]] = []
        self.parts: list[list[bytes]] = []
        self._last: dict[str, dict[str, Any]] = {}
        # Blobs have the first page.
        self._new("BLOB_DATA", 0)
        self._new("RAW_DATA", 0)

    def _new(self, kind, row):
        before, first = self._last.get(kind), row if kind == "BLOB_DATA" else 0
        page = {
            "end_row_id": first,
            "page_id": len(self.described),
            "page_size": 0,
            "page_type": kind,
            "page_type_id": 0 if before is None else before["page_type_id"] + 1,
            "row_group_ids": [{"id": 0, "offset": 0}],
            "shard_id": self._shard,
            "start_row_id": first,
        }
        self.described.append(page)
        self.parts.append([])
        self._last[kind] = page
        return page

    def put(self, kind, data, row):
        """Add a row; returns (page, number among its kind, start, end)."""
        if len(data) > self._size:
            raise RuntimeError(f"FileWriter: row {row} needs {len(data)} bytes; set_page_size sets how many fit into a page.")
        page = self._last[kind]
        if page["page_size"] + len(data) > self._size:
            page = self._new(kind, row)
        number, kind_number, start = page["page_id"], page["page_type_id"], page["page_size"]
        self.parts[number].append(data)
        page["page_size"] += len(data)
        if kind == "RAW_DATA":
            self._raw_start = start
        else:
            page["end_row_id"] = row + 1
            # A group is the rows whose blobs lie in one page; the raw page says where each begins.
            raw_page, group = self._last["RAW_DATA"], {"id": kind_number, "offset": self._raw_start}
            if not self._raw_start:
                raw_page["row_group_ids"] = [group]
            elif raw_page["row_group_ids"][-1]["id"] != kind_number:
                raw_page["row_group_ids"].append(group)
        return number, kind_number, start, page["page_size"]


def _plain(value, kind, name):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if kind == "string":
        if not isinstance(value, str):
            raise TypeError(f"Field {name!r} should be text, but got {describe(value)}.")
        return str(value)
    numbers = (int, np.integer) if kind.startswith("int") else (int, float, np.number)
    if isinstance(value, bool) or not isinstance(value, numbers):
        raise TypeError(f"Field {name!r} should be a number of type {kind}, but got {describe(value)}.")
    if not kind.startswith("int"):
        return float(value)
    limits = np.iinfo(kind)
    if not limits.min <= value <= limits.max:
        raise ValueError(f"Field {name!r} should fit into {kind}, but got {value}.")
    return int(value)
