"""Normalization functions, by numbers of the real MindSpore."""

import pytest

from msjax import ops
from tests.expected.recorded import cases, check, with_gradients


def inputs(draw):
    return {"x": draw.F(4, 3, 5, 6), "x2": draw.F(4, 3), "x1": draw.F(4, 3, 5), "x5": draw.F(2, 3, 4, 2, 2)}


CALLS = [
    lambda x: ops.lrn(x, 3, 2.0, 0.5, 0.75),
    lambda x: with_gradients(lambda x: ops.lrn(x, 3, 2.0, 0.5, 0.75), x),
    lambda x: ops.batch_norm(x, ops.zeros(3), ops.ones(3), ops.ones(3), ops.zeros(3)),
    lambda x: ops.batch_norm(x, ops.zeros(3), ops.ones(3), ops.ones(3), ops.zeros(3), True),
    lambda x2: ops.batch_norm(x2, ops.zeros(3), ops.ones(3), ops.ones(3), ops.zeros(3), True),
    (lambda x: ops.batch_norm(x, ops.zeros(3), ops.ones(3), ops.ones(3), ops.zeros(3), True, 2.0), ValueError),
    (lambda x: ops.batch_norm(x, None, None, ops.ones(3), ops.zeros(3), True), TypeError),
    (lambda x: ops.layer_norm(x, (5,)), ValueError),
    lambda x: ops.group_norm(x, 3),
    lambda x: ops.group_norm(x, 3, ops.ones(3), ops.zeros(3)),
    (lambda x: ops.group_norm(x, 2), ValueError),
    lambda x2: ops.group_norm(x2, 3),
    lambda x: with_gradients(lambda x: ops.group_norm(x, 3), x),
]


@pytest.mark.parametrize("case", cases("normalization", inputs, CALLS))
def test_as_recorded(case):
    check(case)
