"""Rules on what `watch` sees, of networks and of rows."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import nn
from msjax.core.tools.watching.rules import RuleBroken
from msjax.core.tools.watching.sinks import SCALARS, WatchRow
from msjax.tools import rules, watch


def test_rules():
    told = []

    def tell(path, message, step):
        told.append((path, message, step))

    relu = nn.SequentialCell(nn.Dense(1, 1, "ones", "zeros"), nn.ReLU())
    with watch(relu, every=1, what="activation", rules=[rules.dead(steps=2, then=tell)]):
        for value in (1.0, -1.0, -1.0, -1.0, 1.0):
            relu(ms.Tensor([[value]], ms.float32))
    assert told == [(path, "100% of the values are 0, at 2 steps in a row", 3) for path in ("1", "")]

    def row(kind, name, step, **values):
        return WatchRow(step, kind, name, **{**dict.fromkeys(SCALARS, 0.0), **values}, histogram=None)

    rule = rules.gradient_norm(10, after=3, then=tell)
    told.clear()
    for step, norm in enumerate([1.0, 2.0, 3.0, 4.0, 30.0, np.nan]):
        rule([row("gradient", "fc", step, norm=norm, nan=float(norm != norm)), row("activation", "fc", step, norm=1e9)])
    assert told == [("fc", "the norm is 30, 12 times the median 2.5", 4), ("fc", "the norm is nan: 1 NaN, 0 infinite", 5)]
    with pytest.warns(
        UserWarning, match="watch: rule update_ratio, step 3, update of w: its norm is 0[.]5 times that of the Parameter"
    ):
        rules.update_ratio()([row("parameter", "w", 3, norm=2.0), row("update", "w", 3, norm=1.0)])
    with pytest.raises(
        RuleBroken, match=r"rule float16_range, step 1, activation of a: values up to 7e\+04: Float16 ends"
    ) as raised:
        rules.float16_range(then="raise")([row("activation", "a", 1, max=7e4)])
    assert (raised.value.rule, raised.value.path, raised.value.step) == ("float16_range", "a", 1)
    with pytest.raises(ValueError, match="the rule update_ratio needs what="):
        watch(relu, what="activation", rules=[rules.update_ratio()])
    with pytest.raises(ValueError, match="'then' should be 'warn', 'raise' or a function, but got str 'stop'"):
        rules.dead(then="stop")
    with pytest.raises(TypeError, match=r"'rules' should be rules of tools\.rules"):
        watch(relu, rules=[3])


@pytest.mark.long
def test_a_dead_layer_whose_relu_is_a_function():
    told = []

    def tell(path, message, step):
        told.append((path, message, step))

    functions = nnx.Sequential(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(1, 1, rngs=nnx.Rngs(1)))
    functions.layers[0].bias[...], functions.layers[2].bias[...] = (
        jnp.full(1, -100.0, "float32"),
        jnp.ones(1, "float32"),
    )  # no module's output is 0
    with watch(functions, every=1, what=("activation", "gradient"), rules=[rules.dead(steps=2, then=tell)]) as watched:
        for _ in range(3):
            nnx.grad(lambda model, x: model(x).sum())(functions, jnp.ones((1, 1)))
            watched.next_step()
    assert told == [("layers.0", "100% of the gradients are 0, at 2 steps in a row", 2)]


class Weight(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.array([2.0], "float32"))

    def __call__(self, x):
        return self.w[...] * x


def test_updates_are_relative_to_the_weight_before():
    told, model = [], Weight()
    rule = rules.update_ratio(high=0.4, then=lambda path, message, step: told.append((path, message[:32], step)))
    with watch(model, every=1, what=("parameter", "update"), rules=[rule]) as watched:
        model.w[...] -= 1.0
        watched.next_step()
    assert told == [("w", "its norm is 0.5 times that of th", 1)]


@pytest.mark.parametrize("compiled", [False, True])
def test_updates_of_a_cell_are_relative_to_the_weight_before(compiled):
    net, told = nn.Dense(1, 1, "ones", has_bias=False), []
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5))
    step = ms.jit(step) if compiled else step
    rule = rules.update_ratio(high=0.4, then=lambda path, message, step: told.append((path, message[:32], step)))
    with watch(net, every=1, what=("parameter", "update"), rules=[rule]):
        step(ms.Tensor([[1.0]], ms.float32))
    assert told == [("weight", "its norm is 0.5 times that of th", 1)]
