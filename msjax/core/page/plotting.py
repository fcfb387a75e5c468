"""A page's data as a figure of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_NAMED = 40  # rows whose names can be read beside a panel


def plotted(views: Sequence[Mapping[str, Any]]) -> Any:
    """A Figure with the heat maps of some views; ValueError if there is none: a fault has no numbers over two axes."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    panels: list[tuple[str, Any, Sequence[Any], Sequence[Any], bool]] = []
    for view in views:
        for run in view.get("runs", ()):
            panels += [
                (f"{run['name']} norm of {kind}s".strip(), data["planes"]["norm"], data["names"], data["first"], True)
                for kind, data in run["kinds"].items()
                if "norm" in data["planes"]
            ]
        for found in view.get("maps", ()):
            values = found["values"]
            rows, columns = (*[""] * 2, *found["axes"])[-2:]
            flat = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
            labels = found["labels"].get(rows, range(len(flat)))
            panels.append((found["name"], flat, labels, found["labels"].get(columns, range(flat.shape[1])), False))
        nodes = view.get("graph")
        if nodes:
            flows = np.array([[node["norm"], node["gradient"]] for node in nodes], np.float64)
            panels.append((view["title"], flows, [node["name"] for node in nodes], ("forward", "backward"), True))
        if view["kind"] == "comparison":
            found = {(row["a"] or row["b"], row["kind"]): row["difference"] for row in view["rows"]}
            names, kinds = (list(dict.fromkeys(of)) for of in zip(*found))
            table = np.array([[found.get((name, kind)) for kind in kinds] for name in names], np.float64)
            panels.append(("differences", table, names, kinds, True))
    if not panels:
        raise ValueError(
            "For 'plot', there should be numbers of a run, a comparison or a study; print what find_nan or guard returned."
        )
    figure = Figure(
        figsize=(9, 1 + sum(max(2, 0.18 * min(len(values), _NAMED)) for _, values, *_ in panels)), layout="constrained"
    )
    for axes, (title, values, rows, columns, log) in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels):
        positive = values[np.isfinite(values) & (values > 0)]
        scale = LogNorm(positive.min(), max(positive.max(), positive.min() * 1.01)) if log and positive.size else None
        shown = axes.imshow(values, aspect="auto", interpolation="nearest", cmap="viridis" if log else "cividis", norm=scale)
        axes.set_title(title, fontsize=9)
        if len(rows) == len(values) <= _NAMED:
            axes.set_yticks(range(len(rows)), [str(name) or "(model)" for name in rows], fontsize=6)
        at = np.unique(np.linspace(0, values.shape[1] - 1, min(values.shape[1], 10)).astype(int))
        axes.set_xticks(at, [str(columns[i]) for i in at], fontsize=7)
        figure.colorbar(shown, ax=axes)
    return figure
