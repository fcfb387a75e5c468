"""Sources: rows, sizes, and errors that say what is wrong."""

import numpy as np
import pytest
from PIL import Image

import msjax as ms
from msjax import dataset as ds
from tests.dataset.files import idx


def column(data, name):
    return [row[name].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


# ---- Python objects


def test_rows_are_the_receivers_own():
    table = np.arange(6.0).reshape(3, 2)
    for data in (ds.NumpySlicesDataset({"v": table}, shuffle=False), ds.GeneratorDataset(list(table), ["v"], shuffle=False)):
        for row in data.map(lambda v: np.multiply(v, 0, out=v)).create_dict_iterator(output_numpy=True):
            assert (row["v"] == 0).all()
            row["v"][:] = 9
    assert (table == np.arange(6.0).reshape(3, 2)).all()


def test_a_generator_that_yields_one_buffer_again_and_again():
    def source():
        buffer = np.zeros(1)
        for i in range(3):
            buffer[0] = i
            yield buffer

    assert column(ds.GeneratorDataset(source, ["v"]).batch(3), "v") == [[[0.0], [1.0], [2.0]]]


def test_values_of_rows():
    row = (ms.Tensor([1.0], ms.float32), [1, 2], "text", b"ab", {"k": 1.5}, True)
    data = ds.GeneratorDataset([row], list("abcdef"), shuffle=False)
    got = next(data.create_dict_iterator())
    assert isinstance(got["a"], ms.Tensor) and got["a"].dtype == ms.float32
    assert got["b"].dtype == ms.int64 and got["f"].dtype == ms.bool_
    assert got["c"].item() == "text" and got["d"].item() == b"ab" and got["e"]["k"] == 1.5


@pytest.mark.parametrize(
    "source, names, message",
    [
        ([(1, 2)], ["a"], r"row 0 has 2 value\(s\), but the columns are \['a'\]"),
        (lambda: iter([(1,), (None,)]), ["a"], r"row 1, columns \['a'\]: TypeError: no column can hold NoneType None"),
        ([], ["a"], "the source has no rows"),
        (lambda: 1 / 0, ["a"], r"row 0, source .*<lambda> .*ZeroDivisionError: division by zero"),
    ],
)
def test_generator_errors(source, names, message):
    with pytest.raises(RuntimeError, match=message):
        list(ds.GeneratorDataset(source, names, shuffle=False))


def test_column_types_are_checked():
    data = ds.GeneratorDataset([1.5], ["v"], column_types=[ms.int32])
    with pytest.raises(
        RuntimeError, match=r"row 0, column 'v' should have the type int32, but got ndarray\(shape=\[\], dtype=float64"
    ):
        list(data)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"source": 5, "column_names": ["a"]}, TypeError, "'source' should be iterable.*got int 5"),
        ({"source": [1]}, ValueError, "'column_names' is missing"),
        ({"source": [1], "column_names": ("a",)}, TypeError, "'column_names' should be a str or a list of str"),
        ({"source": [1], "column_names": ["a", "a"]}, ValueError, "should not hold a name twice"),
        ({"source": [1], "column_names": ["a"], "num_parallel_workers": 0}, ValueError, "num_parallel_workers exceeds"),
        ({"source": iter([1]), "column_names": ["a"], "sampler": [0]}, ValueError, "need a source with __getitem__"),
        (
            {"source": [1], "column_names": ["a"], "sampler": [0], "shuffle": True},
            ValueError,
            "sampler and shuffle cannot be specified",
        ),
        (
            {"source": [1], "column_names": ["a"], "num_shards": 2},
            ValueError,
            "num_shards is specified and currently requires shard_id",
        ),
        ({"source": [1], "column_names": ["a"], "schema": "x"}, NotImplementedError, "no 'schema'"),
    ],
)
def test_generator_arguments(arguments, error, message):
    with pytest.raises(error, match=f"^For 'GeneratorDataset', .*{message}"):
        ds.GeneratorDataset(**arguments)


def test_numpy_slices_of_uneven_lists():
    data = ds.NumpySlicesDataset({"v": [[1], [2, 3]]}, shuffle=False)
    assert column(data, "v") == [[1], [2, 3]]


# ---- files


def test_mnist(tmp_path):
    idx(tmp_path, "train", np.arange(3 * 784).reshape(3, 28, 28), [3, 1, 2])
    idx(tmp_path, "t10k", np.zeros((1, 28, 28)), [7])
    data = ds.MnistDataset(str(tmp_path), shuffle=False)
    assert column(data, "label") == [7, 3, 1, 2]
    assert data.output_types() == [np.uint8, np.uint32] and data.output_shapes() == [[28, 28, 1], []]
    assert column(ds.MnistDataset(tmp_path, "train", sampler=ds.PKSampler(2), num_parallel_workers=2), "label") == [
        1,
        1,
        2,
        2,
        3,
        3,
    ]
    assert sorted(column(ds.FashionMnistDataset(tmp_path, "train"), "label")) == [1, 2, 3]


def test_damaged_mnist(tmp_path):
    with pytest.raises(
        ValueError, match=r"^For 'MnistDataset', 'dataset_dir' should be a folder, but there is none at '.*nowhere'"
    ):
        ds.MnistDataset(tmp_path / "nowhere")
    data = ds.MnistDataset(tmp_path)
    with pytest.raises(RuntimeError, match="there are no files such as train-images-idx3-ubyte"):
        list(data)
    idx(tmp_path, "train", np.zeros((2, 28, 28)), [1])
    with pytest.raises(RuntimeError, match=r"train-\.\.\. hold 2 images, but 1 labels"):
        list(ds.MnistDataset(tmp_path))
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="should hold 1568 bytes for the shape"):
        list(ds.MnistDataset(tmp_path, "train"))


def test_cifar(tmp_path):
    records = np.zeros((10000, 3073), np.uint8)
    records[:, 0] = np.arange(10000) % 10
    records[0, 1:1025] = 7
    records.tofile(tmp_path / "data_batch_1.bin")
    data = ds.Cifar10Dataset(tmp_path, "train", shuffle=False, num_samples=3)
    assert column(data, "label") == [0, 1, 2]
    image = next(data.create_dict_iterator(output_numpy=True))["image"]
    assert (image[..., 0] == 7).all() and (image[..., 1:] == 0).all()
    records[:5].tofile(tmp_path / "test_batch.bin")
    with pytest.raises(RuntimeError, match="should hold 10000 records of 3073 bytes, but holds 15365 bytes"):
        list(ds.Cifar10Dataset(tmp_path, "test"))
    np.full((4, 3074), 2, np.uint8).tofile(tmp_path / "test.bin")
    assert column(ds.Cifar100Dataset(tmp_path, "test"), "fine_label") == [2] * 4


def test_image_folder(tmp_path):
    for name, color in (("b", 10), ("a", 20)):
        (tmp_path / name).mkdir()
        Image.new("RGB", (4, 3), (color, 0, 0)).save(tmp_path / name / "1.png")
    (tmp_path / "a" / "2.txt").write_text("no image")
    data = ds.ImageFolderDataset(tmp_path, shuffle=False, extensions=[".png"], decode=True)
    assert [int(image[0, 0, 0]) for image, _ in data] == [20, 10] and column(data, "label") == [0, 1]
    assert data.num_classes() == 2 and data.batch(2).get_class_indexing() == {"a": 0, "b": 1}
    with pytest.raises(RuntimeError, match=r"row 1, file .*2\.txt: RuntimeError: Decode: the bytes could not be decoded"):
        list(ds.ImageFolderDataset(tmp_path, shuffle=False, decode=True))
    # Other than MindSpore's, the size counts only the classes that are asked for.
    assert len(ds.ImageFolderDataset(tmp_path, class_indexing={"b": 3})) == 1
    with pytest.raises(RuntimeError, match="the folder of 'class_indexing' c doesn't exist"):
        list(ds.ImageFolderDataset(tmp_path, class_indexing={"c": 0}))


def test_text_files(tmp_path):
    (tmp_path / "b.txt").write_text("b1\n\nb2\nb3")
    (tmp_path / "a.txt").write_text("a1\na2\n")
    pattern = str(tmp_path / "*.txt")
    assert column(ds.TextFileDataset(pattern, shuffle=False), "text") == ["a1", "b1", "a2", "b2", "b3"]
    assert column(ds.TextFileDataset(pattern, shuffle=False, num_parallel_workers=1), "text") == ["a1", "a2", "b1", "b2", "b3"]
    shards = [ds.TextFileDataset(pattern, num_shards=2, shard_id=i, shuffle=False) for i in range(2)]
    assert [column(shard, "text") for shard in shards] == [["a1", "b1", "a2"], ["b2", "a1", "b3"]]
    assert [len(shard) for shard in shards] == [3, 3]
    assert len(ds.TextFileDataset(pattern, num_samples=4)) == 4
    with pytest.raises(ValueError, match="there is none at 'nowhere'"):
        ds.TextFileDataset("nowhere")
    with pytest.raises(TypeError, match="'shuffle' should be a bool or a member of Shuffle"):
        ds.TextFileDataset(pattern, shuffle="files")


def test_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x;y;z\n1;0.5;"a;b"\n2;1.5;c\n')
    data = ds.CSVDataset(path, ";", [0, 0.0, ""], shuffle=False)
    assert data.output_types() == [np.int32, np.float32, np.dtype("U")]
    assert column(data, "z") == ["a;b", "c"] and column(data.batch(2), "y") == [[0.5, 1.5]]
    with pytest.raises(RuntimeError, match=r"t\.csv, line 2, column 'z': 'a;b' is no int32"):
        list(ds.CSVDataset(path, ";", [0, 0.0, 0], shuffle=False))
    path.write_text("1,2\n3\n")
    with pytest.raises(RuntimeError, match=r"t\.csv, line 2 has 1 fields, but there are 2 columns"):
        list(ds.CSVDataset(path, column_names=["a", "b"], shuffle=False))
    path.write_text("a\n1.5x\n1_0\n3.4028235e38\n")
    assert column(ds.CSVDataset(path, column_defaults=[0.0], shuffle=False), "a") == [1.5, 1.0, float(np.finfo(np.float32).max)]
    path.write_text("a\n1e39\n")
    with pytest.raises(RuntimeError, match="'1e39' is no float32"):
        list(ds.CSVDataset(path, column_defaults=[0.0]))
    path.write_text(f"a\n{'x' * 200_000}\n")
    assert len(column(ds.CSVDataset(path), "a")[0]) == 200_000
    path.write_bytes(b"a\n\xff\n")
    for data in (ds.CSVDataset(path), ds.TextFileDataset(path, shuffle=False)):
        with pytest.raises(RuntimeError, match=r"t\.csv.*can't decode byte 0xff"):
            list(data)


def test_the_files_of_a_table_have_one_header(tmp_path):
    (tmp_path / "1").write_text("a,b\n1,2\n")
    (tmp_path / "2").write_text("b,a\n3,4\n")
    with pytest.raises(RuntimeError, match=r"the first line of .*2 should be that of .*1, \['a', 'b'\]"):
        list(ds.CSVDataset([str(tmp_path / name) for name in "12"], shuffle=False))


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="A GeneratorDataset takes any Python object"):
        ds.OBSMindDataset("x")


# ---- samplers


@pytest.mark.parametrize(
    "sampler, message",
    [
        (ds.SequentialSampler(9), r"'start_index' should be in \[0, 5\]"),
        (ds.SequentialSampler(-1), r"'start_index' should be in \[0, 5\]"),
        (ds.SubsetSampler([]), "'indices' should not be empty"),
        (ds.PKSampler(0), "'num_val' should be positive"),
        (ds.SubsetSampler([5]), "SubsetSampler asks for row 5, but there are 5 rows"),
        (ds.WeightedRandomSampler([0.0]), "none negative and not all zero"),
        (ds.WeightedRandomSampler([1.0, 0], 2, replacement=False), "2 rows can't be drawn without replacement"),
        (ds.DistributedSampler(2, 2), r"'shard_id' should be in \[0, num_shards\)"),
        (ds.PKSampler(1), "NumpySlicesDataset has no classes"),
        ((i for i in [1]), "The sampler is a generator"),
    ],
)
def test_samplers_errors_come_when_reading(sampler, message):
    data = ds.NumpySlicesDataset({"v": np.arange(5)}, sampler=sampler)
    with pytest.raises(RuntimeError, match=message):
        list(data)


def test_a_failing_sampler_of_ones_own():
    class Bad(ds.Sampler):
        def __iter__(self):
            raise KeyError("x")

    with pytest.raises(RuntimeError, match="Bad failed: KeyError: 'x'"):
        list(ds.NumpySlicesDataset([1], sampler=Bad()))


def test_add_sampler_chooses_among_the_chosen():
    data = ds.NumpySlicesDataset({"v": np.arange(10)}, sampler=ds.SequentialSampler(4))
    data.add_sampler(ds.SubsetSampler([1, 0]))
    assert column(data, "v") == [5, 4] and len(data) == 2


def test_weights_decide_how_often_rows_come():
    sampler = ds.WeightedRandomSampler([1.0, 3.0] + [0.0] * 1998, 2000)
    got = column(ds.NumpySlicesDataset({"v": np.arange(2000)}, sampler=sampler), "v")
    assert set(got) == {0, 1} and 0.7 < np.mean(got) < 0.8


def test_a_batch_sampler_names_the_rows_of_each_batch():
    source = [(np.array(i), np.array(-i)) for i in range(4)]
    data = ds.GeneratorDataset(source, ["a", "b"], batch_sampler=[[3, 0], [1]])
    rows = [(a.tolist(), b.tolist()) for a, b in data.create_tuple_iterator(output_numpy=True)]
    assert rows == [([3, 0], [-3, 0]), ([1], [-1])] and (len(data), data.get_batch_size()) == (2, -1)
    summed = ds.GeneratorDataset(source, ["a", "b"], batch_sampler=[[3, 1]], collate_fn=lambda a, b: (np.sum(a), np.stack(b)))
    assert [(int(a), b.tolist()) for a, b in summed.create_tuple_iterator(output_numpy=True)] == [(4, [-3, -1])]


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"collate_fn": list}, ValueError, "'collate_fn' needs 'batch_sampler'"),
        ({"batch_sampler": 3}, TypeError, "'batch_sampler' should be iterable, but got int 3"),
        ({"batch_sampler": [[0]], "shuffle": False}, ValueError, "excludes 'num_samples'"),
        ({"batch_sampler": [[9]]}, RuntimeError, "row 9, __getitem__ of the source: IndexError"),
        ({"batch_sampler": [[0]], "collate_fn": lambda v: 1 / 0}, RuntimeError, "batch 0, collate_fn .*: ZeroDivisionError"),
        (
            {"batch_sampler": [[0]], "collate_fn": lambda v: (1, 2)},
            RuntimeError,
            r"it should return an array for each of \['v'\]",
        ),
    ],
)
def test_batch_sampler_errors(options, error, message):
    with pytest.raises(error, match=message):
        list(ds.GeneratorDataset([1, 2], ["v"], **options))


def test_a_list_of_indices_may_be_cut_and_a_sampler_has_one_child():
    assert column(ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=[2, 1, 0], num_samples=2), "v") == [7, 6]
    sampler = ds.SequentialSampler()
    sampler.add_child(ds.SequentialSampler())
    with pytest.raises(RuntimeError, match="already has the child SequentialSampler"):
        sampler.add_child(ds.SequentialSampler())


def test_enums_are_printed_as_mindspore_s():
    assert f"{ds.Shuffle.FILES} {ds.vision.Border.EDGE} {ds.vision.Inter.NEAREST}" == "Shuffle.FILES Border.EDGE 0"
    assert ds.Shuffle.FILES == "files"


@pytest.mark.parametrize("together, third", [(1, ["a4", "b0", "b1", "b2"]), (2, ["a4", "b0", "b1", "b2"])])
def test_shards_of_text_files_are_ranges_of_the_files_one_after_the_other(together, third, tmp_path):
    for name, count in (("a", 5), ("b", 3), ("c", 4)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(count)))
    shard = lambda n, i: column(ds.TextFileDataset(str(tmp_path / "*.txt"), None, together, False, n, i), "text")  # noqa: E731
    assert shard(3, 1) == third and sorted(shard(2, 0) + shard(2, 1)) == sorted(shard(1, 0)) and shard(5, 4) == ["a0", "a1", "a2"]


def test_a_number_of_shuffled_rows_is_drawn_with_repetitions():
    ds.config.set_seed(5)
    assert column(ds.NumpySlicesDataset(list(range(10)), ["v"], num_samples=4), "v") == [2, 0, 8, 8]
    assert sorted(column(ds.NumpySlicesDataset(list(range(10)), ["v"]), "v")) == list(range(10))


def test_columns_of_text_may_have_mindspore_s_type():
    data = ds.GeneratorDataset([(1, "a")], ["n", "s"], column_types=[ms.int64, ms.string])
    assert column(data, "s") == ["a"]
