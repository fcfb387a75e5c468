"""Numbers recorded from MindSpore: expressions and their results.

A table holds pairs of an expression and a text. The text is the name of an exception, what the result prints, or, for
Tensors, ``(shape)Dtype:sum``, where the sum is weighted by cos(1), cos(2), ..., so that no error cancels out.
"""

import re

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops

_SUM = re.compile(r":(-?(?:\d[\d.e+-]*|inf|nan))")


def _weights(size):
    return np.cos(np.arange(size) + 1.0)


def _gradients(function, *inputs):
    """The result, and the gradients of its weighted sum."""

    def total(*tensors):
        out = function(*tensors)
        out = out[0] if isinstance(out, (tuple, list)) else out
        return (out * ms.Tensor(_weights(out.size).reshape(out.shape).astype(np.float32))).sum() if out.ndim else out

    return [function(*inputs), ms.grad(total, tuple(range(len(inputs))))(*inputs)]


class _Names(dict):
    """What expressions see: F, P and I make Tensors of normal, uniform and integer numbers."""

    def __init__(self):
        super().__init__(ms=ms, nn=nn, ops=ops, np=np, Tensor=ms.Tensor, Parameter=ms.Parameter, G=_gradients)
        self.seed()
        self["F"] = lambda *shape: ms.Tensor(self.rng.normal(size=shape).astype(np.float32))
        self["P"] = lambda *shape: ms.Tensor(self.rng.uniform(0.1, 0.9, size=shape).astype(np.float32))
        self["I"] = lambda high, *shape: ms.Tensor(self.rng.integers(0, high, size=shape).astype(np.int32))

    def seed(self):
        self.rng = np.random.default_rng(0)


def _text(value):
    if isinstance(value, ms.Tensor) and not isinstance(value, ms.Parameter):
        array = value.asnumpy()
        total = float((array.astype(np.float64).ravel() * _weights(array.size)).sum())
        return f"{array.shape}{value.dtype}:{total:.6g}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return str(value).split("\n")[0]


def check(setup, expression, want):
    """The expression gives what it gave in the real MindSpore."""
    names = _Names()
    exec(setup, names)
    names.seed()
    if want.endswith("Error"):
        with pytest.raises(Exception) as raised:
            eval(expression, names)
        assert type(raised.value).__name__ == want, raised.value
        return
    got = _text(eval(expression, names))
    assert _SUM.sub("", got) == _SUM.sub("", want)
    sums = [[float(s) for s in _SUM.findall(text)] for text in (got, want)]
    np.testing.assert_allclose(*sums, rtol=2e-4, atol=2e-4)
