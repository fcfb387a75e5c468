"""The data of a run: statistics of modules and Parameters over the steps, histograms, numbers such as the loss, what rules said."""

from __future__ import annotations

import csv
import itertools
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from msjax.core.page.columns import Array, Columns, thinned

# Of the steps of one column. `wrong` are NaN and infinite values, `ratio` is the norm of an update by that of its Parameter.
HOW = {"norm": "mean", "norm_min": "min", "norm_max": "max", "mean": "mean", "zeros": "mean", "wrong": "sum", "ratio": "max"}
NUMBER = {"value": "mean", "value_min": "min", "value_max": "max"}
KINDS = ("activation", "gradient", "parameter", "update")
SCALARS = ("mean", "std", "norm", "zeros", "min", "max", "nan", "inf")
# The histograms of so many steps are kept, spread over the run.
_HISTOGRAMS = 48


class Run:
    """The data of one run, which grows while it trains."""

    def __init__(self, name: str = ""):
        self.name = name
        self._kinds: dict[str, Columns] = {}
        self._histograms: dict[str, list[tuple[int, list[str], Array, Array, Array]]] = {}
        self._every = 1  # of the steps with statistics, every so many-th has its histograms kept
        self._steps = 0
        self._numbers: dict[str, Columns] = {}
        self._warnings: dict[tuple[str, str, str], dict[str, Any]] = {}

    def add(self, step: int, rows: Sequence[Any]) -> None:
        """Add the rows of `watch` of one step."""
        kinds: dict[str, list[Any]] = {}
        for row in rows:
            kinds.setdefault(row.kind, []).append(row)
        weights = {row.name: row.norm for row in kinds.get("parameter", ())}
        for kind, of_kind in kinds.items():
            names = [row.name for row in of_kind]
            table = np.array([row.scalars for row in of_kind], np.float64)
            mean, _, norm, zeros, _, _, nan, inf = table.T
            ratio = np.full(len(names), np.nan)
            if kind == "update":
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = norm / np.array([weights.get(name, np.nan) for name in names])
            values: dict[str, Any] = dict.fromkeys(("norm", "norm_min", "norm_max"), norm)
            values |= {"mean": mean, "zeros": zeros, "wrong": nan + inf, "ratio": ratio}
            self._kinds.setdefault(kind, Columns(HOW)).add([step], names, {plane: v[:, None] for plane, v in values.items()})
            if self._steps % self._every == 0 and "histogram" in of_kind[0].statistics:
                self._keep_histograms(kind, step, of_kind)
        self._steps += 1

    def _keep_histograms(self, kind, step, rows):
        counts = np.array([row.histogram.counts for row in rows], np.float32)
        most = counts.max(1, keepdims=True)
        # The root shows the tails.
        shares = np.ceil(255 * np.sqrt(counts / np.where(most > 0, most, 1))).astype(np.uint8)
        low, high = (np.array([row.histogram.edges[i] for row in rows], np.float32) for i in (0, -1))
        kept = self._histograms.setdefault(kind, [])
        kept.append((step, [row.name for row in rows], shares, low, high))
        if len(kept) > _HISTOGRAMS:
            self._every *= 2
            self._histograms = {kind: kept[::2] for kind, kept in self._histograms.items()}

    def note(self, numbers: Iterable[tuple[int, str, Any]]) -> None:
        """Add numbers of steps, such as their losses: (step, name, value), in the order of the steps. Many at once cost less."""
        by_name: dict[str, list[tuple[int, float]]] = {}
        for step, name, value in numbers:
            by_name.setdefault(name, []).append((step, np.asarray(value).item()))
        for name, told in by_name.items():
            steps, values = zip(*told)
            self._numbers.setdefault(name, Columns(NUMBER)).add(steps, [name], dict.fromkeys(NUMBER, np.array([values])))

    def warn(self, rule: str, kind: str, name: str, step: int, message: str) -> None:
        """Add what a rule said of a module or Parameter; what it says again is counted."""
        said = self._warnings.setdefault(
            (rule, kind, name), {"rule": rule, "kind": kind, "name": name, "step": step, "message": message, "count": 0}
        )
        said.update(last=step, count=said["count"] + 1)

    def view(self) -> dict[str, Any]:
        """The view that shows this run."""
        return {"kind": "run", "title": "Run", "runs": [self.data()]}

    def data(self) -> dict[str, Any]:
        """The data of the run: containers of numbers, strings and arrays."""
        kinds = {}
        for kind in sorted(self._kinds, key=lambda kind: (*KINDS, kind).index(kind)):
            columns = self._kinds[kind].data()
            # What was never computed, or is 0 throughout, need not be there.
            columns["planes"] = {
                p: v for p, v in columns["planes"].items() if not np.isnan(v).all() and (p != "wrong" or v.any())
            }
            kinds[kind] = {**columns, "histograms": self._histograms_of(kind, columns["names"])}
        numbers = {name: columns.data() for name, columns in self._numbers.items()}
        warned = sorted(self._warnings.values(), key=lambda said: said["step"])
        return {"name": self.name, "kinds": kinds, "numbers": numbers, "warnings": warned}

    def _histograms_of(self, kind, names):
        kept = self._histograms.get(kind)
        if not kept:
            return None
        row = {name: i for i, name in enumerate(names)}
        shares = np.zeros((len(names), len(kept), kept[0][2].shape[1]), np.uint8)
        low, high = (np.full((len(names), len(kept)), np.nan, np.float32) for _ in range(2))
        for at, (_, there, counts, least, most) in enumerate(kept):
            rows = [row[name] for name in there]
            shares[rows, at], low[rows, at], high[rows, at] = counts, least, most
        return {"steps": np.array([step for step, *_ in kept], np.int32), "shares": shares, "low": low, "high": high}


def fitted(run: Mapping[str, Any], columns: int) -> dict[str, Any]:
    """The data of a run with at most so many columns, and histograms in proportion."""
    kinds = {}
    for kind, data in run["kinds"].items():
        kinds[kind] = thinned(data, HOW, columns)
        planes, ends = kinds[kind]["planes"], ("norm_min", "norm_max")
        if all(p in planes and np.array_equal(planes[p], planes["norm"], equal_nan=True) for p in ends):
            # The columns are of one step each.
            kinds[kind]["planes"] = {p: v for p, v in planes.items() if p not in ends}
        found = data["histograms"]
        if found is not None:
            each = max(1, -(-len(found["steps"]) * 8 // max(columns, 8)))
            kinds[kind]["histograms"] = {
                name: values[::each] if name == "steps" else values[:, ::each] for name, values in found.items()
            }
    numbers = {name: thinned(data, NUMBER, max(columns, 256)) for name, data in run["numbers"].items()}
    return {**run, "kinds": kinds, "numbers": numbers}


def _row_of(line):
    scalars = tuple(float(text) if text else np.nan for text in line[3:])
    norm = scalars[SCALARS.index("norm")]
    return types.SimpleNamespace(kind=line[1], name=line[2], scalars=scalars, norm=norm, statistics=())


def read_csv(path: str, name: str) -> Run:
    """The run whose statistics `watch` has written to a CSV file; ValueError if the file is another one."""
    run = Run(name)
    with open(path, newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        if next(lines, None) != ["step", "kind", "name", *SCALARS]:
            raise ValueError(f"{path!r} is no CSV file of tools.watch: it should begin with step,kind,name,{','.join(SCALARS)}.")
        for step, of_step in itertools.groupby(lines, lambda line: line[0]):
            run.add(int(step), list(map(_row_of, of_step)))
    return run
