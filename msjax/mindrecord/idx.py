"""IDX files, as those of MNIST: a number, the sizes of the axes, and the bytes of an array."""

from __future__ import annotations

import gzip

import numpy as np


def read_idx(path: str, magic: int, axes: int) -> np.ndarray:
    """The array of an IDX file of bytes, which may be packed by gzip."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        content = file.read()
    head = 4 + 4 * axes
    if len(content) < head:
        raise ValueError(f"{path} is too short for an IDX file")
    numbers = np.frombuffer(content, ">i4", 1 + axes)
    shape = tuple(int(n) for n in numbers[1:])
    if numbers[0] != magic:
        raise ValueError(f"{path} should start with the number {magic}, but starts with {numbers[0]}")
    if len(content) != head + int(np.prod(shape)):
        raise ValueError(f"{path} should hold {int(np.prod(shape))} bytes for the shape {shape}, but holds {len(content) - head}")
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
