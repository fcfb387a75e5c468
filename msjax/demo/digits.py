"""The handwritten digits of the demonstration; DIGITS.md in this folder names their source and licence."""

from __future__ import annotations

import importlib.resources
from typing import Any

import numpy as np

_TEST = 360


def load_digits() -> tuple[Any, Any]:
    """The 1,797 digits of the UCI Machine Learning Repository.

    Returns:
        (images, labels): uint8 arrays of shape (1797, 8, 8), values 0 to 16, and (1797,), values 0 to 9.

    Example:
        >>> from msjax.demo.digits import load_digits
        >>> images, labels = load_digits()
        >>> images.shape, labels[:5]
        ((1797, 8, 8), array([0, 1, 2, 3, 4], dtype=uint8))
    """
    with (importlib.resources.files("msjax.demo") / "digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["images"], arrays["labels"]


def enlarge(images: np.ndarray, size: int = 32) -> np.ndarray:
    """Scale square images to `size` x `size` by bilinear interpolation, with values from -1 to 1.

    Args:
        images (numpy.ndarray): of shape (N, h, h), values 0 to 16.
        size (int): height and width of the result.

    Returns:
        A float32 numpy.ndarray of shape (N, 1, size, size).
    """
    old = images.shape[-1]
    # The center of each new pixel, in coordinates of the old pixels' centers.
    at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
    # Row j has the two weights by which new pixel j interpolates its neighbours.
    weights = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(old)[None])).astype(np.float32)
    scaled = weights @ (images.astype(np.float32) / 8 - 1) @ weights.T
    return scaled[:, None]


def split(seed: int) -> Any:
    """Images and labels, shuffled and split into training and test.

    Args:
        seed (int): the seed of the shuffle.

    Returns:
        (train_images, train_labels), (test_images, test_labels): images float32 of shape (N, 1, 32, 32), labels int32;
        360 of the 1,797 are for the test.
    """
    images, labels = load_digits()
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = enlarge(images[order]), labels[order].astype(np.int32)
    return (images[_TEST:], labels[_TEST:]), (images[:_TEST], labels[:_TEST])
