"""What can be shown: tables that rich prints, as text and in notebooks; views of a page, as dicts, DataFrames, plots and parts of notebooks, such as
those of studies: arrays over named axes, and a captured step as a graph of modules."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import jax
import numpy as np

from msjax.core.base.checks import check_value
from msjax.core.base.errors import describe

if TYPE_CHECKING:
    from msjax.core.page.page import Page


class Printed:
    """Something that rich can print, as text with lines of `width` characters and in a notebook."""

    width = 120

    def __str__(self) -> str:
        lines = [line.removeprefix(" ").rstrip() for line in _console(self, self.width).file.getvalue().splitlines()]
        return "\n".join(line for line in lines if line)

    __repr__ = __str__

    def _repr_html_(self):
        return html_of(self)


def html_of(shown: Any) -> str:
    """What rich prints, as HTML."""
    console = _console(shown, 120)
    return console.export_html(inline_styles=True, code_format="<pre style='line-height:1.2'>{code}</pre>")


def _console(shown, width):
    from rich.console import Console

    console: Any = Console(file=io.StringIO(), width=width, color_system=None, force_jupyter=False, record=True)
    console.print(shown)
    return console


@runtime_checkable
class HasView(Protocol):
    """Something with a `view`, the data that a page shows, with its "kind" and its "title"; a class of its own or a tuple."""

    def view(self) -> dict[str, Any]: ...

    def to_dict(self) -> dict[str, Any]: ...


def page_of(thing: HasView) -> Page:
    """The page that shows only this."""
    from msjax.core.page.page import Page

    view = thing.view()
    return Page(view["title"], [view])


def to_dict(self: HasView) -> dict[str, Any]:
    """What the page shows as dicts, lists, strings and numbers."""
    return page_of(self).to_dict()["views"][0]


def to_pandas(self: HasView) -> Any:
    """What the page shows as a DataFrame, with a row for each number or set of numbers.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    return page_of(self).to_pandas()


def plot(self: HasView) -> Any:
    """A Figure of matplotlib with what the page shows.

    Raises:
        ValueError: a fault, or something without numbers.
    """
    return page_of(self).plot()


def repr_html(self: HasView) -> str:
    """The page, for a notebook."""
    return page_of(self)._repr_html_()


class Viewed:
    """What a page can show, and rich prints."""

    def view(self) -> dict[str, Any]:
        """The data of its view on a page."""
        raise NotImplementedError

    to_dict, to_pandas, plot = to_dict, to_pandas, plot

    def _repr_html_(self) -> str:
        """What rich prints, with the page folded below it."""
        return f"{html_of(self)}<details><summary>as a page</summary>{repr_html(self)}</details>"


Labels = Mapping[str, Sequence[Any]]


def maps_view(
    arrays: Mapping[str, Any], axes: Sequence[str], labels: Labels, title: str = "Study", notes: Iterable[str] = ()
) -> dict[str, Any]:
    """The view of some arrays by their names; `axes` are the last ones of each, `labels` the texts along them.

    Raises:
        TypeError, ValueError: an array isn't of real numbers, or labels don't fit.
    """
    check_value(arrays, arrays, "hold at least one array", "a dict of arrays", "page")
    maps = [_map(name, value, axes, labels) for name, value in arrays.items()]
    return {"kind": "study", "title": title, "maps": maps, "graph": None, "notes": list(notes)}


def _map(name, value, axes, labels):
    values = np.asarray(value)
    if values.dtype.kind not in "fiub" and "float" not in str(values.dtype):
        raise TypeError(f"For 'page', {name!r} should be an array of real numbers, but is {describe(value)}.")
    values = values.astype(np.float32)
    named = list(axes)[-values.ndim :] if values.ndim else []
    whole = [*(f"axis {i}" for i in range(values.ndim - len(named))), *named]
    texts = {}
    for axis, size in zip(whole, values.shape):
        if axis in labels:
            texts[axis] = [str(label) for label in labels[axis]]
            if len(texts[axis]) != size:
                raise ValueError(
                    f"For 'page', there should be {size} labels for the axis {axis!r} of {name!r}, but there are {len(texts[axis])}."
                )
    return {"name": str(name), "axes": whole, "labels": texts, "shape": list(values.shape), "values": values}


def graph_view(activations: Mapping[str, Any], gradients: Mapping[str, Any], edited: Iterable[str]) -> dict[str, Any]:
    """The view of a captured step: its places in program order, with norms forward and backward. ValueError if `edited` names none."""
    marks, nodes = list(edited), []
    for name, value in activations.items():
        leaves = [v for v in jax.tree.leaves(value) if hasattr(v, "shape")]
        nodes.append(
            {
                "name": name, "shape": [list(leaf.shape) for leaf in leaves], "norm": _norm(leaves),
                "gradient": _norm(jax.tree.leaves(gradients.get(name))),
                "edited": any(fnmatchcase(name, mark) for mark in marks),
            }
        )  # fmt: skip
    missing = [mark for mark in marks if not any(fnmatchcase(node["name"], mark) for node in nodes)]
    if missing:
        raise ValueError(
            f"For 'page', 'edited' names {missing[0]!r}, but captured are {', '.join(node['name'] for node in nodes)[:300]}."
        )
    return {"kind": "study", "title": "Captured step", "maps": [], "graph": nodes}


def _norm(leaves):
    """The norm of some arrays together, per value; None if there are none."""
    arrays = [np.asarray(leaf, np.float64) for leaf in leaves if "float" in str(getattr(leaf, "dtype", type(leaf)))]
    count = sum(a.size for a in arrays)
    return float(np.sqrt(sum(float((a * a).sum()) for a in arrays) / count)) if count else None
