"""Iterators in compiled functions are sequences, as in MindSpore's."""

import itertools
import traceback

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops
from tests.compile.calls import f32, in_graph_mode


def twice(items):
    return sum(items), sum(items), len(items)


def doubled(value):
    return value * 2


def increased(value):
    return value + 1


class Tower(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cells = nn.CellList([nn.ReLU(), nn.Dense(2, 2, weight_init="ones", bias_init="zeros")])
        self.shift = 1

    def of_cells(self, x):
        return (cell(x) + self.shift for cell in self.cells)

    def construct(self, x):
        outs = self.of_cells(x)
        again = map(doubled, outs)
        return twice(outs), twice(again), outs, again


def test_two_passes_in_cells_methods_helpers_and_lambdas():
    net = Tower()
    (first, second, n), (doubled, doubled_again, m), outs, again = in_graph_mode(net)(f32(1, 2))
    np.testing.assert_array_equal(
        [first.asnumpy(), second.asnumpy(), doubled.asnumpy() / 2, doubled_again.asnumpy() / 2], [[6, 7]] * 4
    )
    assert n == m == 2 and type(outs) is type(again) is list


def kinds(x):
    g = (x * i * j for i in range(3) if i for j in (1, 2))
    z, e, f = zip([x, x], (1, 2)), enumerate([5, 6], 1), filter(None, [0, 3])
    m, of_tuple = map(increased, [1, 2]), map(abs, (1, -2))
    m.append(7)
    return [isinstance(v, list) for v in (g, f, m)], [isinstance(v, tuple) for v in (z, e, of_tuple)], {
        "generator": (len(g), g[1], 3 in f, [1] + f), "zip": (z[1][1], z[::-1][0][1]), "enumerate": (e, e + (0,), e == ((1, 5), (2, 6))),
        "map": (m, of_tuple, sorted(m, reverse=True), dict(e)),
    }  # fmt: skip


def test_kinds():
    lists, tuples, found = ms.jit(kinds)(f32(1))
    assert all(lists) and all(tuples)
    number, second, holds, joined = found["generator"]
    assert (number, second.asnumpy().tolist(), holds, joined) == (4, [2.0], True, [1, 3])
    assert found["zip"] == (2, 2) and found["enumerate"] == (((1, 5), (2, 6)), ((1, 5), (2, 6), 0), True)
    assert found["map"] == ([2, 3, 7], (1, 2), [7, 3, 2], {1: 5, 2: 6})


def ordered(net, x):
    kept = (net(x + i) for i in range(2))
    other = map(net, [x, x - 1])
    for i, _ in enumerate(kept):
        print("loop", i)
    return list(other)


def test_hooks_and_text_come_in_the_order_of_pynative_mode(capsys):
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, x, y: print("hook", x[0]))
    ordered(net, f32(1))
    expected = capsys.readouterr().out
    ms.jit(ordered)(net, f32(1))
    assert capsys.readouterr().out == expected and expected.count("hook") == 4


def as_iterators(x):
    g = (x * i for i in range(1, 4))
    first = next(g)
    endless = ((i, x * n) for i, n in enumerate(itertools.count()))
    pair = next(endless), next(endless)
    return (
        first,
        sum(g),
        pair[1][0],
        next((i for i in (1, 2) if i > 1), None),
        sum(a for a, _ in zip(range(3), itertools.count())),
    )


def test_next_goes_on_and_endless_iterators_are_taken_one_by_one():
    first, rest, second, found, total = ms.jit(as_iterators)(f32(1))
    assert (first.asnumpy().tolist(), rest.asnumpy().tolist(), second, found, total) == ([1], [5], 1, 2, 3)


def every_second(x):
    numbered, seen = enumerate(x * i for i in range(6)), []
    for i, v in numbered:
        if i % 2 == 0:
            next(numbered)
        seen.append((i, v))
    return seen, len(list(numbered))


def test_next_in_a_loop_takes_the_loops_next_item():
    seen, items = ms.jit(every_second)(f32(1))
    assert [(i, v.asnumpy().tolist()) for i, v in seen] == [(i, v.asnumpy().tolist()) for i, v in every_second(f32(1))[0]]
    assert [i for i, _ in seen] == [0, 2, 4] and items == 6


class Maps:
    def map(self, value):
        return value * 10


def test_attributes_and_own_functions_of_the_same_names():
    def zip(*several):
        return several

    def f(x):
        m = map(increased, [1, 2])
        return Maps().map(x), sum(m) + sum(m), zip(m)

    ten, total, own = ms.jit(f)(f32(1))
    assert ten.asnumpy().tolist() == [10] and total == 10 and own == ([2, 3],)


def failing(x):
    items = (ops.reshape(x, (i, i)) for i in (1, 5))
    return list(items)


def test_code_guards_and_lines_stay():
    code = failing.__code__
    with pytest.raises(ValueError) as caught:
        ms.jit(failing, fullgraph=True)(f32(1))
    lines = [frame.lineno for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename == __file__]
    assert lines[-1] == code.co_firstlineno + 1 and failing.__code__ is code

    compiled = ms.jit(kinds)
    for _ in range(3):
        compiled(f32(1))
    assert compiled.compilations() == 1 and kinds.__code__.co_names.count("map") == 1


def test_gradients_and_operators_take_them():
    def loss(x):
        parts = (x * i for i in (1, 2))
        return ops.stack(parts).sum() + ops.concat(tuple(parts)).sum() + Tensor(np.array([*zip((1, 2), (3, 4))])).sum()

    np.testing.assert_array_equal(ms.grad(ms.jit(loss))(f32(1, 1)).asnumpy(), [6, 6])


def test_a_mask_that_picks_elements_runs_in_pynative_mode():
    def positive(x):
        return x[x > 0] * 2

    with pytest.warns(UserWarning, match="A Bool Tensor as an index picks a number of elements"):
        assert ms.jit(positive)(f32(-1, 2, 3)).asnumpy().tolist() == [4, 6]
    with pytest.raises(IndexError, match="picks a number of elements"):
        jax.jit(lambda x: positive(Tensor(x))._value)(np.float32([1, -1]))
