"""Gradients of what operators that write to Parameters return; the Parameters themselves stay leaves."""

import jax
import jax.numpy as jnp
import pytest

import msjax as ms
from msjax import Parameter, Tensor, ops
from tests.autograd.product import numbers
from tests.differential.nets import Of

# The value written is v = [1, 2], to p = [5, 6]; the loss is the sum of the result times [10, 20].
CASES = [
    ("assign_add", ops.assign_add, [10.0, 20.0], [10.0, 20.0], [6.0, 8.0]),
    ("assign_sub", ops.assign_sub, [-10.0, -20.0], [10.0, 20.0], [4.0, 4.0]),
    ("add_", lambda p, v: p.add_(v), [10.0, 20.0], [10.0, 20.0], [6.0, 8.0]),
    ("mul_", lambda p, v: p.mul_(v), [50.0, 120.0], [10.0, 40.0], [5.0, 12.0]),
    ("div_", lambda p, v: p.div_(v), [-50.0, -30.0], [10.0, 10.0], [5.0, 3.0]),
    ("chain", lambda p, v: p.add_(v).mul_(v), [70.0, 200.0], [10.0, 40.0], [6.0, 16.0]),
    ("read later", lambda p, v: ops.assign_add(p, v) * 0 + p, [0.0, 0.0], [10.0, 20.0], [6.0, 8.0]),
    # As in MindSpore, assign's result is the Parameter for gradients, too.
    ("assign", ops.assign, [0.0, 0.0], [10.0, 20.0], [1.0, 2.0]),
    ("set_data", lambda p, v: p.set_data(p + v), [0.0, 0.0], [10.0, 20.0], [6.0, 8.0]),
    ("assign_value", lambda p, v: p.assign_value(v * 2), [0.0, 0.0], [10.0, 20.0], [2.0, 4.0]),
    ("another shape", lambda p, v: p.set_data((p * v).sum()), [0.0, 0.0], None, 17.0),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name, write, by_value, by_parameter, written", CASES, ids=[case[0] for case in CASES])
def test_gradients_of_the_result(name, write, by_value, by_parameter, written, compiled):
    def loss(v):
        return (write(p, v) * Tensor([10.0, 20.0])).sum()

    p = Parameter(Tensor([5.0, 6.0]), name="p")
    gradient = ms.grad(loss, 0, [p] if by_parameter else None)
    found = numbers((ms.jit(gradient) if compiled else gradient)(Tensor([1.0, 2.0])))
    assert found == ((by_value, (by_parameter,)) if by_parameter else by_value)
    assert p.tolist() == written


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("name, write, by_value, by_parameter, written", CASES, ids=[case[0] for case in CASES])
def test_gradients_of_a_functionalized_network_that_writes(name, write, by_value, by_parameter, written, trained):
    net = Of(lambda net, v: (write(net.p, v) * Tensor([10.0, 20.0])).sum())
    net.p = Parameter(Tensor([5.0, 6.0]), name="p", requires_grad=trained and by_parameter is not None)
    apply, params, buffers = ms.functionalize(net)
    v = jnp.array([1.0, 2.0], jnp.float32)
    (of_parameters, gradient), new = jax.grad(lambda params, v: apply(params, buffers, v), (0, 1), has_aux=True)(params, v)
    assert gradient.tolist() == by_value
    assert of_parameters["p"].tolist() == by_parameter if net.p.requires_grad else new["p"].tolist() == written


def test_scattered_values_have_gradients():
    updates = Tensor([[1.0, 2.0], [3.0, 4.0]])
    weight = Tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    for name, indices in (
        ("ScatterUpdate", [0, 2]),
        ("ScatterMax", [0, 2]),
        ("ScatterAdd", [0, 2]),
        ("ScatterNdUpdate", [[0], [2]]),
    ):
        p = Parameter(ops.zeros((3, 2)), name="p")
        found = ms.grad(lambda u: (getattr(ops, name)()(p, Tensor(indices, ms.int32), u) * weight).sum())(updates)  # noqa: B023
        assert found.tolist() == [[0.0, 1.0], [4.0, 5.0]], name


def test_backward_reaches_what_was_written():
    p, v = Parameter(Tensor([5.0]), name="p"), Tensor([2.0])
    v.requires_grad = True
    ops.assign_add(p, v * 3).sum().backward()
    assert v.grad.tolist() == [3.0] and p.tolist() == [11.0]
