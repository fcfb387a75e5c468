"""Every operator, layer and loss, forward and gradient, compiled for a target: many of them in one program."""

import dataclasses
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import msjax as ms
from msjax import mint, nn
from msjax.common.tensor import wrap
from tests.expected.source import texts_of
from tests.kernels.against_records import NAMES, flat
from tests.kernels.cases import DRAWS, VARIANTS, make
from tests.nn.optim.test_recorded_optimizers import OPTIMIZERS, START

BATCH = 48
_EIG = {f"ops.{name}(x) [x: pos, y: normal]" for name in ("eig", "eigvals")}
_FACTORS = {
    "ops.inverse(x + 6 * ops.eye(x.shape[-1], x.shape[-1], x.dtype)) [x: prob]",
    "ops.matrix_solve(x + 6 * ops.eye(3, 3, x.dtype), y) [x: prob, y: normal]",
    "ops.log_matrix_determinant(x) [x: pos, y: normal]",
}
# What can't be compiled, by target and dtype, and what the error says: docs/accelerators.md has the table.
NOT_THERE = {
    ("v5e", "float32"): (_EIG, r"NotImplementedError: ops\.\w+ has no program for TPUs\."),
    ("v5e", "float64"): (_EIG, r"NotImplementedError: ops\.\w+ has no program for TPUs\."),
    ("v5e", "bfloat16"): (
        _FACTORS,
        r"NotImplementedError: ops\.\w+ has no program for matrices of BFloat16: cast them to float32",
    ),
    # jax asks the GPU's own library for its version, so that this needs a GPU.
    ("h100", "float32"): (_EIG, "RuntimeError: .*cusolverGetVersion"),
    ("h100", "float64"): (_EIG, "RuntimeError: .*cusolverGetVersion"),
}


@dataclasses.dataclass
class Traced:
    """A row's outputs and gradients as a function of arrays, traced."""

    name: str
    jaxpr: object
    shapes: list

    def __call__(self, *arrays):
        return jax.core.eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *arrays)


class _Cast:
    """The layers of a module, which compute in a dtype."""

    def __init__(self, layers, dtype):
        self.layers, self.dtype = layers, dtype

    def __getattr__(self, name):
        layer = getattr(self.layers, name)
        if not (isinstance(layer, type) and issubclass(layer, nn.Cell)):
            return layer
        return lambda *args, **options: layer(*args, **options).to_float(self.dtype)


class _CastMint(_Cast):
    @property
    def nn(self):
        return _Cast(self.layers.nn, self.dtype)


def _names(dtype):
    if dtype != "bfloat16":
        return NAMES
    return {**NAMES, "nn": _Cast(nn, ms.bfloat16), "mint": _CastMint(mint, ms.bfloat16)}


def traced(row, dtype):
    """The Traced of a row at a dtype: of its first variant that has elements and can be traced. Raises what tracing raises."""
    row = dataclasses.replace(row, dtypes=(dtype,))
    cases = sorted((make(row, i * DRAWS) for i in range(VARIANTS)), key=lambda c: not all(a.size for a in c.arrays.values()))
    for case in cases:
        try:
            return _traced(row, case, dtype, True)
        except NotImplementedError:  # what has no derivative
            return _traced(row, case, dtype, False)
        except (TypeError, ValueError) as error:  # of some settings
            refused = error
    raise refused


def _traced(row, case, dtype, differentiated):
    tensors = {n: ms.Tensor(a, getattr(ms, case.dtypes[n] + "_" * (case.dtypes[n] == "bool"))) for n, a in case.arrays.items()}
    code = compile(row.call, "row", "eval")
    given = [n for n in tensors if not row.operands[n].startswith("const:")]
    places = [given.index(n) for n in case.differentiated]

    def outputs(arrays):
        return [
            t._value
            for t in flat(eval(code, {**_names(dtype), **case.settings, **tensors, **dict(zip(given, map(wrap, arrays)))}))
        ]

    def run(*arrays):
        def some(inputs):
            full = list(arrays)
            for place, value in zip(places, inputs):
                full[place] = value
            return outputs(full)

        if not differentiated:
            return outputs(arrays)
        out, pull = jax.vjp(some, [arrays[p] for p in places])
        ones = [jnp.ones_like(o) if jnp.issubdtype(o.dtype, jnp.inexact) else np.zeros(o.shape, jax.dtypes.float0) for o in out]
        return out, pull(ones)[0]

    shapes = [jax.ShapeDtypeStruct(tensors[n].shape, tensors[n]._value.dtype) for n in given]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Traced(row.text, jax.make_jaxpr(run)(*shapes), shapes)
    finally:
        ms.set_seed(1)  # a value of this trace is in the random operators' state


def optimizer_steps(dtype):
    """A step of each optimizer, traced."""
    kind, made = getattr(ms, dtype), []
    for text, make_one in zip(texts_of(OPTIMIZERS), OPTIMIZERS):
        p = {name: ms.Parameter(ms.Tensor(value, kind), name=name) for name, value in START.items()}
        optimizer = make_one(p, list(p.values()))
        apply, params, buffers = ms.functionalize(optimizer)
        arrays, tree = jax.tree.flatten((params, buffers, tuple(q._value for q in optimizer.parameters)))
        shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]

        def run(*arrays, apply=apply, tree=tree):
            return jax.tree.leaves(apply(*jax.tree.unflatten(tree, arrays)))

        made.append(Traced(text, jax.make_jaxpr(run)(*shapes), shapes))
    return made


def all_traced(rows, dtype):
    """(the different programs of the rows, {row: the error that tracing raised})."""
    found, refused = {}, {}
    for row in rows:
        try:
            made = traced(row, dtype)
        except Exception as error:
            refused[row.text] = f"{type(error).__name__}: {error}"
            continue
        found.setdefault((str(made.jaxpr), tuple(map(str, made.shapes))), made)
    return list(found.values()), refused


def together(programs):
    """One function of the arguments of all."""

    def run(*groups):
        return [program(*arrays) for program, arrays in zip(programs, groups)]

    return run


def failing(target, programs, batch=BATCH):
    """{name: error} of those that can't be compiled for a target, found by halving the batches that fail."""
    failed = {}

    def check(some):
        try:
            target.compile(together(some), *[target.placed(p.shapes) for p in some])
        except Exception as error:
            if len(some) == 1:
                failed[some[0].name] = f"{type(error).__name__}: {error}"
                return
            check(some[: len(some) // 2])
            check(some[len(some) // 2 :])

    for i in range(0, len(programs), batch):
        check(programs[i : i + batch])
    return failed


def unexpected(target, dtype, failed, tried):
    """Lines on what fails that should not, does not fail that should, or fails with another error."""
    # What an unknown device lacks is only listed, if it is said so.
    names, text = (set(failed), "NotImplementedError") if target == "here" else NOT_THERE.get((target, dtype), ((), ""))
    lines = [
        f"{name}: {error.splitlines()[0]}" for name, error in failed.items() if not (name in names and re.match(text, error))
    ]
    return lines + [f"{name}: is compiled now" for name in names if name in tried and name not in failed]
