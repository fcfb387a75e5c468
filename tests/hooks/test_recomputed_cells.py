"""Recomputed cells: state, tensors and hooks of the second run."""

import pytest

import msjax as ms
from msjax import nn, ops
from tests.differential.nets import Of, X


class Counting(nn.Cell):
    """Multiplies with a state that each call writes."""

    def __init__(self):
        super().__init__()
        self.count = ms.Parameter(ms.Tensor(1.0), name="count", requires_grad=False)

    def construct(self, x):
        ops.assign(self.count, self.count + 1)
        return x * self.count


def test_recompute_starts_its_second_run_from_the_state_of_the_first():
    net = Counting()
    net.recompute()
    for n in (2.0, 3.0):
        assert float(ms.grad(net)(ms.Tensor(1.0))) == n and float(net.count) == n


def test_recompute_registers_tensor_hooks_once():
    class Hooked(nn.Cell):
        def construct(self, x):
            x.register_hook(lambda grad: grad * 10)
            y = x * x
            y.register_hook(lambda grad: grad * 100)
            return y

    net = Hooked()
    net.recompute()
    assert float(ms.grad(net)(ms.Tensor(3.0))) == 6000.0


@pytest.mark.parametrize("compiled", [False, True])
def test_a_recomputed_cell_returns_tensors_with_hooks_of_their_own(compiled):
    log = []

    def two(net, x):
        net.inner(x).register_hook(lambda grad: log.append(grad))
        return x * 2

    net = Of(two, inner=nn.Identity())
    net.inner.recompute()
    grad = ms.grad(net)
    assert (ms.jit(lambda x: grad(x)) if compiled else grad)(ms.Tensor(X)).asnumpy().tolist() == [[2.0] * 3]
    assert log == []
