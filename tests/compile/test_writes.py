"""Writes in place, to arguments and to results of compiled code."""

import jax
import pytest

import msjax as ms
from msjax import nn
from tests.compile.calls import Calls, f32, in_graph_mode, warned


def plus(x, y):
    x.add_(y)
    return x * 2


@pytest.mark.parametrize(
    "compiled", [ms.jit(plus), ms.jit(Calls(lambda self, x, y: plus(x, y))), in_graph_mode(Calls(lambda self, x, y: plus(x, y)))]
)
def test_arguments_written_in_place_are_the_callers(compiled):
    x = f32(1)
    for n in (2, 3, 4):
        assert compiled(x, f32(1)).tolist() == [2 * n] and x.tolist() == [n]


def test_writes_reach_containers_keywords_and_aliases():
    @ms.jit
    def f(pair, *, k):
        pair[0][0] = 7.0
        k["a"].mul_(2)
        return pair[0] + k["a"]

    x, a = f32(1, 2), f32(3, 4)
    assert f((x,), k={"a": a}).tolist() == [13, 10]
    assert x.tolist() == [7, 2] and a.tolist() == [6, 8]
    same = ms.jit(lambda x, y: x.add_(1) * y)
    assert same(f32(1), f32(5)).tolist() == [10]
    x = f32(1)
    assert same(x, x).tolist() == [4] and x.tolist() == [2]
    assert same(f32(1), f32(5)).tolist() == [10]


def test_a_written_argument_that_the_function_also_reaches_otherwise():
    state = f32(1)

    @ms.jit
    def f(x):
        x.add_(1)
        return state * 10

    assert f(state).tolist() == [20] and f(state).tolist() == [30] and state.tolist() == [3]
    assert f(f32(5)).tolist() == [30]


def test_changed_containers_of_the_caller():
    @ms.jit
    def f(values, x):
        values.append(x * 2)
        return x + 1

    given = []
    _, messages = warned(f, given, f32(1))
    assert len(given) == 1 and given[0].tolist() == [2]
    assert len(messages) == 1 and "runs in PyNative mode" in messages[0]


def test_gradients_go_through_what_was_written():
    jitted = ms.jit(lambda x, y: x.mul_(y))

    def f(x, y, call=jitted):
        z = x * 1
        call(z, y)
        return z * 3

    def plain(x, y):
        return f(x, y, lambda x, y: x.mul_(y))

    assert [g.tolist() for g in ms.grad(f, (0, 1))(f32(2), f32(5))] == [
        g.tolist() for g in ms.grad(plain, (0, 1))(f32(2), f32(5))
    ]


class Recomputed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.recompute()

    def construct(self, x):
        x * 3
        return {"same": x}


class WithBprop(nn.Cell):
    def construct(self, x):
        return {"same": x}

    def bprop(self, x, out, dout):
        return (dout["same"],)


@pytest.mark.parametrize("kind", [Recomputed, WithBprop])
def test_a_recomputed_cell_or_one_with_a_bprop_returns_new_tensors_in_every_mode(kind):
    """Writing to its result leaves the caller's argument as it was, although the cell returned that argument."""

    def outer(cell, x):
        y = cell.inner(x)["same"]
        y.mul_(0.5)
        return y * 2

    for mode in (lambda net: net, ms.jit):
        net = mode(Calls(outer, inner=kind()))
        x = f32(1, 1)
        assert net(x).asnumpy().tolist() == ms.grad(net)(x).asnumpy().tolist() == [1, 1]
        assert x.asnumpy().tolist() == [1, 1]


TOTAL = f32(1, 2)


@ms.jit
def count(x):
    global TOTAL
    TOTAL += x
    return TOTAL * 2


def test_a_global_that_is_assigned_to_has_its_new_value_after_each_run():
    seen, messages = warned(lambda: [count(f32(1)).tolist() for _ in range(3)])
    assert seen == [[4, 6], [6, 8], [8, 10]] and TOTAL.tolist() == [4, 5]
    assert len(messages) == 1 and "runs in PyNative mode" in messages[0]


def test_nothing_of_the_trace_is_left_when_it_ends(capsys):
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    hooked = []
    net.register_forward_hook(lambda cell, inputs, output: hooked.append(output.shape))
    step = ms.jit(nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)))

    @ms.jit
    def shown(x):
        print("of", x)
        return x.sum()

    with jax.checking_leaks():
        losses = [step(f32(1, 2)).tolist() for _ in range(2)]
        shown(f32(1, 2))
    assert losses[0] == [3.0] > losses[1] and hooked == [(1,), (1,)]
    assert capsys.readouterr().out == "of [1. 2.]\n"
