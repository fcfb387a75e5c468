"""Datasets of small images that lie in few files: those of MNIST and of files of the same kind, and CIFAR's."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from msjax.dataset.checks import check_folder, check_usage, refuse_cache
from msjax.dataset.samplers import Sampler
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import owned
from msjax.mindrecord.idx import read_idx

__all__ = ["Cifar100Dataset", "Cifar10Dataset", "FashionMnistDataset", "KMnistDataset", "MnistDataset"]


class _PackedDataset(MappableDataset):
    """A source of a folder whose files are for training or for testing, and hold one array for each column; they are read when first needed.

    It defines `_load`, which gives the arrays of the columns.
    """

    _names: list[Any] = []
    _load: Callable[[], tuple[Any, ...]]

    def __init__(
        self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Sampler | Iterable[int] | None = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: object = None,
    ):  # fmt: skip
        who = type(self).__name__
        refuse_cache(cache, who)
        self._folder = check_folder(dataset_dir, who)
        self._usage = check_usage(usage, ("train", "test", "all"), who)
        super().__init__(num_samples, shuffle, sampler, num_shards, shard_id, num_parallel_workers)

    def _columns(self):
        return self._names

    @cached_property
    def _arrays(self):
        try:
            return self._load()
        except (OSError, ValueError) as error:
            raise RuntimeError(f"{type(self).__name__}: the files could not be read: {type(error).__name__}: {error}") from error

    def _length(self):
        return len(self._arrays[0])

    def _row(self, index):
        return tuple(owned(array[index]) for array in self._arrays)

    def _labels(self, column):
        if column not in self._names:
            raise RuntimeError(f"{type(self).__name__}: PKSampler asks for column {column!r}; the columns are {self._names}.")
        return np.asarray(self._arrays[self._names.index(column)])


class MnistDataset(_PackedDataset):
    """MNIST's images of digits, from files in IDX format: ``train-images-idx3-ubyte``, ``t10k-labels-idx1-ubyte`` and so on.

    Columns: `image`, uint8 of shape (28, 28, 1), and `label`, a uint32 scalar.

    Args:
        dataset_dir (str): the folder of the files.
        usage (str, optional): "train", "test" or "all". Default: "all", the test's rows first.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache: as in `ImageFolderDataset`.

    Raises:
        TypeError, ValueError: a wrong argument, such as a folder that is not there.
        RuntimeError: the files are missing or damaged (when reading).

    Example:
        >>> def write(name, head, array):
        ...     with open(name, "wb") as f:
        ...         _ = f.write(np.array(head, ">i4").tobytes() + array.astype(np.uint8).tobytes())
        >>> write("train-images-idx3-ubyte", [2051, 2, 28, 28], np.zeros((2, 28, 28)))
        >>> write("train-labels-idx1-ubyte", [2049, 2], np.array([7, 2]))
        >>> data = ds.MnistDataset(".", "train", shuffle=False)
        >>> [(image.shape, int(label)) for image, label in data]
        [((28, 28, 1), 7), ((28, 28, 1), 2)]
    """

    _names = ["image", "label"]

    def _load(self):
        wanted = {"test": ["t10k"], "train": ["train"], "all": ["t10k", "train"]}[self._usage]
        names = [name for name in wanted if self._usage != "all" or os.path.exists(self._path(name, "images-idx3-ubyte"))]
        if not names:
            raise ValueError(f"there are no files such as train-images-idx3-ubyte in {self._folder!r}")
        images = [read_idx(self._path(name, "images-idx3-ubyte"), 2051, 3) for name in names]
        labels = [read_idx(self._path(name, "labels-idx1-ubyte"), 2049, 1) for name in names]
        for name, image, label in zip(names, images, labels):
            if len(image) != len(label):
                raise ValueError(f"the files {name}-... hold {len(image)} images, but {len(label)} labels")
        return np.concatenate(images)[..., None], np.concatenate(labels).astype(np.uint32)

    def _path(self, name, ending):
        return os.path.join(self._folder, f"{name}-{ending}")


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST's images of clothes: files, columns and arguments are those of `MnistDataset`."""


class KMnistDataset(MnistDataset):
    """Kuzushiji-MNIST's images of Japanese characters: files, columns and arguments are those of `MnistDataset`."""


class _Cifar(_PackedDataset):
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
        size = 3 * 32 * 32 + self._label_count
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
