"""shuffle, repeat, take, skip and split: which rows come, and when."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_type, check_value, is_int
from msjax.dataset.checks import LARGEST
from msjax.dataset.dataset import AsMany, Dataset
from msjax.dataset.operations.sync import conditions
from msjax.dataset.run import Run, draw_seed


class ShuffleDataset(AsMany):
    """Mix the rows: each is drawn from a buffer of the next `buffer_size` ones, at least 2.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> data = ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).shuffle(3)
        >>> sorted(int(v) for v, in data)
        [1, 2, 3]
    """

    def __init__(self, dataset: Dataset, buffer_size: int):
        if conditions(dataset):
            raise RuntimeError("No shuffle after sync operators: 'shuffle' reads rows before 'sync_update' can let them pass.")
        self._inputs = (dataset,)
        self._buffer_size = check_int(buffer_size, "buffer_size", "shuffle", low=2, high=LARGEST)

    def is_shuffled(self) -> bool:
        return True

    def _rows(self, run):
        draws = run.draws()
        slot = draws.slots(lambda: int(self._count(1)))
        yield from buffered_shuffle(self._inputs[0]._rows(run.child()), self._buffer_size, slot)
        draws.end_pass()


def buffered_shuffle(rows: Iterator[Any], size: int, slot: Callable[[int], int]) -> Iterator[Any]:
    """The rows of an iterator, each drawn from a buffer of the next `size` ones by a function that draws a number below its argument."""
    rows = iter(rows)
    buffer = list(itertools.islice(rows, size))
    while buffer:
        at = slot(len(buffer))
        chosen, buffer[at] = buffer[at], buffer[-1]
        buffer.pop()
        yield chosen
        buffer.extend(itertools.islice(rows, 1))


class RepeatDataset(Dataset):
    """Go through the rows several times in each epoch: `count` times; by default, and for -1, without end.

    Example:
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2], ["v"], shuffle=False).repeat(2)]
        [1, 2, 1, 2]
    """

    def __init__(self, dataset: Dataset, count: int | None = None):
        self._inputs = (dataset,)
        self._times = -1 if count is None else _count_or_all(count, "repeat")

    def get_repeat_count(self) -> int:
        return self._times

    def _count(self, endless):
        n = self._inputs[0]._count(endless)
        return n * (endless if self._times < 0 else self._times) if n else 0

    def _rows(self, run):
        for number in itertools.count() if self._times < 0 else range(self._times):
            empty = True
            for row in self._inputs[0]._rows(run.again(number, number + 1 == self._times)):
                empty = False
                yield row
            if empty:
                return


class TakeDataset(Dataset):
    """The first rows, at most `count`; by default, and for -1, all.

    Example:
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).take(2)]
        [1, 2]
    """

    def __init__(self, dataset: Dataset, count: int = -1):
        self._inputs = (dataset,)
        self._limit = _count_or_all(count, "take")

    def _count(self, endless):
        n = self._inputs[0]._count(endless)
        return n if self._limit < 0 else min(n, self._limit)

    def _rows(self, run):
        return itertools.islice(self._inputs[0]._rows(run.child()), None if self._limit < 0 else self._limit)


class SkipDataset(Dataset):
    """The rows but the first `count` ones.

    Example:
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).skip(2)]
        [3]
    """

    def __init__(self, dataset: Dataset, count: int):
        self._inputs = (dataset,)
        self._left_out = check_int(count, "count", "skip", low=0, high=LARGEST)

    def _count(self, endless):
        return max(0, self._inputs[0]._count(endless) - self._left_out)

    def _rows(self, run):
        return itertools.islice(self._inputs[0]._rows(run.child()), self._left_out, None)


class PartDataset(Dataset):
    """One of the parts that `Dataset.split` gives of a dataset that is read in one go: the rows of some numbers.

    The dataset is read by the run of the split, in the same order each time, so that parts have no row in common.
    """

    def __init__(self, dataset: Dataset, indices: np.ndarray, run: Run):
        self._inputs = (dataset,)
        self._indices, self._run = indices, run

    def _count(self, endless):
        return len(self._indices)

    def _rows(self, run):
        rows = self._inputs[0]._rows(self._run._replace(kept={}))  # the same rows once more
        indices = self._indices
        if (np.diff(indices) == 1).all():
            yield from itertools.islice(rows, int(indices[0]), int(indices[-1]) + 1)
            return
        wanted = set(indices.tolist())
        kept = {number: row for number, row in enumerate(rows) if number in wanted}
        for number in indices.tolist():
            yield kept[number]


def split(self: Dataset, sizes: Sequence[int] | Sequence[float], randomize: bool = True) -> tuple[Any, ...]:
    """Split into parts that have no row in common.

    Args:
        sizes (list of int or of float): how many rows each part has, which add up to all; or fractions, which add up to 1 and
            are rounded.
        randomize (bool): which rows, and their order, are by chance. Default: True. A dataset that can't be read by index, as
            after `shuffle`, then keeps the rows of each part in memory.

    Returns:
        tuple of Dataset.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the sizes don't add up, or a part has no rows.

    Example:
        >>> train, test = ds.NumpySlicesDataset(list(range(10)), ["v"]).split([0.8, 0.2])
        >>> len(train), len(test)
        (8, 2)
    """
    check_bool(randomize, "randomize", "split")
    total, run = len(self), Run.start(draw_seed(), 0)
    counts: list[int] = _part_sizes(sizes, total)
    ends = np.cumsum(counts)
    order = _order_of_split(self, total, run) if randomize else np.arange(total)
    parts = [order[end - count : end] for end, count in zip(ends, counts)]
    return tuple(self._subset(part) or PartDataset(self, part, run) for part in parts)


def _order_of_split(dataset, total, run):
    draws = run.draws()
    if dataset._subset(np.arange(total)) is not None:
        return draws.order(total)
    return np.array(list(buffered_shuffle(iter(range(total)), total, draws.slots())))


def _part_sizes(sizes: Any, total: int) -> Any:
    check_type(sizes, list, "sizes", "split")
    check_value(sizes, sizes, "not be empty", "sizes", "split")
    if all(map(is_int, sizes)):
        check_value(sizes, min(sizes) >= 1, "hold positive ints", "sizes", "split")
        if sum(sizes) != total:
            raise RuntimeError(
                f"split: the sizes {sizes} should add up to {total}, the number of rows, but their sum is {sum(sizes)}."
            )
        return sizes
    check_value(sizes, all(isinstance(size, float) for size in sizes), "hold only ints or only floats", "sizes", "split")
    if not all(0 < size <= 1 for size in sizes) or abs(sum(sizes) - 1) > 1e-9:
        raise ValueError(f"For 'split', the fractions should be in (0, 1] and add up to 1, but got {sizes}.")
    counts = [round(size * total) for size in sizes]
    if 0 in counts:
        raise RuntimeError(f"split: the fractions {sizes} of {total} rows leave a part without any.")
    # What rounding left over goes to the first parts, one row each; what it took too many is taken from them.
    left = total - sum(counts)
    for at in itertools.cycle(range(len(counts))):
        if not left:
            return counts
        step = 1 if left > 0 else -1
        if counts[at] + step > 0:
            counts[at], left = counts[at] + step, left - step


def _count_or_all(count, who):
    check_int(count, "count", who, low=-1, high=LARGEST)
    if count == 0:
        raise ValueError(f"For '{who}', 'count' should be positive, or -1 for all, but got 0.")
    return count
