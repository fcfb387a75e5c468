"""Schema: the names, types and shapes of columns."""

from __future__ import annotations

import json
from typing import Any

from msjax.common.dtype import Type
from msjax.core.base.checks import check_kind, check_str, check_value, is_int
from msjax.dataset.checks import check_data

# The names of types that a column may have.
TYPES = (
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
        check_kind(de_type, kind in TYPES, "be a type of data such as ms.int64", "de_type", "add_column")
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
