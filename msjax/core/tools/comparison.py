"""What `compare` found: pairs of arrays, and the first that differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from msjax.core.page.viewed import Printed, Viewed


@dataclass(frozen=True)
class Row:
    """One pair of arrays. Activations with the same values in other shapes agree.

    Attributes:
        kind: "activation", "gradient", "parameter", "parameter_gradient" or "buffer".
        a, b: the names on both sides; None where one has no counterpart.
        shape_a, shape_b: the shapes.
        difference: the largest difference, relative to the largest value (or, if that is small, to what rounding makes of a zero);
            NaN where shapes differ or one side is missing.
        same: whether they agree; False where one side is missing, which is no difference of values.
        layout: how the axes of `a` have to be ordered to be those of `b`, if they differ in that; else "".
        class_a, class_b: the classes of the cells whose outputs they are, or that hold them; None if they are not known.
    """

    kind: str
    a: str | None
    b: str | None
    shape_a: tuple[int, ...] | None
    shape_b: tuple[int, ...] | None
    difference: float
    same: bool
    layout: str = ""
    class_a: str | None = None
    class_b: str | None = None

    @property
    def one_sided(self) -> bool:
        """Whether one side has no counterpart."""
        return self.a is None or self.b is None

    def __str__(self) -> str:
        if self.one_sided:
            return f"{self.kind} {_shown(self.a if self.b is None else self.b)} is only in {'a' if self.b is None else 'b'}"
        names = _shown(self.a) if self.a == self.b else f"{_shown(self.a)} / {_shown(self.b)}"
        if self.layout:
            return f"{self.kind} {names} {list(self.shape_a or ())}: {self.layout}"
        if self.shape_a != self.shape_b:
            return f"{self.kind} {names}: shapes {list(self.shape_a or ())} and {list(self.shape_b or ())}"
        return f"{self.kind} {names} {list(self.shape_a or ())}: {self.difference:.3g} of the largest value"

    def __repr__(self) -> str:
        return f"<{self}>"

    def told(self, first: bool) -> dict[str, Any]:
        """The row as a page shows it; `first` says whether it is one of the first that differ."""
        shapes = {f"shape_{side}": shape and list(shape) for side, shape in (("a", self.shape_a), ("b", self.shape_b))}
        difference = None if np.isnan(self.difference) else float(self.difference)
        return {**asdict(self), **shapes, "difference": difference, "same": bool(self.same), "first": first}


class Comparison(Viewed, Printed):
    """What `compare` found; prints as a table, also in a notebook, and is true if all agree.

    Attributes:
        rows (list of Row): activations in order of execution, gradients in order of the backward pass, then the others.
        first_forward, first_backward (Row): the first activation, and the first gradient, that differs; None if none does.
        first_state (Row): the first parameter or buffer that differs.
        only_in_a, only_in_b (list of Row): what the other side lacks.
        first_own_error (Row): the first cell of b whose output differs when all before it is as in a, so that errors of earlier cells
            are not in it; None if none does, or if b is a record.
    """

    width = 80

    def __init__(self, rows: list[Row], frameworks: tuple[str, str], first_own_error: Row | None = None):
        self.rows = rows
        self.first_own_error = first_own_error
        self.only_in_a = [row for row in rows if row.b is None]
        self.only_in_b = [row for row in rows if row.a is None]
        self.frameworks = frameworks
        self.first_forward = self._first("activation")
        self.first_backward = self._first("gradient", "parameter_gradient")
        self.first_state = self._first("parameter", "buffer")

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: the rows, and which are the first that differ."""
        firsts = {id(row) for row in (self.first_forward, self.first_backward, self.first_state, self.first_own_error)}
        rows = [row.told(id(row) in firsts) for row in self.rows]
        return {
            "kind": "comparison",
            "title": "Comparison",
            "frameworks": list(self.frameworks),
            "verdict": self.verdict(),
            "rows": rows,
        }

    def _first(self, *kinds):
        return next((row for row in self.rows if row.kind in kinds and not row.same and not row.one_sided), None)

    def __bool__(self) -> bool:
        both = [row for row in self.rows if not row.one_sided]
        return bool(both or not self.rows) and all(row.same for row in both)

    def verdict(self) -> list[str]:
        """The first differences, and what only one side has, in words."""
        firsts = [
            ("forward", self.first_forward),
            ("backward", self.first_backward),
            ("parameters and buffers", self.first_state),
        ]
        told = [f"First difference, {name}: {row}" for name, row in firsts if row is not None]
        if self.first_own_error is not None:
            told.append(f"First cell with an error of its own: {self.first_own_error}")
        apart = [
            f"Only in {side}: {', '.join(dict.fromkeys(_shown(row.a if row.b is None else row.b) for row in rows))}"
            for side, rows in (("a", self.only_in_a), ("b", self.only_in_b))
            if rows
        ]
        both = [row for row in self.rows if not row.one_sided]
        if not told:
            layouts = sum(bool(row.layout) for row in both)
            said = f", {layouts} of them in another layout" if layouts else ""
            agree = f"All {len(both)} arrays agree{said}."
            told = [agree if both or not self.rows else "Nothing has a counterpart on the other side."]
        return told + apart

    def _cells(self):
        for row in self.rows:
            if row.one_sided:
                continue
            shape = " / ".join(str(list(s or ())) for s in dict.fromkeys((row.shape_a, row.shape_b)))
            difference = "" if np.isnan(row.difference) else f"{row.difference:.2g}"
            first = row in (self.first_forward, self.first_backward, self.first_state)
            verdict = "same" if row.same else "FIRST DIFFERENCE" if first else "differs"
            one, classes = row.a == row.b, list(dict.fromkeys(filter(None, (row.class_a, row.class_b))))
            name = _shown(row.a) if one else f"{_shown(row.a)} / {_shown(row.b)}"
            yield row.kind, name, " / ".join(classes), shape, difference, f"{verdict}{f', {row.layout}' if row.layout else ''}"

    def __rich__(self) -> Any:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table, rows = Table(box=box.SIMPLE), list(self._cells())
        # In a narrow terminal, long names are folded, not cut.
        least = min(24, max((len(cells[1]) for cells in rows), default=0))
        for i, name in enumerate(("kind", " / ".join(self.frameworks), "class", "shape", "difference", "")):
            table.add_column(
                name, no_wrap=name in ("shape", "difference", ""), overflow="fold", min_width=least if i == 1 else None
            )
        for cells in rows:
            style = "bold red" if cells[-1].startswith("FIRST") else "red" if cells[-1].startswith("differs") else ""
            table.add_row(*(Text(text, style) for text in cells))
        return Group(*map(Text, self.verdict()), *([] if self else [table]))


def _shown(name):
    return "-" if name is None else name or "(network)"
