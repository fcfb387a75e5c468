"""The run view of what `watch` has seen."""

from __future__ import annotations

import itertools
from typing import Any

from msjax.core.page.page import Page
from msjax.core.page.run import Run, read_csv
from msjax.core.tools.watching.handle import Watch


def run_of(watched: Watch, name: str = "") -> Page:
    """A page with one run."""
    run = Run(name)
    for step, rows in itertools.groupby(watched.rows, lambda row: row.step):
        run.add(step, list(rows))
    run.note(watched.numbers)
    for said in watched.broken:
        run.warn(*said)
    return _page(run)


def run_of_csv(path: str, name: str) -> Page:
    """The same of a CSV file that `watch` has written."""
    return _page(read_csv(path, name))


def _page(run: Run) -> Page:
    views: list[dict[str, Any]] = [{"kind": "run", "title": "Run", "runs": [run.data()]}]
    return Page(run.name, views)
