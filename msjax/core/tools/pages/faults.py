"""The views of a fault, of a crash bundle, and of a comparison."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from msjax.core.tools.comparison import Comparison, Row
from msjax.core.tools.fault import Fault, Passed, Statistics
from msjax.core.tools.guarding.bundles import ReadBundle, note_in

# So many rows of a batch are told at most.
_ROWS = 256


def fault_view(fault: Fault) -> dict[str, Any]:
    """The view of what `find_nan` or `guard` found: the chain from the result back to the cause, the batch, how to replay it."""
    chain = [_link(passed) for passed in fault.chain] or [_link(Passed("", None, fault.what, None))]
    if len(chain) == 1 or fault.operation is None:
        output = () if fault.output is None else (fault.output,)
        chain.append(
            _link(
                Passed(
                    fault.phase,
                    fault.path,
                    fault.operation or fault.message or fault.note,
                    fault.line,
                    tuple(fault.inputs),
                    *output,
                )
            )
        )
    chain[-1]["origin"] = True
    if fault.cause is not None:
        cause = fault.cause
        chain.append(
            _link(Passed(cause.phase, cause.path, f"{cause.operation or cause.note}: before it, an infinite value", cause.line))
        )
    view = {
        "kind": "fault", "title": f"Fault: {fault.what}", "heading": fault.title, "report": [list(row) for row in fault.rows()], "chain": chain, "batch": [], "replay": None
    }  # fmt: skip
    return view if fault.bundle is None else {**view, **_of_bundle(ReadBundle(fault.bundle))}


def tell_bundle(fault: Fault, path: str | os.PathLike[str]) -> None:
    """Have a fault name the bundle of its step, and the bundle tell of the fault."""
    note_in(path, "fault", fault_view(fault))
    fault.bundle = os.fspath(path)


def view_of_bundle(bundle: ReadBundle) -> dict[str, Any]:
    """The view of a crash bundle: what the guard found when it was written, if it could be told, and the batch."""
    told = bundle.about.get("fault") or {
        "kind": "fault", "title": "Crash", "heading": "A step that went wrong", "report": [], "chain": [],
    }  # fmt: skip
    return {**told, **_of_bundle(bundle)}


def _of_bundle(bundle):
    return {"batch": list(map(_of_array, bundle.arrays())), "replay": f"msjax.tools.replay({bundle.path!r}, step)"}


def _of_array(named):
    name, array = named
    rows = [Statistics.of(row) for row in array[:_ROWS]] if array.ndim else []
    told = [[i, float(row.min), float(row.max), float(row.mean), row.nan, row.inf] for i, row in enumerate(rows)]
    return {"name": name, "shape": list(array.shape), "dtype": str(array.dtype), "rows": told}


def _link(passed: Passed) -> dict[str, Any]:
    values = {"inputs": list(map(str, passed.inputs)), "output": None if passed.output is None else str(passed.output)}
    return {"phase": passed.phase, "path": passed.path, "operation": passed.operation, "line": _line(passed.line), **values}


def _line(line):
    return None if line is None else f"{line}{f': {line.code}' if getattr(line, 'code', '') else ''}"


def comparison_view(found: Comparison) -> dict[str, Any]:
    """The view of a comparison: its rows, and which are the first that differ."""
    firsts = [
        row for row in (found.first_forward, found.first_backward, found.first_state, found.first_own_error) if row is not None
    ]
    rows = [_row(row, any(row is first for first in firsts)) for row in found.rows]
    return {
        "kind": "comparison",
        "title": "Comparison",
        "frameworks": list(found.frameworks),
        "verdict": found.verdict(),
        "rows": rows,
    }


def _row(row: Row, first: bool) -> dict[str, Any]:
    shapes = {f"shape_{side}": None if shape is None else list(shape) for side, shape in (("a", row.shape_a), ("b", row.shape_b))}
    return {
        "kind": row.kind, "a": row.a, "b": row.b, **shapes, "difference": None if np.isnan(row.difference) else float(row.difference),
        "same": bool(row.same), "first": first, "layout": row.layout, "class_a": row.class_a, "class_b": row.class_b,
    }  # fmt: skip
