"""Elementwise operators."""

import numpy as np
import pytest

from msjax import ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
Y = np.array([[1.5, 0.5, -2.5], [0.75, 1.25, 2.0]], np.float32)
P = np.abs(X) + 0.5

CASES = [
    Case("add", ops.add, (X, Y), np.add),
    Case("add_broadcast", ops.add, (X, Y[0]), np.add),
    Case("sub", ops.sub, (X, Y), np.subtract),
    Case("mul", ops.mul, (X, Y), np.multiply),
    Case("div", ops.div, (X, Y), np.divide),
    Case("pow", ops.pow, (P, Y), np.power),
    Case("pow_int", lambda x: ops.pow(x, 3), (X,), lambda x: x**3),
    Case("maximum", ops.maximum, (X, Y), np.maximum),
    Case("minimum", ops.minimum, (X, Y), np.minimum),
    Case("exp", ops.exp, (X,), np.exp),
    Case("log", ops.log, (P,), np.log),
    Case("sqrt", ops.sqrt, (P,), np.sqrt),
    Case("sin", ops.sin, (X,), np.sin),
    Case("cos", ops.cos, (X,), np.cos),
    Case("tanh", ops.tanh, (X,), np.tanh),
    Case("clamp", lambda x: ops.clamp(x, -1.0, 1.0), (X,), lambda x: np.clip(x, -1, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case):
    check_gradient(case)
