"""Numbers of many names over many steps in bounded memory: when the columns are full, pairs of them become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# So many columns are kept at least, once there were so many.
COLUMNS = 1024
_ENDS = {"min": np.fmin, "max": np.fmax}


def _merged(how: str, old: Array, new: Array, share: float) -> Array:
    """One number of two, or the one that is there; in a mean, `share` is the weight of `new`."""
    if how in _ENDS:
        return _ENDS[how](old, new)
    with np.errstate(invalid="ignore"):  # the mean of two infinite numbers
        both = old + (new - old) * share if how == "mean" else old + new
    return np.where(np.isnan(old), new, np.where(np.isnan(new), old, both))


def _grouped(how: str, values: Array, starts: Array) -> Array:
    """One column of each group of columns that lie between two starts."""
    if len(starts) == values.shape[1]:
        return values
    if how in _ENDS:
        return _ENDS[how].reduceat(values, starts, axis=1)
    there = ~np.isnan(values)
    counts = np.add.reduceat(there, starts, axis=1, dtype=np.float32)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.add.reduceat(np.where(there, values, 0), starts, axis=1)
        return np.where(counts > 0, sums / (counts if how == "mean" else 1), np.nan).astype(np.float32)


class Columns:
    """Planes of numbers, each with a row for each name and a column for each step, or for so many steps in a row.

    Args:
        how: {plane: "mean", "min", "max" or "sum"}: what becomes of the numbers of the steps of one column.
        columns (int): so many columns are kept; twice as many before pairs of them become one.

    Attributes:
        names: {name: its row}.
        first, last: the first and the last step of each column.
    """

    def __init__(self, how: Mapping[str, str], columns: int = COLUMNS):
        self.how, self.columns = dict(how), columns
        self.names: dict[str, int] = {}
        self.first: list[int] = []
        self.last: list[int] = []
        # So many steps make a column; so many are in the last one.
        self._per = self._filled = 1
        self._planes = {plane: np.full((8, 2 * columns), np.nan, np.float32) for plane in how}

    def add(self, steps: Sequence[int], names: Sequence[str], values: Mapping[str, Any]) -> None:
        """Add some steps: {plane: numbers of shape (names, steps)}."""
        for name in names:
            self.names.setdefault(name, len(self.names))
        rows, done = [self.names[name] for name in names], 0
        for plane, there in self._planes.items():
            if len(self.names) > len(there):
                self._planes[plane] = np.full((2 * len(self.names), there.shape[1]), np.nan, np.float32)
                self._planes[plane][: len(there)] = there
        arrays = {plane: np.asarray(values[plane], np.float32) for plane in self.how}
        while done < len(steps):
            # Those that still go into the last column, and those of which new columns are made.
            first, free = self._per - self._filled, 2 * self.columns - len(self.last)
            if not first and not free:
                self._halve()
                continue
            now = slice(done, done + first) if first else slice(done, done + free * self._per)
            done += self._take(steps[now], rows, {plane: array[:, now] for plane, array in arrays.items()}, new=not first)

    def _take(self, steps, rows, values, new):
        count = len(steps)
        starts = np.arange(0, count, self._per)
        self._filled = (count - 1) % self._per + 1 if new else self._filled + count
        if new:
            self.first += [steps[i] for i in starts]
            self.last += [steps[i - 1] for i in (*starts[1:], count)]
        else:
            self.last[-1] = steps[-1]
        columns = slice(len(self.last) - len(starts), len(self.last))
        for plane, how in self.how.items():
            there, found = self._planes[plane], _grouped(how, values[plane], starts)
            there[rows, columns] = found if new else _merged(how, there[rows, columns], found, count / self._filled)
        return count

    def _halve(self):
        self.first, self.last = self.first[::2], self.last[1::2]
        for plane, how in self.how.items():
            there = self._planes[plane]
            there[:, : self.columns] = _grouped(how, there, np.arange(0, 2 * self.columns, 2))
            there[:, self.columns :] = np.nan
        self._per *= 2
        self._filled = self._per

    def data(self) -> dict[str, Any]:
        """{"names", "first", "last", "planes": {plane: array of float32}}."""
        shape = np.s_[: len(self.names), : len(self.last)]
        planes = {plane: self._planes[plane][shape].copy() for plane in self.how}
        return {
            "names": list(self.names),
            "first": np.array(self.first, np.int32),
            "last": np.array(self.last, np.int32),
            "planes": planes,
        }


def thinned(data: Mapping[str, Any], how: Mapping[str, str], columns: int) -> dict[str, Any]:
    """What `Columns.data` returned, with at most so many columns."""
    size = len(data["first"])
    if size <= columns:
        return dict(data)
    each = -(-size // columns)
    starts = np.arange(0, size, each)
    planes = {plane: _grouped(how[plane], values, starts) for plane, values in data["planes"].items()}
    last = data["last"][np.append(starts[1:], size) - 1]
    return {**data, "first": data["first"][starts], "last": last, "planes": planes}
