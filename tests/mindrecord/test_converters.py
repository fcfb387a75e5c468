"""Converters of public datasets' files to MindRecord files."""

import collections
import gzip
import io
import pickle
import struct

import numpy as np
import pytest
from PIL import Image

from msjax import mindrecord
from msjax.mindrecord import FileReader


def rows(path):
    return [*FileReader(str(path)).get_next()]


def shade(content):
    """The value that all pixels of an image have."""
    return round(float(np.asarray(Image.open(io.BytesIO(content))).mean()))


def test_cifar(tmp_path):
    images = np.stack([np.full(3072, n, np.uint8) for n in (10, 200)])
    for name, first in (("train", 0), ("test", 5)):
        batch = {b"data": images, b"fine_labels": [first, first + 1], b"coarse_labels": [9, 8]}
        (tmp_path / name).write_bytes(pickle.dumps(batch))
    mindrecord.Cifar100ToMR(str(tmp_path), str(tmp_path / "out")).transform(["fine_label"])
    assert [(r["id"], r["fine_label"], r["coarse_label"], shade(r["data"])) for r in rows(tmp_path / "out")] == [
        (0, 0, 9, 10),
        (1, 1, 8, 200),
    ]
    assert [r["fine_label"] for r in rows(tmp_path / "out_test")] == [5, 6]
    with pytest.raises(RuntimeError, match="exists; overwrite=True"):
        mindrecord.Cifar100ToMR(str(tmp_path), str(tmp_path / "out")).transform()
    with pytest.raises(ValueError, match=r"no files such as data_batch_\*"):
        mindrecord.Cifar10ToMR(str(tmp_path), str(tmp_path / "ten")).transform()
    # A pickled file may name any function; only arrays are made of it.
    (tmp_path / "train").write_bytes(pickle.dumps(collections.OrderedDict(a=1)))
    with pytest.raises(ValueError, match=r"this one names collections\.OrderedDict"):
        mindrecord.Cifar100ToMR(str(tmp_path), str(tmp_path / "other")).transform()


def test_mnist(tmp_path):
    for use, count in (("train", 3), ("t10k", 1)):
        with gzip.open(tmp_path / f"{use}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4i", 2051, count, 28, 28) + bytes([7] * 784 * count))
        with gzip.open(tmp_path / f"{use}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2i", 2049, count) + bytes(range(count)))
    mindrecord.MnistToMR(str(tmp_path), str(tmp_path / "m"), 2).run()
    found = [(r["label"], shade(r["data"])) for r in rows(tmp_path / "m_train.mindrecord0")]
    assert found == [(0, 7), (1, 7), (2, 7)] and len(rows(tmp_path / "m_test.mindrecord1")) == 1


def test_csv(tmp_path):
    (tmp_path / "a.csv").write_text("n,3x,ok,name\n1, 2,True,a\n-5,2.5,False, b\n")
    mindrecord.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "all")).transform()
    assert rows(tmp_path / "all") == [{"3x": 2.0, "n": 1, "name": "a", "ok": 1}, {"3x": 2.5, "n": -5, "name": " b", "ok": 0}]
    assert FileReader(str(tmp_path / "all")).schema()["3x"] == {"type": "float64"}
    mindrecord.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "few"), ["3x"]).transform()
    assert rows(tmp_path / "few") == [{"3x": 2.0}, {"3x": 2.5}]
    with pytest.raises(ValueError, match="no column 'q'"):
        mindrecord.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "no"), ["q"]).transform()
    for text, message in (
        ("a,b\n1,2,3\n", "a line of .* should have a field"),
        ("a,b\n1\n", "a line of"),
        ("a,a\n1,2\n", "once"),
        ("", "once"),
    ):
        (tmp_path / "b.csv").write_text(text)
        with pytest.raises(ValueError, match=message):
            mindrecord.CsvToMR(str(tmp_path / "b.csv"), str(tmp_path / "no")).transform()
    (tmp_path / "b.csv").write_text("n\n1_0\n")
    mindrecord.CsvToMR(str(tmp_path / "b.csv"), str(tmp_path / "text")).transform()
    assert rows(tmp_path / "text") == [{"n": "1_0"}]


class Feature:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def test_tf_records(tmp_path):
    from msjax.mindrecord.tf_examples import masked_crc

    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def entry(name, kind, data):
        return field(1, field(1, name) + field(2, field(kind, data)))

    example = field(
        1, entry(b"a/b", 1, field(1, b"text")) + entry(b"raw", 1, field(1, b"\xff")) + entry(b"n", 3, field(1, bytes([5, 6])))
    )
    head = struct.pack("<Q", len(example))
    (tmp_path / "r").write_bytes(head + struct.pack("<I", masked_crc(head)) + example + bytes(4))
    features = {"a/b": Feature([], "string"), "raw": Feature([1], "string"), "n": Feature([2], "int64")}
    converter = mindrecord.TFRecordToMR(str(tmp_path / "r"), str(tmp_path / "out"), features, ["raw"])
    converter.transform()
    (row,) = rows(tmp_path / "out")
    assert (row["a_b"], row["raw"], row["n"].tolist()) == ("text", b"\xff", [5, 6])
    with pytest.raises(ValueError, match="'raw' is no text; 'bytes_fields' names"):
        mindrecord.TFRecordToMR(str(tmp_path / "r"), str(tmp_path / "text"), features).transform()
    features["n"] = Feature([3], "int64")
    with pytest.raises(ValueError, match="'n' has 2 values in a record, not 3"):
        mindrecord.TFRecordToMR(str(tmp_path / "r"), str(tmp_path / "no"), features, ["raw"]).transform()
