"""The study view: arrays over named axes, and a captured step as a graph of modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import jax
import numpy as np

from msjax.core.base.checks import check_value
from msjax.core.base.errors import describe

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
