"""Cifar10Dataset and Cifar100Dataset: small colour images in binary files."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

from msjax.dataset.sources.files import FolderDataset

_PIXELS = 3 * 32 * 32


class _Cifar(FolderDataset):
    # For each usage the pattern of its files; the labels of a record; how many records a file holds, if that is certain.
    _files: dict[str, Any] = {}
    _label_count = 1
    _records = None

    def _load(self):
        usages = ("train", "test") if self._usage == "all" else (self._usage,)
        patterns = [self._files[usage] for usage in usages]
        paths = sorted(path for pattern in patterns for path in glob.glob(os.path.join(glob.escape(self._folder), pattern)))
        if not paths:
            raise ValueError(f"there are no files such as {patterns[0]} in {self._folder!r}")
        records = np.concatenate([self._read(path) for path in paths])
        labels, pixels = records[:, : self._label_count], records[:, self._label_count :]
        images = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, *labels.T.astype(np.uint32)

    def _read(self, path):
        size = _PIXELS + self._label_count
        content = np.fromfile(path, np.uint8)
        if len(content) % size or not len(content) or (self._records is not None and len(content) != size * self._records):
            expected = "whole records" if self._records is None else f"{self._records} records"
            raise ValueError(f"{path} should hold {expected} of {size} bytes, but holds {len(content)} bytes")
        return content.reshape(-1, size)


class Cifar10Dataset(_Cifar):
    """CIFAR-10's images, from its binary files: ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``.

    Columns: `image`, uint8 of shape (32, 32, 3), and `label`, a uint32 scalar.

    Args:
        dataset_dir (str): the folder of the files.
        usage (str, optional): "train", "test" or "all". Default: "all".
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache: as in `ImageFolderDataset`.

    Raises:
        TypeError, ValueError: a wrong argument, such as a folder that is not there.
        RuntimeError: the files are missing, or one does not hold 10000 records (when reading).

    Example:
        >>> np.zeros((10000, 3073), np.uint8).tofile("test_batch.bin")
        >>> data = ds.Cifar10Dataset(".", "test", num_samples=4)
        >>> len(data), data.output_shapes()
        (4, [[32, 32, 3], []])
    """

    _names = ["image", "label"]
    _files = {"train": "data_batch_*.bin", "test": "test_batch.bin"}
    _records = 10000


class Cifar100Dataset(_Cifar):
    """CIFAR-100's images, from its binary files ``train.bin`` and ``test.bin``.

    Columns: `image`, uint8 of shape (32, 32, 3), `coarse_label` and `fine_label`, uint32 scalars.

    Args:
        dataset_dir (str): the folder of the files.
        usage (str, optional): "train", "test" or "all". Default: "all".
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache: as in `ImageFolderDataset`.

    Raises:
        TypeError, ValueError: a wrong argument, such as a folder that is not there.
        RuntimeError: the files are missing or damaged (when reading).

    Example:
        >>> np.full((5, 3074), 3, np.uint8).tofile("train.bin")
        >>> data = ds.Cifar100Dataset(".", "train")
        >>> data.get_col_names(), [int(fine) for image, coarse, fine in data]
        (['image', 'coarse_label', 'fine_label'], [3, 3, 3, 3, 3])
    """

    _names = ["image", "coarse_label", "fine_label"]
    _files = {"train": "train.bin", "test": "test.bin"}
    _label_count = 2
