"""Iterators in compiled code are Python's, as in PyNative mode."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from tests.compile.calls import Calls, f32, in_graph_mode


def halve(cell, grad_input, grad_output):
    """A modifier that reads values, and makes its result of a generator expression."""
    return tuple(None if g is None else ms.Tensor(g.asnumpy() / 2) for g in grad_input)


def scale(cell, grad_input, grad_output):
    """A modifier that becomes part of the program."""
    return tuple(g * 2 for g in grad_input if g is not None)


@pytest.mark.filterwarnings("ignore:value_and_grad.*can.t be compiled, and runs in PyNative mode")
@pytest.mark.parametrize("hook, factor", [(halve, 0.5), (scale, 2)])
def test_hooks_that_make_their_result_of_a_generator_expression(hook, factor):
    net = nn.SequentialCell(nn.Dense(2, 2, "ones", "zeros"), nn.ReLU())
    net[0].register_backward_hook(hook)
    x = f32([1, 2])
    for gradient in (ms.value_and_grad(net, 0), ms.jit(ms.value_and_grad(net, 0)), in_graph_mode(ms.value_and_grad(net, 0))):
        value, found = gradient(x)
        np.testing.assert_array_equal(value.asnumpy(), [[3, 3]])
        np.testing.assert_array_equal(found.asnumpy(), [[2 * factor, 2 * factor]])


def passes(x):
    parts = (x * i for i in (1, 2))
    first = next(parts)
    numbered = enumerate(map(ops.relu, [x, -x]))
    return first, sum(parts), sum(parts), [i for i, _ in numbered], list(numbered), dict(zip("ab", (x, x)))["b"]


def test_a_second_pass_finds_what_the_first_one_left():
    for call in (passes, ms.jit(passes)):
        first, rest, nothing, numbers, none, b = call(f32(3))
        assert (first.tolist(), rest.tolist(), nothing, numbers, none, b.tolist()) == ([3], [6], 0, [0, 1], [], [3])


def test_hooks_and_text_come_in_the_order_of_pynative_mode(capsys):
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, x, y: print("hook", x[0]))

    def ordered(_cell, x):
        for i, _ in enumerate(net(x + i) for i in range(2)):
            print("loop", i)
        return list(map(net, [x, x - 1]))

    Calls(ordered)(f32(1))
    expected = capsys.readouterr().out
    in_graph_mode(Calls(ordered))(f32(1))
    assert capsys.readouterr().out == expected and expected.count("hook") == 4


def test_a_mask_that_picks_elements_runs_in_pynative_mode():
    def positive(x):
        return x[x > 0] * 2

    with pytest.warns(UserWarning, match="A Bool Tensor as an index picks a number of elements"):
        assert ms.jit(positive)(f32(-1, 2, 3)).asnumpy().tolist() == [4, 6]
    with pytest.raises(IndexError, match="picks a number of elements"):
        jax.jit(lambda x: jax.numpy.asarray(positive(ms.Tensor(x))))(np.float32([1, -1]))
