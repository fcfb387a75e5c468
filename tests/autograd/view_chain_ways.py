"""The ways to run a chain of views and writes: each returns (values of all Tensors, gradients of the two leaves or None).

In PyNative mode, the Tensors are looked at one by one (`test_view_chains.check`); here a chain is a function of two leaves, which is compiled or
transformed.
"""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from tests.autograd.numpy_programs import by_numpy
from tests.autograd.view_chains import put, random_case, take


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


def numbers(x):
    """The elements in a list; of complex numbers, their parts."""
    values = x.asnumpy() if isinstance(x, ms.Tensor) else np.asarray(x)
    return (np.stack([values.real, values.imag], -1) if values.dtype.kind == "c" else values).ravel().tolist()
