"""Runs cases in msjax and compares with what was recorded."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import msjax as ms
from msjax import mint, nn, ops
from msjax.common.tensor import wrap
from tests.kernels import decided, records
from tests.kernels.cases import DRAWS, Case, weights

# By the widest dtype that a case computes in; float64 is recorded in 16 bits.
TOLERANCES = {"float64": 1e-4, "float32": 4e-4, "float16": 1.5e-2, "bfloat16": 1e-1}


def loaded(cell: Any, *arrays: Any) -> Any:
    """The cell, with its Parameters set in their order."""
    for parameter, array in zip(cell.get_parameters(), arrays, strict=True):
        parameter.set_data(array)
    return cell


NAMES = {"ms": ms, "ops": ops, "nn": nn, "mint": mint, "loaded": loaded}


def flat(value: Any) -> list[Any]:
    """The Tensors among the results."""
    if isinstance(value, ms.Tensor):
        return [value]
    return [t for v in value for t in flat(v)] if isinstance(value, (tuple, list)) else []


def evaluate(case: Case) -> list[list[np.ndarray]]:
    """Outputs, gradients and second derivatives of a case, in its way."""
    tensors = {n: ms.Tensor(a, getattr(ms, case.dtypes[n] + "_" * (case.dtypes[n] == "bool"))) for n, a in case.arrays.items()}
    code = compile(case.row.call, "row", "eval")
    names = case.differentiated

    def call(values):
        return flat(eval(code, {**NAMES, **case.settings, **tensors, **values}))

    found = (_pynative if case.way == "pynative" else _traced)(case, call, tensors, names)
    return [[np.asarray(a, np.float64) for a in part] for part in found]


def _pynative(case, call, tensors, names):
    inputs, at = [tensors[n] for n in names], tuple(range(len(names)))
    outs = call({})

    def gradients(*values):
        if not any_float:
            return [ops.zeros_like(v) for v in values]
        return _tupled(ms.grad(lambda *v: _total(call(dict(zip(names, v)))), at)(*values))

    any_float = bool(inputs) and any(o.is_floating_point() for o in outs)
    found = [outs, gradients(*inputs), []]
    if case.second and any_float:
        found[2] = _tupled(ms.grad(lambda *v: _total(gradients(*v)), at)(*inputs))
    elif case.second:
        found[2] = gradients(*inputs)
    return [[t.astype(ms.float64).asnumpy() for t in part] for part in found]


def _total(outs):
    parts = [(o * ms.Tensor(weights(o.shape, i)).astype(o.dtype)).sum() for i, o in enumerate(outs) if o.is_floating_point()]
    return sum(parts[1:], parts[0])


def _tupled(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _traced(case, call, tensors, names):
    """Under jax's own transformations, in one program; with way "vmap" for two equal examples."""
    given = [n for n in case.arrays if not case.row.operands[n].startswith("const:")]
    places = [given.index(n) for n in names]

    def outputs(arrays):
        return [t._value for t in call({n: wrap(a) for n, a in zip(given, arrays)})]

    def pulled(function, arrays):
        """The results of a function and the gradients of those that are floats."""

        def some(inputs):
            full = list(arrays)
            for place, value in zip(places, inputs):
                full[place] = value
            return function(full)

        out, pull = jax.vjp(some, [arrays[p] for p in places])
        cotangents = [
            jnp.asarray(weights(o.shape, i), o.dtype)
            if jnp.issubdtype(o.dtype, jnp.floating)
            else np.zeros(o.shape, jax.dtypes.float0)
            for i, o in enumerate(out)
        ]
        return out, pull(cotangents)[0]

    def run(*arrays):
        out, grads = pulled(outputs, arrays)
        second = pulled(lambda values: pulled(outputs, values)[1], arrays)[1] if case.second else []
        return out, grads, second

    arrays = [tensors[n]._value for n in given]
    mapped = case.way == "vmap" and bool(given)
    # The draws of a variant share their program, unless constants of theirs are in it.
    key = case.row.key, case.number // DRAWS
    program = _PROGRAMS.get(key)
    if program is None:
        program = jax.jit(jax.vmap(run) if mapped else run)
        _PROGRAMS.clear()
        if len(given) == len(case.arrays):
            _PROGRAMS[key] = program
    found = program(*[jnp.stack([a, a]) if mapped else a for a in arrays])
    return [[a[1] if mapped else a for a in part] for part in found]


_PROGRAMS: dict[tuple[str, int], Any] = {}


def compare(case: Case, record: tuple[int, int, np.ndarray]) -> tuple[str, str]:
    """(verdict, detail) of a case.

    Verdicts: "same"; "denormals", the same with zeros for denormal numbers; "decided", different for a reason of `decided.RULES`;
    "differs"; "raises"; "takes" what the others refuse; "left out" where nothing is recorded; "refused" where all refuse.
    """
    if record[0] == records.NOTHING:
        return "left out", ""
    verdict, detail = _compared(case, record)
    if verdict != "differs":
        return verdict, detail
    flushed = case.flushed
    if any(not np.array_equal(flushed[n], a, equal_nan=True) for n, a in case.arrays.items()):
        zeros = dataclasses.replace(case, arrays=flushed)
        verdict, detail = _compared(zeros, record)
        if verdict == "same":
            return "denormals", ""
    return verdict, detail


def _compared(case, record):
    """(verdict, detail). What a rule explains in one part says nothing about the others."""
    state, shapes, codes = record
    try:
        found = evaluate(case)
    except Exception as error:
        if state == records.REFUSED:
            return "refused", ""
        return "raises", f"{type(error).__name__}: {error}"
    if state == records.REFUSED:
        return "takes", "what both others refuse"
    if records.digest([a.shape for a in found[0]]) != shapes:
        return "differs", f"shapes of the results: {[a.shape for a in found[0]]}"
    tolerance = TOLERANCES[min((d for d in case.dtypes.values() if "float" in d), key=_width, default="float64")] * case.row.loose
    elementwise = any(kind.partition("-")[0] in ("edge", "any") for kind in case.row.operands.values())
    at, explained = 0, None
    for what, part in zip(("result", "gradient", "second derivative"), found):
        for i, array in enumerate(part):
            own = records.summary(array)
            code, at = codes[at : at + own.size], at + own.size
            if code.size != own.size:
                return "differs", f"the number of elements of {what} {i}: {own.size}"
            exact = elementwise and array.shape == found[0][0].shape
            wrong = _wrong(own, code, tolerance, array, exact, case.row, what)
            if wrong.any():
                want = np.where(code == records.LEFT_OUT, np.nan, records.decode(code))
                why = decided.reason(case, what, own, want, wrong)
                if why is not None:
                    explained = why
                    continue
                return (
                    "differs",
                    f"{what} {i}: {own.tolist()}, recorded {want.tolist()}, wrong at {np.flatnonzero(wrong).tolist()}",
                )
    if at != codes.size:
        return "differs", "fewer results than recorded"
    return ("same", "") if explained is None else ("decided", explained)


def _width(dtype):
    return {"bfloat16": 0, "float16": 1, "float32": 2, "float64": 3}[dtype]


def _wrong(own, code, tolerance, array, exact, row, what):
    """Which elements of a summary differ from the record. `exact` ones are compared with their own size, others with the largest."""
    want = records.decode(code)
    with np.errstate(all="ignore"):
        own = records.decode(records.encode(own))
        finite = np.abs(array[np.isfinite(array)])
        # Where elements are mixed, each has the rounding of the largest.
        scale = 1e-30 if exact else 0.05 * tolerance * max(finite.max(initial=0.0), 1e-2)
        error = np.full(own.shape, tolerance * np.abs(want) + scale + row.absolute)
        if array.size > records.SAMPLES:
            error[-1] += tolerance * finite.sum()
        near = np.abs(own - want) <= error
    # At a pole, second derivatives are infinite or NaN by the order of the steps; and a number instead of NaN is no loss.
    better = ~np.isfinite(want) & (np.isnan(want) | np.isnan(own)) & (what == "second derivative")
    better |= np.isnan(want) & (what == "gradient") & row.overflows
    return ~((own == want) | near | (np.isnan(own) & np.isnan(want)) | (code == records.LEFT_OUT) | better)
