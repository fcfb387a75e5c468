"""The study view: arrays over named axes, and a captured step as a graph of modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import jax
import numpy as np

from msjax.core.base.errors import describe
from msjax.core.models.capture import Captured
from msjax.core.models.patching import PatchSweep

Labels = Mapping[str, Sequence[Any]]


def maps_view(arrays: Mapping[str, Any], axes: Sequence[str], labels: Labels) -> dict[str, Any]:
    """The view of some arrays by their names."""
    return {
        "kind": "study",
        "title": "Study",
        "maps": [_map(name, value, axes, labels) for name, value in arrays.items()],
        "graph": None,
    }


def sweep_view(sweep: PatchSweep, labels: Labels) -> dict[str, Any]:
    """The view of a patch sweep: the metric, and how much of the way from the corrupt to the clean one it went."""
    labels, values = {"layer": sweep.layers, **labels}, np.asarray(sweep.values, np.float32)
    clean, corrupt = np.asarray(sweep.clean, np.float32), np.asarray(sweep.corrupt, np.float32)
    maps = [_map("patched metric", values, sweep.over, labels)]
    if clean.size == 1 and clean != corrupt:
        maps.insert(0, _map("share recovered", sweep.recovery, sweep.over, labels))
    notes = [f"clean {clean}, corrupt {corrupt}"]
    return {"kind": "study", "title": "Patch sweep", "maps": maps, "graph": None, "notes": notes}


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


def graph_view(captured: Captured, edited: Iterable[str]) -> dict[str, Any]:
    """The view of a captured step: its places in program order, with norms forward and backward."""
    marks, nodes = list(edited), []
    for name, value in captured.activations.items():
        leaves = [v for v in jax.tree.leaves(value) if hasattr(v, "shape")]
        nodes.append(
            {
                "name": name, "shape": [list(leaf.shape) for leaf in leaves], "norm": _norm(leaves),
                "gradient": _norm(jax.tree.leaves(captured.gradients.get(name))),
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
    arrays = [
        np.asarray(leaf, np.float64)
        for leaf in leaves
        if np.issubdtype(np.asarray(leaf).dtype, np.floating) or "float" in str(leaf.dtype)
    ]
    count = sum(a.size for a in arrays)
    return float(np.sqrt(sum(float((a * a).sum()) for a in arrays) / count)) if count else None
