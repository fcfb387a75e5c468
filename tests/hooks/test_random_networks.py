"""Random networks with random hooks give the gradients of the same function written plainly.

Hypothesis draws a tree of cells, hooks on any of them, and inputs. The network runs on the tape, hooks and all; the same tree
is also turned into one function of jax arrays, in which a forward hook is a function and a backward hook a custom_vjp. Values,
gradients of inputs and of weights, and the order in which hooks run have to agree.

`python -m tests.differential` draws larger ones, as many as one likes.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msjax as ms
from msjax import Parameter, Tensor, nn, ops
from msjax.tools import hooks_of
from tests.x64 import assert_close

# ---- what is drawn


@dataclass(frozen=True)
class Plan:
    """One cell.

    Attributes:
        kind: "layer" (elementwise, with a weight), "sequence", "sum" (of branches), or "twice" (its child is called twice).
        factor: initial weight of a layer, and in its function.
        children: the plans of the cells in it.
        hooks: (kind, factor) of its hooks in the order of registration; factor None for an observer.
    """

    kind: str
    factor: float
    children: tuple = ()
    hooks: tuple = field(default=())


FACTORS = st.sampled_from([-1.5, -0.5, 0.5, 0.75, 1.25, 2.0])
KINDS = ["forward_pre", "forward", "backward_pre", "backward"]
HOOKS = st.lists(st.tuples(st.sampled_from(KINDS), st.none() | FACTORS), max_size=3).map(tuple)
LAYERS = st.builds(Plan, st.just("layer"), FACTORS, hooks=HOOKS)


def nests(inner):
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Plan, st.sampled_from(["sequence", "sum"]), FACTORS, several, HOOKS),
        st.builds(Plan, st.just("twice"), FACTORS, st.tuples(inner), HOOKS),
    )


PLANS = st.recursive(LAYERS, nests, max_leaves=5)
INPUTS = st.lists(st.floats(-1, 1, width=32).map(lambda v: round(float(v), 3)), min_size=2, max_size=2)

# ---- as cells


class Made(nn.Cell):
    """A cell after a plan; its path is what the log calls it."""

    def __init__(self, plan, path, log):
        super().__init__()
        self.plan, self.path = plan, path
        if plan.kind == "layer":
            self.w = Parameter(Tensor([plan.factor, plan.factor / 2], ms.float64))
        self.inner = nn.CellList([Made(c, f"{path}.{i}", log) for i, c in enumerate(plan.children)])
        self.handles = [self.add_hook(kind, factor, (path, kind, i), log) for i, (kind, factor) in enumerate(plan.hooks)]

    def add_hook(self, kind, factor, name, log):
        position = {"forward_pre": 1, "forward": 2, "backward_pre": 1, "backward": 1}[kind]

        def hook(*args):
            assert args[0] is self
            log.append(name)
            if factor is not None:
                value = args[position]
                return tuple(v * factor for v in value) if isinstance(value, tuple) else value * factor

        return getattr(self, f"register_{kind}_hook")(hook)

    def construct(self, x):
        kind, inner = self.plan.kind, list(self.inner)
        if kind == "layer":
            return ops.tanh(x * self.w) + x * self.plan.factor
        if kind == "sum":
            total = x
            for cell in inner:
                total = total + cell(x)
            return total
        for cell in inner * (2 if kind == "twice" else 1):
            x = cell(x)
        return x


# ---- as one function of jax arrays


def scaled(x, factor):
    """x, with its gradient multiplied in the backward pass."""

    @jax.custom_vjp
    def identity(x):
        return x

    identity.defvjp(lambda x: (x, None), lambda _, ct: (ct * factor,))
    return identity(x)


def plainly(plan, weights, x, dialect):
    """The cell of a plan; takes its weights off the front of `weights`."""
    factors = {kind: [f for k, f in plan.hooks if k == kind and f is not None] for kind in KINDS}
    for f in factors["forward_pre"]:
        x = x * f
    after = [np.prod(factors[kind]) for kind in ("backward", "backward_pre")]
    x = scaled(x, after[0])
    if plan.kind == "layer":
        w = weights.pop(0)
        x = jnp.tanh(x * w) + x * plan.factor
    elif plan.kind == "sum":
        x = x + sum(plainly(c, weights, x, dialect) for c in plan.children)
    elif plan.kind == "sequence":
        for c in plan.children:
            x = plainly(c, weights, x, dialect)
    else:
        (child,) = plan.children
        own = list(weights)
        x = plainly(child, weights, x, dialect)
        x = plainly(child, own, x, dialect)
    for f in factors["forward"]:
        x = x * f
    return scaled(x, after[1])


def forward_log(plan, path="net"):
    """The hooks that run in one forward pass, in order."""
    yield from ((path, k, i) for i, (k, _) in enumerate(plan.hooks) if k == "forward_pre")
    for _ in range(2 if plan.kind == "twice" else 1):
        for i, c in enumerate(plan.children):
            yield from forward_log(c, f"{path}.{i}")
    yield from ((path, k, i) for i, (k, _) in enumerate(plan.hooks) if k == "forward")


def backward_log(plan, path="net"):
    """The hooks that run in one backward pass, in order: everything from the last call to the first."""
    yield from ((path, k, i) for i, (k, _) in enumerate(plan.hooks) if k == "backward_pre")
    for _ in range(2 if plan.kind == "twice" else 1):
        for i, c in reversed(list(enumerate(plan.children))):
            yield from backward_log(c, f"{path}.{i}")
    yield from ((path, k, i) for i, (k, _) in enumerate(plan.hooks) if k == "backward")


# ---- the properties


@pytest.mark.parametrize("dialect", ["tutorial", "mindspore-2.10"])
@settings(max_examples=15)
@given(plan=PLANS, inputs=INPUTS)
def test_values_gradients_and_order(dialect, plan, inputs):
    ms.set_context(hook_dialect=dialect)
    log = []
    net = Made(plan, "net", log)
    weights = net.trainable_params()
    x = np.array(inputs)
    value, (dx, dws) = ms.value_and_grad(net, 0, weights)(Tensor(x))

    def pure(x, ws):
        return plainly(plan, list(ws), x, dialect).sum()

    arrays = [jnp.asarray(w.asnumpy()) for w in weights]
    want_x, want_ws = jax.grad(pure, (0, 1))(jnp.asarray(x), arrays)
    assert_close(value.asnumpy(), plainly(plan, list(arrays), jnp.asarray(x), dialect), rtol=1e-9, atol=1e-12)
    assert_close(dx.asnumpy(), want_x, rtol=1e-9, atol=1e-12)
    for got, want in zip(dws, want_ws, strict=True):
        assert_close(got.asnumpy(), want, rtol=1e-9, atol=1e-12)
    assert log == [*forward_log(plan), *backward_log(plan)]


@settings(max_examples=15)
@given(plan=PLANS, inputs=INPUTS)
def test_removed_hooks_leave_no_trace(plan, inputs):
    x = Tensor(np.array(inputs))
    bare = Made(plan_without_hooks(plan), "net", [])
    log = []
    net = Made(plan, "net", log)
    for _, cell in net.cells_and_names():
        for handle in getattr(cell, "handles", ()):
            handle.remove()
    got = ms.value_and_grad(net, 0, net.trainable_params())(x)
    want = ms.value_and_grad(bare, 0, bare.trainable_params())(x)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(a, b)
    assert log == [] and not any(hooks_of(cell) for _, cell in net.cells_and_names())


def plan_without_hooks(plan):
    return Plan(plan.kind, plan.factor, tuple(map(plan_without_hooks, plan.children)))


@pytest.mark.long
@settings(max_examples=12)
@given(plan=PLANS, inputs=INPUTS)
def test_second_order(plan, inputs):
    """The gradient of the gradient, for plans whose hooks on gradients observe only."""
    plan = plan_without_gradient_changes(plan)
    x = np.array(inputs)
    net = Made(plan, "net", [])
    got = ms.grad(lambda x: ms.grad(lambda x: net(x).sum())(x) * Tensor([1.0, 2.0], ms.float64))(Tensor(x))
    arrays = [jnp.asarray(w.asnumpy()) for w in net.get_parameters()]
    first = jax.grad(lambda x: plainly(plan, list(arrays), x, "tutorial").sum())
    want = jax.grad(lambda x: (first(x) * np.array([1.0, 2.0])).sum())(jnp.asarray(x))
    assert_close(got.asnumpy(), want, rtol=1e-8, atol=1e-10)


def plan_without_gradient_changes(plan):
    hooks = tuple((k, None if k.startswith("backward") else f) for k, f in plan.hooks)
    return Plan(plan.kind, plan.factor, tuple(map(plan_without_gradient_changes, plan.children)), hooks)


STEPS = st.lists(st.sampled_from(["double", "add first", "write", "hook", "tap", "detour", "stop"]), min_size=1, max_size=8)


@pytest.mark.long
@settings(max_examples=15)
@given(steps=STEPS, inputs=INPUTS)
def test_straight_programs(steps, inputs):
    """Programs of operators, writes in place and hooks on Tensors, against the same in jax."""
    log = []

    def own(x):
        y = x * 1
        for step in steps:
            if step == "double":
                y = y * 2 + x
            elif step == "add first":
                y = y + y[0] * x
            elif step == "write":
                y[1] = y[0] * y[1]
            elif step == "hook":
                y = y * 1
                y.register_hook(lambda grad: log.append("hook") or grad * 0.5)
            elif step == "tap":
                y = ops.HookBackward(lambda grads: log.append("tap") or (grads[0] * 1.5,))(y)
            elif step == "detour":
                y = ops.concat((y[1:], y[:1]), 0)
            else:
                y = y - ops.stop_gradient(y) * 0.5
        return (y * y).sum()

    def pure(x):
        y = x
        for step in steps:
            if step == "double":
                y = y * 2 + x
            elif step == "add first":
                y = y + y[0] * x
            elif step == "write":
                y = y.at[1].set(y[0] * y[1])
            elif step == "hook":
                y = scaled(y, 0.5)
            elif step == "tap":
                y = scaled(y, 1.5)
            elif step == "detour":
                y = jnp.concatenate((y[1:], y[:1]))
            else:
                y = y - jax.lax.stop_gradient(y) * 0.5
        return (y * y).sum()

    x = np.array(inputs)
    got, want = ms.grad(own)(Tensor(x)), jax.grad(pure)(jnp.asarray(x))
    assert_close(got.asnumpy(), want, rtol=1e-9, atol=1e-12)
    assert log == [s for s in reversed(steps) if s in ("hook", "tap")]
