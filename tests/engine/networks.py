"""The same network in each framework: ``first`` (2 to 3), ``body`` with ``inner`` (3 to 3) and a tanh, ``last`` (3 to 1).

``body`` and ``body.inner`` get the hooks. The layer before them has weights, so that what goes into them is on a Cell's tape. All
weights are the same numbers. What there is inside of the body is a `variant`: hooks on values, a gradient of its own, a failure.
This file has Cells and nnx modules, in one another.
"""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops

_WEIGHTS = {
    "first": np.array([[0.5, -0.25, 0.75], [1.0, 0.125, -0.5]], "float32"),
    "inner": np.array([[0.5, 0.25, -0.75], [-0.125, 1.0, 0.5], [0.375, -0.5, 0.25]], "float32"),
    "last": np.array([[1.0], [-0.5], [0.25]], "float32"),
}
_X = np.array([[1.0, -2.0], [0.5, 0.25]], "float32")
# What hooks have noted in this run.
LOG = []


class Failed(Exception):
    """What hooks and networks raise."""


class Variant:
    """What networks are made of now: what is inside of the body, and the type of all floats."""

    inside, dtype = None, "float32"


@contextlib.contextmanager
def variant(inside, dtype):
    before = Variant.inside, Variant.dtype
    Variant.inside, Variant.dtype = inside, dtype
    try:
        yield
    finally:
        Variant.inside, Variant.dtype = before


def weight(name):
    return jnp.asarray(_WEIGHTS[name], Variant.dtype)


def example():
    return jnp.asarray(_X, Variant.dtype)


def shown(value):
    """A hook's argument, with arrays in the place of Tensors."""

    def array(v):
        return np.asarray(v._value if isinstance(v, ms.Tensor) else v)

    return jax.tree.map(array, value, is_leaf=lambda v: isinstance(v, ms.Tensor))


def note_inside(gradient):
    LOG.append(("inside", "", shown(gradient)))


# ---- Cells


def dense(name):
    given = weight(name)
    return nn.Dense(*given.shape, weight_init=ms.Tensor(given.T), has_bias=False, dtype=ms.Tensor(given).dtype)


class CellBody(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = dense("inner")

    def construct(self, x, scale=1.0):
        return self.after(ops.tanh(self.inner(x))) * scale

    def after(self, y):
        """What a variant has inside of the body."""
        return y


class Tapped(CellBody):
    """With ops.HookBackward: twice one that sees the gradient, and between them one that changes it."""

    def __init__(self):
        super().__init__()
        self.taps = [
            ops.HookBackward(note_inside),
            ops.HookBackward(lambda grads: (grads[0] * 3,)),
            ops.HookBackward(note_inside),
        ]

    def after(self, y):
        for tap in self.taps:
            y = tap(y)
        return y


class Inserted(CellBody):
    """With ops.InsertGradientOf, alike."""

    def __init__(self):
        super().__init__()
        self.see = ops.InsertGradientOf(note_inside)
        self.times = ops.InsertGradientOf(lambda grad: grad * 3)

    def after(self, y):
        return self.see(self.times(self.see(y)))


class WithTensorHooks(CellBody):
    """With Tensor.register_hook, alike."""

    def after(self, y):
        for hook in (note_inside, lambda grad: grad * 3, note_inside):
            y = y * 1.0
            y.register_hook(hook)
        return y


class _OwnGradient(nn.Cell):
    def construct(self, x):
        return x * 1.0

    def bprop(self, x, out, dout):
        return (dout * 3,)


class WithBprop(CellBody):
    """With a cell that has a gradient of its own."""

    def __init__(self):
        super().__init__()
        self.own = _OwnGradient()

    def after(self, y):
        return self.own(y)


class Failing(CellBody):
    def after(self, y):
        raise Failed("the body")


CELL_BODIES = {
    None: CellBody,
    "tap": Tapped,
    "insert": Inserted,
    "tensor_hook": WithTensorHooks,
    "bprop": WithBprop,
    "call_fails": Failing,
}


def cell_body():
    return CELL_BODIES[Variant.inside]()


class InCell(nn.Cell):
    """A network of Cells around a body.

    Args:
        body: a Cell, or an nnx module.
        lifted: a function of Tensors that calls the body, if that is no Cell.
    """

    def __init__(self, body, lifted=None):
        super().__init__()
        self.first, self.last = dense("first"), dense("last")
        self.body, self.lifted = body, lifted
        self.scale = ms.Tensor(jnp.ones((), Variant.dtype))

    def construct(self, x):
        call = self.body if self.lifted is None else self.lifted
        return self.last(call(self.first(x), scale=self.scale))


class NnxInCell(InCell):
    """The body is an nnx module."""

    def construct(self, x):
        return self.last(ms.from_jax(self.body)(self.first(x), scale=self.scale))


class NnxListInCell(InCell):
    """The body is an nnx module in flax's containers."""

    def __init__(self, body):
        super().__init__(None)
        self.parts = nnx.List([nnx.Dict(body=nnx.Sequential(body))])

    def construct(self, x):
        return self.last(ms.from_jax(self.parts[0].body)(self.first(x), scale=self.scale))


# ---- modules of jax arrays


def inside_of_arrays(y):
    """What a variant has inside of a body of jax arrays."""
    if Variant.inside == "hook_gradient":
        for hook in (note_inside, lambda grad: grad * 3, note_inside):
            y = hooks.hook_gradient(hook)(y)
    if Variant.inside == "call_fails":
        raise Failed("the body")
    return y


def one():
    return jnp.ones((), Variant.dtype)


def _linear(name):
    given = weight(name)
    return nnx.Linear(
        *given.shape, kernel_init=lambda *_: given, use_bias=False, dtype=given.dtype, param_dtype=given.dtype, rngs=nnx.Rngs(0)
    )


class NnxBody(nnx.Module):
    def __init__(self):
        self.inner = _linear("inner")

    def __call__(self, x, *, scale=1.0):
        return inside_of_arrays(jnp.tanh(self.inner(x))) * scale


def call_inner_cell(cell, x, scale):
    """What a body of jax arrays does whose inner module is a Cell."""
    return inside_of_arrays(jnp.tanh(cell(ms.Tensor(x))._value)) * scale


class NnxBodyOfCell(nnx.Module):
    """The inner module is a Cell."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x, *, scale=1.0):
        return call_inner_cell(self.inner, x, scale)


class InNnx(nnx.Module):
    """A network of nnx modules around a body."""

    def __init__(self, body):
        self.first, self.body, self.last = _linear("first"), body, _linear("last")

    def __call__(self, x):
        return self.last(self.body(self.first(x), scale=one()))


class CellInNnx(InNnx):
    """The body is a Cell."""

    def __call__(self, x):
        return self.last(self.body(ms.Tensor(self.first(x)), scale=ms.Tensor(one()))._value)


class NnxAroundCell(nnx.Module):
    """A module that calls a Cell, which is its body; for a Cell around it."""

    def __init__(self):
        self.body = cell_body()

    def __call__(self, x, *, scale=1.0):
        return self.body(ms.Tensor(x), scale=ms.Tensor(scale))._value


class CellAroundNnx(nn.Cell):
    """A Cell that calls an nnx module, which is its body; for an nnx module around it."""

    def __init__(self):
        super().__init__()
        self.body = NnxBody()

    def construct(self, x, scale=1.0):
        return ms.from_jax(self.body)(x, scale=scale)
