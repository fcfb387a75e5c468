"""Gradients of composite functions against jax.grad of the same function in jax.numpy, and finite differences.

What is tested is the tape: fan-out, broadcasting, indexing, writes in place, several outputs, cells, loops; single
operators are tested in tests/ops.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn, ops
from tests.x64 import X64, assert_close, present


def normal(*shape, seed=0, scale=1.0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape) * scale


@dataclass(frozen=True)
class Case:
    """A function in both languages.

    Attributes:
        own: of Tensors, returns a Tensor of any shape.
        pure: the same of jax arrays.
        inputs: float64 arrays, all differentiated.
        smooth: False where finite differences or second derivatives make no sense.
    """

    own: object
    pure: object
    inputs: tuple
    smooth: bool = True


V, W, M, N = normal(3), normal(3, seed=7), normal(3, 4), normal(4, 2)


def chain(x):
    for _ in range(5):
        x = ops.tanh(x * 1.5) + x * 0.1
    return x


def chain_pure(x):
    for _ in range(5):
        x = jnp.tanh(x * 1.5) + x * 0.1
    return x


def fan_out(x):
    parts = [x * i for i in range(1, 6)]
    total = parts[0]
    for p in parts[1:]:
        total = total * p + x
    return total


def diamond(x, y, exp=ops.exp, sin=ops.sin):
    a = x * y
    b, c = exp(a * 0.1), sin(a)
    d = b * c + a
    return d * b / (c * c + 1.5) - a


def writes(x, y):
    z = x * 2
    z[0] = y[1] * z[2]
    z[1:] = z[1:] * z[0]
    z[::2] += y[::2]
    return z * z


def writes_pure(x, y):
    z = x * 2
    z = z.at[0].set(y[1] * z[2])
    z = z.at[1:].set(z[1:] * z[0])
    z = z.at[::2].add(y[::2])
    return z * z


def fills_rows(x):
    out = ops.zeros((3, 3), ms.float64)
    for i in range(3):
        out[i] = x * x[i]
        out[i, i] = x[i] ** 3
    return out @ out


def fills_rows_pure(x):
    out = jnp.zeros((3, 3))
    for i in range(3):
        out = out.at[i].set(x * x[i])
        out = out.at[i, i].set(x[i] ** 3)
    return out @ out


def overwritten(x):
    y = x * 3
    y[:] = 1.0
    return y * x


def aliases(x):
    """What was computed from a Tensor before it is written to keeps its gradient."""
    y = x * x
    z = y * 2
    y[0] = 0.0
    return z + y


def aliases_pure(x):
    y = x * x
    return y * 2 + y.at[0].set(0.0)


def power_iteration(m):
    v = ops.ones((3,), ms.float64)
    for _ in range(2):
        v = m @ (m.T @ v)
        v = v / ops.sqrt((v * v).sum())
    return v


def power_iteration_pure(m):
    v = jnp.ones(3)
    for _ in range(2):
        v = m @ (m.T @ v)
        v = v / jnp.sqrt((v * v).sum())
    return v


def picks(x):
    index = Tensor([2, 0, 0, 1])
    return x[index] * x[index, None].sum() + x[[True, False, True]].sum() * x[-1]


def picks_pure(x):
    index = jnp.array([2, 0, 0, 1])
    return x[index] * x[index, None].sum() + x[jnp.array([0, 2])].sum() * x[-1]


def branches(x):
    return ops.where(x > 0, ops.exp(x), x * x) * ops.relu(x + 0.3)


def branches_pure(x):
    return jnp.where(x > 0, jnp.exp(x), x * x) * jax.nn.relu(x + 0.3)


def normalizes(x):
    mean = x.mean(0, keep_dims=True)
    centred = x - mean
    return centred / ops.sqrt((centred * centred).mean(0, keep_dims=True) + 1e-3) * ops.softmax(x, -1)


def normalizes_pure(x):
    centred = x - x.mean(0, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(0, keepdims=True) + 1e-3) * jax.nn.softmax(x, -1)


def splits(x):
    a, b = ops.split(x, 2, 1)
    return ops.concat((a * b, ops.stack((a, b)).sum(0), b.T.reshape(3, 2)), 1)


def splits_pure(x):
    a, b = jnp.split(x, 2, 1)
    return jnp.concatenate((a * b, jnp.stack((a, b)).sum(0), b.T.reshape(3, 2)), 1)


def attention(x):
    scores = x @ x.T / 2.0
    return (ops.softmax(scores, -1) @ x).sum(1) * ops.amax(scores, -1)


def attention_pure(x):
    scores = x @ x.T / 2.0
    return (jax.nn.softmax(scores, -1) @ x).sum(1) * scores.max(-1)


def unused_outputs(x):
    parts = ops.unstack(x, 0)
    return parts[0] * parts[2]


def python_numbers(x):
    return 2 / (1 + x * x) - (-x) ** 3 + 1.5**x + (x - 3) / 7 + abs(x)


def inner_gradient(x, y):
    return ms.grad(lambda z: (ops.sin(z * y) * z).sum())(x) * y


def inner_gradient_pure(x, y):
    return jax.grad(lambda z: (jnp.sin(z * y) * z).sum())(x) * y


CASES = {
    "chain": Case(chain, chain_pure, (V,)),
    "fan out": Case(fan_out, fan_out, (V,)),
    "diamond": Case(diamond, lambda x, y: diamond(x, y, jnp.exp, jnp.sin), (V, W)),
    "matrix product": Case(lambda a, b: ops.tanh(a @ b) @ (b.T @ b), lambda a, b: jnp.tanh(a @ b) @ (b.T @ b), (M, N)),
    "broadcast": Case(lambda v, m: v[:, None] * m + v.sum() * m[0], lambda v, m: v[:, None] * m + v.sum() * m[0], (V, M)),
    "broadcast of a scalar": Case(lambda s, m: s * m + s, lambda s, m: s * m + s, (np.array(1.5), M)),
    "writes in place": Case(writes, writes_pure, (V, W)),
    "fills rows": Case(fills_rows, fills_rows_pure, (V,)),
    "overwritten": Case(overwritten, lambda x: jnp.ones(3) * x, (V,)),
    "aliases": Case(aliases, aliases_pure, (V,)),
    "power iteration": Case(power_iteration, power_iteration_pure, (M,)),
    "picks": Case(picks, picks_pure, (V,)),
    "branches": Case(branches, branches_pure, (V,), smooth=False),
    "normalizes": Case(normalizes, normalizes_pure, (M,)),
    "splits": Case(splits, splits_pure, (M,)),
    "attention": Case(attention, attention_pure, (M,), smooth=False),
    "unused outputs": Case(unused_outputs, lambda m: m[0] * m[2], (M,)),
    "unused input": Case(lambda x, y: x * x, lambda x, y: x * x, (V, W)),
    "python numbers": Case(python_numbers, python_numbers, (V,), smooth=False),
    "inner gradient": Case(inner_gradient, inner_gradient_pure, (V, W)),
    "transpose and flip": Case(lambda m: m.T[::-1] * m.T, lambda m: m.T[::-1] * m.T, (M,)),
    "reductions": Case(
        lambda m: m.sum(0) * m.mean(0) + m.prod(0) - ops.logsumexp(m, 0),
        lambda m: m.sum(0) * m.mean(0) + m.prod(0) - jax.scipy.special.logsumexp(m, 0),
        (M,),
    ),
    "extremes": Case(lambda m: m.max() * m.min() * m[1], lambda m: m.max() * m.min() * m[1], (M,), smooth=False),
    "stopped": Case(lambda x: ops.stop_gradient(x * x) * x, lambda x: jax.lax.stop_gradient(x * x) * x, (V,), smooth=False),
    "lifted from jax": Case(
        lambda x, y: ms.from_jax(jnp.arctan2)(x, y) * ms.from_jax(jnp.sinh)(y),
        lambda x, y: jnp.arctan2(x, y) * jnp.sinh(y),
        (V, np.abs(W) + 0.5),
    ),
    "hook that observes": Case(lambda x: ops.HookBackward(lambda grads: None)(x * x) * x, lambda x: x * x * x, (V,)),
}


# Those whose backward pass has something of its own to differentiate.
TWICE = (
    "diamond", "broadcast", "writes in place", "fills rows", "aliases", "picks", "normalizes", "inner gradient", "lifted from jax",
    "hook that observes",
)  # fmt: skip


def scalar(out, weight):
    """A weighted sum, so that errors don't cancel out."""
    return (out * weight).sum()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gradient(case):
    arrays = [jnp.asarray(a) for a in case.inputs]
    shape = jax.eval_shape(case.pure, *arrays).shape
    weight = np.cos(np.arange(np.prod(shape, dtype=int)) + 0.7).reshape(shape)
    positions = tuple(range(len(arrays)))

    def own(*tensors):
        return scalar(case.own(*tensors), Tensor(weight))

    def pure(*values):
        return scalar(case.pure(*values), weight)

    value, grads = ms.value_and_grad(own, positions)(*map(Tensor, case.inputs))
    grads = grads if len(positions) > 1 else (grads,)
    want_value, want = jax.jit(jax.value_and_grad(pure, positions))(*arrays)
    assert_close(value.asnumpy(), want_value, rtol=1e-12)
    for got, w in zip(grads, want):
        assert got.shape == w.shape and got.dtype is present(ms.float64)
        assert_close(got.asnumpy(), w, rtol=1e-10, atol=1e-12)
    if case.smooth:
        if X64:  # a difference of float32 values has no digits left
            check_differences(own, case.inputs, grads)
        if case in map(CASES.get, TWICE):
            check_second_order(own, pure, case.inputs)


def check_differences(own, inputs, grads):
    directions = [normal(*a.shape, seed=3) for a in inputs]
    eps = 1e-6
    up, down = (own(*(Tensor(a + s * eps * d) for a, d in zip(inputs, directions))).item() for s in (1, -1))
    slope = sum((g.asnumpy() * d).sum() for g, d in zip(grads, directions))
    assert_close((up - down) / (2 * eps), slope, rtol=1e-5, atol=1e-7)


def check_second_order(own, pure, inputs):
    """The gradient of a product of the gradient with a fixed vector."""
    v = normal(*inputs[0].shape, seed=5)
    got = ms.grad(lambda *t: (ms.grad(own)(*t) * Tensor(v)).sum())(*map(Tensor, inputs))
    want = jax.jit(jax.grad(lambda *a: (jax.grad(pure)(*a) * v).sum()))(*map(jnp.asarray, inputs))
    assert_close(got.asnumpy(), want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["diamond", "writes in place", "power iteration", "inner gradient"])
def test_under_jax_transformations(name):
    """jax.grad and jax.jit around a function of Tensors give what msjax's own tape does."""
    case = CASES[name]
    arrays = [jnp.asarray(a) for a in case.inputs]

    def through_tensors(*values):
        return jnp.asarray(case.own(*(jax.tree.unflatten(jax.tree.structure(Tensor(0.0)), [v]) for v in values)).sum())

    want = jax.grad(lambda *v: case.pure(*v).sum())(*arrays)
    assert_close(jax.grad(through_tensors)(*arrays), want, rtol=1e-10)
    assert_close(jax.jit(jax.grad(through_tensors))(*arrays), want, rtol=1e-10)


# ---- networks


class Mlp(nn.Cell):
    """Two layers whose weights are shared with the outside."""

    def __init__(self):
        super().__init__()
        self.a = Parameter(Tensor(normal(4, 5)), name="a")
        self.b = Parameter(Tensor(normal(5)), name="b")
        self.c = Parameter(Tensor(normal(5, 2)), name="c")

    def construct(self, x):
        return ops.tanh(x @ self.a + self.b) @ self.c


def mlp_pure(params, x):
    a, b, c = params
    return jnp.tanh(x @ a + b) @ c


@pytest.mark.parametrize("hooked", [False, True], ids=["no hooks", "hooks that observe"])
def test_network(hooked):
    net, x = Mlp(), normal(3, 4, seed=9)
    seen = []
    if hooked:
        net.register_forward_pre_hook(lambda cell, args: seen.append(1))
        net.register_forward_hook(lambda cell, args, out: seen.append(1))
        net.register_backward_pre_hook(lambda cell, go: seen.append(1))
        net.register_backward_hook(lambda cell, gi, go: seen.append(1))
        net.a.register_hook(lambda grad: seen.append(1))
    weights = net.trainable_params()
    loss = lambda x: net(x).square().sum()  # noqa: E731
    value, (dx, dws) = ms.value_and_grad(loss, 0, weights)(Tensor(x))
    params = [w.asnumpy() for w in weights]
    pure = lambda p, x: (mlp_pure(p, x) ** 2).sum()  # noqa: E731
    want_value, (want_p, want_x) = jax.value_and_grad(pure, (0, 1))(params, x)
    assert_close(value.asnumpy(), want_value, rtol=1e-12)
    for got, want in zip((dx, *dws), (want_x, *want_p)):
        assert_close(got.asnumpy(), want, rtol=1e-10)
    assert len(seen) == (5 if hooked else 0)


def test_network_as_one_cell_called_twice_with_its_own_output():
    net, x = Mlp(), normal(3, 4, seed=9)
    twice = lambda x: net(ops.concat((net(x), net(x * 2)), 1))  # noqa: E731
    dx, (da, *_) = ms.grad(twice, 0, net.trainable_params())(Tensor(x))
    params = [w.asnumpy() for w in net.get_parameters()]

    def pure(p, x):
        return mlp_pure(p, jnp.concatenate((mlp_pure(p, x), mlp_pure(p, x * 2)), 1)).sum()

    want_p, want_x = jax.grad(pure, (0, 1))(params, x)
    assert_close(dx.asnumpy(), want_x, rtol=1e-10)
    assert_close(da.asnumpy(), want_p[0], rtol=1e-10)


@pytest.mark.long
def test_gradient_step_written_out_and_differentiated():
    """A step of gradient descent inside a differentiated function: meta-learning in small."""
    x, target = normal(3, seed=2), normal(3, seed=4)

    def loss(w, x):
        return ((w * x - 1.0) ** 2).sum()

    def outer(w):
        stepped = w - 0.1 * ms.grad(loss)(w, Tensor(x))
        return ((stepped - Tensor(target)) ** 2).sum()

    def outer_pure(w):
        stepped = w - 0.1 * jax.grad(loss)(w, x)
        return ((stepped - target) ** 2).sum()

    assert_close(ms.grad(outer)(Tensor(V)).asnumpy(), jax.grad(outer_pure)(V), rtol=1e-10)
