"""The handwritten digits of the demonstration; DIGITS.md in this folder names their source and licence."""

from __future__ import annotations

import importlib.resources
from typing import Any

import numpy as np

_TEST = 360


def load_digits() -> tuple[Any, Any]:
    """The 1,797 digits of the UCI Machine Learning Repository. Images of (1797, 8, 8) with values from 0 to 16, and labels, both uint8."""
    with (importlib.resources.files("msjax.demo") / "digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["images"], arrays["labels"]


def enlarge(images: np.ndarray, size: int = 32) -> np.ndarray:
    """Scale square images to `size` x `size` by bilinear interpolation, with values from -1 to 1: float32 of (N, 1, size, size)."""
    old = images.shape[-1]
    # The center of each new pixel, in coordinates of the old pixels' centers.
    at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
    # Row j has the two weights by which new pixel j interpolates its neighbours.
    weights = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(old)[None])).astype(np.float32)
    scaled = weights @ (images.astype(np.float32) / 8 - 1) @ weights.T
    return scaled[:, None]


def split(seed: int) -> Any:
    """Images and labels, shuffled and split into training and test: 360 are for the test."""
    images, labels = load_digits()
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = enlarge(images[order]), labels[order].astype(np.int32)
    return (images[_TEST:], labels[_TEST:]), (images[:_TEST], labels[:_TEST])
