"""ImageFolderDataset: images in folders, one for each class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_kind, is_int
from msjax.dataset.checks import check_decrypt, check_folder, refuse_cache
from msjax.dataset.operations.shared import row_error
from msjax.dataset.samplers import Sampler
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import FileRow
from msjax.dataset.vision.image import decode_image, file_bytes


class ImageFolderDataset(MappableDataset):
    """Images in folders, one for each class.

    Columns: `image`, the bytes of the file (uint8, one axis) or with ``decode=True`` the image (uint8, height x width x 3), and
    `label`, an int32 scalar.

    Args:
        dataset_dir (str): the folder of the classes' folders.
        num_samples (int, optional): at most how many rows. Default: all.
        num_parallel_workers (int, optional): how many workers read files. Default: the setting's.
        shuffle (bool, optional): mix the rows. Default: True.
        sampler (Sampler, list of int or object with ``__iter__``, optional): which rows come.
        extensions (list of str, optional): endings of names, such as ".png". Default: every file counts as an image.
        class_indexing (dict, optional): {folder: label}; other folders are left out. Default: from 0, sorted by name.
        decode (bool): decode the images. Needs Pillow. Default: False.
        num_shards, shard_id (int, optional): the rows of one of several shards; see `DistributedSampler`.
        cache (None): not offered.
        decrypt (function, optional): from the path of an image to the bytes of an image.

    Raises:
        TypeError, ValueError: a wrong argument, such as a folder that is not there.
        RuntimeError: there are no images, or one can't be decoded (when reading).

    Example:
        >>> import os
        >>> from PIL import Image
        >>> for name in ("cat", "dog"):
        ...     os.makedirs(f"pets/{name}")
        ...     Image.new("RGB", (4, 3), "red").save(f"pets/{name}/1.png")
        >>> data = ds.ImageFolderDataset("pets", decode=True, shuffle=False)
        >>> data.get_class_indexing(), [(image.shape, int(label)) for image, label in data]
        ({'cat': 0, 'dog': 1}, [((3, 4, 3), 0), ((3, 4, 3), 1)])
    """

    def __init__(
        self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Sampler | Iterable[int] | None = None, extensions: list[str] | None = None,
        class_indexing: dict[str, Any] | None = None, decode: bool = False, num_shards: int | None = None,
        shard_id: int | None = None, cache: object = None, decrypt: Callable[..., Any] | None = None,
    ):  # fmt: skip
        who = "ImageFolderDataset"
        refuse_cache(cache, who)
        self._decrypt = check_decrypt(decrypt, who)
        self._folder = check_folder(dataset_dir, who)
        self._extensions = self._indexing = None
        if extensions is not None:
            fits = isinstance(extensions, list) and all(isinstance(e, str) for e in extensions)
            self._extensions = tuple(check_kind(extensions, fits, "be a list of str", "extensions", who))
        if class_indexing is not None:
            fits = isinstance(class_indexing, dict) and all(isinstance(k, str) and is_int(v) for k, v in class_indexing.items())
            self._indexing = check_kind(class_indexing, fits, "be a dict of int by str", "class_indexing", who)
        self._decode = check_bool(decode, "decode", who)
        super().__init__(num_samples, shuffle, sampler, num_shards, shard_id, num_parallel_workers)

    def _columns(self):
        return ["image", "label"]

    @cached_property
    def _classes(self):
        """{name of a folder: label}."""
        folders = sorted(entry.name for entry in os.scandir(self._folder) if entry.is_dir())
        if self._indexing is None:
            return {name: label for label, name in enumerate(folders)}
        for name in self._indexing:
            if name not in folders:
                raise RuntimeError(
                    f"ImageFolderDataset: the folder of 'class_indexing' {name} doesn't exist in {self._folder!r}."
                )
        return dict(self._indexing)

    @cached_property
    def _files(self):
        """The paths and labels of the images, by folder and name."""
        found = []
        for name in sorted(self._classes):
            folder = os.path.join(self._folder, name)
            files = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
            files = [file for file in files if self._extensions is None or file.endswith(self._extensions)]
            found += [(os.path.join(folder, file), self._classes[name]) for file in files]
        return found

    def num_classes(self) -> int:
        return len(self._classes)

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self._classes)

    def _length(self):
        return len(self._files)

    def _rows(self, run):
        if not self._files:
            raise RuntimeError(f"ImageFolderDataset: there are no images in the folders in {self._folder!r}.")
        return super()._rows(run)

    def _row(self, index):
        path, label = self._files[index]
        try:
            content = file_bytes(path, self._decrypt)
            image = decode_image(content).array() if self._decode else content
        except Exception as error:
            raise row_error("ImageFolderDataset", index, error, f", file {path}") from error
        return FileRow.of((image, np.array(label, np.int32)), path)

    def _labels(self, column):
        return np.array([label for _, label in self._files])
