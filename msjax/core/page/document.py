"""The HTML document of a page: one file that asks nobody for anything, in which data is data."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import importlib.resources
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from msjax.core.base.whole_files import whole_file
from msjax.core.page.columns import COLUMNS
from msjax.core.page.encoding import as_json, decoded
from msjax.core.page.run import fitted

FORMAT = "msjax page 1"
# A page has at most so many characters of data, and runs whose arrays have more bytes than the second are told by levels.
_LARGEST, _EXACT = 2_800_000, 600_000
_CODE = ("basics", "tree", "heatmap", "curves", "run", "findings", "study", "main")
_DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)


@functools.cache
def _parts() -> tuple[list[str], str, str]:
    """The template's pieces between which title, policy, style, data and code stand; the style; the code."""
    files = importlib.resources.files("msjax.core.page")
    template, style = ((files / name).read_text(encoding="utf-8") for name in ("page.html", "page.css"))
    code = "".join((files / "js" / f"{name}.js").read_text(encoding="utf-8") for name in _CODE)
    return re.split(r"\{\{\w+\}\}", template), style, code


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy() -> str:
    """The page's content security policy: its own code and style, pictures that it makes, nothing else."""
    _, style, code = _parts()
    return f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'"


def as_html(title: str, views: Sequence[Mapping[str, Any]]) -> str:
    """The document that shows some views."""
    pieces, style, code = _parts()
    texts = [html.escape(policy()), html.escape(title), style, _data_of(title, views), code]
    return "".join(part for both in zip(pieces, [*texts, ""]) for part in both)


def _data_of(title, views):
    levels = _bytes_of(views) > _EXACT
    rows = sum(len(data["names"]) * len(data["planes"]) for data in _kinds(views))
    # A level takes a little more than one character.
    columns = max(16, min(2 * COLUMNS, _LARGEST // max(1, rows)))
    while True:
        shown = [
            {**view, "runs": [fitted(run, columns) for run in view["runs"]]} if view["kind"] == "run" else view for view in views
        ]
        text = as_json({"format": FORMAT, "title": title, "views": shown}, levels)
        if len(text) <= _LARGEST or columns <= 16:
            return text
        at_most = max((len(data["first"]) for data in _kinds(shown)), default=0)
        columns = max(16, int(0.9 * min(columns, at_most) * _LARGEST / len(text)))


def _kinds(views):
    return [data for view in views for run in view.get("runs", ()) for data in run["kinds"].values()]


def _bytes_of(value):
    if isinstance(value, np.ndarray):
        return value.nbytes
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return sum(map(_bytes_of, inside))


def write(path: str | os.PathLike[str], text: str, complete: bool = True) -> None:
    """Write a document aside, and let it take the place of the file at `path`; with `complete`, it outlives a crash of the machine."""
    with whole_file(path, complete) as file:
        file.write(text.encode())


def read(path: str | os.PathLike[str]) -> tuple[str, list[dict[str, Any]]]:
    """The title and the views of a document in a file; ValueError if it is no page."""
    with open(path, encoding="utf-8", errors="replace") as file:
        found = _DATA.search(file.read())
    try:
        data = json.loads(found.group(1)) if found else {}
    except json.JSONDecodeError:
        data = {}
    if data.get("format") != FORMAT:
        raise ValueError(f"The file {os.fspath(path)!r} is no page of msjax, or is cut off.")
    return data["title"], decoded(data["views"])
