"""TFRecordDataset: rows of TFRecord files, and Schema: the names, types and shapes of their columns."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common.dtype import Type
from msjax.core.base.checks import check_bool, check_kind, check_str, check_type, check_value, is_int
from msjax.dataset.checks import check_columns, check_data
from msjax.dataset.enums import Shuffle
from msjax.dataset.sources.text_files import RowsOfFiles
from msjax.mindrecord.tf_examples import features, records

__all__ = ["Schema", "TFRecordDataset"]

# The names of types that a column may have.
_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "string", "bytes",
)  # fmt: skip


class Schema:
    """The names, types and shapes of the columns of a dataset.

    Args:
        schema_file (str, optional): a JSON file with `columns`, and perhaps `datasetType` and `numRows`. Default: no columns.

    Attributes:
        columns: a list of dicts with `name`, `type`, `rank`, and `shape` if it is known.

    Raises:
        TypeError: the file's name is no str.
        ValueError: there is no such file.
        RuntimeError: the file is no such JSON file, or a column lacks its name or type.

    Example:
        >>> from msjax import dataset as ds, int64
        >>> schema = ds.Schema()
        >>> schema.add_column("label", int64, [1])
        >>> schema.columns
        [{'name': 'label', 'rank': 1, 'shape': [1], 'type': 'int64'}]
    """

    def __init__(self, schema_file: str | None = None):
        self.columns: list[dict[str, Any]] = []
        self.dataset_type, self.num_rows = "", 0
        self.schema_file = "" if schema_file is None else check_str(schema_file, "schema_file", "Schema")
        if schema_file is not None:
            try:
                with open(schema_file, encoding="utf-8") as file:
                    content = json.load(file)
            except OSError as error:
                raise ValueError(
                    f"For 'Schema', 'schema_file' should name a file, but {schema_file!r} can't be read: {error}"
                ) from error
            except ValueError as error:
                raise RuntimeError(f"For 'Schema', {schema_file!r} is no JSON file: {error}") from error
            self.from_json(content)

    def add_column(self, name: str, de_type: Type | str, shape: list[int] | None = None) -> None:
        """Add a column.

        Args:
            name (str): its name.
            de_type (ms.dtype or str): its type; "string" and "bytes", too.
            shape (list of int, optional): its shape; sizes of -1 follow from the data. Default: one axis.

        Raises:
            TypeError: a wrong argument, or an unknown type.
        """
        check_str(name, "name", "add_column")
        kind = str(de_type).lower()
        check_kind(de_type, kind in _TYPES, "be a type of data such as ms.int64", "de_type", "add_column")
        fits = shape is None or (isinstance(shape, list) and all(map(is_int, shape)))
        check_kind(shape, fits, "be a list of int", "shape", "add_column")
        known = {} if shape is None else {"shape": [*shape]}
        self.columns.append({"name": name, "rank": 1 if shape is None else len(shape), **known, "type": kind})

    def parse_columns(self, columns: list[dict[str, Any]] | dict[str, dict[str, Any]]) -> None:
        """Replace the columns by those of a list of dicts with `name`, `type` and perhaps `shape`, or of a dict of such by name.

        Raises:
            RuntimeError: neither, or a column lacks its name or type.
        """
        if isinstance(columns, dict):
            columns = [{"name": name, **column} for name, column in sorted(columns.items())]
        check_data(columns, isinstance(columns, list), "'columns' should be a list or a dict", "parse_columns")
        self.columns = []
        for column in columns:
            missing = [key for key in ("name", "type") if key not in column]
            if missing:
                raise RuntimeError(f"For 'parse_columns', the column {column} should have a {missing[0]}.")
            self.add_column(column["name"], column["type"], column.get("shape", [] if "rank" not in column else None))

    def to_json(self) -> str:
        """The schema as JSON text."""
        head = {name: value for name, value in (("datasetType", self.dataset_type), ("numRows", self.num_rows)) if value}
        return json.dumps({"columns": self.columns, **head}, indent=2)

    def from_json(self, json_obj: dict[str, Any]) -> None:
        """Take what a dict of such JSON says.

        Raises:
            RuntimeError: it has no columns, or something else besides.
        """
        fits = isinstance(json_obj, dict) and "columns" in json_obj
        check_data(json_obj, fits, "'columns' should be in the JSON", "Schema")
        unknown = sorted(set(json_obj) - {"columns", "datasetType", "numRows"})
        check_data(unknown, not unknown, "the JSON should hold columns, datasetType and numRows", "Schema")
        rows = json_obj.get("numRows", 0)
        check_value(rows, is_int(rows) and rows >= 0, "be an int from 0 on", "numRows", "Schema")
        self.dataset_type, self.num_rows = json_obj.get("datasetType", ""), rows
        self.parse_columns(json_obj["columns"])

    def get_num_rows(self) -> int:
        """How many rows the file says that there are; 0 if it does not."""
        return self.num_rows

    def __str__(self) -> str:
        return self.to_json()


_COMPRESSIONS = ("", "GZIP", "ZLIB")
_TEXTS = {"string": str, "bytes": bytes}


class TFRecordDataset(RowsOfFiles):
    """Rows of TFRecord files whose records are `tf.train.Example` messages; TensorFlow is not needed.

    A feature of bytes is a uint8 array, or text with a schema that says ``string``; others are int64 or float32, or of a schema's type.

    Args:
        dataset_files (str or list of str): paths, or patterns such as ``data/*.tfrecord``.
        schema (Schema or str, optional): the columns, or a JSON file of them. Default: all features of the first record, by name.
        columns_list (list of str, optional): the columns to read, in this order. Default: all.
        num_samples (int, optional): at most how many rows. Default: those of the schema, or all.
        num_parallel_workers (int, optional): how many files are read in turn. Default: the setting's.
        shuffle (bool or Shuffle): what is shuffled. Default: `Shuffle.GLOBAL`, files and rows.
        num_shards, shard_id (int, optional): the files of one of several shards.
        shard_equal_rows (bool): the shards have equally many rows, and not files.
        cache (None): not offered.
        compression_type (str, optional): "GZIP" or "ZLIB" for files that are packed as a whole. Default: none.

    Raises:
        TypeError, ValueError: a wrong argument, such as a file that is not there.
        RuntimeError: a file is no TFRecord file, or a record lacks a column, or has another type or shape (when reading).

    Example:
        >>> import struct
        >>> from msjax import dataset as ds
        >>> from msjax.mindrecord.tf_examples import masked_crc
        >>> example = bytes.fromhex("0a0c0a0a0a016e12051a030a0105")  # {"n": [5]}
        >>> size = struct.pack("<Q", len(example))
        >>> with open("numbers.tfrecord", "wb") as f:
        ...     _ = f.write(size + struct.pack("<I", masked_crc(size)) + example + struct.pack("<I", masked_crc(example)))
        >>> [n.asnumpy().tolist() for n, in ds.TFRecordDataset("numbers.tfrecord")]
        [[5]]
    """

    def __init__(
        self, dataset_files: str | list[str], schema: Schema | str | None = None, columns_list: list[str] | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None, shard_id: int | None = None, shard_equal_rows: bool = False, cache: object = None,
        compression_type: str | None = None,
    ):  # fmt: skip
        who = "TFRecordDataset"
        known: Schema | None = Schema(schema) if isinstance(schema, str) else schema
        if known is not None:
            check_type(known, Schema, "schema", who)
        fits = compression_type in (None, *_COMPRESSIONS)
        check_value(compression_type, fits, f"be one of {_COMPRESSIONS}", "compression_type", who)
        self._schema, self._compression = known, compression_type or ""
        self._wanted = None if columns_list is None else check_columns(columns_list, "columns_list", who)
        self._equal = check_bool(shard_equal_rows, "shard_equal_rows", who)
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)
        if self._limit is None and known is not None:
            self._limit = known.num_rows or None
        if not self._equal and num_shards is not None and len(self._files) < num_shards:
            error = ValueError if self._compression else RuntimeError
            raise error(
                f"For '{who}', each shard should have a file, but there are {len(self._files)} files for {num_shards} shards; with "
                "shard_equal_rows=True, shards are rows."
            )

    def _columns(self):
        return list(self._kinds())

    def _kinds(self):
        """{column: what the schema says of it, None without one}."""
        if self._schema is None:
            names = self._wanted or sorted(next((row for path in self._files for row in self._examples(path)), {}))
            return dict.fromkeys(names)
        by_name = {column["name"]: column for column in self._schema.columns}
        for name in self._wanted or ():
            if name not in by_name:
                raise RuntimeError(f"TFRecordDataset: the schema has no column {name!r}; it has {', '.join(by_name)}.")
        return {name: by_name[name] for name in self._wanted or by_name}

    def _records(self, path):
        try:
            yield from records(path, self._compression)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise RuntimeError(f"TFRecordDataset: {path} can't be read as a TFRecord file: {error}") from error

    def _examples(self, path):
        for number, record in enumerate(self._records(path)):
            try:
                yield features(record)
            except (TypeError, ValueError) as error:
                raise RuntimeError(f"TFRecordDataset: record {number} of {path} is no tf.train.Example: {error}") from error

    def _read(self, path):
        kinds = self._kinds()
        for number, row in enumerate(self._examples(path)):
            yield tuple(_value(row, name, kind, f"record {number} of {path}") for name, kind in kinds.items())

    def _file_count(self, path):
        return sum(1 for _ in self._records(path))

    def _shards_are_files(self):
        return self._shards is not None and not self._equal


def _value(row: dict[str, Any], name: str, column: dict[str, Any] | None, where: str) -> np.ndarray:
    """The array of a feature."""
    if name not in row:
        raise RuntimeError(f"TFRecordDataset: {where} has no feature {name!r}; it has {', '.join(sorted(row))}.")
    found: Any = row[name]
    holds = "bytes" if isinstance(found, list) else str(found.dtype)
    kind = ("uint8" if holds == "bytes" else holds) if column is None else column["type"]
    if (kind == "uint8" or kind in _TEXTS) != (holds == "bytes") or (kind[:5] == "float") != (holds == "float32"):
        raise RuntimeError(f"TFRecordDataset: the feature {name!r} in {where} holds {holds}, but the schema says {kind}.")
    if kind in _TEXTS:
        try:
            array = np.array([text.decode() for text in found] if kind == "string" else found, _TEXTS[kind])
        except UnicodeDecodeError as error:
            raise RuntimeError(f"TFRecordDataset: the feature {name!r} in {where} is no text: {error}") from error
    else:
        array = _bytes(found, column is None) if holds == "bytes" else np.asarray(found, kind)
    shape = None if column is None else column.get("shape")
    try:
        return array if shape is None else array.reshape(shape)
    except ValueError as error:
        raise RuntimeError(
            f"TFRecordDataset: the feature {name!r} in {where} has {array.size} values, which don't fit the schema's shape {shape}."
        ) from error


def _bytes(values: Sequence[bytes], filled: bool) -> np.ndarray:
    """The bytes of a list one after the other, without a schema each filled up with blanks to the longest, as in MindSpore."""
    longest = max(map(len, values), default=0) if filled else 0
    return np.frombuffer(b"".join(value.ljust(longest) for value in values), np.uint8).copy()
