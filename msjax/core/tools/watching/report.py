"""The table that `watch` prints: the statistics of the latest step that it looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from msjax.core.page.run import Run
from msjax.core.page.viewed import Printed, Viewed
from msjax.core.tools.watching.sinks import STATISTICS, WatchRow

# (title, name of the statistic, its format).
_COLUMNS = (
    ("norm", "norm", ".3g"), ("mean", "mean", ".3g"), ("deviation", "std", ".3g"), ("zeros", "zeros", ".0%"), ("from", "min", ".3g"),
    ("to", "max", ".3g"), ("NaN", "nan", ".0f"), ("inf", "inf", ".0f"),
)  # fmt: skip
_OF_WIDE_TABLES = ("std", "min", "max")
_IF_THERE_ARE_SOME = ("nan", "inf")
_WIDE = 110  # characters
_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 15  # of a histogram, in characters


class WatchReport(Viewed, Printed):
    """Prints as a table, also in a notebook."""

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

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        rows = [row for row in self.rows if row.step == self.rows[-1].step]
        there = {name for row in rows for name in row.statistics} if rows else set(STATISTICS)
        there -= {name for name in _IF_THERE_ARE_SOME if not any(getattr(row, name) for row in rows)}
        there -= set(_OF_WIDE_TABLES) if options.max_width < _WIDE else set()
        shown = [column for column in _COLUMNS if column[1] in there]
        title = f"Step {rows[0].step}" if rows else "No statistics yet"
        table = Table("kind", box=box.SIMPLE, title=title, title_justify="left")
        table.columns[0].no_wrap = True
        table.add_column("name", overflow="fold")
        for name, *_ in shown:
            table.add_column(name, justify="right", no_wrap=True, overflow="fold")
        if "histogram" in there:
            table.add_column("histogram", no_wrap=True)
        for row in rows:
            cells = [row.kind, row.name or "(network)", *(format(getattr(row, name), how) for _, name, how in shown)]
            table.add_row(*map(Text, cells), *([Text(bars(row.histogram.counts))] if "histogram" in there else []))
        yield table

    def __repr__(self) -> str:
        return f"<watch of {len(self.rows)} statistics>"


def bars(counts: Sequence[float] | np.ndarray) -> str:
    """A histogram as a line of text: what is there at all is seen."""
    size = max(1, -(-len(counts) // _WIDTH))
    sums = [float(sum(counts[i : i + size])) for i in range(0, len(counts), size)]
    most = max(sums, default=0.0) or 1.0
    return "".join(_BARS[-(-int(v) * (len(_BARS) - 1) // int(most))] for v in sums)
