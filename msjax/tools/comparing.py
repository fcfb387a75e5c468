"""compare: where two networks, modes, precisions or frameworks begin to differ."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from msjax.base.errors import describe
from msjax.tools.comparison import Comparison, Row
from msjax.tools.recording import Record, record

# Names of the same classes and parameters in PyTorch, flax and haiku.
_CLASSES = {
    "Linear": "Dense", "Sequential": "SequentialCell", "ModuleList": "CellList", "BatchNorm": "BatchNorm2d", "Conv": "Conv2d",
}  # fmt: skip
_PARAMETERS = {
    "weight": ("weight", "gamma", "kernel", "embedding_table", "scale", "w"), "bias": ("bias", "beta", "b", "offset"),
    "running_mean": ("running_mean", "moving_mean", "mean"), "running_var": ("running_var", "moving_variance", "var"),
}  # fmt: skip

# Values that agree so well count as equal, relative to the largest of them.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


def compare(
    a: Any, b: Any, *inputs: Any, rtol: float | None = None, atol: float | None = None, names: dict[str, str] | None = None
) -> Comparison:
    """Compare what two networks compute, and find where they begin to differ.

    Cells, Parameters and buffers are matched by `names`, then by path (``fc1.weight`` also with PyTorch's and flax's names of the last
    part), and then, in order, by class and shape.

    Args:
        a, b: records, paths of their files, or models, which are then run with `inputs`: two networks, or records of one in two modes
            or precisions.
        inputs: for models. By default, those of the record that they are compared with.
        rtol (float, optional): arrays agree if they differ by at most `rtol` times the largest value of `b`'s. By default 1e-9, 1e-4, 1e-2
            or 5e-2 for Float64, Float32, Float16 and BFloat16, the coarser of the two.
        atol (float, optional): arrays also agree if they differ by at most this much. By default a hundredth of that part of the
            largest value among all arrays of the kind, which is rounding.
        names (dict, optional): {name in a: name in b} of cells, or of Parameters and buffers.

    Returns:
        A `Comparison`, which prints as a table; it is true if all agree.

    Raises:
        TypeError, ValueError: a wrong argument; `names` has a name that isn't there.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> x = ms.Tensor([[1.0, -2.0]], ms.float32)
        >>> one = nn.SequentialCell(nn.Dense(2, 1, "ones", "zeros"), nn.ReLU())
        >>> other = nn.SequentialCell(nn.Dense(2, 1, "ones", "zeros"), nn.LeakyReLU(0.1))
        >>> found = ms.tools.compare(one, other, x)
        >>> print(found.first_forward)
        activation 1 [1, 1]: 1 of the largest value
        >>> bool(ms.tools.compare(ms.tools.record(one, x), ms.tools.record(one, x, mode="functional")))
        True
    """
    recorded = [
        one if isinstance(one, Record) else Record.read(one) for one in (a, b) if isinstance(one, (Record, str, os.PathLike))
    ]
    if not inputs and recorded:
        inputs = tuple(recorded[0].of("input").values())
    a, b = _as_record(a, inputs), _as_record(b, inputs)
    given = dict(names or {})
    rows = []
    calls = _matched(a, b, "activation", given)
    for kind in ("activation", "gradient", "parameter", "parameter_gradient", "buffer"):
        in_a, in_b = a.of(kind), b.of(kind)
        if kind == "gradient":
            pairs = [(n, m) for n, m in calls if n in in_a or m in in_b][::-1]
        else:
            pairs = calls if kind == "activation" else _matched(a, b, kind, given)
        # The gradient of a bias before a BatchNorm, say, is a zero that each computes with other rounding.
        tolerance = rtol, _rounding(in_b.values()) if atol is None else atol
        rows += [_row(kind, n, m, in_a.get(n), in_b.get(m), tolerance) for n, m in pairs]
    known = {name for kind in ("activation", "parameter", "buffer") for name in a.of(kind)}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"For 'compare', 'names' has {unknown[0]!r}, but the names in a are {', '.join(sorted(known)[:30])}.")
    return Comparison(rows, (a.framework, b.framework))


def _as_record(value, inputs):
    if isinstance(value, Record):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Record.read(value)
    if callable(value):
        return record(value, *inputs)
    raise TypeError(f"For 'compare', a record, a file or a model is expected, but got {describe(value)}.")


def _matched(a, b, kind, names):
    """Pairs of names, in order; None for what one side lacks."""
    in_a, in_b = a.of(kind), b.of(kind)
    found, free = {}, dict.fromkeys(in_b)
    classes_a, classes_b = dict(a.order), dict(b.order)

    def pair(n, m):
        if n not in found and m in free:
            found[n] = m
            del free[m]

    for n in in_a:
        if n in names:
            pair(n, names[n])
    for n in in_a:
        for m in _same_path(n, kind):
            pair(n, m)
    for with_shape in (True, False):
        for n, value in in_a.items():
            for m in list(free):
                same_class = _class_of(n, classes_a) == _class_of(m, classes_b)
                if same_class and (not with_shape or value.shape == in_b[m].shape):
                    pair(n, m)
                    break
    pairs = [(n, found.get(n)) for n in in_a]
    return [*pairs, *((None, m) for m in free)]


def _same_path(name, kind):
    if kind in ("activation", "gradient"):
        return [name]
    holder, dot, last = name.rpartition(".")
    for same in _PARAMETERS.values():
        if last in same:
            return [name, *(f"{holder}{dot}{other}" for other in same)]
    return [name]


def _class_of(name, classes):
    """What has to agree: the class of a call's cell; of a parameter, the last part of its name."""
    call = name.partition("[")[0]
    if call in classes:
        return _CLASSES.get(classes[call], classes[call])
    last = name.rpartition(".")[2]
    return next((first for first, same in _PARAMETERS.items() if last in same), last)


def _row(kind, n, m, a, b, tolerance):
    if a is None or b is None:
        shapes = [None if v is None else v.shape for v in (a, b)]
        return Row(kind, None if a is None else n, None if b is None else m, *shapes, np.nan, False)
    rtol, atol = tolerance
    if rtol is None:
        rtol = max(_TOLERANCE.get(str(v.dtype), 0.0) for v in (a, b))
    alike = a.shape == b.shape or (kind in ("activation", "gradient") and a.size == b.size)
    if not alike:
        return Row(kind, n, m, a.shape, b.shape, np.nan, False)
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    wrong = np.isnan(x) != np.isnan(y)
    gap = np.where(np.isnan(x) | (x == y), 0.0, np.abs(x - y))
    largest, scale = float(gap.max(initial=0.0)), float(np.abs(y[np.isfinite(y)]).max(initial=0.0))
    same = not wrong.any() and (largest <= rtol * scale or largest <= atol)
    if a.shape != b.shape and not same:
        return Row(kind, n, m, a.shape, b.shape, np.nan, False)
    scale = max(scale, atol / rtol if rtol else 0.0)
    return Row(kind, n, m, a.shape, b.shape, np.inf if wrong.any() else largest / scale if scale else largest, same)


def _rounding(arrays):
    """What may be rounding of a zero, where other values are as large as those of some arrays."""
    floats = [a for a in arrays if a.size and np.issubdtype(a.dtype, np.floating)]
    return max((0.01 * _TOLERANCE.get(str(a.dtype), 0.0) * float(np.abs(np.nan_to_num(a)).max()) for a in floats), default=0.0)
