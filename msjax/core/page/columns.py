"""Numbers of many names over many steps in bounded memory: when the columns are full, pairs of them become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# So many columns are kept at least, once there were so many.
COLUMNS = 1024


def _mean(old: Array, new: Array, share: float) -> Array:
    """The mean of what is there: `share` is the weight of `new` where both are."""
    return np.where(np.isnan(old), new, np.where(np.isnan(new), old, old + (new - old) * share))


def _reduced(how: str, old: Array, new: Array, share: float = 0.5) -> Array:
    with np.errstate(invalid="ignore"):  # the mean of two infinite numbers
        if how == "mean":
            return _mean(old, new, share)
        if how == "sum":
            return np.where(np.isnan(old), new, np.where(np.isnan(new), old, old + new))
        return (np.fmin if how == "min" else np.fmax)(old, new)


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
        self._per, self._filled = 1, 0
        self._planes = {plane: np.full((8, 2 * columns), np.nan, np.float32) for plane in how}

    def add(self, step: int, names: Sequence[str], values: Mapping[str, Any]) -> None:
        """Add a step: {plane: a number for each of the names}."""
        if not self.last or self._filled == self._per:
            if len(self.last) == 2 * self.columns:
                self._halve()
            self.first.append(step)
            self.last.append(step)
            self._filled = 0
        self.last[-1], self._filled = step, self._filled + 1
        for name in names:
            self.names.setdefault(name, len(self.names))
        rows, column = [self.names[name] for name in names], len(self.last) - 1
        for plane, how in self.how.items():
            there = self._planes[plane]
            if len(self.names) > len(there):
                more = np.full((2 * len(self.names), there.shape[1]), np.nan, np.float32)
                more[: len(there)] = there
                there = self._planes[plane] = more
            there[rows, column] = _reduced(how, there[rows, column], np.asarray(values[plane], np.float32), 1 / self._filled)

    def _halve(self):
        self.first, self.last = self.first[::2], self.last[1::2]
        for plane, how in self.how.items():
            there = self._planes[plane]
            there[:, : self.columns] = _reduced(how, there[:, ::2], there[:, 1::2])
            there[:, self.columns :] = np.nan
        self._per, self._filled = 2 * self._per, 2 * self._filled

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
    reducers = {"min": np.fmin, "max": np.fmax}
    planes = {}
    for plane, values in data["planes"].items():
        if how[plane] in reducers:
            planes[plane] = reducers[how[plane]].reduceat(values, starts, axis=1)
            continue
        there = ~np.isnan(values)
        counts = np.add.reduceat(there, starts, axis=1, dtype=np.float32)
        sums = np.add.reduceat(np.where(there, values, 0), starts, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            planes[plane] = np.where(counts > 0, sums / (counts if how[plane] == "mean" else 1), np.nan).astype(np.float32)
    last = data["last"][np.append(starts[1:], size) - 1]
    return {**data, "first": data["first"][starts], "last": last, "planes": planes}
