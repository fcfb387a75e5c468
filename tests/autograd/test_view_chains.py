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

import numpy as np
import pytest

import msjax as ms
from tests.autograd.numpy_programs import run_by_numpy
from tests.autograd.view_chain_ways import WAYS, differences, numbers, run
from tests.autograd.view_chains import random_case

RECORDED = pathlib.Path(__file__).parent / "data" / "view_chains.json.gz"


def recorded():
    return [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()]


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


@pytest.mark.parametrize("number", [20, 38, 151])
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
