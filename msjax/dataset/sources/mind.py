"""MindDataset: rows of MindRecord files."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_type
from msjax.dataset.checks import check_data
from msjax.dataset.enums import Shuffle
from msjax.dataset.samplers import Sampler
from msjax.dataset.sources.mappable import MappableDataset
from msjax.mindrecord.reader import chosen_columns, open_files


class MindDataset(MappableDataset):
    """Rows of MindRecord files.

    Args:
        dataset_files (str or list of str): a file, of which all that were written together are read; or the files.
        columns_list (list of str, optional): the fields to read. Default: all.
        shuffle (bool or Shuffle, optional): mix the rows; with `Shuffle.INFILE` those of each file, with `Shuffle.FILES` the files.
            Default: True.
        padded_sample (dict, optional): a row, by the names in `columns_list`, that is added `num_padded` times at the end.
        num_padded (int, optional): how many of them.
        num_samples, num_parallel_workers, sampler, num_shards, shard_id: as in `ImageFolderDataset`.
        cache (None): MindSpore's cache server, which msjax doesn't have.

    Raises:
        TypeError, ValueError, RuntimeError: a wrong argument, no such file or field.

    Example:
        >>> from msjax import dataset as ds
        >>> from msjax.mindrecord import FileWriter
        >>> writer = FileWriter("numbers.mindrecord", overwrite=True)
        >>> _ = writer.add_schema({"n": {"type": "int32"}})
        >>> _ = writer.write_raw_data([{"n": n} for n in range(3)])
        >>> _ = writer.commit()
        >>> [int(n) for n, in ds.MindDataset("numbers.mindrecord", shuffle=False)]
        [0, 1, 2]
    """

    def __init__(
        self,
        dataset_files: str | Sequence[str],
        columns_list: list[str] | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Sampler | Iterable[int] | None = None,
        padded_sample: dict[str, Any] | None = None,
        num_padded: int | None = None,
        num_samples: int | None = None,
        cache: None = None,
    ):
        who = "MindDataset"
        if cache is not None:
            raise NotImplementedError("For 'MindDataset', 'cache' should be None: msjax has no cache server.")
        self._by_files = shuffle if shuffle in (Shuffle.FILES, Shuffle.INFILE) else None
        if self._by_files is not None and num_samples is not None:
            raise ValueError(f"For '{who}', 'num_samples' and {self._by_files} exclude each other.")
        if isinstance(shuffle, Shuffle):
            shuffle = shuffle is Shuffle.GLOBAL
        super().__init__(num_samples, shuffle, sampler, num_shards, shard_id, num_parallel_workers)
        self._files = open_files(dataset_files, who)
        self._names = chosen_columns(self._files[0], columns_list, who)
        self._ends = list(itertools.accumulate(len(file.places) for file in self._files))
        self._padding: tuple[Any, ...] | None = None
        self._padded = 0
        if padded_sample is not None or num_padded is not None:
            if padded_sample is None or num_padded is None or columns_list is None:
                raise RuntimeError(f"For '{who}', 'padded_sample', 'num_padded' and 'columns_list' should be given together.")
            check_type(padded_sample, dict, "padded_sample", who)
            missing = [name for name in self._names if name not in padded_sample]
            if missing:
                raise ValueError(f"For '{who}', 'padded_sample' lacks the column {missing[0]!r}.")
            self._padded = check_int(num_padded, "num_padded", who, low=0)
            self._padding = tuple(
                self._value(_typed(name, padded_sample[name], self._files[0].fields[name])) for name in self._names
            )

    def _columns(self):
        return self._names

    def _length(self):
        return self._ends[-1] + self._padded

    def _rows(self, run):
        return super()._rows(run._replace(of_records=True))

    def _indices(self, run):
        indices = super()._indices(run)
        return indices if self._by_files is None else self._order_by_files(run)[indices]

    def _order_by_files(self, run):
        """The rows in the order of mixed files, or file by file with mixed rows; padded ones come last."""
        if self._by_files is Shuffle.FILES:
            parts = [run.draws().parts(self._ends)]
        else:
            starts = [0, *self._ends[:-1]]
            parts = [a + run.child(i).draws().order(b - a) for i, (a, b) in enumerate(zip(starts, self._ends))]
        return np.concatenate([*parts, np.arange(self._ends[-1], self._length())])

    def _row(self, index):
        if index >= self._ends[-1] and self._padding is not None:
            return self._padding
        at = bisect.bisect_right(self._ends, index)
        file = self._files[at]
        row = file.row(index - (self._ends[at - 1] if at else 0), self._names)
        return tuple(self._value(row[name]) for name in self._names)

    @staticmethod
    def _value(value):
        # As in MindSpore, bytes are an array of one item.
        return np.array([value]) if isinstance(value, bytes) else np.asarray(value)


def _typed(name, value, field):
    if field["type"] in ("string", "bytes"):
        return value
    value = np.asarray(value, field["type"])
    fits = not value.ndim or "shape" in field
    return check_data(value, fits, f"'padded_sample' should have a number for column {name!r}", "MindDataset")
