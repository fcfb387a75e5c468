"""Transforms that warp, erase or relight an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_kind, check_number, check_value
from msjax.dataset.checks import check_data, check_enum, check_numbers
from msjax.dataset.run import row_rng
from msjax.dataset.vision.enums import Inter
from msjax.dataset.vision.image import ImageLike, ImageTransform, pillow, resampling, size_of, through_pil

__all__ = ["Erase", "LinearTransformation", "Perspective", "RandomLighting", "RandomPerspective"]

_Points = Sequence[Sequence[int]]


class Perspective(ImageTransform):
    """The image seen from elsewhere, so that four points of it come to four others. Needs Pillow.

    Arrays are warped as Pillow images are; MindSpore blends their edges with black.

    Args:
        start_points (list): four points (x, y): of the image, the top left, top right, bottom right and bottom left one, say.
        end_points (list): where they come to.
        interpolation (Inter): `Inter.NEAREST`, `Inter.BILINEAR` or `Inter.BICUBIC`. Default: `Inter.BILINEAR`.

    Raises:
        TypeError, ValueError: no four points.

    Example:
        >>> corners, moved = [[0, 0], [3, 0], [3, 1], [0, 1]], [[1, 0], [4, 0], [4, 1], [1, 1]]
        >>> vision.Perspective(corners, moved, vision.Inter.NEAREST)(np.array([[5, 6, 7, 8]], np.uint8))
        array([[0, 5, 6, 7]], dtype=uint8)
    """

    def __init__(self, start_points: _Points, end_points: _Points, interpolation: Inter = Inter.BILINEAR):
        self.coefficients: list[float] = _coefficients(
            *(_points(value, name) for value, name in ((start_points, "start_points"), (end_points, "end_points")))
        )
        self.interpolation: Inter = check_enum(interpolation, Inter, "interpolation", "Perspective")

    def _apply(self, image: ImageLike):
        return _warped(image, self.coefficients, self.interpolation, "Perspective")


class RandomPerspective(ImageTransform):
    """The image, or by chance the image seen from elsewhere: each corner moves towards the middle. Needs Pillow.

    Args:
        distortion_scale (float): how far a corner moves at most; 1 for as far as the middle. Default: 0.5.
        prob (float): the probability that it is warped. Default: 0.5.
        interpolation (Inter): as in `Perspective`. Default: `Inter.BICUBIC`.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> vision.RandomPerspective(prob=1.0)(np.full((8, 8, 3), 9, np.uint8)).shape
        (8, 8, 3)
    """

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC):
        who = "RandomPerspective"
        self.distortion_scale: float = check_number(distortion_scale, "distortion_scale", who, low=0, high=1)
        self.prob: float = check_number(prob, "prob", who, low=0, high=1)
        self.interpolation: Inter = check_enum(interpolation, Inter, "interpolation", who)

    def _apply(self, image: ImageLike):
        rng = row_rng()
        if rng.random() >= self.prob:
            return image
        height, width = size_of(image)
        corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]])
        most = [int(self.distortion_scale * (side // 2)) for side in (width, height)]
        inwards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
        moved = corners + inwards * rng.integers(0, np.array(most) + 1, (4, 2))
        return _warped(image, _coefficients(corners, moved), self.interpolation, "RandomPerspective")


def _points(value, name):
    points = [*value] if isinstance(value, (list, tuple)) else []
    check_value(value, len(points) == 4, "be four points", name, "Perspective")
    return np.array([check_numbers(point, name, "Perspective", 2) for point in points])


def _coefficients(start, end) -> list[float]:
    """The eight numbers by which Pillow finds, for a pixel of the result, the one of the image."""
    rows, values = [], []
    for (x, y), (u, v) in zip(end, start):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0].tolist()


def _warped(image, coefficients, interpolation, who):
    method = pillow().Transform.PERSPECTIVE
    return through_pil(lambda pil: pil.transform(pil.size, method, coefficients, resampling(interpolation)), image, who)


# The directions in which the colours of ImageNet's pixels vary, and how much (Krizhevsky, Sutskever and Hinton, 2012).
_DIRECTIONS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.814], [-0.5836, -0.6948, 0.4203]])
_AMOUNTS = np.array([0.2175, 0.0188, 0.0045]) * 255


class RandomLighting(ImageTransform):
    """A colour by chance is added to all pixels, along the directions in which ImageNet's vary; `alpha` is its deviation. Default: 0.05.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> vision.RandomLighting(0.0)(np.full((1, 1, 3), 9, np.uint8))
        array([[[9, 9, 9]]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, alpha: float = 0.05):
        self.alpha: float = check_number(alpha, "alpha", "RandomLighting", low=0)

    def _apply(self, image):
        check_data(image, image.ndim == 3 and image.shape[2] == 3, "the image should have three channels", "RandomLighting")
        added = _DIRECTIONS @ (row_rng().normal(0, self.alpha, 3) * _AMOUNTS)
        return np.clip(image + added, 0, 255).astype(image.dtype)


class Erase(ImageTransform):
    """The image with a rectangle of one value.

    Args:
        top, left, height, width (int): the rectangle.
        value (float, or tuple or list of three): what stands in it, in [0, 255]. Default: 0.
        inplace (bool): write into the array that is given. Default: False.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the rectangle is not within the image (when called).

    Example:
        >>> vision.Erase(0, 1, 1, 1, 7)(np.array([[1, 2, 3]], np.uint8))
        array([[1, 7, 3]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, top: int, left: int, height: int, width: int, value: float | Sequence[float] = 0, inplace: bool = False):
        who = "Erase"
        self.top, self.left = check_int(top, "top", who, low=0), check_int(left, "left", who, low=0)
        self.height, self.width = check_int(height, "height", who, low=1), check_int(width, "width", who, low=1)
        single = isinstance(value, (int, float))
        self.value = (
            check_number(value, "value", who, low=0, high=255) if single else check_numbers(value, "value", who, 3, 0, 255)
        )
        self.inplace = check_bool(inplace, "inplace", who)

    def _apply(self, image):
        bottom, right = self.top + self.height, self.left + self.width
        within = bottom <= image.shape[0] and right <= image.shape[1]
        check_data(image, within, f"the image should reach to row {bottom} and column {right}", "Erase")
        image = image if self.inplace else image.copy()
        image[self.top : bottom, self.left : right] = self.value
        return image


class LinearTransformation(ImageTransform):
    """The pixels as one vector, less a mean, times a matrix, such as one that whitens.

    Args:
        transformation_matrix (ndarray): square, of as many rows as an image has values.
        mean_vector (ndarray): as many values.

    Raises:
        TypeError, ValueError: no such arrays.
        RuntimeError: an image has another number of values (when called).

    Example:
        >>> vision.LinearTransformation(2 * np.eye(3), np.ones(3))(np.array([[[1.0], [2.0], [3.0]]]))
        array([[[0.],
                [2.],
                [4.]]])
    """

    _takes = ("array",)

    def __init__(self, transformation_matrix: np.ndarray, mean_vector: np.ndarray):
        who = "LinearTransformation"
        for value, name in ((transformation_matrix, "transformation_matrix"), (mean_vector, "mean_vector")):
            check_kind(value, isinstance(value, np.ndarray), "be an array", name, who)
        shape = transformation_matrix.shape
        square = len(shape) == 2 and shape[0] == shape[1]
        check_value(transformation_matrix, square, "be a square matrix", "transformation_matrix", who)
        fits = mean_vector.shape == shape[:1]
        check_value(mean_vector, fits, f"have {shape[0]} values, which should match the matrix", "mean_vector", who)
        self.matrix, self.mean = transformation_matrix, mean_vector

    def _apply(self, image: Any):
        check_data(image, image.size == len(self.mean), f"the image should have {len(self.mean)} values", "LinearTransformation")
        return ((image.reshape(-1) - self.mean) @ self.matrix).reshape(image.shape)
