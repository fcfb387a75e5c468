"""Where hooks sit and what they get, in each of the three dialects."""

import pytest

import msjax as ms
from msjax import Tensor, nn, ops

DIALECTS = ["tutorial", "mindspore-2.10", "mindspore-1"]
X = Tensor([1.0, 1.0])


def use(dialect):
    ms.set_context(hook_dialect=dialect)


class Double(nn.Cell):
    def construct(self, x):
        return x * 2


def numbers(grads):
    return tuple(None if g is None else g.tolist()[0] for g in grads)


def notes(net, log):
    net.register_backward_pre_hook(lambda cell, go: log.append(("pre", numbers(go))))
    net.register_backward_hook(lambda cell, a, b: log.append(("post", numbers(a), numbers(b))))


# A cell that doubles; the forward hook multiplies by 3, the program by 5: 30 in all. Expected: the pre hook's
# gradient, the backward hook's second and third argument.
SCOPES = [
    ("tutorial", (5.0,), (30.0,), (15.0,)),
    ("mindspore-2.10", (5.0,), (30.0,), (5.0,)),
    ("mindspore-1", (5.0,), (15.0,), (30.0,)),
]


@pytest.mark.parametrize("dialect, pre, first, second", SCOPES, ids=DIALECTS)
def test_scope_with_a_forward_hook(dialect, pre, first, second):
    use(dialect)
    log = []
    net = Double()
    net.register_forward_hook(lambda cell, args, out: out * 3)
    notes(net, log)
    assert ms.grad(lambda x: net(x) * 5)(X).tolist() == [30.0, 30.0]
    assert log == [("pre", pre), ("post", first, second)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_forward_pre_hooks_are_outside_the_scope(dialect):
    use(dialect)
    log = []
    net = Double()
    net.register_forward_pre_hook(lambda cell, args: (args[0] * 7,))
    notes(net, log)
    assert ms.grad(net)(X).tolist() == [14.0, 14.0]
    first, second = ((1.0,), (2.0,)) if dialect == "mindspore-1" else ((2.0,), (1.0,))
    assert log == [("pre", (1.0,)), ("post", first, second)]


@pytest.mark.parametrize("dialect, grad_input", [("tutorial", 6.0), ("mindspore-2.10", 16.0)])
def test_arguments_that_a_forward_hook_uses(dialect, grad_input):
    """The forward hook returns 3 * output + 10 * input; only in 2.10 is it inside the scope."""
    use(dialect)
    seen = []
    net = Double()
    net.register_forward_hook(lambda cell, args, out: out * 3 + args[0] * 10)
    net.register_backward_hook(lambda cell, gi, go: seen.append(numbers(gi)))
    assert ms.grad(net)(X).tolist() == [16.0, 16.0]
    assert seen == [(grad_input,)]


@pytest.mark.parametrize("dialect, count", [("tutorial", 1), ("mindspore-2.10", 2), ("mindspore-1", 1)])
def test_forward_hook_that_makes_two_outputs_of_one(dialect, count):
    use(dialect)
    seen = []
    net = Double()
    net.register_forward_hook(lambda cell, args, out: (out, out * 3))
    net.register_backward_pre_hook(lambda cell, go: seen.append(len(go)))
    net.register_backward_hook(lambda cell, a, b: seen.append(len(a if dialect == "mindspore-1" else b)))
    ms.grad(lambda x: net(x)[0] + net(x)[1])(X)
    assert seen == [2, count] * 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cell_argument(dialect):
    use(dialect)
    seen = []
    net = Double()
    net.register_forward_pre_hook(lambda cell, args: seen.append(cell))
    net.register_forward_hook(lambda cell, args, out: seen.append(cell))
    net.register_backward_pre_hook(lambda cell, go: seen.append(cell))
    net.register_backward_hook(lambda cell, a, b: seen.append(cell))
    ms.grad(net)(X)
    assert seen == [f"Double({id(net)})" if dialect == "mindspore-1" else net] * 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_returned_gradient_replaces_that_of_the_inputs(dialect):
    use(dialect)
    net = Double()
    net.register_backward_hook(lambda cell, a, b: (Tensor([7.0, 8.0]),))
    assert ms.grad(net)(X).tolist() == [7.0, 8.0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_operators_with_hooks_are_the_same_in_all(dialect):
    use(dialect)
    log = []
    hook = ops.HookBackward(lambda grads: log.append(numbers(grads)))

    def f(x):
        y = hook(x * 2)
        y.register_hook(lambda grad: log.append(grad.tolist()[0]))
        return y * 3

    assert ms.grad(f)(X).tolist() == [6.0, 6.0] and log == [3.0, (3.0,)]


def test_dialect_counts_when_hooks_run_not_when_they_are_registered():
    seen = []
    net = Double()
    net.register_forward_hook(lambda cell, args, out: seen.append(cell))
    use("mindspore-1")
    net(X)
    use("tutorial")
    net(X)
    assert seen == [f"Double({id(net)})", net]


def test_setting():
    assert ms.get_context("hook_dialect") == "tutorial"
    with pytest.raises(ValueError, match=r"'tutorial', 'mindspore-2\.10' or 'mindspore-1', but got 'pytorch'"):
        use("pytorch")
    assert ms.get_context("hook_dialect") == "tutorial"


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize(
    "dialect, to_weights, to_inputs",
    [
        ("mindspore-2.10", "(E (f f (e (A (b (a E e A b a", "(E (f f (e e E (A (b b (a a A"),
        ("tutorial", "(E (f f (e e E (A (b b (a a A", "(E (f f (e e E (A (b b (a a A"),
    ],
)
def test_hooks_of_parallel_branches(mode, dialect, to_weights, to_inputs):
    """As MindSpore 2.10 orders them: the hooks of cells whose inputs no gradient reaches come at the end."""
    log = []

    def hooked(cell, name):
        cell.register_backward_hook(lambda cell, gi, go: log.append(name), observe=True)
        cell.register_backward_pre_hook(lambda cell, go: log.append("(" + name), observe=True)
        return cell

    class Sum(nn.Cell):
        def __init__(self, *cells):
            super().__init__()
            self.cells_in = nn.CellList(cells)

        def construct(self, x):
            return self.cells_in[0](x) + self.cells_in[1](x)

    def dense(name):
        return hooked(nn.Dense(1, 1), name)

    ms.set_context(mode=mode, hook_dialect=dialect)
    second = hooked(nn.SequentialCell(dense("e"), dense("f")), "E")
    net, x = Sum(hooked(Sum(dense("a"), dense("b")), "A"), second), Tensor([[1.0]])
    ms.grad(net, None, net.trainable_params())(x)
    assert " ".join(log) == to_weights
    log.clear()
    ms.grad(net, 0, net.trainable_params())(x)
    assert " ".join(log) == to_inputs


@pytest.mark.parametrize("dialect, expected", [("tutorial", (18.0, 9.0)), ("mindspore-2.10", (27.0, 27.0))])
def test_one_tensor_at_two_positions(dialect, expected):
    ms.set_context(hook_dialect=dialect)
    x = Tensor(3.0)
    assert tuple(float(g) for g in ms.grad(lambda a, b: a * a * b, (0, 1))(x, x)) == expected
    assert float(ms.grad(lambda a, b: a * a * b, 0)(x, x)) == expected[0]
