"""Pooling functions, by numbers of the real MindSpore."""

import pytest

from msjax import ops
from tests.expected.recorded import cases, check, with_gradients


def inputs(draw):
    return {"x": draw.F(2, 3, 7, 8), "x1": draw.F(2, 3, 9), "x3": draw.F(1, 2, 5, 6, 7)}


CALLS = [
    lambda x1: ops.adaptive_avg_pool1d(x1, 3),
    (lambda x1: ops.adaptive_avg_pool1d(x1, 4), ValueError),
    lambda x1: ops.adaptive_max_pool1d(x1, 3),
    (lambda x1: ops.adaptive_max_pool1d(x1, 4), ValueError),
    lambda x3: ops.adaptive_avg_pool3d(x3, 3),
    lambda x3: ops.adaptive_max_pool3d(x3, 3, True),
    lambda x: ops.adaptive_max_pool2d(x, 3, True),
    lambda x1: ops.avg_pool1d(x1, 3, 2),
    lambda x1: ops.avg_pool1d(x1, 3, 2, 1, True),
    (lambda x1: ops.avg_pool1d(x1[0], 3, 2), ValueError),
    (lambda x: ops.avg_pool2d(x, 3, 2, (1, 0)), ValueError),
    lambda x: ops.avg_pool2d(x, 3, 2, (1, 0, 1, 1)),
    lambda x: ops.avg_pool2d(x, (3, 2), 2, 1, True, False, 2),
    (lambda x: ops.avg_pool2d(x[0], 2), ValueError),
    lambda x3: ops.avg_pool3d(x3, 2, 2, 1),
    lambda x3: ops.avg_pool3d(x3, 2, 2, (1, 1, 0, 0, 1, 1)),
    lambda x: ops.max_pool2d(x, 2),
    lambda x: ops.max_pool2d(x, 3, return_indices=True),
    lambda x: ops.max_pool2d(x, (3, 2), 2, 1, 2, True, True),
    (lambda x: ops.max_pool2d(x[0], 2), ValueError),
    (lambda x: ops.max_pool2d(x, 2, padding=2), ValueError),
    lambda x3: ops.max_pool3d(x3, 2),
    lambda x3: ops.max_pool3d(x3, 2, return_indices=True),
    lambda x3: ops.max_pool3d(x3, 3, 2, 1, 1, True, True),
    lambda x1: ops.lp_pool1d(x1, 2, 3),
    lambda x1: ops.lp_pool1d(x1, 2, 3, 2, True),
    lambda x1: ops.lp_pool1d(x1[0], 2, 3),
    lambda x: ops.lp_pool2d(x, 2, 3, 2, True),
    lambda x: ops.lp_pool2d(x, 2, (3, 2)),
    (lambda x: ops.lp_pool2d(x[0], 2, (3, 2)), ValueError),
    lambda x: ops.max_unpool2d(*ops.max_pool2d(x, 2, return_indices=True), 2),
    lambda x: ops.max_unpool2d(*ops.max_pool2d(x, 2, return_indices=True), 2, output_size=(2, 3, 7, 8)),
    lambda x: ops.max_unpool2d(*ops.max_pool2d(x, 2, return_indices=True), 2, output_size=(7, 8)),
    (lambda x: ops.max_unpool2d(*ops.max_pool2d(x, 2, return_indices=True), 2, output_size=(70, 8)), ValueError),
    lambda x: with_gradients(lambda x: ops.max_pool2d(x, 3, 2, 1), x),
    lambda x: with_gradients(lambda x: ops.max_pool2d(x, 3, 2, 1, 2, True), x),
    lambda x3: with_gradients(lambda x: ops.max_pool3d(x, 3, 2, 1), x3),
    lambda x: with_gradients(lambda x: ops.avg_pool2d(x, 3, 2, 1), x),
    lambda x: with_gradients(lambda x: ops.lp_pool2d(ops.abs(x), 2, 3), x),
    lambda x, P: ops.fractional_max_pool2d(x, 2, output_size=(3, 4), return_indices=True, _random_samples=P(2, 3, 2)),
    lambda x3, P: ops.fractional_max_pool3d(x3, 2, output_size=(3, 4, 2), return_indices=True, _random_samples=P(1, 2, 3)),
]


@pytest.mark.parametrize("case", cases("pooling", inputs, CALLS))
def test_as_recorded(case):
    check(case)
