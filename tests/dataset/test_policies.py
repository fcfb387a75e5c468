"""Policies of augmentation, and crops from fixed places."""

import numpy as np
import pytest

from msjax import dataset as ds
from msjax.dataset import vision
from msjax.dataset.vision import policies

IMAGE = np.random.RandomState(0).randint(0, 256, (12, 10, 3)).astype(np.uint8)


def several(transform, count=40):
    rows = ds.NumpySlicesDataset(([IMAGE] * count,), ["image"], shuffle=False).map(transform, ["image"])
    return [row for (row,) in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize(
    "transform",
    [
        vision.RandAugment(),
        vision.RandAugment(3, 20, 40, vision.Inter.BILINEAR, (1, 2, 3)),
        vision.TrivialAugmentWide(),
        *map(vision.AutoAugment, vision.AutoAugmentPolicy),
        vision.UniformAugment([vision.Invert(), vision.HorizontalFlip(), vision.Rotate(90)], 2),
        vision.RandomAdjustSharpness(3.0),
    ],
)
def test_images_stay_images_and_differ(transform):
    images = several(transform)
    assert {(image.shape, image.dtype) for image in images} == {((12, 10, 3), np.dtype(np.uint8))}
    assert len({image.tobytes() for image in images}) > 1
    assert isinstance(transform(vision.ToPIL()(IMAGE)), (np.ndarray, type(vision.ToPIL()(IMAGE))))


def test_a_seed_gives_the_same_images():
    before = ds.config.get_seed()
    try:
        ds.config.set_seed(3)
        first = several(vision.RandAugment(), 8)
        ds.config.set_seed(3)
        assert all(map(np.array_equal, first, several(vision.RandAugment(), 8)))
    finally:
        ds.config.set_seed(before)


@pytest.mark.parametrize("name", policies._SPACE)
def test_the_strength_of_an_operation(name):
    """The weakest one leaves the image as it is, but for operations without strengths; the strongest one changes it."""
    policy = vision.RandAugment()
    weak, strong = (policy._change(IMAGE, name, policy._strength(name, share, IMAGE)) for share in (0.0, 1.0))
    if name not in ("AutoContrast", "Equalize", "Solarize"):
        np.testing.assert_array_equal(weak, IMAGE)
    assert np.array_equal(strong, IMAGE) == (name == "Identity")


def test_published_policies():
    for policy in vision.AutoAugmentPolicy:
        pairs = vision.AutoAugment(policy)._pairs
        assert len(pairs) == 25 and all(len(pair) == 2 for pair in pairs)
        for name, chance, *strength in (step for pair in pairs for step in pair):
            assert name in {*policies._SPACE, "Invert"} and 0 <= float(chance) <= 1
            assert len(strength) == (name not in policies._PLAIN) and all(0 <= int(s) <= 9 for s in strength)


def test_crops_from_fixed_places():
    pil = vision.ToPIL()(IMAGE)
    parts = [np.array(part) for part in vision.FiveCrop((4, 5))(pil)]
    expected = [IMAGE[:4, :5], IMAGE[:4, 5:], IMAGE[8:, :5], IMAGE[8:, 5:], IMAGE[4:8, 2:7]]
    assert all(map(np.array_equal, parts, expected))
    ten = [np.array(part) for part in vision.TenCrop((4, 5))(pil)]
    mirrored = [np.array(part) for part in vision.FiveCrop((4, 5))(vision.ToPIL()(IMAGE[:, ::-1]))]
    assert len(ten) == 10 and all(map(np.array_equal, ten, parts + mirrored))
    ten = [np.array(part) for part in vision.TenCrop((4, 5), use_vertical_flip=True)(pil)]
    assert np.array_equal(ten[5], IMAGE[::-1][:4, :5])


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: vision.FiveCrop("a"), TypeError, "'size'"),
        (lambda: vision.FiveCrop(0), ValueError, "'size'"),
        (
            lambda: vision.FiveCrop(40)(vision.ToPIL()(IMAGE)),
            ValueError,
            r"\(40, 40\) is larger than input image size \(12, 10\)",
        ),
        (lambda: vision.FiveCrop(4)(IMAGE), TypeError, "PIL image"),
        (lambda: vision.TenCrop(4, 3), TypeError, "use_vertical_flip"),
        (lambda: vision.RandAugment(-1), ValueError, "'num_ops'"),
        (lambda: vision.RandAugment(2, 31, 31), ValueError, "'magnitude'"),
        (lambda: vision.RandAugment(2, 0, 1), ValueError, "'num_magnitude_bins'"),
        (lambda: vision.RandAugment(interpolation=3), TypeError, "member of Inter"),
        (lambda: vision.RandAugment(fill_value=300), ValueError, "fill_value"),
        (lambda: vision.RandAugment()(IMAGE[..., 0]), RuntimeError, r"uint8 and the axes \(height, width, 3\)"),
        (lambda: vision.AutoAugment("imagenet"), TypeError, "member of AutoAugmentPolicy"),
        (lambda: vision.UniformAugment([vision.Invert()], 2), ValueError, "at most the number of transforms, 1, but got 2"),
        (lambda: vision.UniformAugment([3]), TypeError, r"'transforms\[0\]' should be callable"),
        (lambda: vision.RandomAdjustSharpness(-1), ValueError, "'degree'"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()
