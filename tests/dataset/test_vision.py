"""Transforms of images: values against plain formulas, arguments, arrays and Pillow images."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageOps

import msjax as ms
from msjax import dataset as ds
from msjax.dataset import vision
from msjax.dataset.vision import Border, ConvertMode, Inter
from tests.dataset.files import encoded

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(256, size=(9, 12, 3), dtype=np.uint8)


def bilinear(array, height, width):
    """Half-pixel centres, edges repeated, no antialiasing, one pixel at a time."""
    result = np.zeros((height, width, *array.shape[2:]))
    for i in range(height):
        for j in range(width):
            y = min(max((i + 0.5) * array.shape[0] / height - 0.5, 0), array.shape[0] - 1)
            x = min(max((j + 0.5) * array.shape[1] / width - 0.5, 0), array.shape[1] - 1)
            y0, x0 = int(y), int(x)
            y1, x1 = min(y0 + 1, array.shape[0] - 1), min(x0 + 1, array.shape[1] - 1)
            top = array[y0, x0] * (1 - (x - x0)) + array[y0, x1] * (x - x0)
            bottom = array[y1, x0] * (1 - (x - x0)) + array[y1, x1] * (x - x0)
            result[i, j] = top * (1 - (y - y0)) + bottom * (y - y0)
    return result


@pytest.mark.parametrize("size", [(5, 7), (20, 31), (9, 30), (4, 12), (1, 1)])
def test_resize_is_bilinear_without_antialiasing(size):
    expected = bilinear(IMAGE.astype(np.float64), *size)
    np.testing.assert_allclose(vision.Resize(size)(IMAGE.astype(np.float32)), expected, atol=1e-3)
    assert np.abs(vision.Resize(size)(IMAGE).astype(float) - expected).max() <= 1


def test_resize_by_other_ways():
    nearest = vision.Resize((4, 5), Inter.NEAREST)(IMAGE)
    assert (nearest == IMAGE[np.arange(4) * 9 // 4][:, np.arange(5) * 12 // 5]).all()
    areas = vision.Resize((3, 4), Inter.AREA)(IMAGE)
    assert (areas == np.floor(IMAGE.reshape(3, 3, 4, 3, 3).mean((1, 3)) + 0.5)).all()
    with_pillow = vision.Resize((4, 5), Inter.PILCUBIC)(IMAGE)
    assert (with_pillow == np.array(Image.fromarray(IMAGE).resize((5, 4), Image.Resampling.BICUBIC))).all()
    assert (vision.Resize((20, 20), Inter.CUBIC)(np.full((5, 5), 77, np.uint8)) == 77).all()
    pil = vision.Resize(6)(Image.fromarray(IMAGE))
    assert pil.size == (8, 6)


def test_areas_that_grow_bytes_by_bicubic_and_halves_are_opencvs():
    # What MindSpore 2.10 gives.
    image = np.array([[0, 50, 7], [200, 30, 255]], np.uint8)
    doubled = image.repeat(2, 0).repeat(2, 1)
    for dtype in (np.uint8, np.int16, np.float32, np.float64):
        np.testing.assert_array_equal(vision.Resize((4, 6), Inter.AREA)(image.astype(dtype)), doubled)
    assert vision.Resize((3, 4), Inter.AREA)(image).tolist() == [[0, 33, 36, 7], [100, 60, 70, 131], [200, 87, 105, 255]]
    cubic = [[0, 14, 52, 16, 0], [106, 70, 40, 91, 140], [235, 126, 28, 167, 255]]
    assert vision.Resize((3, 5), Inter.CUBIC)(image).tolist() == cubic
    # 1.5 and 2.5 become 2, but 2.5 is 3 where both sides are halved.
    columns = np.array([[1, 2], [2, 3], [4, 5], [7, 9]], np.int16)
    assert vision.Resize((2, 2))(columns).tolist() == [[2, 2], [6, 7]]
    assert vision.Resize((1, 1))(np.array([[1, 2], [3, 4]], np.int16)).tolist() == [[3]]


def test_normalize_and_rescale():
    mean, std = [100.0, 110.0, 120.0], [50.0, 60.0, 70.0]
    expected = (IMAGE - np.array(mean)) / std
    got = vision.Normalize(mean, std)(IMAGE)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    chw = vision.Normalize(mean, std, is_hwc=False)(vision.HWC2CHW()(IMAGE))
    np.testing.assert_array_equal(chw, got.transpose(2, 0, 1))
    np.testing.assert_allclose(vision.Normalize([9.0], [2.0])(IMAGE[:, :, 0]), (IMAGE[:, :, 0] - 9.0) / 2)
    np.testing.assert_allclose(vision.Normalize(mean, std)(IMAGE[:, ::2]), expected[:, ::2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vision.Rescale(1 / 255, -1)(IMAGE), IMAGE / 255 - 1, atol=1e-6)
    assert vision.ToTensor()(Image.fromarray(IMAGE)).shape == (3, 9, 12)


def test_random_windows_are_of_the_image():
    ms.set_seed(3)
    for _ in range(20):
        window = vision.RandomResizedCrop((4, 4), (0.2, 1.0), interpolation=Inter.NEAREST)(IMAGE)
        assert {tuple(p) for p in window.reshape(-1, 3)} <= {tuple(p) for p in IMAGE.reshape(-1, 3)}
    padded = vision.RandomCrop((11, 14), [1, 1, 1, 1], fill_value=7)(IMAGE)
    assert (padded[1:-1, 1:-1] == IMAGE).all() and (padded[0] == 7).all()


def test_pillow_images_stay_pillow_images():
    pil = Image.fromarray(IMAGE)
    for transform in (
        vision.Resize(4), vision.CenterCrop(4), vision.RandomCrop(4), vision.RandomHorizontalFlip(1.0), vision.Pad(1),
        vision.RandomColorAdjust(0.5, 0.5, 0.5, 0.1), vision.RandomResizedCrop(4), vision.Invert(), vision.RandomAffine(10),
        vision.RandomGrayscale(1.0), vision.RandomRotation(5), vision.AutoContrast(), vision.AdjustGamma(2.0),
    ):  # fmt: skip
        assert isinstance(transform(pil), Image.Image), transform
    for transform in (
        vision.HorizontalFlip(),
        vision.Rotate(20),
        vision.Solarize(10),
        vision.Crop((0, 0), 2),
        vision.Rescale(2.0, 0.0),
    ):
        np.testing.assert_array_equal(transform(pil), transform(IMAGE), err_msg=repr(transform))
    # Half a pixel is cut for arrays and rounded to the even neighbour for Pillow images.
    assert (vision.CenterCrop((9, 5))(IMAGE) == IMAGE[:, 3:8]).all()
    assert (np.asarray(vision.CenterCrop((9, 5))(pil)) == IMAGE[:, 4:9]).all()


def test_arrays_and_pillow_images_agree():
    pil = Image.fromarray(IMAGE)
    for transform in (
        vision.CenterCrop((11, 6)), vision.Pad((1, 2), 9, Border.CONSTANT), vision.Pad(2, padding_mode=Border.REFLECT), vision.Invert(),
        vision.AdjustHue(0.2), vision.Posterize(3), vision.Rotate(90, expand=True),
        vision.RandomVerticalFlip(1.0), vision.AdjustGamma(0.5), vision.GaussianBlur(3),
    ):  # fmt: skip
        np.testing.assert_array_equal(transform(IMAGE), np.asarray(transform(pil)), err_msg=repr(transform))


def test_affine_moves_and_turns():
    image = np.zeros((6, 6), np.uint8)
    image[2, 1] = 255
    assert vision.Affine(0, (1 / 6, -1 / 6), 1.0, 0)(image)[1, 2] == 255
    turned = vision.Affine(90, (0, 0), 1.0, 0)(image)
    assert np.argwhere(turned).tolist() == [[1, 3]]
    np.testing.assert_array_equal(vision.Affine(90, (0, 0), 1.0, 0)(image), vision.Rotate(-90)(image))


def test_colors():
    grey = vision.ConvertColor(ConvertMode.COLOR_RGB2GRAY)(IMAGE)
    assert np.abs(grey - IMAGE @ [0.299, 0.587, 0.114]).max() < 1
    rgba = vision.ConvertColor(ConvertMode.COLOR_RGB2RGBA)(IMAGE)
    assert (rgba[..., :3] == IMAGE).all() and (rgba[..., 3] == 255).all()
    colors = IMAGE / 255.0
    np.testing.assert_allclose(vision.HsvToRgb(True)(vision.RgbToHsv(True)(colors)), colors, atol=1e-5)
    float_image = vision.RandomRotation(10)(IMAGE.astype(np.float32))
    assert float_image.dtype == np.float32 and float_image.shape == IMAGE.shape


def test_mixing_batches_keeps_the_sum_of_labels():
    ms.set_seed(1)
    images, labels = RNG.random((4, 8, 8, 3)).astype(np.float32), np.eye(4, dtype=np.float32)
    for mix in (
        vision.MixUpBatch(0.5),
        vision.CutMixBatch(vision.ImageBatchFormat.NHWC),
    ):
        mixed, mixed_labels = mix(images, labels)
        assert mixed.shape == images.shape and mixed.dtype == np.float32
        np.testing.assert_allclose(mixed_labels.sum(1), 1, atol=1e-6)
    cut, cut_labels = vision.CutMixBatch(vision.ImageBatchFormat.NCHW)(images.transpose(0, 3, 1, 2), labels)
    own = (cut == images.transpose(0, 3, 1, 2)).all(1).mean((1, 2))
    np.testing.assert_allclose(np.diag(cut_labels), own, atol=1e-6)
    with pytest.raises(RuntimeError, match="takes a batch of images"):
        vision.MixUpBatch()(images[0], labels)


def test_decoding():
    assert (vision.Decode()(encoded(IMAGE)) == IMAGE).all()
    assert vision.Decode(to_pil=True)(encoded(IMAGE[:, :, 0])).mode == "RGB"
    with pytest.raises(RuntimeError, match="Decode: the bytes could not be decoded"):
        vision.Decode()(np.zeros(4, np.uint8))
    with pytest.raises(TypeError, match="Decode: the image should be a vector of bytes"):
        vision.Decode()(IMAGE)


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda: vision.Resize(0), ValueError, "For 'Resize', 'size' should be in"),
        (lambda: vision.Resize((1, 2, 3)), TypeError, "For 'Resize', 'size' should be an int, or a tuple or list of two"),
        (lambda: vision.Resize(2, "linear"), TypeError, "'interpolation' should be a member of Inter, but got str 'linear'"),
        (lambda: vision.Normalize([1.0], [0.0]), ValueError, "'mean' and 'std' should be equally many, and 'std' not 0"),
        (lambda: vision.Normalize(0.5, 0.5), TypeError, "'mean' should be a tuple or list of numbers"),
        (lambda: vision.RandomCrop(3, -1), ValueError, "For 'RandomCrop', 'padding' should not be negative"),
        (lambda: vision.Pad((1, 2, 3)), ValueError, "For 'Pad', 'padding' should be an int, or a tuple or list of two or four"),
        (lambda: vision.RandomHorizontalFlip("1"), TypeError, "For 'RandomHorizontalFlip', 'prob' should be a number"),
        (lambda: vision.RandomColorAdjust(hue=0.9), ValueError, "For 'RandomColorAdjust', 'hue' should be in"),
        (lambda: vision.RandomRotation(-5), ValueError, "For 'RandomRotation', 'degrees' should not be negative"),
        (lambda: vision.RandomResizedCrop(3, scale=(2, 1)), ValueError, "'scale' should not fall"),
        (lambda: vision.ConvertColor("gray"), TypeError, "'convert_mode' should be a member of ConvertMode"),
        (lambda: vision.Crop((3, 3), 9)(IMAGE), RuntimeError, "Crop: a window of .* is not within an image of"),
        (lambda: vision.RandomCrop(99)(IMAGE), RuntimeError, "RandomCrop: the image of .* is smaller than the window"),
        (
            lambda: vision.Rescale(1.0, 0.0)([[1]]),
            TypeError,
            "Rescale: the image should be a numpy array or a PIL image, but got",
        ),
        (lambda: vision.Resize(2)(np.zeros(4)), RuntimeError, r"Resize: the image should have numbers and the axes"),
        (lambda: vision.Resize(2)(), RuntimeError, "Resize should be called with an image, but got none"),
        (lambda: vision.Normalize([1.0, 2], [1.0, 2])(IMAGE), RuntimeError, "are for 2 channels, but the image has 3"),
        (lambda: vision.Grayscale()(IMAGE), TypeError, "Grayscale: the image should be a PIL image"),
    ],
)
def test_errors(build, error, message):
    with pytest.raises(error, match=message):
        build()


@pytest.mark.long
def test_names_import_without_pillow_and_without_jax_starting():
    program = """
import sys
sys.modules["PIL"] = None
import numpy as np
import msjax.dataset as ds
from msjax.dataset import vision
data = ds.NumpySlicesDataset({"image": np.ones((4, 8, 8, 3), np.uint8)}).map([vision.Resize(4), vision.RandomCrop(2), vision.HWC2CHW()])
print(next(data.batch(4).create_dict_iterator(output_numpy=True))["image"].shape)
try:
    vision.Decode()(np.zeros(3, np.uint8))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "(4, 3, 2, 2)" and "pip install 'msjax[data]'" in done.stdout


def test_colours_of_arrays_are_rounded_and_floats_stay_floats():
    image = np.array([[[0, 100, 201], [10, 20, 30]]], np.uint8)
    grey = np.rint(image @ [0.299, 0.587, 0.114])[..., None]
    np.testing.assert_array_equal(vision.AdjustBrightness(1.5)(image), [[[0, 150, 255], [15, 30, 45]]])
    np.testing.assert_array_equal(vision.AdjustContrast(0.5)(image), np.rint((np.floor(grey.mean() + 0.5) + image) / 2))
    np.testing.assert_array_equal(vision.AdjustSaturation(0.5)(image), np.rint((grey + image) / 2))
    floats = image / np.float32(255)
    np.testing.assert_allclose(vision.AdjustBrightness(1.5)(floats), floats * 1.5)
    # The gain comes before the exponent in floats, which end at 1.
    np.testing.assert_allclose(vision.AdjustGamma(2.0, 1.5)(floats), np.minimum((1.5 * floats) ** 2, 1), rtol=1e-6)
    assert vision.AdjustGamma(2.0, 1.5)(np.ones((1, 1, 3), np.float32)).max() == 1


def test_the_device_is_the_cpu():
    assert vision.Resize(2).device("CPU")(IMAGE).shape == (2, 2, 3)
    with pytest.raises(ValueError, match="For 'device', 'device_target' should be 'CPU'"):
        vision.Resize(2).device("Ascend")


def test_a_decoded_pillow_image_is_a_plain_one():
    assert type(vision.Decode(to_pil=True)(encoded(np.zeros((2, 3, 3), np.uint8)))) is Image.Image


def test_equalize_counts_as_opencv_does():
    image = (np.random.RandomState(0).rand(5, 7) ** 2 * 256).astype(np.uint8)
    got = vision.Equalize()(image)
    assert got.sum() == 4356 and got.reshape(-1)[:8].tolist() == [116, 162, 139, 108, 62, 155, 70, 224]
    assert (vision.Equalize()(np.stack([image, image + 1], -1))[..., 0] == got).all()
    assert (vision.Equalize()(image[:1, :1]) == image[:1, :1]).all()
    assert (np.array(vision.Equalize()(Image.fromarray(image))) == np.array(ImageOps.equalize(Image.fromarray(image)))).all()
    with pytest.raises(RuntimeError, match="should be of type uint8"):
        vision.Equalize()(image / 255)


@pytest.mark.parametrize("old, new", [((9, 13), (20, 7)), ((30, 30), (11, 50)), ((7, 1), (3, 4))])
@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,), (5,)])
def test_bytes_are_resized_with_opencvs_whole_numbers(old, new, channels):
    image = np.random.default_rng(0).choice(np.array([0, 1, 128, 254, 255], np.uint8), (*old, *channels))
    got = vision.Resize(new)(image)
    planes, values = image.reshape(*old, -1).astype(int), []
    for size, there in zip(new, old):
        at = (np.arange(size) + 0.5) * there / size - 0.5
        near = np.floor(at)
        weight = np.rint(np.stack([1 - (at - near), at - near]) * 2048).astype(int)
        values.append((np.clip([near, near + 1], 0, there - 1).astype(int), weight))
    (rows, down), (columns, across) = values
    wide = sum(planes[:, columns[i]] * across[i][:, None] for i in range(2)) >> 4
    want = (sum(wide[rows[i]] * down[i][:, None, None] >> 16 for i in range(2)) + 2) >> 2
    assert got.dtype == np.uint8 and (got == want.reshape(got.shape)).all()


def test_one_policy_by_chance_and_its_transforms_by_theirs():
    flip, half = (vision.VerticalFlip(), 1.0), (lambda image: image // 2, 1.0)
    image = np.array([[[8]], [[4]]], np.uint8)
    assert vision.RandomSelectSubpolicy([[flip, half, (np.zeros_like, 0.0)]])(image).ravel().tolist() == [2, 4]
    rows = ds.NumpySlicesDataset([image] * 40, "i").map(vision.RandomSelectSubpolicy([[flip], [half]]), "i")
    seen = {tuple(row.ravel().tolist()) for (row,) in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)}
    assert seen == {(4, 8), (4, 2)}
    for policy, kind, text in [
        ([], ValueError, "'policy' should not be empty"),
        ([[vision.VerticalFlip()]], ValueError, r"'policy\[0\]\[0\]' should be a tuple \(transform, probability\)"),
        ([[flip, (vision.VerticalFlip(), 1.5)]], ValueError, r"the probability of policy\[0\]\[1\]"),
        (3, TypeError, "'policy' should be a list"),
    ]:
        with pytest.raises(kind, match=text):
            vision.RandomSelectSubpolicy(policy)


def test_a_name_that_mindspore_lacks_is_an_attribute_error():
    assert not hasattr(vision, "RandomApply") and hasattr(vision, "Perspective")


@pytest.mark.parametrize("size", [3, (3, 3), [3, 3]])
def test_a_resized_crop_of_one_size_is_square(size):
    image = np.arange(7 * 5 * 3, dtype=np.uint8).reshape(7, 5, 3)
    assert vision.ResizedCrop(1, 1, 4, 3, size)(image).shape == (3, 3, 3)


@pytest.mark.parametrize("transform", [vision.Solarize((50, 50)), vision.RandomSolarize((50, 50)), vision.Solarize(50)])
def test_equal_bounds_solarize_all_that_is_not_below(transform):
    assert transform(np.array([[49, 50, 100, 255]], np.uint8)).tolist() == [[49, 205, 155, 0]]


def test_images_without_colours_have_one_channel_or_three():
    modes = {mode: vision.RandomGrayscale(1.0)(Image.new(mode, (1, 1))).mode for mode in ("L", "RGB", "RGBA", "CMYK")}
    assert modes == {"L": "L", "RGB": "RGB", "RGBA": "RGB", "CMYK": "RGB"}
