"""Tiny files in the formats that sources read."""

import io

import numpy as np
from PIL import Image


def idx(folder, name, images, labels):
    """MNIST's two files of a usage ("train" or "t10k")."""
    head = np.array([2051, *images.shape], ">i4").tobytes()
    (folder / f"{name}-images-idx3-ubyte").write_bytes(head + images.astype(np.uint8).tobytes())
    head = np.array([2049, len(labels)], ">i4").tobytes()
    (folder / f"{name}-labels-idx1-ubyte").write_bytes(head + np.asarray(labels, np.uint8).tobytes())


def digits(n=60, seed=0):
    """Images of bars whose place tells the label, and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=n)
    images = rng.integers(40, size=(n, 28, 28))
    for image, label in zip(images, labels):
        image[2 * label + 2 : 2 * label + 5] = 220
    return images, labels


def encoded(array, kind="PNG"):
    """The bytes of an image's file, as an array."""
    file = io.BytesIO()
    Image.fromarray(array).save(file, kind)
    return np.frombuffer(file.getvalue(), np.uint8)
