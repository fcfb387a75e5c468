"""Page: what `tools.page` returns: views with their data, as HTML, dicts, a DataFrame or a plot."""

from __future__ import annotations

import html
import importlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from msjax.core.page import document


class Page:
    """Views of runs, faults, comparisons and studies; a notebook shows it.

    Args:
        title (str): of the page.
        views: the data of each view, with its "kind": "run", "fault", "comparison" or "study".

    Example:
        >>> import numpy as np
        >>> import msjax as ms
        >>> page = ms.tools.page({"scores": np.array([[1.0, 2.0]])}, axes=("layer", "token"), labels={"token": ["a", "b"]})
        >>> page.to_dict()["views"][0]["maps"][0]["values"]
        [[1.0, 2.0]]
        >>> page.save("scores.html")
    """

    def __init__(self, title: str, views: Sequence[Mapping[str, Any]]):
        self.title, self.views = title, [dict(view) for view in views]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Page:
        """The page in a file that `save` or `watch` has written; of a large one, numbers are those of the file's levels.

        Raises:
            ValueError: the file is no page.
        """
        return cls(*document.read(path))

    def html(self) -> str:
        """The whole document. It needs no network, and no other file."""
        return document.as_html(self.title, self.views)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a file, which is there whole or as it was."""
        document.write(path, self.html())

    def _repr_html_(self):
        # A document of its own, which can reach nothing of the notebook.
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts allow-downloads" style="width:100%;height:720px;border:0" '
            f'srcdoc="{html.escape(self.html())}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<page {self.title!r}: {', '.join(view['kind'] for view in self.views)}>"

    def to_dict(self) -> dict[str, Any]:
        """The data as dicts, lists, strings and numbers."""
        return _plain({"title": self.title, "views": self.views})

    def to_pandas(self) -> Any:
        """The data as a DataFrame, with a row for each number or set of numbers; a list of them for several views.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")  # msjax needs it nowhere else
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "For 'page', to_pandas() needs pandas: pip install pandas; to_dict() needs nothing."
            ) from None
        frames = [pandas.DataFrame(list(_ROWS[view["kind"]](view))) for view in self.views]
        return frames[0] if len(frames) == 1 else frames

    def plot(self) -> Any:
        """A Figure of matplotlib with a panel for each kind of statistics, and for each map of a study."""
        from msjax.core.page.plotting import plotted

        return plotted(self.views)


def _plain(value):
    if isinstance(value, Mapping):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _rows_of_run(view: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for run in view["runs"]:
        for kind, data in run["kinds"].items():
            for (i, name), (j, step) in itertools.product(enumerate(data["names"]), enumerate(data["first"].tolist())):
                numbers = {plane: float(values[i, j]) for plane, values in data["planes"].items()}
                yield {"run": run["name"], "kind": kind, "name": name, "step": step, "last_step": int(data["last"][j]), **numbers}


def _rows_of_study(view: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for found in view["maps"]:
        axes, labels = found["axes"], found["labels"]
        for at in np.ndindex(*found["values"].shape):
            names = {axis: labels[axis][i] if axis in labels else i for axis, i in zip(axes, at)}
            yield {"map": found["name"], **names, "value": float(found["values"][at])}


_ROWS: dict[str, Any] = {
    "run": _rows_of_run,
    "fault": lambda view: view["chain"],
    "comparison": lambda view: view["rows"],
    "study": _rows_of_study,
}
