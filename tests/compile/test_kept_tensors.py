"""Tensors that compiled code keeps after the call are found, without a look at other threads' objects."""

import gc

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.engine.compile import attempt
from tests.compile.calls import f32, warned


def test_compiling_looks_at_no_foreign_objects(monkeypatch):
    def forbidden(*_args, **_kwargs):
        raise AssertionError("scanned all objects")

    monkeypatch.setattr(gc, "get_objects", forbidden)
    kept = []
    f = ms.jit(lambda x: kept.append(x * 2) or x)
    _, messages = warned(f, f32(1))
    assert kept[-1].tolist() == [2] and "kept after the call" in messages[0]


def test_tensors_kept_in_many_places_are_found():
    class Keeper:
        pass

    keeper = Keeper()

    def attribute(x):
        keeper.value = x * 2
        return x

    def nested(x):
        keeper.value = {"a": [(x * 2,)]}
        return x

    def closure(x):
        y = x * 2
        keeper.value = lambda: y
        return x

    for function in (attribute, nested, closure):
        keeper.value = None
        _, messages = warned(ms.jit(function), f32(1))
        assert len(messages) == 1, function


@pytest.fixture
def searches(monkeypatch):
    """A list that gets an item at each search of the heap."""
    found, collect = [], gc.collect

    def counted():
        found.append(1)
        return collect()

    monkeypatch.setattr(attempt.gc, "collect", counted)
    return found


def hooked():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
    net[0].register_forward_hook(lambda cell, inputs, output: None)
    net[1].register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))
    return net


def pieces():
    """The gradient of a convolution's weight, of a few examples at a time."""
    net = nn.Conv2d(1, 6, 5, pad_mode="valid", weight_init="ones")
    images = ms.Tensor(np.ones((32, 1, 32, 32), np.float32))
    gradient = ms.grad(lambda x: net(images * x[0, 0]).mean(), None, net.weight)
    return lambda x: gradient(x)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: lambda x: x * 2 + 1, id="no rule"),
        pytest.param(lambda: nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.GELU(), nn.LeakyReLU(), nn.ReLU()), id="rules"),
        pytest.param(hooked, id="hooks"),
        pytest.param(lambda: ops.HookBackward(lambda grad: grad * 2), id="HookBackward"),
        pytest.param(lambda: ms.grad(lambda x: ops.relu(x).sum()), id="gradient"),
        pytest.param(pieces, id="gradient in pieces"),
    ],
)
def test_the_heap_is_not_searched_where_only_rules_of_derivatives_hold_the_trace(make, searches):
    network, x = make(), f32(1.0, -2.0).reshape(1, 2)
    np.testing.assert_allclose(ms.jit(network)(x).asnumpy(), network(x).asnumpy(), rtol=1e-6, atol=1e-6)
    assert searches == []


def test_a_tensor_that_is_kept_is_found_beside_rules_of_derivatives(searches):
    kept = []

    def f(x):
        y = ops.relu(x)
        kept.append(y)
        return ops.relu(y * 2)

    out, messages = warned(ms.jit(f), f32(1.0, -1.0))
    assert out.tolist() == [2.0, 0.0] and "kept after the call" in messages[0]
    # It ran in PyNative mode in the end, so that what was kept has a value.
    assert searches and kept[-1].tolist() == [1.0, 0.0]


def test_a_tensor_is_found_that_a_modifier_keeps_beside_rules_of_derivatives(searches):
    kept, net = [], nn.ReLU()

    def modify(cell, inputs, output):
        kept.append(output)
        return output * 2

    net.register_forward_hook(modify)
    out, messages = warned(ms.jit(net), f32(1.0, -1.0))
    assert out.tolist() == [2.0, 0.0] and "kept after the call" in messages[0]
    assert searches and [tensor.tolist() for tensor in kept] == [[1.0, 0.0]]


def test_code_that_keeps_the_gradient_of_what_it_computes_runs_in_pynative_mode():
    def run(x):
        y = x * 2
        y.retain_grad()
        return (y * y).sum(), y

    with pytest.warns(UserWarning, match="runs in PyNative mode: .*retain_grad"):
        total, y = ms.jit(run)(ms.Tensor([1.0, 2.0]).requires_grad_())
    total.backward()
    assert y.grad.tolist() == [4.0, 8.0]
