"""MindRecord files: `tests/data/mindrecord` has one that MindSpore 2.10 wrote; what is written here was compared with its reader by hand."""

import contextlib
import pathlib
import pickle
import shutil
import sqlite3

import numpy as np
import pytest

from msjax import Tensor, dataset as ds
from msjax.mindrecord import FileReader, FileWriter
from msjax.mindrecord.format import decoded, encoded

RECORDED = str(pathlib.Path(__file__).parents[1] / "data" / "mindrecord" / "rows.mindrecord")
SCHEMA = {
    "id": {"type": "int32"},
    "label": {"type": "string"},
    "x": {"type": "float32", "shape": [2, 2]},
    "data": {"type": "bytes"},
    "f": {"type": "float64"},
    "l": {"type": "int64", "shape": [-1]},
    "s": {"type": "int32", "shape": [-1]},
}


def row(i):
    return {
        "id": i - 2,
        "label": "é" * i,
        "x": np.full((2, 2), i / 2, np.float32),
        "data": bytes([i] * (i * 3000)),
        "f": i / 3,
        "l": np.array([-(1000**k) for k in range(i + 1)], np.int64),
        "s": np.arange(i + 1, dtype=np.int32) - i * 100,
    }


def same_rows(found, numbers=range(7)):
    found = list(found)
    assert len(found) == len(list(numbers))
    for got, i in zip(found, numbers):
        want = row(i)
        assert got.keys() == want.keys()
        for name, value in want.items():
            if isinstance(value, np.ndarray):
                assert got[name].dtype == value.dtype
                np.testing.assert_array_equal(got[name], value)
            else:
                assert got[name] == value and type(got[name]) is type(value)


@pytest.fixture
def written(tmp_path):
    writer = FileWriter(str(tmp_path / "rows.mindrecord"))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(SCHEMA, "all types")
    writer.add_index(["id", "label"])
    writer.write_raw_data([row(i) for i in range(7)])
    writer.commit()
    return str(tmp_path / "rows.mindrecord")


def test_a_file_of_mindspore_is_read():
    reader = FileReader(RECORDED)
    same_rows(reader.get_next())
    assert reader.len() == 7 and reader.schema()["l"] == {"type": "int64", "shape": [-1]}
    reader.close()


def test_what_is_written_lies_where_mindspore_puts_it(written):
    same_rows(FileReader(written).get_next())

    def index(path):
        with contextlib.closing(sqlite3.connect(f"file:{path}.db?mode=ro", uri=True)) as db:
            places = db.execute("SELECT * FROM INDEXES").fetchall()
            columns = [(name, kind) for _, name, kind, *_ in db.execute("PRAGMA table_info(INDEXES)")]
            return places, columns, db.execute("SELECT NAME FROM SHARD_NAME").fetchall()

    ours, theirs = index(written), index(RECORDED)
    # The lengths of rows of plain values may differ, since msgpack writes floats that fit into 32 bits either way, and the order of pages.
    assert [(r[0], r[4], *r[6:]) for r in ours[0]] == [(r[0], r[4], *r[6:]) for r in theirs[0]]
    assert ours[1:] == theirs[1:]
    a, b = (dict(FileReader(path)._files[0].header) for path in (written, RECORDED))
    pages = [[{**page, "page_id": None} for page in h.pop("page") if page["page_type"] == "BLOB_DATA"] for h in (a, b)]
    assert pages[0] == pages[1] and a == b


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_integers_of_all_widths(kind):
    limits = [np.iinfo(f"int{bits}") for bits in (8, 16, 32, 64) if bits <= int(kind[3:])]
    values = np.array([v for limit in limits for v in (limit.min, limit.max, 0, 1)] + [-1], kind)
    for count in range(1, len(values) + 1):
        field = {"type": kind, "shape": [-1]}
        data = encoded(values[:count], field, "v")
        back = decoded(data, field)
        assert back.dtype == values.dtype and back.tolist() == values[:count].tolist()
    assert encoded(np.array([1, 2, 300], "int64"), {"type": "int64", "shape": [-1]}, "v").hex() == "0000000304" + "0102" + "2c01"


def test_mind_dataset():
    data = ds.MindDataset(RECORDED, shuffle=False)
    assert data.get_col_names() == sorted(SCHEMA) and len(data) == 7
    first = next(iter(data.create_dict_iterator(num_epochs=1, output_numpy=True)))
    assert (
        first["data"].shape == (1,) and first["id"].dtype == np.int32 and first["f"].shape == () and first["label"].item() == ""
    )
    picked = ds.MindDataset(RECORDED, ["f", "id"], sampler=ds.SubsetSampler([5, 1]))
    assert picked.get_col_names() == ["f", "id"]
    assert [int(r["id"]) for r in picked.create_dict_iterator(num_epochs=1)] == [3, -1]
    for workers in ({}, {"num_parallel_workers": 2}):
        shuffled = [int(i) for (i,) in ds.MindDataset(RECORDED, ["id"], **workers).create_tuple_iterator(num_epochs=1)]
        assert sorted(shuffled) == list(range(-2, 5)) and shuffled != sorted(shuffled)
    assert pickle.loads(pickle.dumps(data._files[0])).row(0, ["id"]) == {"id": -2}


def test_shards_and_padding():
    def ids(**options):
        return [
            [int(i) for (i,) in ds.MindDataset(RECORDED, ["id"], shuffle=False, num_shards=3, shard_id=s, **options)]
            for s in range(3)
        ]

    assert ids() == [[-2, 1, 4], [-1, 2, -2], [0, 3, -1]]
    assert ids(padded_sample={"id": -7}, num_padded=2) == [[-2, 1, 4], [-1, 2, -7], [0, 3, -7]]
    assert ids(num_samples=1) == [[-2], [-1], [0]]
    with pytest.raises(ValueError, match="'padded_sample' lacks the column 'id'"):
        ids(padded_sample={}, num_padded=2)


def test_orders_are_those_of_mindspore_after_a_seed(tmp_path):
    path = str(tmp_path / "nine.mindrecord")
    writer = FileWriter(path, shard_num=2)
    writer.add_schema({"n": {"type": "int64"}})
    writer.write_raw_data([{"n": n} for n in range(9)])
    writer.commit()

    def passes(count, **options):
        reader = ds.MindDataset([f"{path}0", f"{path}1"], **options).create_tuple_iterator(num_epochs=count, output_numpy=True)
        return [[int(n) for (n,) in reader] for _ in range(count)]

    before = ds.config.get_seed()
    ds.config.set_seed(5)
    try:
        first, second, third = [8, 6, 1, 5, 2, 3, 7, 0, 4], [1, 0, 6, 2, 5, 7, 4, 3, 8], [7, 4, 0, 8, 1, 3, 5, 2, 6]
        for options in ({}, {"shuffle": ds.Shuffle.GLOBAL}, {"sampler": ds.RandomSampler()}):
            assert passes(3, **options) == [first, second, third]
        assert passes(2, sampler=ds.SubsetRandomSampler([1, 2, 5, 7])) == [[2, 7, 5, 1]] * 2
        assert passes(2, num_shards=2, shard_id=0) == [[8, 1, 2, 7, 4], [2, 1, 3, 8, 0]]
        assert passes(2, num_shards=2, shard_id=1) == [[6, 5, 3, 0, 8], [7, 4, 6, 5, 2]]
        assert passes(1, shuffle=ds.Shuffle.INFILE) == [[4, 0, 1, 3, 2, 6, 8, 7, 5]]
        assert passes(3, shuffle=ds.Shuffle.FILES) == [
            [5, 6, 7, 8, 0, 1, 2, 3, 4],
            [1, 2, 3, 4, 5, 6, 7, 8, 0],
            [6, 7, 8, 0, 1, 2, 3, 4, 5],
        ]
        with pytest.raises(ValueError, match=r"'num_samples' and Shuffle\.FILES exclude each other"):
            ds.MindDataset(f"{path}0", shuffle=ds.Shuffle.FILES, num_samples=3)
    finally:
        ds.config.set_seed(before)


def test_several_files(tmp_path):
    path = str(tmp_path / "many.mindrecord")
    writer = FileWriter(path, shard_num=3)
    writer.add_schema({"n": {"type": "int64"}})
    for n in range(7):
        writer.write_raw_data([{"n": n}])
    writer.commit()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        f"many.mindrecord{i}{end}" for i in range(3) for end in ("", ".db")
    )
    assert [r["n"] for r in FileReader(f"{path}1").get_next()] == list(range(7))
    assert [r["n"] for r in FileReader([f"{path}1"]).get_next()] == [3, 4]
    with pytest.raises(RuntimeError, match=r"the file '.*many.mindrecord0' exists; overwrite=True replaces it"):
        FileWriter(path, 3)


@pytest.mark.parametrize("files", [1, 2])
def test_rows_are_appended(tmp_path, files):
    path = str(tmp_path / "rows")
    first = FileWriter(path, files)
    first.add_schema(SCHEMA, "all kinds")
    first.add_index(["id", "label"])
    first.write_raw_data([row(i) for i in range(4)])
    first.commit()
    again = FileWriter.open_for_append(path if files == 1 else f"{path}1")
    with pytest.raises(RuntimeError, match="have a schema already"):
        again.add_schema(SCHEMA)
    again.write_raw_data([row(i) for i in range(4, 7)])
    again.commit()
    names = path if files == 1 else [f"{path}{i}" for i in range(files)]
    found = sorted(FileReader(names).get_next(), key=lambda r: int(r["id"]))
    same_rows(found)
    with pytest.raises(RuntimeError, match="does not exist"):
        FileWriter.open_for_append(str(tmp_path / "none"))


def test_save(tmp_path):
    path = str(tmp_path / "saved.mindrecord")
    columns = {
        "i": np.arange(3, dtype=np.int32),
        "x": np.ones((3, 2, 2), np.float32),
        "s": ["a", "b", "c"],
        "u": np.arange(3, dtype=np.uint8),
    }
    ds.NumpySlicesDataset(columns, shuffle=False).save(path)
    found = list(ds.MindDataset(path, shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [(r["i"].item(), r["s"].item(), r["u"].dtype.name, r["x"].shape) for r in found] == [
        (i, s, "int32", (2, 2)) for i, s in enumerate("abc")
    ]
    with pytest.raises(TypeError, match=r"column 'c' of shape .* can't be stored"):
        ds.NumpySlicesDataset({"c": [["a", "b"]]}).save(path)
    with pytest.raises(RuntimeError, match="exists"):
        ds.NumpySlicesDataset([1]).save(path)
    assert len(ds.MindDataset(path)) == 3
    ds.NumpySlicesDataset({"a-b": [1, 2]}, shuffle=False).save(path + "2")
    assert ds.MindDataset(path + "2").get_col_names() == ["a_b"]
    with pytest.raises(ValueError, match="columns should differ by letters"):
        ds.NumpySlicesDataset({"a-b": [1, 2], "a b": [3, 4]}).save(path + "3")


def test_bytes_that_end_with_zeros_are_saved_whole(tmp_path):
    writer = FileWriter(str(tmp_path / "a"))
    writer.add_schema({"b": {"type": "bytes"}})
    writer.write_raw_data([{"b": b"ab\0\0"}])
    writer.commit()
    ds.MindDataset(str(tmp_path / "a")).save(str(tmp_path / "b"))
    assert [row["b"] for row in FileReader(str(tmp_path / "b")).get_next()] == [b"ab\0\0"]


def test_errors(tmp_path, written):
    with pytest.raises(ValueError, match=r"The MindRecord file '.*nothing' does not exist"):
        ds.MindDataset(str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError, match="has no field 'z'; its fields are data, f, id, l, label, s, x"):
        ds.MindDataset(written, ["z"])
    broken = tmp_path / "broken.mindrecord"
    broken.write_bytes(b"nothing like it")
    shutil.copy(written + ".db", f"{broken}.db")
    with pytest.raises(RuntimeError, match=r"broken.mindrecord' is no MindRecord file"):
        FileReader(str(broken))
    writer = FileWriter(str(tmp_path / "w"))
    with pytest.raises(RuntimeError, match="'add_schema' has to come first"):
        writer.write_raw_data([{}])
    with pytest.raises(ValueError, match=r"field 'a' should be \{'type': one of int32"):
        writer.add_schema({"a": {"type": "int8"}})
    writer.add_schema({"a": {"type": "int32"}, "b": {"type": "float32", "shape": [2]}})
    for bad, kind, text in [
        ({"a": 1}, ValueError, "a row lacks the field 'b'"),
        ({"a": 1.5, "b": np.ones(2, np.float32)}, TypeError, "Field 'a' should be a number of type int32"),
        ({"a": 2**31, "b": np.ones(2, np.float32)}, ValueError, "Field 'a' should fit into int32"),
        ({"a": 1, "b": np.ones(3, np.float32)}, ValueError, r"Field 'b' should have shape \[2\], but got shape \(3,\)"),
        ({"a": 1, "b": np.ones(2)}, TypeError, "Field 'b' should be an array of float32"),
    ]:
        with pytest.raises(kind, match=text):
            writer.write_raw_data([bad])
    with pytest.raises(ValueError, match="'b' is no field of a number or of text"):
        writer.add_index(["b"])
    writer.write_raw_data([{"a": 1, "b": Tensor(np.ones(2, np.float32))}])
    writer.commit()
    assert next(FileReader(str(tmp_path / "w")).get_next())["b"].tolist() == [1, 1]
