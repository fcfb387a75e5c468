"""Hooks of Tensors in compiled code: behind forward modifiers, and with values that decide what they return."""

import itertools
import types

import pytest

import msjax as ms
from msjax import nn, ops
from tests.compile.calls import Calls, f32, in_graph_mode, warned


@pytest.mark.parametrize("where", ["jit", "graph mode"])
@pytest.mark.parametrize("returned", [lambda args: args, lambda args: args[0], lambda args: tuple(args)])
def test_tensor_hook_in_construct_behind_a_pre_hook_that_returns_its_arguments(where, returned):
    def construct(self, x):
        x.register_hook(lambda grad: grad * 100)
        return x * 2

    net = Calls(construct)
    net.register_forward_pre_hook(lambda cell, args: returned(args))
    gradient = ms.jit(lambda x: ms.grad(net)(x)) if where == "jit" else in_graph_mode(ms.grad(net))
    assert ms.grad(net)(f32(1)).tolist() == [200]
    assert gradient(f32(1)).tolist() == [200]


def test_modifiers_get_the_tensors_themselves():
    seen = []

    def construct(self, x):
        y = x * 2
        self.made = None
        self.inner(y)
        return y * y

    def modifier(cell, args):
        args[0].register_hook(lambda grad: grad * 10)
        args[0].add_(1)
        return args

    net = Calls(construct, inner=nn.ReLU())
    net.inner.register_forward_pre_hook(modifier)
    net.inner.register_forward_hook(lambda cell, args, out: seen.append(args[0]) or None, observe=True)
    value = ms.value_and_grad(net)
    eager = [t.tolist() for t in value(f32(3))]
    compiled = [t.tolist() for t in ms.jit(lambda x: value(x))(f32(3))]
    assert compiled == eager and eager[0] == [49]


@pytest.mark.parametrize("compiled", [ms.jit, in_graph_mode])
@pytest.mark.parametrize("kept, by_a_helper", [(False, False), (True, False), (False, True)])
def test_a_forward_hook_without_a_result_that_registers_a_hook_on_the_output(compiled, kept, by_a_helper):
    """As it is written for class activation maps in PyTorch."""
    found = types.SimpleNamespace(output=None, gradients=[])

    def halve(grad):
        found.gradients.append(grad.tolist())
        return grad / 2

    def register(output):
        output.register_hook(halve)

    def forward(cell, inputs, output):
        if kept:
            found.output = output
        output.register_hook(halve)

    def forward_by_a_helper(cell, inputs, output):
        register(output)

    net = nn.SequentialCell(Calls(lambda self, x: x * x), nn.ReLU())
    net[0].register_forward_hook(forward_by_a_helper if by_a_helper else forward)
    step = compiled(ms.grad(net)) if compiled is in_graph_mode else ms.jit(lambda x: ms.grad(net)(x))
    results, _ = warned(lambda: [step(f32(n)).tolist() for n in (1, 2)])
    assert results == [[1.0], [2.0]] and found.gradients == [[1.0], [1.0]]
    assert not kept or found.output.tolist() == [4.0]


class Counts(nn.Cell):
    """Reads what hooks of a cell within count and keep."""

    def __init__(self):
        super().__init__()
        self.calls, self.inner = 0, nn.ReLU()
        self.inner.register_forward_hook(self.count)
        self.inner.register_forward_hook(self.keep)

    def count(self, cell, inputs, output):
        self.calls += 1

    @staticmethod
    def keep(cell, inputs, output):
        cell.latest = output

    def construct(self, x):
        self.inner(x)
        return self.inner.latest * self.calls


@pytest.mark.parametrize("compiled", [ms.jit, in_graph_mode])
def test_what_a_hook_adds_up_or_keeps_on_its_cell_is_read_in_the_same_run(compiled):
    step = compiled(Counts())
    results, messages = warned(lambda: [step(f32(n)).tolist() for n in (1, 2, 3)])
    assert results == [[1.0], [4.0], [9.0]] and "stores into what the code may read" in messages[0]


def test_a_tensor_hook_that_reads_values_behind_a_jitted_function():
    seen, forward = [], []

    def clip(grad):
        seen.append(1)
        return grad if grad[0] < 1e7 else grad * 0

    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, out: forward.append(1))

    @ms.jit
    def f(x):
        y = net(x)
        y.register_hook(clip)
        print("in f", x)
        return y * y

    def loss(x, g=f):
        return g(x).sum()

    for n in (1, 2):
        out, messages = warned(ms.grad(loss), f32(3))
        assert out.tolist() == [6] and len(messages) == (n == 1) and len(seen) == len(forward) == n
    assert "Tensor hook" in warned(ms.grad(lambda x: f(x * 1).sum()), f32(3, 4))[1][0]


def test_backward_hooks_and_variables_behind_a_jitted_function():
    weight, seen = ms.Parameter(f32(2), name="w"), []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = weight
            self.count = ms.Parameter(ms.Tensor(0.0), name="count", requires_grad=False)
            self.relu = nn.ReLU()

        @ms.jit
        def construct(self, x):
            ops.assign(self.count, self.count + 1)
            return self.relu(x * self.w) * self.w

    net = Net()

    def hook(cell, grad_input, grad_output):
        seen.append(1)
        return (grad_input[0] * (2 if float(grad_input[0].sum()) > 0 else 3),)

    net.relu.register_backward_hook(hook)
    (gx, gw), messages = warned(ms.grad(lambda x: net(x).sum(), 0, weight), f32(3))
    assert gx.tolist() == [8] and gw.tolist() == [18] and len(messages) == 1
    assert float(net.count) == 1 and len(seen) == 1


RUNS = itertools.count()


def test_a_backward_that_reads_values_runs_no_forward_code_again():
    net = nn.ReLU()
    net.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * (2 if float(grad_input[0]) > 0 else 3),))

    @ms.jit
    def f(x):
        next(RUNS)
        return net(x) * x

    step = ms.grad(lambda x: f(x))
    assert warned(step, ms.Tensor(3.0))[0].tolist() == 9
    before = next(RUNS)
    assert step(ms.Tensor(4.0)).tolist() == 12
    assert next(RUNS) == before + 1


def test_an_argument_that_the_program_writes_has_its_observers_called():
    seen, x = [], f32(1, 2)
    net = Calls(lambda self, x: x.sub_(1) * 3)
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    step = ms.jit(lambda x: ms.grad(net)(x))
    step(x)
    assert seen == [[3, 3]] and x.tolist() == [0, 1] and not x.hooks()
    step(x)
    assert seen == [[3, 3]]


@pytest.mark.parametrize("of_itself", [False, True])
def test_an_argument_has_its_hooks_called_by_gradients_inside_beside_parameters_that_are_trained(of_itself):
    """The call could be differentiated later: its program also records what the Parameters' gradients need."""
    seen, x, scale = [], f32(1, 2), ms.Parameter(f32(3, 3), name="scale")
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.requires_grad = of_itself

    def double(a):
        return (ms.grad(lambda a: (ops.stop_gradient(a) + a * scale).sum())(a) * 2 + a).sum()

    for function in (double, ms.jit(double), ms.jit(double)):
        seen.clear()
        out = function(x)
        assert seen == [[3, 3]]
        if of_itself:
            out.backward()
            assert seen == [[3, 3], [1, 1]]


class OneOfTwo(nn.Cell):
    """Uses one of its layers, and one of its arguments."""

    def __init__(self):
        super().__init__()
        self.used, self.other = nn.Dense(3, 2, weight_init="ones"), nn.Dense(3, 2, weight_init="ones")

    def construct(self, x, y, other=False):
        return (self.other if other else self.used)(x).sum(), y.sum()


@pytest.mark.parametrize("compiled", [lambda net: net, ms.jit, in_graph_mode])
def test_backward_gives_no_gradient_to_what_took_no_part(compiled):
    net = OneOfTwo()
    x, y = ms.Tensor([[1.0, 2.0, 3.0]]), ms.Tensor([1.0])
    x.requires_grad = y.requires_grad = True
    seen = []
    for layer in (net.used, net.other):
        layer.weight.register_hook(lambda grad, layer=layer: seen.append((layer.weight.name, grad.sum().item())))
    run = compiled(net)
    run(x, y)[0].backward()
    assert seen == [("used.weight", 12.0)]
    assert net.other.weight.grad is net.other.bias.grad is y.grad is None
    assert net.used.weight.grad.asnumpy().tolist() == [[1.0, 2.0, 3.0]] * 2 and x.grad.asnumpy().tolist() == [[2.0, 2.0, 2.0]]
    run(x, y, True)[0].backward()
    assert seen[1:] == [("other.weight", 12.0)]
    assert net.used.weight.grad.sum().item() == net.other.weight.grad.sum().item() == 12.0
    run(x, y)[1].backward()
    assert y.grad.item() == 1.0 and len(seen) == 2
