"""Calls whose results are those of the real MindSpore, and the arrays that they give.

A table lists calls: functions whose parameters name the inputs that they take. What comes out is in
``tests/data/recorded/TABLE.npz``, under the call's own text, so that a call that is changed has no record; or it stands beside the
call, ``(call, want)``: a number, the first line of a text, or an exception's class.

MindSpore gave one number for each array: its sum weighted by cos(1), cos(2), ..., in six digits. The arrays are msjax's, of the commit
that wrote the files: their weighted sums are MindSpore's to 5e-6 of the sum of the absolute terms.
"""

import functools
import inspect
import pathlib

import numpy as np
import pytest

import msjax as ms
from tests.expected.arrays import assert_close
from tests.expected.source import text_of, texts_of

DATA = pathlib.Path(__file__).parents[1] / "data" / "recorded"
RTOL, ATOL = 2e-5, 2e-6


class Draw:
    """Tensors of random numbers, the same ones in each run: F of normal, P of uniform, I of integer numbers."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def F(self, *shape):
        return ms.Tensor(self.rng.normal(size=shape).astype(np.float32))

    def P(self, *shape):
        return ms.Tensor(self.rng.uniform(0.1, 0.9, size=shape).astype(np.float32))

    def I(self, high, *shape):  # noqa: E743
        return ms.Tensor(self.rng.integers(0, high, size=shape).astype(np.int32))


def with_gradients(function, *inputs):
    """The result, and the gradients of its sum weighted by cos(1), cos(2), ...."""

    def total(*tensors):
        out = function(*tensors)
        out = out[0] if isinstance(out, (tuple, list)) else out
        weights = np.cos(np.arange(out.size) + 1.0).reshape(out.shape).astype(np.float32)
        return (out * ms.Tensor(weights)).sum() if out.ndim else out

    return [function(*inputs), ms.grad(total, tuple(range(len(inputs))))(*inputs)]


@functools.cache
def arrays(table):
    """{call: {place: array}} of a file of records; the place is where in the result the array stands, such as "[1][0]"."""
    found = {}
    with np.load(DATA / f"{table}.npz") as file:
        for name in file:
            text, _, place = name.partition(" -> ")
            found.setdefault(text, {})[place] = file[name]
    return found


def cases(table, inputs, calls):
    """Parameters (case,) for a test: what `check` takes.

    Args:
        table: the file of arrays, without its suffix.
        inputs: a function of a `Draw` that makes the inputs, {name: Tensor}.
        calls: functions, or pairs of a function and what comes of it.
    """
    rows = [row if isinstance(row, tuple) else (row, None) for row in calls]
    texts = texts_of(call for call, _ in rows)
    return [pytest.param((table, inputs, call, want), id=text) for (call, want), text in zip(rows, texts)]


def result_of(inputs, call):
    """What a call gives; its inputs are drawn anew, and what it draws itself begins anew, too."""
    known, draw = inputs(Draw()), Draw()
    return call(*(known[name] if name in known else getattr(draw, name) for name in inspect.signature(call).parameters))


def places(value, place=""):
    """{place: array} of the Tensors in tuples and lists."""
    if isinstance(value, (tuple, list)):
        return {k: v for i, item in enumerate(value) for k, v in places(item, f"{place}[{i}]").items()}
    return {place: value.asnumpy()}


def check(case):
    """The call gives what it gave in the real MindSpore."""
    table, inputs, call, want = case
    if isinstance(want, type):
        with pytest.raises(want) as raised:
            result_of(inputs, call)
        # msjax raises classes of the same name that say where.
        assert type(raised.value).__name__ == want.__name__, raised.value
        return
    got = result_of(inputs, call)
    if isinstance(want, str):
        assert str(got).split("\n")[0] == want
        return
    records = {"": np.float32(want)} if want is not None else arrays(table)[text_of(call)]
    found = places(got)
    assert list(found) == list(records)
    for place, array in found.items():
        assert_close(array, records[place], RTOL, ATOL, name=f"result{place}")
