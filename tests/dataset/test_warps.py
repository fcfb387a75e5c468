"""Transforms that warp, erase or relight an image. Warped numbers are MindSpore's of the same Pillow image."""

import numpy as np
import pytest
from PIL import Image

from msjax import dataset as ds
from msjax.dataset import vision

ROWS, COLUMNS = np.mgrid[0:8, 0:10]
IMAGE = np.stack([COLUMNS * 20, ROWS * 25, (COLUMNS + ROWS) * 10], -1).astype(np.uint8)
START, END = [[0, 0], [9, 0], [9, 7], [0, 7]], [[1, 1], [8, 0], [9, 6], [2, 7]]


def test_perspective():
    pil = np.array(vision.Perspective(START, END)(Image.fromarray(IMAGE)))
    assert pil[0, :, 0].tolist() == [0, 0, 0, 0, 80, 105, 130, 155, 180, 0]
    assert pil[3, :, 0].tolist() == [0, 0, 17, 42, 67, 92, 117, 142, 167, 0]
    assert pil[7, :, 0].tolist() == [0, 0, 0, 25, 50, 0, 0, 0, 0, 0]
    assert (vision.Perspective(START, END)(IMAGE) == pil).all()
    nearest = np.array(vision.Perspective(START, END, vision.Inter.NEAREST)(Image.fromarray(IMAGE)))
    assert nearest[4, :, 0].tolist() == [0, 0, 20, 40, 60, 80, 120, 140, 160, 180]
    with pytest.raises(ValueError, match="four points"):
        vision.Perspective(START[:3], END)


def test_perspective_by_chance():
    assert vision.RandomPerspective(prob=0.0)(IMAGE) is IMAGE
    assert (vision.RandomPerspective(0.0, 1.0)(IMAGE) == IMAGE).all()
    white = np.full((40, 60, 3), 255, np.uint8)
    ds.config.set_seed(3)
    try:
        first, second = (vision.RandomPerspective(0.5, 1.0)(white) for _ in range(2))
    finally:
        ds.config.set_seed(ds.config.DEFAULT_SEED)
    # The middle stays within the image; what comes from outside is black.
    assert (first == second).all() and first[20, 30].tolist() == [255] * 3 and (first == 0).any()
    with pytest.raises(ValueError, match=r"'distortion_scale' should be in \[0, 1\]"):
        vision.RandomPerspective(1.5)


def test_lighting():
    light = vision.RandomLighting(0.3)(np.full((2, 3, 3), 100, np.float32))
    assert np.ptp(light, axis=(0, 1)).max() == 0 and not np.allclose(light, 100)
    # Along the three directions the amounts have 0.3 times the standard deviations of ImageNet's colours.
    data = ds.NumpySlicesDataset(np.full((600, 1, 1, 3), 100.0), shuffle=False).map(vision.RandomLighting(0.3))
    many = np.array([image[0, 0] - 100 for (image,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)])
    assert np.abs(many.std(0) / (0.3 * 255 * 0.2175) - [0.571, 0.581, 0.584]).max() < 0.06
    with pytest.raises(RuntimeError, match="three channels"):
        vision.RandomLighting()(IMAGE[..., 0])


def test_erase():
    erased = vision.Erase(1, 2, 3, 4, (1, 2, 3))(IMAGE)
    assert (erased[1:4, 2:6] == [1, 2, 3]).all() and np.count_nonzero((erased != IMAGE).any(-1)) == 12
    own = IMAGE.copy()
    assert vision.Erase(0, 0, 8, 10, 5, inplace=True)(own) is own and (own == 5).all()
    with pytest.raises(RuntimeError, match="should reach to row 9 and column 10"):
        vision.Erase(6, 8, 3, 2)(IMAGE)


@pytest.mark.parametrize("matrix, mean, error", [(None, np.ones(3), TypeError), (np.eye(3), None, TypeError), (np.ones((2, 3)), np.ones(2), ValueError), (np.eye(3), np.ones(2), ValueError)])  # fmt: skip
def test_matrices_that_are_refused(matrix, mean, error):
    with pytest.raises(error):
        vision.LinearTransformation(matrix, mean)
