"""Whether code says what is to become of an index that is out of range: by ``mode=`` in the call, or because jax makes the index itself."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterable
from typing import Any

from msjax.core.base.libraries import is_own

# With these, an index that is out of range is meant.
_MEANT = ("clip", "drop", "wrap", "reflect", "edge")
# Functions of jax that make indices themselves; those out of range are meant.
_MAKE_INDICES = {
    "repeat", "bincount", "nonzero", "argwhere", "flatnonzero", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "union1d", "intersect1d", "setdiff1d", "setxor1d", "histogram", "histogram2d", "histogramdd", "searchsorted", "digitize", "compress",
    "extract", "insert", "interp", "percentile", "quantile", "median", "roll", "choice", "permutation", "shuffle", "sort", "argsort",
    "lexsort", "associative_scan", "top_k", "approx_max_k", "argpartition", "partition",
}  # fmt: skip


def is_meant(frames: Iterable[Any]) -> bool:
    """Whether an indexing operation of jax was called with a mode that says what an index out of range does; of the calls that led to it,
    innermost first, the first whose line is not jax's own is the last one that is looked at."""
    for frame in frames:
        for mode in _modes(frame.file_name, frame.line_num):
            if mode is not None:
                return mode in _MEANT
        if not is_own(frame.file_name):
            return False
        if frame.function_name in _MAKE_INDICES:
            return True
    return False


@functools.lru_cache(4096)
def _modes(file, number):
    """The texts that calls on a line pass as ``mode``; None for what is no text."""
    return [
        keyword.value.value if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str) else None
        for call in _calls(file)
        if call.lineno <= number <= (call.end_lineno or call.lineno)
        for keyword in call.keywords
        if keyword.arg == "mode"
    ]


@functools.lru_cache(256)
def _calls(file):
    """The calls in a file that pass a ``mode``."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and any(k.arg == "mode" for k in node.keywords)]
    # The innermost first.
    return sorted(found, key=lambda call: (call.end_lineno or call.lineno) - call.lineno)
