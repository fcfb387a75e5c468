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
