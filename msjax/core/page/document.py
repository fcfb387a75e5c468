"""The HTML document of a page: one file that asks nobody for anything, in which data is data.

Its data is JSON in which arrays are compressed bytes, and in which nothing can end the script element that it stands in.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import importlib.resources
import json
import os
import re
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from msjax.core.base.whole_files import whole_file
from msjax.core.page import document
from msjax.core.page.columns import COLUMNS, Array
from msjax.core.page.run import Run, fitted

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


# Codes of what is no finite number in an array of bytes; the others are levels between the least and the largest of a row.
_MISSING, _ZERO, _INFINITE, _FIRST = 0, 1, 2, 3
_LEVELS = 255 - _FIRST
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def as_json(data: Any, levels: bool = False) -> str:
    """The text of containers of numbers, strings and arrays; see `decoded`. With `levels`, each number of an array of float32 with rows may
    become one of 252 levels of its row: of the logarithm, where none is negative."""
    return json.dumps(_encoded(data, levels), separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _encoded(value, levels):
    if isinstance(value, dict):
        return {str(key): _encoded(v, levels) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(v, levels) for v in value]
    if isinstance(value, np.ndarray):
        return _of_levels(value) if levels and value.ndim >= 2 and value.size and value.dtype == np.float32 else _packed(value)
    if isinstance(value, (np.generic, float)):
        number = value.item() if isinstance(value, np.generic) else value
        # JSON has no such numbers.
        return number if not isinstance(number, float) or np.isfinite(number) else {"$": str(number)}
    return value


def _packed(array: Array) -> dict[str, Any]:
    kind = {"u": "u1", "i": "i4", "b": "u1"}.get(array.dtype.kind, "f4")
    kept = np.ascontiguousarray(array, np.dtype(kind).newbyteorder("<"))
    return {"$": kind, "shape": list(array.shape), "data": base64.b64encode(zlib.compress(kept.tobytes(), 1)).decode()}


def _of_levels(whole: Array) -> dict[str, Any]:
    array = whole.reshape(-1, whole.shape[-1])
    log = not (array < 0).any()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log10(array) if log else array
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(1, initial=np.inf, keepdims=True)
    high = np.where(finite, values, -np.inf).max(1, initial=-np.inf, keepdims=True)
    low, high = np.where(np.isfinite(low), low, 0), np.where(np.isfinite(high), high, 0)
    place = np.where(finite, values - low, 0) * (_LEVELS / np.where(high > low, high - low, 1))
    codes = np.where(finite, np.rint(place) + _FIRST, _MISSING)
    codes[np.isinf(array)] = _INFINITE
    codes[array == 0] = _ZERO
    codes = codes.reshape(whole.shape)
    return {**_packed(codes.astype(np.uint8)), "$": "levels", "log": log, "low": _packed(low[:, 0]), "high": _packed(high[:, 0])}


def decoded(value: Any) -> Any:
    """What `as_json` has written, with numpy arrays, once ``json.loads`` has read it."""
    if isinstance(value, list):
        return [decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    if kind is None:
        return {key: decoded(v) for key, v in value.items()}
    if "data" not in value:
        return float(kind)
    dtype = np.dtype("u1" if kind == "levels" else kind).newbyteorder("<")
    array = np.frombuffer(zlib.decompress(base64.b64decode(value["data"])), dtype).reshape(value["shape"])
    if kind != "levels":
        return array
    low, high = (decoded(value[end]).reshape(*array.shape[:-1], 1) for end in ("low", "high"))
    numbers = low + (array.astype(np.float32) - _FIRST) * (high - low) / _LEVELS
    numbers = 10**numbers if value["log"] else numbers
    for code, meaning in ((_MISSING, np.nan), (_ZERO, 0), (_INFINITE, np.inf)):
        numbers = np.where(array == code, np.float32(meaning), numbers)
    return numbers.astype(np.float32)


# Seconds between two pages at least; the part of the process's time that goes into them at most; seconds that one waits for that at most.
_PAUSE, _SHARE, _LONGEST = 1.0, 0.01, 10.0


class PageSink:
    """The page of a run that goes on, an HTML file, for `watch`, which calls it in a thread of its own."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        self._run = Run(os.path.splitext(os.path.basename(self.path))[0])
        # What other threads have told meanwhile: numbers, and what rules said.
        self._numbers: deque[tuple[int, str, Any]] = deque()
        self._said: deque[tuple[Any, ...]] = deque()
        # What can't be written is said before training begins.
        self._write(complete=False)
        self._due, self._changed = 0.0, False

    def __call__(self, step: int, rows: Sequence[Any]) -> None:
        """Add the rows of a step; the page is written if it is time, and by `close`."""
        self._run.add(step, rows)
        self._changed = True
        now = time.monotonic()
        if now >= self._due and (time.process_time() >= self._paid or now >= self._due + _LONGEST):
            self._write(complete=False)

    def number(self, step: int, name: str, value: Any) -> None:
        """Add a number of one step, which jax may still be computing; it is written with the next statistics."""
        self._numbers.append((step, name, value))

    def broken(self, *said: Any) -> None:
        """Add the warning of a rule, as `Run.warn` takes it; it is written with the next statistics."""
        self._said.append(said)

    def close(self) -> None:
        """Write the last state of the page."""
        if self._changed or self._numbers or self._said:
            self._write(complete=True)

    def _write(self, complete):
        began = time.thread_time()
        self._changed = False
        self._run.note([self._numbers.popleft() for _ in range(len(self._numbers))])
        while self._said:
            self._run.warn(*self._said.popleft())
        document.write(self.path, document.as_html(self._run.name, [self._run.view()]), complete)
        self._due, self._paid = time.monotonic() + _PAUSE, time.process_time() + (time.thread_time() - began) / _SHARE
