"""MnistDataset and datasets in files of the same kind."""

from __future__ import annotations

import os

import numpy as np

from msjax.dataset.sources.files import FolderDataset
from msjax.mindrecord.idx import read_idx

__all__ = ["FashionMnistDataset", "KMnistDataset", "MnistDataset"]

_IMAGES, _LABELS = 2051, 2049


class MnistDataset(FolderDataset):
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
        images = [read_idx(self._path(name, "images-idx3-ubyte"), _IMAGES, 3) for name in names]
        labels = [read_idx(self._path(name, "labels-idx1-ubyte"), _LABELS, 1) for name in names]
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
