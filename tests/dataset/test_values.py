"""What functions of map get and return."""

import numpy as np
import pytest

import msjax as ms
from msjax import dataset as ds


def result(function, value):
    data = ds.NumpySlicesDataset({"v": np.array([value])}, shuffle=False).map(function, ["v"])
    return next(data.create_dict_iterator(num_epochs=1, output_numpy=True))["v"]


@pytest.mark.parametrize(
    "function, value, dtype",
    [
        (lambda v: v * 10, np.int32(3), np.int64),
        (lambda v: 1 - v, np.uint8(3), np.int64),
        (lambda v: v / 2, np.float32(3), np.float64),
        (lambda v: v + 1, np.float16(3), np.float64),
        (lambda v: v, np.int32(3), np.int32),
        (lambda v: -v, np.int32(3), np.int32),
        (lambda v: v + v, np.int32(3), np.int32),
        (lambda v: v * np.float32(2), np.float32(3), np.float32),
        (lambda v: v.astype(np.int16), np.int32(3), np.int16),
        (lambda v: np.ones(2, np.float32) + v, np.int32(3), np.float32),
        (lambda v: v * np.ones(2, np.float16), np.float32(3), np.float16),
        (lambda v: v + np.ones(2, np.int8), np.int32(3), np.int8),
        (lambda v: v + np.ones(2, np.int8), np.int32(300), np.int32),
        (lambda v: v * np.ones(2, np.int32), np.float32(3), np.float64),
        (lambda v: v * 10, np.ones(2, np.int32), np.int32),
        (lambda v: v.sum(), np.ones(2, np.float32), np.float32),
        (lambda v: int(v), np.int32(3), np.int64),
        (lambda v: ms.Tensor([1.0], ms.float16), np.int32(3), np.float16),
    ],
)
def test_scalars_widen_beside_python_numbers_as_in_numpy_1(function, value, dtype):
    assert result(function, value).dtype == dtype


def test_scalars_can_be_changed_in_place():
    def change(v):
        v *= 10
        return v

    assert result(change, np.int32(3)).tolist() == 30 and result(change, np.int32(3)).dtype == np.int32


def test_functions_see_arrays_of_numpy():
    seen = []
    result(lambda v: seen.append((isinstance(v, np.ndarray), type(v).__name__, v.shape, f"{v:d}", v == 3)) or v, np.int32(3))
    assert seen == [(True, "ndarray", (), "3", True)]


def test_images_become_arrays():
    image = result([ds.vision.ToPIL(), ds.vision.CenterCrop(2)], np.full((4, 4, 3), 7, np.uint8))
    assert type(image) is np.ndarray and image.shape == (2, 2, 3)


def test_what_a_program_gets_can_be_written_to():
    data = ds.NumpySlicesDataset({"v": np.arange(8).reshape(2, 4)}, shuffle=False).map(lambda v: v[::-1], ["v"])
    for row in data.create_dict_iterator(output_numpy=True):
        assert row["v"].flags.writeable and row["v"].flags.c_contiguous


class Rows:
    def __getitem__(self, index):
        return ({"a": np.array([index]), "inner": {"b": np.float32(index)}, "s": "x", "l": [1, 2]},)

    def __len__(self):
        return 2


def test_a_dict_column_gives_tensors_where_arrays_do():
    data = ds.GeneratorDataset(Rows(), "v", shuffle=False)
    row = next(iter(data.create_dict_iterator(num_epochs=1)))["v"]
    kinds = {key: type(value).__name__ for key, value in row.items()}
    assert kinds == {"a": "Tensor", "inner": "dict", "s": "ndarray", "l": "list"}
    assert isinstance(row["inner"]["b"], ms.Tensor) and [t.item() for t in row["l"]] == [1, 2]
    row = next(iter(data.create_dict_iterator(num_epochs=1, output_numpy=True)))["v"]
    assert isinstance(row["a"], np.ndarray) and [int(v) for v in row["l"]] == [1, 2]
    batch = next(iter(data.batch(2).create_dict_iterator(output_numpy=True)))["v"]
    assert batch["l"].tolist() == [[1, 2], [1, 2]] and batch["inner"]["b"].tolist() == [0, 1]


@pytest.mark.parametrize("in_tuple", [True, False])
def test_per_batch_map_may_return_a_dict(in_tuple):
    def both(values, info):
        made = {"a": np.stack(values), "b": np.array(values) * 2}
        return (made,) if in_tuple else made

    data = ds.GeneratorDataset([1, 2, 3, 4], "v", shuffle=False).batch(2, per_batch_map=both)
    rows = [row["v"] for row in data.create_dict_iterator(output_numpy=True)]
    assert [{key: value.tolist() for key, value in row.items()} for row in rows] == [
        {"a": [1, 2], "b": [2, 4]},
        {"a": [3, 4], "b": [6, 8]},
    ]


class Indices:
    def __getitem__(self, index):
        return [2, 0][index]


class CountedIndices:
    def __getitem__(self, index):
        return 2 - 2 * index  # without an end of its own

    def __len__(self):
        return 2


@pytest.mark.parametrize("sampler", [Indices(), CountedIndices()])
def test_a_sampler_may_have_getitem_only(sampler):
    assert [int(v) for (v,) in ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=sampler)] == [7, 5]


def test_dataset_size_is_known_after_it_was_asked_for():
    data = ds.NumpySlicesDataset([1, 2, 3])
    assert (data.dataset_size, data.get_dataset_size(), data.dataset_size) == (None, 3, 3)


def test_hooks_of_debug_mode(capsys):
    class Double(ds.debug.DebugHook):
        def compute(self, *args):
            return tuple(value * 2 for value in args)

    def add(v):
        return v + 1

    try:
        ds.config.set_debug_mode(True, [ds.debug.PrintDataHook()])
        (row,) = ds.NumpySlicesDataset([1], ["v"]).map([add, Double()]).create_tuple_iterator(output_numpy=True)
        with pytest.raises(TypeError, match="'debug_hook_list' should be a list of DebugHook"):
            ds.config.set_debug_mode(True, [print])
    finally:
        ds.config.set_debug_mode(False)
    assert row[0] == 4
    assert capsys.readouterr().out.splitlines() == [
        "[Dataset debugger] Print the [INPUT] of the operation [add].", "Column 0. The data is [1].",
        "[Dataset debugger] Print the [OUTPUT] of the operation [add].", "Column 0. The data is [2].",
        "[Dataset debugger] Print the [OUTPUT] of the operation [Double].", "Column 0. The data is [4].",
    ]  # fmt: skip
