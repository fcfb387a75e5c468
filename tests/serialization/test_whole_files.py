"""Files of MindRecord and checkpoints whose writers are killed, or find the disk full; files that were cut or damaged; names with odd characters."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import msjax as ms
from msjax import dataset as ds, hooks, nn
from msjax.core.base.whole_files import whole_file
from msjax.mindrecord import FileReader, FileWriter
from tests.serialization import killed_writers

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The folder in which processes were killed, and how each of them ended."""
    folder = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-W", "ignore", "-m", "tests.serialization.killed_writers", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return folder, dict(tuple(map(int, line.split())) for line in done.stdout.splitlines())


def rows_of(reader):
    return [(int(row["n"]), float(row["x"][0])) for row in reader]


def old_or_new(what, place):
    """How many rows there are: those of the old files or of the new ones, all of them."""
    if what == "checkpoint":
        values = ms.load_checkpoint(f"{place}/c.ckpt")["w"].asnumpy()
        assert values.shape == (1000,) and len(set(values)) == 1
        return int(values[0])
    rows = rows_of(FileReader(f"{place}/r0").get_next())
    assert rows == [(len(rows), i) for i in range(len(rows))]
    assert rows_of(ds.MindDataset(f"{place}/r1", shuffle=False).create_dict_iterator(1, output_numpy=True)) == rows
    return len(rows)


# What is read afterwards; "index" where readers say that it is missing.
AFTERWARDS = [2, 2, 2, "index", "index", "index", "index", 2, 2, 2, 2]


@pytest.mark.parametrize("number", range(len(killed_writers.POINTS)))
def test_a_writer_that_ends_in_the_middle(ended, number, tmp_path):
    folder, codes = ended
    what, function, _ = killed_writers.POINTS[number]
    assert codes[number] == (28 if function == "full" else -signal.SIGKILL)
    place = shutil.copytree(folder / str(number), tmp_path / "copy")
    if AFTERWARDS[number] == "index":
        for open_it, kind in ((FileReader, RuntimeError), (ds.MindDataset, ValueError)):
            with pytest.raises(kind, match=r"The MindRecord file '.*r[01]\.db' does not exist"):
                open_it(f"{place}/r0")
    else:
        assert old_or_new(what, place) == AFTERWARDS[number]
    if function == "full":  # it was not killed, and has cleaned up itself
        assert not [name for name in os.listdir(place) if name.startswith(".")]
    (killed_writers.write_records if what == "records" else killed_writers.write_checkpoint)(place, 5)
    assert old_or_new(what, place) == 5
    visible = sorted(name for name in os.listdir(place) if not name.startswith("."))
    assert visible == (["r0", "r0.db", "r1", "r1.db"] if what == "records" else ["c.ckpt"])


def test_an_error_leaves_the_old_file(tmp_path):
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(KeyError), whole_file(tmp_path / "f") as file:
        file.write(b"new")
        raise KeyError
    assert os.listdir(tmp_path) == ["f"] and (tmp_path / "f").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["a#b", "a?b=1", "a%41", "ä b", "字" * 80])
def test_odd_names(name, tmp_path):
    folder = tmp_path / name
    folder.mkdir()
    killed_writers.write_records(folder, 3)
    ms.save_checkpoint({"w": ms.Tensor(3.0)}, f"{folder}/{name}.ckpt")
    before = sorted(os.listdir(folder))
    assert old_or_new("records", folder) == 3
    assert sorted(os.listdir(folder)) == before and os.listdir(tmp_path) == [name]


def damaged(data, number, rng):
    """A copy that was cut, or in which some bytes are others."""
    if number % 3 == 0:
        return data[: int(rng.integers(0, len(data)))]
    made = bytearray(data)
    # The header and the first rows lie at the beginning; what lies behind is mostly empty.
    for at in rng.integers(0, min(len(data), 600 if number % 3 == 1 else len(data)), 3):
        made[at] ^= int(rng.integers(1, 256))
    return bytes(made)


@pytest.mark.parametrize("end", ["", ".db"])
def test_damaged_files_give_one_error_with_their_name(end, tmp_path):
    writer = FileWriter(str(tmp_path / "r"))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"n": {"type": "int32"}, "s": {"type": "string"}, "x": {"type": "int64", "shape": [-1]}})
    writer.write_raw_data([{"n": i, "s": "text" * i, "x": np.arange(i + 1)} for i in range(20)])
    writer.commit()
    path, rng, refused = tmp_path / f"r{end}", np.random.default_rng(5), 0
    data = path.read_bytes()
    for number in range(60):
        path.write_bytes(damaged(data, number, rng))
        try:
            rows = list(FileReader(str(tmp_path / "r")).get_next())
        except RuntimeError as error:
            assert str(tmp_path / "r") in str(error) and "damaged" in str(error)
            refused += 1
        else:
            assert len(rows) == 20
        try:
            assert len(list(ds.MindDataset(str(tmp_path / "r"), shuffle=False).create_tuple_iterator(output_numpy=True))) == 20
        except RuntimeError as error:
            assert str(tmp_path / "r") in str(error) and "damaged" in str(error)
    assert refused > 15


def test_an_index_of_fewer_rows_is_no_dataset_of_fewer_rows(tmp_path):
    killed_writers.write_records(tmp_path, 4)
    os.mkdir(tmp_path / "other")
    killed_writers.write_records(tmp_path / "other", 2)
    shutil.copy(tmp_path / "other" / "r0.db", tmp_path / "r0.db")
    with pytest.raises(
        RuntimeError, match=r"r0' is no MindRecord file, or damaged: .* its header tells of 2 rows, and its index of 1"
    ):
        FileReader(f"{tmp_path}/r0")


def save_pieces(path):
    vocab = ds.text.SentencePieceVocab()
    vocab.model = bytes(100)
    ds.text.SentencePieceVocab.save_model(vocab, str(path.parent), path.name)


@pytest.mark.parametrize(
    "save",
    [
        hooks.Circuit([("embed", "head")], ["embed"], ["head"]).save,
        lambda path: ms.export(nn.ReLU(), ms.Tensor([1.0]), file_name=str(path), file_format="STABLEHLO"),
        save_pieces,
    ],
    ids=["circuit", "export", "pieces"],
)
def test_a_file_that_grows_too_large_leaves_the_old_one(save, tmp_path):
    path = tmp_path / "it.stablehlo"
    save(path)
    old = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*it.stablehlo'"):
            save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == old and [*tmp_path.iterdir()] == [path]
