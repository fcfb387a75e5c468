"""Operators that are one line of a table each: a function of jax.numpy and a sentence."""

import sys

import jax.numpy as jnp

from msjax.ops.dispatch import operator
from msjax.ops.promote import array, promote, to_float


def _named(kernel, name, doc, shown):
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__module__ = sys._getframe(2).f_globals["__name__"]
    kernel.__doc__ = doc if shown is None else f"{doc}\n\n    Example:\n        {_example(*shown)}"
    return kernel


def _example(call, printed):
    lines = [">>> import msjax as ms", ">>> from msjax import ops", f">>> print({call})", *printed.split("\n")]
    return "\n        ".join(lines)


def unary(name, fn, doc, shown=None, *, floats=False, int_grad=False, differentiable=True):
    """An elementwise operator of one Tensor, with the parameter `input`.

    Args:
        name: the function's name, also in messages.
        fn: from a jax array to a jax array.
        doc: a sentence on what it computes.
        shown: (call, what it prints), an example for the documentation.
        floats: whether Bools and integers are taken as Float32.
        int_grad, differentiable: see `msjax.autograd.op.Op`.
    """

    def kernel(input):
        return fn(to_float(input) if floats else array(input))

    return operator(1, int_grad=int_grad, differentiable=differentiable)(_named(kernel, name, doc, shown))


def binary(name, fn, doc, shown=None, *, floats=False, yields=False, int_grad=False, differentiable=True):
    """An elementwise operator of two Tensors or numbers, with the parameters `input` and `other`.

    Args:
        yields: whether a 0-d Tensor's dtype yields to that of an n-d one, see `promote`.
        name, fn, doc, shown, floats, int_grad, differentiable: as for `unary`.
    """

    def kernel(input, other):
        x, y = promote(input, other, yields)
        return fn(to_float(x), to_float(y)) if floats else fn(x, y)

    return operator(2, int_grad=int_grad, differentiable=differentiable)(_named(kernel, name, doc, shown))


def comparison(name, fn, doc, shown=None):
    """An operator of two Tensors or numbers that gives Bools."""
    return binary(name, fn, doc, shown, differentiable=False)


def bools(x):
    """The truth values of an array."""
    return jnp.asarray(x) != 0
