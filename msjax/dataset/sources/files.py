"""What sources that read files share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from msjax.core.base.checks import check_kind, check_str, check_value
from msjax.core.base.errors import describe
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import owned

if TYPE_CHECKING:
    from msjax.dataset.samplers import Sampler


def check_folder(folder: str, who: str) -> str:
    """The path of a folder that is there."""
    check_kind(folder, isinstance(folder, (str, os.PathLike)), "be a path", "dataset_dir", who)
    if not os.path.isdir(folder):
        raise ValueError(f"For '{who}', 'dataset_dir' should be a folder, but there is none at {os.fspath(folder)!r}.")
    return os.fspath(folder)


def check_usage(usage: str | None, options: Sequence[str], who: str) -> str:
    """Which files to read: one of the options, "all" for None."""
    if usage is None:
        return "all"
    check_str(usage, "usage", who)
    check_value(usage, usage in options, f"be one of {', '.join(map(repr, options))}", "usage", who)
    return usage


def refuse_cache(cache: object, who: str) -> None:
    """NotImplementedError for a cache server."""
    if cache is not None:
        raise NotImplementedError(f"For '{who}', msjax has no cache server; leave 'cache' out.")


def check_decrypt(decrypt: Any, who: str) -> Callable[[str], bytes] | None:
    """The function that makes an image's bytes of its path; None: the file has them."""
    return None if decrypt is None else check_kind(decrypt, callable(decrypt), "be a function", "decrypt", who)


def file_bytes(path: str, decrypt: Callable[[str], bytes] | None = None) -> np.ndarray:
    """The bytes of a file, as uint8."""
    if decrypt is None:
        return np.fromfile(path, np.uint8)
    content = decrypt(path)
    if not isinstance(content, bytes):
        raise RuntimeError(f"The return value of the decrypt function is not of type bytes: {describe(content)}.")
    return np.frombuffer(content, np.uint8).copy()


class FolderDataset(MappableDataset):
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
