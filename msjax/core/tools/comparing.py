"""compare: where two networks, modes, precisions or frameworks begin to differ."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from msjax.core.base.arrays import check_at_hand, is_tracer
from msjax.core.base.checks import check_kind, check_number
from msjax.core.base.errors import describe
from msjax.core.hooks.values import ARRAYS
from msjax.core.models.capture import NothingToDifferentiateError
from msjax.core.models.frameworks.framework import framework_of
from msjax.core.models.hooked import as_function, hooked, unhooked
from msjax.core.models.inputs import Call, Inputs, call_of
from msjax.core.models.module_hooks import register_forward_hook
from msjax.core.page.viewed import Printed, Viewed
from msjax.core.tools.hook_set import names_in
from msjax.core.tools.model_tools import as_values, tools_of
from msjax.core.tools.recording import Record, record


@dataclass(frozen=True)
class Row:
    """One pair of arrays. Activations with the same values in other shapes agree.

    Attributes:
        kind: "activation", "gradient", "parameter", "parameter_gradient" or "buffer".
        a, b: the names on both sides; None where one has no counterpart.
        shape_a, shape_b: the shapes.
        difference: the largest difference, relative to the largest value (or, if that is small, to what rounding makes of a zero);
            NaN where shapes differ or one side is missing.
        same: whether they agree; False where one side is missing, which is no difference of values.
        layout: how the axes of `a` have to be ordered to be those of `b`, if they differ in that; else "".
        class_a, class_b: the classes of the cells whose outputs they are, or that hold them; None if they are not known.
    """

    kind: str
    a: str | None
    b: str | None
    shape_a: tuple[int, ...] | None
    shape_b: tuple[int, ...] | None
    difference: float
    same: bool
    layout: str = ""
    class_a: str | None = None
    class_b: str | None = None

    @property
    def one_sided(self) -> bool:
        """Whether one side has no counterpart."""
        return self.a is None or self.b is None

    def __str__(self) -> str:
        if self.one_sided:
            return f"{self.kind} {_shown(self.a if self.b is None else self.b)} is only in {'a' if self.b is None else 'b'}"
        names = _shown(self.a) if self.a == self.b else f"{_shown(self.a)} / {_shown(self.b)}"
        if self.layout:
            return f"{self.kind} {names} {list(self.shape_a or ())}: {self.layout}"
        if self.shape_a != self.shape_b:
            return f"{self.kind} {names}: shapes {list(self.shape_a or ())} and {list(self.shape_b or ())}"
        return f"{self.kind} {names} {list(self.shape_a or ())}: {self.difference:.3g} of the largest value"

    def __repr__(self) -> str:
        return f"<{self}>"

    def told(self, first: bool) -> dict[str, Any]:
        """The row as plain data for a page; `first`: whether it is one of the first that differ."""
        shapes = {f"shape_{side}": shape and list(shape) for side, shape in (("a", self.shape_a), ("b", self.shape_b))}
        difference = None if np.isnan(self.difference) else float(self.difference)
        return {**asdict(self), **shapes, "difference": difference, "same": bool(self.same), "first": first}


class Comparison(Viewed, Printed):
    """What `compare` found; prints as a table, also in a notebook, and is true if all agree.

    Attributes:
        rows (list of Row): activations in order of execution, gradients in order of the backward pass, then the others.
        first_forward, first_backward (Row): the first activation, and the first gradient, that differs; None if none does.
        first_state (Row): the first parameter or buffer that differs.
        only_in_a, only_in_b (list of Row): what the other side lacks.
        first_own_error (Row): the first cell of b whose output differs when all before it is as in a, so that errors of earlier cells
            are not in it; None if none does, or if b is a record.
    """

    width = 80

    def __init__(self, rows: list[Row], frameworks: tuple[str, str], first_own_error: Row | None = None):
        self.rows = rows
        self.first_own_error = first_own_error
        self.only_in_a = [row for row in rows if row.b is None]
        self.only_in_b = [row for row in rows if row.a is None]
        self.frameworks = frameworks
        self.first_forward = self._first("activation")
        self.first_backward = self._first("gradient", "parameter_gradient")
        self.first_state = self._first("parameter", "buffer")

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: the rows, and which are the first that differ."""
        firsts = {id(row) for row in (self.first_forward, self.first_backward, self.first_state, self.first_own_error)}
        rows = [row.told(id(row) in firsts) for row in self.rows]
        return {
            "kind": "comparison",
            "title": "Comparison",
            "frameworks": list(self.frameworks),
            "verdict": self.verdict(),
            "rows": rows,
        }

    def _first(self, *kinds):
        return next((row for row in self.rows if row.kind in kinds and not row.same and not row.one_sided), None)

    def __bool__(self) -> bool:
        both = [row for row in self.rows if not row.one_sided]
        return bool(both or not self.rows) and all(row.same for row in both)

    def verdict(self) -> list[str]:
        """The first differences, and what only one side has, in words."""
        firsts = [
            ("forward", self.first_forward),
            ("backward", self.first_backward),
            ("parameters and buffers", self.first_state),
        ]
        told = [f"First difference, {name}: {row}" for name, row in firsts if row is not None]
        if self.first_own_error is not None:
            told.append(f"First cell with an error of its own: {self.first_own_error}")
        apart = [
            f"Only in {side}: {', '.join(dict.fromkeys(_shown(row.a if row.b is None else row.b) for row in rows))}"
            for side, rows in (("a", self.only_in_a), ("b", self.only_in_b))
            if rows
        ]
        both = [row for row in self.rows if not row.one_sided]
        if not told:
            layouts = sum(bool(row.layout) for row in both)
            said = f", {layouts} of them in another layout" if layouts else ""
            agree = f"All {len(both)} arrays agree{said}."
            told = [agree if both or not self.rows else "Nothing has a counterpart on the other side."]
        return told + apart

    def _cells(self):
        for row in self.rows:
            if row.one_sided:
                continue
            shape = " / ".join(str(list(s or ())) for s in dict.fromkeys((row.shape_a, row.shape_b)))
            difference = "" if np.isnan(row.difference) else f"{row.difference:.2g}"
            first = row in (self.first_forward, self.first_backward, self.first_state)
            verdict = "same" if row.same else "FIRST DIFFERENCE" if first else "differs"
            one, classes = row.a == row.b, list(dict.fromkeys(filter(None, (row.class_a, row.class_b))))
            name = _shown(row.a) if one else f"{_shown(row.a)} / {_shown(row.b)}"
            yield row.kind, name, " / ".join(classes), shape, difference, f"{verdict}{f', {row.layout}' if row.layout else ''}"

    def __rich__(self) -> Any:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table, rows = Table(box=box.SIMPLE), list(self._cells())
        # In a narrow terminal, long names are folded, not cut.
        least = min(24, max((len(cells[1]) for cells in rows), default=0))
        for i, name in enumerate(("kind", " / ".join(self.frameworks), "class", "shape", "difference", "")):
            table.add_column(
                name, no_wrap=name in ("shape", "difference", ""), overflow="fold", min_width=least if i == 1 else None
            )
        for cells in rows:
            style = "bold red" if cells[-1].startswith("FIRST") else "red" if cells[-1].startswith("differs") else ""
            table.add_row(*(Text(text, style) for text in cells))
        return Group(*map(Text, self.verdict()), *([] if self else [table]))


def _shown(name):
    return "-" if name is None else name or "(network)"


# Names of the same classes and parameters in PyTorch, flax and haiku.
_CLASSES = {
    "Linear": "Dense", "Sequential": "SequentialCell", "ModuleList": "CellList", "BatchNorm": "BatchNorm2d", "Conv": "Conv2d",
}  # fmt: skip
_PARAMETERS = {
    "weight": ("weight", "gamma", "kernel", "embedding_table", "scale", "w"), "bias": ("bias", "beta", "b", "offset"),
    "running_mean": ("running_mean", "moving_mean", "mean"), "running_var": ("running_var", "moving_variance", "var"),
}  # fmt: skip

# Values that agree so well count as equal, relative to the largest of them.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2, "complex128": 1e-9, "complex64": 1e-4}


def compare(
    a: Any,
    b: Any,
    *inputs: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: dict[str, str] | None = None,
    **kwargs: Any,
) -> Comparison:
    """Compare what two networks compute, and find where they begin to differ.

    Cells, Parameters and buffers are matched by `names`, then by path (``fc1.weight`` also with PyTorch's and flax's names of the last
    part), and then, in order, by class and shape.

    Args:
        a, b: records, paths of their files, or models, which are then run with `inputs`: two networks, or records of one in two modes
            or precisions.
        inputs, kwargs: for models: what they are called with, or one `hooks.Inputs`. By default, those of the record that they are compared with.
        rtol (float, optional): arrays agree if they differ by at most `rtol` times the largest value of `b`'s. By default 1e-9, 1e-4, 1e-2
            or 5e-2 for Float64, Float32, Float16 and BFloat16: of all types that went into what a network computed, the coarsest.
        atol (float, optional): arrays also agree if they differ by at most this much. By default a hundredth of that part of the
            largest value among all arrays of the kind, which is rounding.
        names (dict, optional): {name in a: name in b} of cells, or of Parameters and buffers.

    Returns:
        A `Comparison`, which prints as a table, or as one line if all agree; then it is true. What only one side has is listed apart, and
        is no difference. If b is a model, `first_own_error` is the first of its cells that computes something else from what a's cells
        computed before it.

    Raises:
        TypeError, ValueError: a wrong argument; `names` has a name that isn't there.

    Example:
        >>> from msjax import Tensor, float32, nn, tools
        >>> x = Tensor([[1.0, -2.0]], float32)
        >>> one = nn.SequentialCell(nn.Dense(2, 1, "ones", "zeros"), nn.ReLU())
        >>> other = nn.SequentialCell(nn.Dense(2, 1, "ones", "zeros"), nn.LeakyReLU(0.1))
        >>> found = tools.compare(one, other, x)
        >>> print(found.first_forward)
        activation 1 [1, 1]: 1 of the largest value
        >>> bool(tools.compare(tools.record(one, x), tools.record(one, x, mode="functional")))
        True
    """
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance is not None:
            check_number(tolerance, name, "compare", low=0)
    check_kind(names, names is None or isinstance(names, dict), "be a dict of names", "names", "compare")
    a, b = (Record.read(one) if isinstance(one, (str, os.PathLike)) else one for one in (a, b))
    check_at_hand((inputs, kwargs), "compare")
    call, recorded = call_of(inputs, kwargs), [one for one in (a, b) if isinstance(one, Record)]
    if not any(call) and recorded:
        given = recorded[0].of("input")
        call = (
            tuple(x for name, x in given.items() if name.isdigit()),
            {name: x for name, x in given.items() if not name.isdigit()},
        )
    model = None if isinstance(b, Record) else b
    a, b = _as_record(a, call), _as_record(b, call)
    given = dict(names or {})
    rows = []
    calls = _matched(a, b, "activation", given)
    holders = {n: m for n, m in calls if n is not None and m is not None}
    classes = dict(a.order), dict(b.order)
    for kind in ("activation", "gradient", "parameter", "parameter_gradient", "buffer"):
        in_a, in_b = a.of(kind), b.of(kind)
        if kind == "gradient":
            pairs = [(n, m) for n, m in calls if n in in_a or m in in_b][::-1]
        else:
            pairs = calls if kind == "activation" else _matched(a, b, kind, given, holders)
        # The gradient of a bias before a BatchNorm, say, is a zero that each computes with other rounding.
        tolerance = rtol, _rounding(in_b.values()) if atol is None else atol
        computed = max(map(_precision, (a, b))) if kind in ("activation", "gradient", "parameter_gradient") else 0.0
        for n, m in pairs:
            coarsest = max(computed, _of_type(a, f"{kind}/{n}"), _of_type(b, f"{kind}/{m}"))
            row = _row(kind, n, m, in_a.get(n), in_b.get(m), (*tolerance, coarsest))
            rows.append(replace(row, class_a=_held(n, kind, classes[0]), class_b=_held(m, kind, classes[1])))
    known = {name for kind in ("activation", "parameter", "buffer") for name in a.of(kind)}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"For 'compare', 'names' has {unknown[0]!r}, but the names in a are {', '.join(sorted(known)[:30])}.")
    found = Comparison(rows, (a.framework, b.framework))
    if found.first_forward is not None and model is not None and (framework_of(model) or unhooked(model)):
        tolerance = rtol, 0.0 if atol is None else atol, max(map(_precision, (a, b)))
        found.first_own_error = _first_own_error(model, call, a.of("activation"), calls, tolerance)
    return found


def _first_own_error(model, call, in_a, calls, tolerance):
    """The first cell of a model whose output differs from a's when it is fed with what a's cells have computed; None if none does."""
    other = {m: n for n, m in calls if n is not None and m is not None}
    for m, own in _outputs_when_fed(model, call, {m: in_a[n] for m, n in other.items()}).items():
        if m in other:
            row = _row("activation", other[m], m, in_a[other[m]], own, tolerance)
            if not row.same:
                return row
    return None


def _outputs_when_fed(model: Any, call: Call, values: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """{name of a call, as records have it: output} of a run of a model whose cells get what another network's cells have computed, by `values` of
    the same kind, so that errors of earlier cells are not in their outputs; in order of execution, and none of calls in which jax traces."""
    found, calls, tools = {}, {}, tools_of(model)
    kind = ARRAYS if tools is None else tools.values

    def replaced(name, output):
        count = calls[name] = calls.get(name, -1) + 1
        name = f"{name}#{count}" if count else name
        leaves, treedef = jax.tree.flatten(output, is_leaf=kind.is_leaf)
        for i, leaf in enumerate(leaves):
            value = kind.raw(leaf) if kind.is_value(leaf) else leaf
            key = f"{name}[{i}]" if len(leaves) > 1 else name
            other = values.get(key)
            if not hasattr(value, "dtype") or is_tracer(value):
                continue
            found[key] = np.asarray(value)
            if other is not None and other.size == value.size and (other.shape == value.shape or other.ndim != value.ndim):
                new = jnp.asarray(other).reshape(value.shape).astype(value.dtype)
                leaves[i] = kind.made(new)
        return jax.tree.unflatten(treedef, leaves)

    if tools is not None:
        call = as_values(call, kind)
    else:
        model = hooked(model)
    name_of = names_in(model)
    with register_forward_hook(model, lambda module, args, out: replaced(name_of(module), out), "*", observe=False):
        (model if isinstance(model, nnx.Module) else as_function(model))(*call[0], **call[1])
    return found


def _precision(recorded):
    """The tolerance for the coarsest dtype among a record's activations and parameters."""
    names = [name for name in recorded.arrays if name.partition("/")[0] in ("activation", "parameter")]
    return max((_of_type(recorded, name) for name in names), default=0.0)


def _of_type(recorded, name):
    """The tolerance for an array's own dtype."""
    array = recorded.arrays.get(name)
    return 0.0 if array is None else _TOLERANCE.get(recorded.types.get(name, str(array.dtype)), 0.0)


def _held(name, kind, classes):
    """The class of the cell that an array belongs to: as its output or gradient, or as its parameter."""
    if name is None:
        return None
    if kind in ("activation", "gradient"):
        return classes.get(name.partition("[")[0])
    return classes.get(name.rpartition(".")[0])


def _as_record(value, call):
    if isinstance(value, Record):
        return value
    if callable(value) or unhooked(value) is not None:
        try:
            return record(value, Inputs(*call[0], **call[1]))
        except NothingToDifferentiateError:  # a result of integers, say, is compared all the same
            return record(value, Inputs(*call[0], **call[1]), gradients=False)
    raise TypeError(f"For 'compare', a record, a file or a model is expected, but got {describe(value)}.")


def _matched(a, b, kind, names, holders=None):
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
            holder, _, last = m.rpartition(".")
            if holders and holder in holders:
                pair(n, f"{holders[holder]}.{last}" if holders[holder] else last)
            elif not holders or holder not in holders.values():
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
    rtol, atol, coarsest = tolerance
    if rtol is None:
        rtol = max(*(_TOLERANCE.get(str(v.dtype), 0.0) for v in (a, b)), coarsest)
    if a.shape != b.shape and (axes := _layout(a, b, rtol, atol)) is not None:
        return Row(kind, n, m, a.shape, b.shape, 0.0, True, _WORDS.get(axes, f"axes in the order {axes}"))
    alike = a.shape == b.shape or (kind in ("activation", "gradient") and a.size == b.size)
    if not alike:
        return Row(kind, n, m, a.shape, b.shape, np.nan, False)
    wide = np.complex128 if "c" in a.dtype.kind + b.dtype.kind else np.float64
    x, y = a.astype(wide).ravel(), b.astype(wide).ravel()
    wrong = np.isnan(x) != np.isnan(y)
    gap = np.where(np.isnan(x) | (x == y), 0.0, np.abs(x - y))
    largest, scale = float(gap.max(initial=0.0)), float(np.abs(y[np.isfinite(y)]).max(initial=0.0))
    same = not wrong.any() and (largest <= rtol * scale or largest <= atol)
    if a.shape != b.shape and not same:
        return Row(kind, n, m, a.shape, b.shape, np.nan, False)
    scale = max(scale, atol / rtol if rtol else 0.0)
    return Row(kind, n, m, a.shape, b.shape, np.inf if wrong.any() else largest / scale if scale else largest, same)


# Orders of axes that frameworks use: of dense layers, of convolutions' kernels, and of images.
_LAYOUTS = {
    2: [(1, 0)], 3: [(2, 1, 0), (0, 2, 1)], 4: [(2, 3, 1, 0), (3, 2, 0, 1), (0, 2, 3, 1), (0, 3, 1, 2)],
    5: [(2, 3, 4, 1, 0), (4, 3, 0, 1, 2), (0, 2, 3, 4, 1), (0, 4, 1, 2, 3)],
}  # fmt: skip
_WORDS = {
    (1, 0): "transposed", (2, 3, 1, 0): "OIHW and HWIO", (3, 2, 0, 1): "HWIO and OIHW", (0, 2, 3, 1): "NCHW and NHWC",
    (0, 3, 1, 2): "NHWC and NCHW",
}  # fmt: skip


def _layout(a, b, rtol, atol):
    """The order of `a`'s axes in which it agrees with `b`, which has another shape; None if there is none."""
    if a.ndim != b.ndim:
        return None
    for axes in _LAYOUTS.get(a.ndim, ()):
        x = a.transpose(axes)
        if x.shape == b.shape and _row("", "", "", x, b, (rtol, atol, 0.0)).same:
            return axes
    return None


def _rounding(arrays):
    """What may be rounding of a zero, where other values are as large as those of some arrays."""
    floats = [a for a in arrays if a.size and np.issubdtype(a.dtype, np.inexact)]
    return max((0.01 * _TOLERANCE.get(str(a.dtype), 0.0) * float(np.abs(np.nan_to_num(a)).max()) for a in floats), default=0.0)
