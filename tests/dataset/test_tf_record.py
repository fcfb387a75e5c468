"""TFRecordDataset and Schema, on files that are written here byte by byte."""

import gzip
import json
import struct
import zlib

import numpy as np
import pytest

import msjax as ms
from msjax import dataset as ds
from msjax.mindrecord.tf_examples import features, masked_crc


def varint(n):
    n &= 2**64 - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(packed=True, **values):
    entries = b""
    for name, items in values.items():
        if isinstance(items[0], bytes):
            feature = field(1, b"".join(field(1, item) for item in items))
        elif isinstance(items[0], float):
            floats = [struct.pack("<f", item) for item in items]
            feature = field(2, field(1, b"".join(floats)) if packed else b"".join(varint(1 << 3 | 5) + f for f in floats))
        else:
            ints = [*map(varint, items)]
            feature = field(3, field(1, b"".join(ints)) if packed else b"".join(varint(1 << 3) + i for i in ints))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def file_of(*examples):
    out = b""
    for data in examples:
        size = struct.pack("<Q", len(data))
        out += size + struct.pack("<I", masked_crc(size)) + data + struct.pack("<I", masked_crc(data))
    return out


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "a.tfrecord"
    place.write_bytes(file_of(*(example(n=[n, -n], x=[n / 2], name=[b"row%d" % n]) for n in range(6))))
    return str(place)


def numbers(data):
    return [int(row[0][0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def test_checksums_as_published():
    # CRC-32C of "123456789" is e3069283; masked, it is rotated by 15 bits, and a constant is added.
    crc = 0xE3069283
    assert masked_crc(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def test_lists_of_an_example():
    for packed in (True, False):
        found = features(example(packed, i=[0, 1, 127, 128, -1, 2**63 - 1, -(2**63)], f=[0.5, -2.0], b=[b"", b"xy"]))
        assert found["i"].tolist() == [0, 1, 127, 128, -1, 2**63 - 1, -(2**63)] and found["i"].dtype == np.int64
        assert found["f"].tolist() == [0.5, -2.0] and found["f"].dtype == np.float32 and found["b"] == [b"", b"xy"]
    assert features(b"") == {} and features(example(packed=True, i=[3])[:0]) == {}
    with pytest.raises(ValueError, match="cut"):
        features(example(i=[300])[:-1])


def test_all_features_by_name(path):
    data = ds.TFRecordDataset(path, shuffle=False)
    assert data.get_col_names() == ["n", "name", "x"] and data.get_dataset_size() == 6
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert rows[2]["n"].tolist() == [2, -2] and rows[2]["name"].tobytes() == b"row2" and rows[3]["x"].tolist() == [1.5]
    assert data.output_types() == [np.int64, np.uint8, np.float32] and data.output_shapes() == [[2], [4], [1]]
    assert numbers(ds.TFRecordDataset(path, columns_list=["n"], num_samples=2, shuffle=False)) == [0, 1]
    assert sorted(numbers(ds.TFRecordDataset(path, columns_list=["n"]))) == [*range(6)]


def test_a_schema_gives_types_and_shapes(path, tmp_path):
    schema = ds.Schema()
    schema.add_column("x", "float64", [])
    schema.add_column("name", ms.string)
    schema.add_column("n", ms.int16, [-1, 1])
    row = next(ds.TFRecordDataset(path, schema, shuffle=False).create_dict_iterator(1, output_numpy=True))
    assert list(row) == ["x", "name", "n"] and row["x"].shape == () and row["x"].dtype == np.float64
    assert row["name"].tolist() == ["row0"] and row["n"].tolist() == [[0], [0]] and row["n"].dtype == np.int16
    file = tmp_path / "schema.json"
    file.write_text(json.dumps({"datasetType": "TF", "numRows": 4, "columns": {"n": {"type": "int32", "rank": 1, "shape": [2]}}}))
    assert numbers(ds.TFRecordDataset(path, str(file), shuffle=False)) == [0, 1, 2, 3]
    assert numbers(ds.TFRecordDataset(path, str(file), num_samples=5, shuffle=False)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "kind, shape, message",
    [("string", None, "holds int64, but the schema says string"), ("int64", [3], "don't fit the schema's shape")],
)
def test_what_a_schema_says_else_is_an_error(path, kind, shape, message):
    schema = ds.Schema()
    schema.add_column("n", kind, shape)
    with pytest.raises(RuntimeError, match=message):
        list(ds.TFRecordDataset(path, schema))


def test_shards_are_files_or_rows(tmp_path):
    paths = []
    for number, rows in enumerate(([1, 2], [3], [4, 5])):
        paths.append(str(tmp_path / f"{number}.tfrecord"))
        (tmp_path / f"{number}.tfrecord").write_bytes(file_of(*(example(n=[n]) for n in rows)))

    def of(shards, shard, **options):
        return ds.TFRecordDataset(paths, num_shards=shards, shard_id=shard, shuffle=False, num_parallel_workers=1, **options)

    assert [numbers(of(2, shard)) for shard in range(2)] == [[1, 2, 4, 5], [3]]
    assert [len(of(2, shard)) for shard in range(2)] == [4, 1]
    assert [numbers(of(2, shard, shard_equal_rows=True)) for shard in range(2)] == [[1, 2, 3], [4, 5, 1]]
    with pytest.raises(RuntimeError, match="3 files for 4 shards"):
        of(4, 0)


@pytest.mark.parametrize("kind, pack", [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_packed_files(path, tmp_path, kind, pack):
    packed = tmp_path / "packed"
    with open(path, "rb") as file:
        packed.write_bytes(pack(file.read()))
    assert numbers(ds.TFRecordDataset(str(packed), shuffle=False, compression_type=kind)) == [*range(6)]
    with pytest.raises(RuntimeError, match="can't be read as a TFRecord file"):
        list(ds.TFRecordDataset(path, compression_type=kind))


def test_damaged_files(path, tmp_path):
    with open(path, "rb") as file:
        content = file.read()
    for data, message in (
        (content[:-1], "ends within a record"), (b"\1" + content[1:], "another checksum"), (content + b"abc", "another checksum"),
        (file_of(b"\xff" * 9), "no tf.train.Example"), (file_of(example(m=[1])), "no feature 'n'; it has m"),
    ):  # fmt: skip
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(RuntimeError, match=message):
            list(ds.TFRecordDataset(str(tmp_path / "bad"), columns_list=["n"]))
    packed = bytearray(gzip.compress(content))
    packed[20:22] = b"\xff\xff"
    for data, kind in (
        (packed, "GZIP"), *((file_of(bad), "") for bad in (b"\x08\x05", b"\xff\xff\xff", field(1, field(1, field(1, b"\xff"))))),
    ):  # fmt: skip
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(RuntimeError, match=r"bad (can't be read as a TFRecord file|is no tf\.train\.Example): "):
            list(ds.TFRecordDataset(str(tmp_path / "bad"), compression_type=kind or None))


def test_a_file_without_records_does_not_take_the_columns_from_the_others(path, tmp_path):
    (tmp_path / "0").write_bytes(b"")
    data = ds.TFRecordDataset([str(tmp_path / "0"), path], shuffle=False)
    assert data.get_col_names() == ["n", "name", "x"] and numbers(data) == [*range(6)]


def test_several_texts_of_bytes_lie_one_after_the_other(tmp_path):
    (tmp_path / "a").write_bytes(file_of(example(b=[b"abc", b"d"])))
    texts = [(None, b"abcd  "), (ds.Schema(), b"abcd")]
    texts[1][0].add_column("b", "uint8", [-1])
    for schema, text in texts:
        ((row,),) = ds.TFRecordDataset(str(tmp_path / "a"), schema).create_tuple_iterator(num_epochs=1, output_numpy=True)
        assert row.shape == (len(text),) and row.tobytes() == text


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: ds.Schema(1), TypeError),
        (lambda: ds.Schema("nowhere.json"), ValueError),
        (lambda: ds.Schema().add_column("a", "word"), TypeError),
        (lambda: ds.Schema().add_column("a", "int8", 3), TypeError),
        (lambda: ds.Schema().parse_columns(3), RuntimeError),
        (lambda: ds.Schema().parse_columns([{"name": "a"}]), RuntimeError),
        (lambda: ds.Schema().from_json({"columns": [], "more": 1}), RuntimeError),
        (lambda: ds.Schema().from_json({"columns": [], "numRows": -1}), ValueError),
        (lambda: ds.TFRecordDataset("nowhere"), ValueError),
        (lambda: ds.TFRecordDataset(__file__, 3), TypeError),
        (lambda: ds.TFRecordDataset(__file__, compression_type="LZ4"), ValueError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error):
        make()
