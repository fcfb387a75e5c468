"""Checks that every operator gets: values against numpy, gradients against jax and finite differences."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import msjax as ms


@dataclass(frozen=True)
class Case:
    """One use of an operator.

    Attributes:
        name: what pytest shows.
        call: a function of Tensors (one for each of `inputs`) that uses the operator.
        inputs: numpy arrays.
        want: a function of the numpy arrays that gives the expected value, or None where only the gradient is checked.
        wrt: positions of the inputs to differentiate with respect to; by default all floating ones.
        smooth: False where finite differences make no sense (kinks, jumps, random numbers).
        rtol: relative tolerance of the value.
        traceable: False where shapes depend on values, or random keys are drawn: then the gradient isn't compiled as a whole.
    """

    name: str
    call: object
    inputs: tuple
    want: object = None
    wrt: tuple | None = None
    smooth: bool = True
    rtol: float = 1e-5
    traceable: bool = True

    def __str__(self):
        return self.name


def positions(case):
    if case.wrt is not None:
        return case.wrt
    return tuple(i for i, a in enumerate(case.inputs) if np.asarray(a).dtype.kind == "f")


def leaves(out):
    return [t for t in jax.tree.leaves(out, is_leaf=lambda v: isinstance(v, ms.Tensor)) if isinstance(t, ms.Tensor)]


def floating(out):
    return tuple(t for t in leaves(out) if t.is_floating_point())


def weights(out):
    """A different weight for each element of each output, so that no error cancels out."""
    return [np.cos(np.arange(t.size) + 0.7).reshape(t.shape) for t in out]


def check_value(case):
    """The value of the operator is what numpy says."""
    got = case.call(*map(ms.Tensor, case.inputs))
    want = case.want(*case.inputs)
    if not isinstance(want, (tuple, list)):
        got, want = [got], [want]
    assert len(got) == len(want)
    for g, w in zip(got, want):
        g = g.asnumpy() if isinstance(g, ms.Tensor) else np.asarray(g)
        assert g.shape == np.asarray(w).shape
        np.testing.assert_allclose(g, w, rtol=case.rtol, atol=1e-6)


def check_gradient(case):
    """The tape's gradient is jax's of the same function and, where smooth, that of finite differences."""
    wrt = positions(case)

    def call(*tensors):
        """The floating results for the inputs at `wrt`."""
        full = [ms.Tensor(a) for a in case.inputs]
        for i, t in zip(wrt, tensors):
            full[i] = t
        return floating(case.call(*full))

    out, pull = ms.vjp(call, *(ms.Tensor(case.inputs[i]) for i in wrt))
    grads = pull(*(ms.Tensor(w, t.dtype) for t, w in zip(out, weights(out))))
    grads = grads if isinstance(grads, tuple) else (grads,)

    def pure(*values):
        out = call(*(ms.Tensor(v) if not isinstance(v, jax.core.Tracer) else _wrap(v) for v in values))
        return sum((jnp.asarray(t).astype("float64") * w).sum() for t, w in zip(out, weights(out)))

    own = [jnp.asarray(case.inputs[i]) for i in wrt]
    gradient = jax.grad(pure, argnums=tuple(range(len(wrt))))
    theirs = (jax.jit(gradient) if case.traceable else gradient)(*own)
    for g, t in zip(grads, theirs, strict=True):
        np.testing.assert_allclose(g.asnumpy(), np.asarray(t), rtol=1e-4, atol=1e-5)
    if case.smooth:
        _check_differences(case, pure, wrt, grads)


def _wrap(value):
    from msjax.common.tensor import wrap

    return wrap(value)


def _check_differences(case, pure, wrt, grads):
    """Central differences along a fixed direction, in float64 inputs where the operator allows."""
    rng = np.random.default_rng(0)
    values = [np.asarray(case.inputs[i], np.float64) for i in wrt]
    directions = [rng.normal(size=v.shape) for v in values]
    eps = 1e-5
    compiled = jax.jit(pure) if case.traceable else pure
    up = compiled(*(jnp.asarray(v + eps * d) for v, d in zip(values, directions)))
    down = compiled(*(jnp.asarray(v - eps * d) for v, d in zip(values, directions)))
    slope = float(up - down) / (2 * eps)
    got = sum(float((g.asnumpy().astype(np.float64) * d).sum()) for g, d in zip(grads, directions))
    np.testing.assert_allclose(got, slope, rtol=2e-3, atol=2e-4)
