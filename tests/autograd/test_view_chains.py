"""Random chains of views, writes and reads against what PyTorch 2.13 has recorded: values, gradients, strides, and what is refused.

Here run so few of them that each type, each kind of view, each write and each view that is written through are there;
``python -m tests.autograd.test_view_chains`` runs all 5,000, by numpy, as compiling 30 programs for each takes most of their time;
with two numbers, those from the first to before the second; with --ways, also compiled, in graph mode, functionalized and under `jax.grad`.
"""

import gzip
import json
import pathlib
import sys
import time
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from tests.autograd.numpy_programs import by_numpy, run_by_numpy
from tests.autograd.view_chains import put, random_case, take

RECORDED = pathlib.Path(__file__).parent / "data" / "view_chains.json.gz"


def recorded():
    return [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()]


def numbers(x):
    """The elements in a list; of complex numbers, their parts."""
    values = x.asnumpy() if isinstance(x, ms.Tensor) else np.asarray(x)
    return (np.stack([values.real, values.imag], -1) if values.dtype.kind == "c" else values).ravel().tolist()


def weights(x):
    """What a Tensor is multiplied with before its elements are added to the loss."""
    return ms.Tensor((np.arange(x.size) % 5 - 1).reshape(x.shape), x.dtype)


def run(case, w, v):
    """(the base and its views, the terms of the loss) after the steps of a case."""
    tensors, losses = [w * 1], []
    for kind, i, *step in case["steps"]:
        if kind == "view":
            tensors.append(take(tensors[i], step[0], ops, "swapaxes"))
        elif kind == "read":
            losses.append((tensors[i] * weights(tensors[i])).sum())
        else:
            write, how = step
            with ms.no_grad() if kind == "quiet" else nullcontext():
                if how == "refused":
                    with pytest.raises(RuntimeError, match="several elements are one"):
                        put(tensors[i], write, v)
                else:
                    put(tensors[i], write, v)
    return tensors, losses + [(x * weights(x)).sum() for x in tensors]


def leaf(values, dtype, floats):
    made = ms.Tensor(values, getattr(ms, dtype))
    return made.requires_grad_() if floats else made


def check(case):
    _, shape, dtype = random_case(case["number"])
    floats = dtype.startswith("float")
    w = leaf(np.arange(1, int(np.prod(shape)) + 1).reshape(shape), dtype, floats)
    v = leaf(np.arange(8), dtype, floats)
    tensors, losses = run(case, w, v)
    assert [numbers(x) for x in tensors] == case["values"]
    for x, strides in zip(tensors, case["strides"]):
        assert [s for s, n in zip(x.stride(), x.shape) if n > 1] == [s for s, n in zip(strides, x.shape) if n > 1]
    if case["grads"] is not None:
        counted = [loss for loss in losses if loss.requires_grad]
        if counted:
            total = counted[0]
            for loss in counted[1:]:
                total = total + loss
            total.backward()
        assert [np.zeros(x.size).tolist() if x.grad is None else numbers(x.grad) for x in (w, v)] == case["grads"]


# ---- compiled and transformed: a chain is a function of two leaves


def _loss_and_tensors(case, w, v):
    tensors, losses = run(case, w, v)
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return total, tuple(tensors)


class _Chain(nn.Cell):
    def __init__(self, case):
        super().__init__()
        self.case = case

    def construct(self, w, v):
        return _loss_and_tensors(self.case, w, v)


def _of_msjax(case, fn, w, v):
    if case["grads"] is None:
        return fn(w, v)[1], None
    (_, tensors), grads = ms.value_and_grad(fn, (0, 1), has_aux=True)(w, v)
    return tensors, grads


def jit(case, w, v):
    return ms.jit(lambda w, v: _of_msjax(case, lambda w, v: _loss_and_tensors(case, w, v), w, v))(ms.Tensor(w), ms.Tensor(v))


def graph(case, w, v):
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return _of_msjax(case, _Chain(case), ms.Tensor(w), ms.Tensor(v))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def _of_jax(case, fn, w, v):
    if case["grads"] is None:
        return by_numpy(fn, w, v)[1], None
    (_, tensors), grads = by_numpy(jax.value_and_grad(fn, (0, 1), has_aux=True), w, v)
    return tensors, grads


def functionalized(case, w, v):
    apply, params, buffers = ms.functionalize(_Chain(case))
    return _of_jax(case, lambda w, v: apply(params, buffers, w, v)[0], w, v)


def objects(case, w, v):
    def fn(w, v):
        loss, tensors = _loss_and_tensors(case, ms.Tensor(w), ms.Tensor(v))
        return loss._value, tuple(x._value for x in tensors)

    return _of_jax(case, fn, w, v)


WAYS = (jit, graph, functionalized, objects)


def differences(case, way):
    """[what differs from what PyTorch has recorded] of a case that runs in a way."""
    _, shape, dtype = random_case(case["number"])
    w = jnp.arange(1, int(np.prod(shape)) + 1).reshape(shape).astype(dtype)
    tensors, grads = way(case, w, jnp.arange(8).astype(dtype))
    found = []
    for number, (got, wanted) in enumerate(zip(tensors, case["values"], strict=True)):
        if numbers(got) != wanted:
            found.append(f"{way.__name__}: Tensor {number}: {numbers(got)} instead of {wanted}")
    for name, got, wanted in zip("wv", grads or (), case["grads"] or ()):
        if numbers(got) != wanted:
            found.append(f"{way.__name__}: gradient of {name}: {numbers(got)} instead of {wanted}")
    return found


# ---- which chains run here


def parts(case):
    """What a chain has in it."""
    names, found = ["the base"], set(random_case(case["number"])[1:])
    for kind, i, *step in case["steps"]:
        if kind == "view":
            names.append(step[0][0])
            found.add(f"view: {step[0][0]}")
        elif kind == "read":
            found.add(f"read: {names[i]}" if i == 0 else "read: a view")
        else:
            found |= {f"{kind}: {step[0][0]}, {step[1]}", f"written through: {names[i]}"}
    return found


def few(cases):
    """So many of the cases that all parts are there, those with most of them first."""
    left, chosen = set().union(*map(parts, cases)), []
    while left:
        chosen.append(max(cases, key=lambda case: len(parts(case) & left)))
        left -= parts(chosen[-1])
    return chosen


@pytest.mark.parametrize("case", few(recorded()[:200]), ids=lambda case: str(case["number"]))
def test_chains_of_views_and_writes_are_those_of_pytorch(case):
    check(case)


@pytest.mark.parametrize("number", [20, 38, 151, 4755])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_compiled_and_transformed_chains_are_those_of_pytorch(number, way):
    with run_by_numpy():
        assert differences(recorded()[number], way) == []


def check_ways(case):
    """`check`, and the other ways to run a case."""
    check(case)
    assert [found for way in WAYS for found in differences(case, way)] == []


if __name__ == "__main__":
    of = check_ways if "--ways" in sys.argv else check
    first, last = map(int, [arg for arg in sys.argv[1:] if arg != "--ways"] or (0, 5000))
    cases, wrong = recorded()[first:last], []
    with run_by_numpy():
        for done, case in enumerate(cases, 1):
            try:
                of(case)
            except Exception as error:
                wrong.append(case["number"])
                print(case["number"], type(error).__name__, str(error)[:300], flush=True)
            if done % 100 == 0:
                print(f"{done} cases, {len(wrong)} differ, {time.process_time():.0f} s of the processor", flush=True)
    print(f"{len(wrong)} of {len(cases)} cases differ")
    sys.exit(bool(wrong))
