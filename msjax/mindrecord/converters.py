"""Converters of public datasets' files to MindRecord files."""

from __future__ import annotations

import csv
import glob
import io
import itertools
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_kind, check_str, check_value
from msjax.core.base.errors import describe
from msjax.mindrecord.idx import read_idx
from msjax.mindrecord.tf_examples import features, records
from msjax.mindrecord.writer import FileWriter

_ROWS = 1000  # rows that are made at a time


class _Converter:
    """The base of converters, which define `_parts`: of MindRecord files that are written together their path, the rows, the fields and those of the index."""

    _parts: Callable[[], list[tuple[str, Iterable[dict[str, Any]], dict[str, dict[str, Any]], list[str]]]]

    def __init__(self, source: str, destination: str, partition_number: int = 1):
        self._who = type(self).__name__
        self._source = check_str(source, "source", self._who)
        self._destination = check_str(destination, "destination", self._who)
        self._count = check_int(partition_number, "partition_number", self._who, low=1, high=1000)

    def transform(self) -> None:
        """Write the files.

        Raises:
            ValueError, OSError: what is converted is missing, or is no such file.
            RuntimeError: the MindRecord files are there already.
        """
        self._write()

    run = transform

    def _write(self, fields=None):
        for path, rows, schema, index in self._parts():
            writer = FileWriter(path, self._count)
            writer.add_schema(schema, self._who)
            if wanted := index if fields is None else fields:
                writer.add_index(wanted)
            rows = iter(rows)
            while several := list(itertools.islice(rows, _ROWS)):
                writer.write_raw_data(several)
            writer.commit()


class _Cifar(_Converter):
    # {field: its key in the pickled dicts}, and the patterns of the files for training and for testing.
    _labels: dict[str, str] = {}
    _files: tuple[str, str] = ("", "")

    def __init__(self, source: str, destination: str):
        super().__init__(source, destination)

    def transform(self, fields: list[str] | None = None) -> None:
        """Write the files.

        Args:
            fields (list of str, optional): the fields of the index. Default: `id` and the labels.

        Raises:
            ValueError, OSError: what is converted is missing, or is no such file.
            RuntimeError: the MindRecord files are there already.
        """
        if fields is not None:
            check_kind(fields, isinstance(fields, list), "be a list of names", "fields", self._who)
        self._write(fields)

    run = transform

    def _parts(self):
        names = ["id", *self._labels]
        schema = {**{name: {"type": "int64"} for name in names}, "data": {"type": "bytes"}}
        paths = [sorted(glob.glob(os.path.join(glob.escape(self._source), pattern))) for pattern in self._files]
        if not any(paths):
            raise ValueError(f"{self._who}: there are no files such as {self._files[0]} in {self._source!r}.")
        ends = ("", "_test")
        return [(self._destination + end, self._rows(several), schema, names) for end, several in zip(ends, paths)]

    def _rows(self, paths):
        number = 0
        for path in paths:
            batch = _unpickled(path)
            columns = [batch[key] for key in self._labels.values()]
            images = np.asarray(batch["data"], np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            for image, *labels in zip(images, *columns):
                yield {"id": number, **dict(zip(self._labels, map(int, labels))), "data": _jpeg(image)}
                number += 1


class Cifar10ToMR(_Cifar):
    """Converts CIFAR-10's Python files, ``data_batch_*`` and ``test_batch``, to MindRecord files.

    The fields are `id`, `label` and `data`, the image as JPEG; those for testing are in the file with ``_test`` added. Needs Pillow.

    Args:
        source (str): the folder of the files.
        destination (str): the path of the MindRecord file.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, no such files, or files that are there already.

    Example:
        >>> import pickle
        >>> import numpy as np
        >>> from msjax.mindrecord import Cifar10ToMR, FileReader
        >>> for name in ("data_batch_1", "test_batch"):
        ...     with open(name, "wb") as file:
        ...         pickle.dump({"data": np.zeros((2, 3072), np.uint8), "labels": [3, 4]}, file)
        >>> Cifar10ToMR(".", "cifar10.mindrecord").transform()
        >>> [row["label"] for row in FileReader("cifar10.mindrecord").get_next()]
        [3, 4]
    """

    _labels = {"label": "labels"}
    _files = ("data_batch_*", "test_batch*")


class Cifar100ToMR(_Cifar):
    """Converts CIFAR-100's Python files, ``train`` and ``test``, to MindRecord files.

    The fields are `id`, `fine_label`, `coarse_label` and `data`, the image as JPEG; see `Cifar10ToMR`.
    """

    _labels = {"fine_label": "fine_labels", "coarse_label": "coarse_labels"}
    _files = ("train", "test")


class MnistToMR(_Converter):
    """Converts MNIST's packed files, such as ``train-images-idx3-ubyte.gz``, to MindRecord files.

    The fields are `label` and `data`, the image as JPEG; the files have ``_train.mindrecord`` and ``_test.mindrecord`` added. Needs Pillow.

    Args:
        source (str): the folder of the files.
        destination (str): the path of the MindRecord files.
        partition_number (int): how many files the rows are spread over. Default: 1.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, no such files, or files that are there already.
    """

    def _parts(self):
        schema = {"label": {"type": "int64"}, "data": {"type": "bytes"}}
        uses = {"train": "_train.mindrecord", "t10k": "_test.mindrecord"}
        return [(self._destination + end, self._rows(use), schema, ["label"]) for use, end in uses.items()]

    def _rows(self, use):
        start = os.path.join(self._source, use)
        images = read_idx(f"{start}-images-idx3-ubyte.gz", 2051, 3)
        labels = read_idx(f"{start}-labels-idx1-ubyte.gz", 2049, 1)
        for image, label in zip(images, labels, strict=True):
            yield {"label": int(label), "data": _jpeg(image)}


class ImageNetToMR(_Converter):
    """Converts ImageNet's folders of images to MindRecord files.

    The fields are `label`, `image`, the file's bytes, and `file_name`.

    Args:
        map_file (str): lines of a folder's name and its label.
        image_dir (str): the folder of the classes' folders.
        destination (str): the path of the MindRecord file.
        partition_number (int): how many files the rows are spread over. Default: 1.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, no such files, or files that are there already.

    Example:
        >>> import os
        >>> from msjax.mindrecord import FileReader, ImageNetToMR
        >>> os.makedirs("n01440764")
        >>> for name, text in (("map.txt", "n01440764 0"), ("n01440764/1.JPEG", "an image")):
        ...     with open(name, "w") as file:
        ...         _ = file.write(text)
        >>> ImageNetToMR("map.txt", ".", "imagenet.mindrecord").transform()
        >>> [(row["label"], row["image"]) for row in FileReader("imagenet.mindrecord").get_next()]
        [(0, b'an image')]
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1):
        super().__init__(image_dir, destination, partition_number)
        self._map = check_str(map_file, "map_file", self._who)

    def _parts(self):
        schema = {"label": {"type": "int32"}, "image": {"type": "bytes"}, "file_name": {"type": "string"}}
        return [(self._destination, self._rows(), schema, ["label", "file_name"])]

    def _rows(self):
        with open(self._map, encoding="utf-8") as file:
            labels = [line.split() for line in file if line.strip()]
        for folder, label in labels:
            for path in sorted(glob.glob(os.path.join(glob.escape(self._source), glob.escape(folder), "*"))):
                with open(path, "rb") as file:
                    yield {"label": int(label), "image": file.read(), "file_name": path}


class CsvToMR(_Converter):
    """Converts a file of comma-separated values to MindRecord files; its first line names the fields.

    A column of whole numbers is int64, one of other numbers float64, one of True and False int32, and another is text.

    Args:
        source (str): the file.
        destination (str): the path of the MindRecord file.
        columns_list (list of str, optional): the columns to take. Default: all.
        partition_number (int): how many files the rows are spread over. Default: 1.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, no such file or column, or files that are there already.

    Example:
        >>> from msjax.mindrecord import CsvToMR, FileReader
        >>> with open("people.csv", "w") as file:
        ...     _ = file.write("name,age\\nAnn,41\\nBob,7\\n")
        >>> CsvToMR("people.csv", "people.mindrecord").transform()
        >>> list(FileReader("people.mindrecord").get_next())
        [{'age': 41, 'name': 'Ann'}, {'age': 7, 'name': 'Bob'}]
    """

    def __init__(self, source: str, destination: str, columns_list: list[str] | None = None, partition_number: int = 1):
        super().__init__(source, destination, partition_number)
        listed = columns_list is None or (isinstance(columns_list, list) and all(isinstance(name, str) for name in columns_list))
        self._columns = check_kind(columns_list, listed, "be a list of str", "columns_list", self._who)

    def _parts(self):
        with open(self._source, encoding="utf-8", newline="") as file:
            names, *lines = [line for line in csv.reader(file) if line] or [[]]
        odd = next((line for line in lines if len(line) != len(names)), None)
        check_value(odd, odd is None, f"have a field for each of {names}", f"a line of {self._source!r}", self._who)
        unlike = names and len({*names}) == len(names)
        check_value(names, unlike, "name each column once", f"the first line of {self._source!r}", self._who)
        wanted = names if self._columns is None else self._columns
        for name in wanted:
            if name not in names:
                raise ValueError(f"{self._who}: {self._source!r} has no column {name!r}; its columns are {names}.")
        columns = {name: _typed([line[names.index(name)] for line in lines]) for name in wanted}
        schema = {name: {"type": kind} for name, (kind, _) in columns.items()}
        rows = (dict(zip(columns, values)) for values in zip(*(values for _, values in columns.values())))
        return [(self._destination, rows, schema, [])]


class TFRecordToMR(_Converter):
    """Converts a file of `tf.train.Example` messages to MindRecord files, without TensorFlow.

    Args:
        source (str): the TFRecord file.
        destination (str): the path of the MindRecord file.
        feature_dict (dict): {name: feature}, each with ``shape`` and ``dtype`` (string, int64 or float32), as `tf.io.FixedLenFeature` has them. Signs
            in names that a field can't have become "_".
        bytes_fields (list of str, optional): those of the strings that are bytes. Default: none, all are text.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, no such file, a feature with another number of values, or files that are there already.
    """

    def __init__(self, source: str, destination: str, feature_dict: Mapping[str, Any], bytes_fields: list[str] | None = None):
        super().__init__(source, destination)
        fits = isinstance(feature_dict, Mapping) and feature_dict
        check_kind(feature_dict, fits, "be a dict of features", "feature_dict", self._who)
        listed = bytes_fields is None or isinstance(bytes_fields, list)
        self._bytes = check_kind(bytes_fields, listed, "be a list of str", "bytes_fields", self._who) or []
        self._features = {name: self._feature(name, feature) for name, feature in feature_dict.items()}

    def _feature(self, name, feature):
        """(type, number of values; None for a scalar) of a feature."""
        shape, kind = [*getattr(feature, "shape", ())], getattr(feature, "dtype", feature)
        kind = getattr(kind, "name", str(kind))
        if kind not in ("string", "int64", "float32", "int32") or len(shape) > 1:
            raise ValueError(
                f"For '{self._who}', the feature {name!r} should have one axis at most and hold strings, int64 or float32."
            )
        count = shape[0] if shape and shape[0] != 1 else None
        if kind == "string":
            return "bytes" if name in self._bytes else "string", None
        return kind, count

    def _parts(self):
        schema = {
            _field_name(name): {"type": kind} if count is None else {"type": kind, "shape": [count]}
            for name, (kind, count) in self._features.items()
        }
        rows = ({_field_name(name): value for name, value in row.items()} for row in self.tfrecord_iterator())
        return [(self._destination, rows, schema, [])]

    def tfrecord_iterator(self) -> Iterator[dict[str, Any]]:
        """The rows that are written, by the names of the features."""
        for data in records(self._source, ""):
            found = features(data)
            yield {name: self._value(found, name, *feature) for name, feature in self._features.items()}

    def _value(self, found, name, kind, count):
        values = found.get(name, ())
        if len(values) != (1 if count is None else count):
            raise ValueError(
                f"{self._who}: the feature {name!r} has {len(values)} values in a record, not {1 if count is None else count}."
            )
        if kind in ("string", "bytes"):
            try:
                return values[0] if kind == "bytes" else values[0].decode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{self._who}: the feature {name!r} is no text; 'bytes_fields' names those that are bytes."
                ) from error
        return np.asarray(values, kind) if count is not None else np.dtype(kind).type(values[0])


def _field_name(name):
    return re.sub(r"[^0-9a-zA-Z_]", "_", name)


def _typed(values: list[str]) -> tuple[str, list[Any]]:
    """(type of a field, values) of a column of text."""
    texts = [value.strip() for value in values]
    if texts and set(texts) <= {"True", "False"}:
        return "int32", [int(text == "True") for text in texts]
    kinds: list[tuple[str, Callable[[str], Any]]] = [("int64", int), ("float64", float)]
    for kind, read in () if any("_" in text for text in texts) else kinds:  # Python takes 1_0 for 10
        try:
            return kind, [read(text) for text in texts]
        except ValueError:
            continue
    return "string", values


class _ArraysOnly(pickle.Unpickler):
    """Reads arrays, lists and dicts, and calls nothing else that a file names."""

    def find_class(self, module: str, name: str) -> Any:
        allowed = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}
        if (module, name) in allowed or (module.startswith("numpy") and name == "_reconstruct"):
            return super().find_class(module, name)
        raise ValueError(f"a CIFAR file holds arrays, lists and dicts, but this one names {module}.{name}")


def _unpickled(path):
    """The dict of a CIFAR file, by names."""
    with open(path, "rb") as file:
        try:
            batch = _ArraysOnly(file, encoding="latin1").load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise ValueError(f"{path} is no pickled file: {error}") from error
    if not isinstance(batch, dict):
        raise ValueError(f"{path} should hold a dict, but holds {describe(batch)}")
    return {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}


def _jpeg(image):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=95)
    return file.getvalue()
