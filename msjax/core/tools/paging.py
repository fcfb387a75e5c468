"""page: a run, a fault, a comparison or a study as one HTML file to look at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msjax.core.base.errors import describe
from msjax.core.models.capture import Captured
from msjax.core.page.page import Page
from msjax.core.page.run import Run, read_csv
from msjax.core.page.viewed import HasView, maps_view
from msjax.core.study.patching import PatchSweep
from msjax.core.tools.fault import Fault
from msjax.core.tools.guarding.bundles import ReadBundle


def page(
    *things: Any,
    title: str | None = None,
    names: Iterable[str] = (),
    axes: Sequence[str] = (),
    labels: Mapping[str, Sequence[Any]] | None = None,
    edited: Iterable[str] = (),
) -> Page:
    """One page that shows what the tools found: a single HTML file without a server or a network.

    Args:
        things: what is shown: what `watch` returned, several of which lie side by side; a `Fault`; what `compare` returned; a `PatchSweep`; what
            `hooks.capture` found, as a graph of its modules; what a stream of a model found; a dict of arrays, such as attention patterns or what `hooks.attribute` returned, as heat
            maps; another `Page`; or the path of a page, of a CSV file of `watch`, or of a crash bundle.
        title (str, optional): of the page.
        names (iterable of str): of the runs, in order.
        axes (sequence of str): the names of the arrays' last axes, such as ("head", "query", "key").
        labels (dict, optional): {axis: a text or number for each place along it}, such as ``{"position": tokens}``. The axes of a sweep are
            called as in its `over`.
        edited (iterable of str): the places of a graph that are marked, as ablated or patched.

    Returns:
        A `Page`: a notebook shows it; it has `save`, `html`, `to_dict`, `to_pandas` and `plot`.

    Raises:
        TypeError, ValueError: something else is given, or labels don't fit.

    Example:
        >>> from msjax import Tensor, float32, nn, tools
        >>> net = nn.SequentialCell(nn.Dense(1, 1), nn.ReLU())
        >>> with tools.watch(net, every=1, what="activation") as watched:
        ...     for value in (1.0, 2.0):
        ...         _ = net(Tensor([[value]], float32))
        >>> page = tools.page(watched, title="two steps")
        >>> page
        <page 'two steps': run>
        >>> page.to_dict()["views"][0]["runs"][0]["kinds"]["activation"]["names"]
        ['0', '1', '']
        >>> page.save("two_steps.html")
    """
    if not things:
        raise TypeError("For 'page', there should be something to show: what watch, find_nan, compare or hooks.capture returned.")
    views, found = list[dict[str, Any]](), dict(labels or {})
    for thing in things:
        if isinstance(thing, (str, os.PathLike)):
            thing = _read(os.fspath(thing))
        if isinstance(thing, Page):
            # A view of its own is called as the page.
            views += [{**view, "title": thing.title} for view in thing.views] if len(thing.views) == 1 else thing.views
        elif isinstance(thing, Fault):
            views.append({**(ReadBundle(thing.bundle).view() if thing.bundle else {}), **thing.view()})
        elif isinstance(thing, PatchSweep):
            views.append(thing.view(found))
        elif isinstance(thing, Captured):
            views.append(thing.view(edited))
        elif isinstance(thing, Mapping):
            views.append(maps_view(thing, axes, found))
        elif isinstance(thing, (HasView, Run)):
            views.append(thing.view())
        else:
            raise TypeError(
                f"For 'page', {describe(thing)} can't be shown: give what watch, find_nan, compare or hooks.capture returned."
            )
    views = _side_by_side(views, list(names))
    return Page(title or ", ".join(dict.fromkeys(view["title"] for view in views)), views)


def _read(path: str) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no file {path!r}.")
    name = os.path.splitext(os.path.basename(path))[0]
    if path.endswith(".csv"):
        return read_csv(path, name)
    return ReadBundle(path) if path.endswith(".npz") else Page.read(path)


def _side_by_side(views, names):
    """The views with all runs in one of them, where the first is."""
    runs = [run for view in views if view["kind"] == "run" for run in view["runs"]]
    if len(names) > len(runs):
        raise ValueError(f"For 'page', there should be at most {len(runs)} names, one for each run, but got {len(names)}.")
    given = [*names, *(run["name"] for run in runs[len(names) :])]
    # Each has a name of its own.
    told = [name if name and given.count(name) == 1 else f"{name or 'run'} {i + 1}" for i, name in enumerate(given)]
    if len(runs) == 1:
        told = given
    runs = [{**run, "name": name} for run, name in zip(runs, told)]
    others = [view for view in views if view["kind"] != "run"]
    return [*([{"kind": "run", "title": "Run" if len(runs) == 1 else "Runs", "runs": runs}] if runs else []), *others]
