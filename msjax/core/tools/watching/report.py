"""The table that `watch` prints: the statistics of the latest step that it looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from msjax.core.page.run import Run
from msjax.core.page.texts import Printed
from msjax.core.page.viewed import Viewed
from msjax.core.tools.watching.sinks import STATISTICS, WatchRow

_COLUMNS = ("kind", "name", "norm", "mean", "deviation", "zeros", "from", "to", "NaN", "inf", "histogram")
_OF_WIDE_TABLES = ("deviation", "from", "to")
_STATISTIC = {"deviation": "std", "from": "min", "to": "max"}
_WIDE = 110  # characters
_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 15  # of a histogram, in characters


class WatchReport(Viewed, Printed):
    """Prints as a table, also in a notebook.

    Attributes:
        numbers (list of tuple): (step, name, value) of what `note` was given.
        broken (list of tuple): (rule, kind, name, step, message) of each time that a rule was broken.
    """

    numbers: list[tuple[int, str, Any]]
    broken: list[Any]

    width = 80

    @property
    def rows(self) -> list[WatchRow]:
        """All statistics so far."""
        raise NotImplementedError

    def view(self) -> dict[str, Any]:
        """The data of its view on a page."""
        run = Run()
        for step, rows in itertools.groupby(self.rows, lambda row: row.step):
            run.add(step, list(rows))
        run.note(self.numbers)
        for said in self.broken:
            run.warn(*said)
        return run.view()

    def _latest(self):
        return [row for row in self.rows if row.step == self.rows[-1].step]

    def _title(self):
        return f"Step {self.rows[-1].step}" if self.rows else "No statistics yet"

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for row in self._latest():
            numbers = [f"{value:.3g}" for value in (row.norm, row.mean, row.std)]
            name = row.name or "(network)"
            yield (
                row.kind,
                name,
                *numbers,
                f"{row.zeros:.0%}",
                f"{row.min:.3g}",
                f"{row.max:.3g}",
                *(f"{n:.0f}" for n in (row.nan, row.inf)),
                bars(row.histogram.counts),
            )

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE, title=self._title(), title_justify="left")
        shown = [name for name in self._columns() if options.max_width >= _WIDE or name not in _OF_WIDE_TABLES]
        for name in shown:
            justify = "left" if name in ("kind", "name", "histogram") else "right"
            table.add_column(name, justify=justify, no_wrap=name != "name", overflow="fold")
        for cells in self._cells():
            by_name: dict[str, str] = dict(zip(_COLUMNS, cells))
            table.add_row(*(Text(by_name[name]) for name in shown))
        yield table

    def _columns(self):
        """Those of the table: numbers of wrong values only if there are some."""
        none = {
            name for name, attribute in (("NaN", "nan"), ("inf", "inf")) if not any(getattr(r, attribute) for r in self._latest())
        }
        there = {name for row in self._latest() for name in row.statistics} if self.rows else set(STATISTICS)
        return [name for name in _COLUMNS if name not in none and _STATISTIC.get(name, name).lower() in ("kind", "name", *there)]

    def __repr__(self) -> str:
        return f"<watch of {len(self.rows)} statistics>"


def bars(counts: Sequence[float] | np.ndarray) -> str:
    """A histogram as a line of text: what is there at all is seen."""
    size = max(1, -(-len(counts) // _WIDTH))
    sums = [float(sum(counts[i : i + size])) for i in range(0, len(counts), size)]
    most = max(sums, default=0.0) or 1.0
    return "".join(_BARS[-(-int(v) * (len(_BARS) - 1) // int(most))] for v in sums)
