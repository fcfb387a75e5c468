"""`Dataset.save`: the rows in MindRecord files."""

from __future__ import annotations

import re

from msjax.core.base.checks import check_one_of, check_value
from msjax.dataset.dataset import Dataset
from msjax.mindrecord.format import TYPES, is_blob
from msjax.mindrecord.writer import FileWriter


def save(self: Dataset, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
    """Write the rows into MindRecord files, which `MindDataset` reads. Signs in names that a field can't have become "_".

    Args:
        file_name (str): the path; several files get their numbers added to it.
        num_files (int): how many files the rows are spread over. Default: 1.
        file_type (str): "mindrecord".

    Raises:
        TypeError, ValueError: a wrong argument, or a column of a type that these files don't hold.
        RuntimeError: a file exists, or there are no rows.

    Example:
        >>> ds.NumpySlicesDataset({"v": [1, 2]}, shuffle=False).save("saved.mindrecord")
        >>> [int(v) for v, in ds.MindDataset("saved.mindrecord", shuffle=False)]
        [1, 2]
    """
    check_one_of(file_type, ("mindrecord",), "file_type", "save")
    columns, writer = self.get_col_names(), None
    names = [re.sub(r"[^0-9a-zA-Z_]", "_", column) for column in columns]
    check_value(columns, len({*names}) == len(names), "differ by letters, digits and '_'", "the columns", "save")
    for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True):
        if writer is None:
            fields = {name: _field(value, name) for name, value in zip(names, row)}
            writer = FileWriter(file_name, num_files)
            writer.add_schema(fields, "mindrecord")
            plain = [name for name in names if not is_blob(fields[name])]
            if plain:
                writer.add_index(plain)
        writer.write_raw_data([dict(zip(names, map(_stored, row)))])
    if writer is None:
        raise RuntimeError(f"save: there are no rows to write into {file_name!r}.")
    writer.commit()


# The types of MindRecord files that hold the values of a column.
_STORED = {**dict.fromkeys(("int8", "int16", "uint8", "uint16", "bool"), "int32"), "uint32": "int64", "float16": "float32"}


def _field(value, name):
    if isinstance(value, dict):
        raise TypeError(f"For 'save', column {name!r} should hold arrays, but got a dict.")
    kind = {"U": "string", "S": "bytes"}.get(value.dtype.kind) or _STORED.get(value.dtype.name, value.dtype.name)
    if kind not in TYPES or (kind in ("string", "bytes") and value.size != 1):
        raise TypeError(f"For 'save', column {name!r} of shape {value.shape} and type {value.dtype} can't be stored.")
    return {"type": kind} if kind in ("string", "bytes") or not value.ndim else {"type": kind, "shape": [-1, *value.shape[1:]]}


def _stored(value):
    if value.dtype.kind in "US":
        return value.item() if value.dtype.kind == "U" else value.tobytes()  # an item of bytes ends before its last zeros
    return value.astype(_STORED[value.dtype.name]) if value.dtype.name in _STORED else value
