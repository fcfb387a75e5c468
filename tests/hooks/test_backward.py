"""Backward pre hooks and backward hooks of cells."""

import contextlib
import dataclasses

import jax
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import Tensor, hooks, nn, ops
from tests.x64 import present

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])


class Scale(nn.Cell):
    def __init__(self, w=(3.0, 4.0)):
        super().__init__()
        self.w = ms.Parameter(Tensor(list(w)))

    def construct(self, x):
        return x * self.w


class Two(nn.Cell):
    """Two inputs, two outputs."""

    def construct(self, x, y):
        return x * y, x + y


def numbers(grads):
    return tuple(None if g is None else g.tolist() for g in grads)


def notes(cell, log, name=""):
    """Register an observer of each kind that adds to the log what it gets."""
    cell.register_backward_pre_hook(lambda cell, go: log.append((f"{name}pre", numbers(go))))
    cell.register_backward_hook(lambda cell, gi, go: log.append((f"{name}post", numbers(gi), numbers(go))))


# ---- what hooks get


def test_arguments():
    log = []
    net = Scale()
    notes(net, log)
    net.register_backward_hook(lambda cell, gi, go: log.append((cell is net, type(gi), type(go))))
    assert ms.grad(lambda x: net(x) * 10)(X).tolist() == [30.0, 40.0]
    assert log == [("pre", ([10.0, 10.0],)), ("post", ([30.0, 40.0],), ([10.0, 10.0],)), (True, tuple, tuple)]


def test_several_inputs_and_outputs():
    log = []
    net = Two()
    notes(net, log)

    def f(x, y):
        a, b = net(x, y)
        return a * 2 + b * 3

    dx, dy = ms.grad(f, (0, 1))(X, Y)
    assert (dx.tolist(), dy.tolist()) == ([9.0, 13.0], [5.0, 7.0])
    assert log == [
        ("pre", ([2.0, 2.0], [3.0, 3.0])),
        ("post", ([9.0, 13.0], [5.0, 7.0]), ([2.0, 2.0], [3.0, 3.0])),
    ]


def test_unused_output_has_none():
    log = []
    net = Two()
    notes(net, log)
    ms.grad(lambda x, y: net(x, y)[1])(X, Y)
    assert log == [("pre", (None, [1.0, 1.0])), ("post", ([1.0, 1.0], [1.0, 1.0]), (None, [1.0, 1.0]))]


NONES = [
    ("constant", lambda net, x: net(x, Tensor([1.0, 1.0])), ([1.0, 1.0], None)),
    ("stopped", lambda net, x: net(x, ops.stop_gradient(x)), ([1.0, 2.0], None)),
    ("integers", lambda net, x: net(x, Tensor([1, 2])), ([1.0, 2.0], None)),
    ("bools", lambda net, x: net(x, Tensor([True, False])), ([1.0, 0.0], None)),
    ("number: no entry", lambda net, x: net(x, 4.0), ([4.0, 4.0],)),
    ("number first", lambda net, x: net(4.0, x), ([4.0, 4.0],)),
    ("keyword: no entry", lambda net, x: net(x, y=x), ([1.0, 2.0],)),
]


@pytest.mark.parametrize("call, grad_input", [n[1:] for n in NONES], ids=[n[0] for n in NONES])
def test_inputs_without_a_gradient(call, grad_input):
    class Product(nn.Cell):
        def construct(self, x, y):
            return x * y

    log = []
    net = Product()
    net.register_backward_hook(lambda cell, gi, go: log.append(numbers(gi)))
    ms.grad(lambda x: call(net, x))(X)
    assert log == [grad_input]


def test_unused_input_has_none():
    class First(nn.Cell):
        def construct(self, x, y):
            return x * 2

    log = []
    net = First()
    notes(net, log)
    _, dy = ms.grad(net, (0, 1))(X, Y)
    assert log[1] == ("post", ([2.0, 2.0], None), ([1.0, 1.0],)) and dy.tolist() == [0.0, 0.0]


def test_input_that_was_not_asked_for_has_its_gradient():
    log = []
    net = Two()
    notes(net, log)
    ms.grad(lambda x, y: net(x, y)[0])(X, Y)
    assert log[1] == ("post", ([3.0, 5.0], [1.0, 2.0]), ([1.0, 1.0], None))


def test_weights_only():
    log = []
    net = Scale()
    notes(net, log)
    assert ms.grad(net, None, net.w)(X).tolist() == [1.0, 2.0]
    assert log == [("pre", ([1.0, 1.0],)), ("post", (None,), ([1.0, 1.0],))]


def test_cell_without_a_path_to_what_is_asked_for_runs_no_hook():
    log = []
    net = Scale()
    notes(net, log)
    ms.grad(lambda x, y: net(y) * x)(X, Y)
    ms.grad(lambda x: net(ops.stop_gradient(x)) * x)(X)
    ms.grad(lambda x: ops.stop_gradient(net(x)) * x)(X)
    net(X)
    assert log == []


def test_output_that_is_the_input():
    class Same(nn.Cell):
        def construct(self, x, y):
            return y, x

    log = []
    net = Same()
    notes(net, log)
    net.register_backward_pre_hook(lambda cell, go: (go[0] * 10, go[1]))

    def f(x, y):
        a, b = net(x, y)
        return a * 2 + b * 3

    dx, dy = ms.grad(f, (0, 1))(X, Y)
    assert (dx.tolist(), dy.tolist()) == ([3.0, 3.0], [20.0, 20.0])
    assert log[1] == ("post", ([3.0, 3.0], [20.0, 20.0]), ([20.0, 20.0], [3.0, 3.0]))


def test_one_tensor_at_two_places():
    log = []
    net = Two()
    notes(net, log)
    assert ms.grad(lambda x: net(x, x)[0])(X).tolist() == [2.0, 4.0]
    assert log[1] == ("post", ([1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0], None))


def test_constant_output():
    class Constant(nn.Cell):
        def construct(self, x):
            return Tensor([1.0, 1.0]), x * 2, 3

    log = []
    net = Constant()
    notes(net, log)
    ms.grad(lambda x: net(x)[0] * net(x)[1])(X)
    assert ("pre", (None, [1.0, 1.0])) in log


def test_outputs_in_containers():
    class Nested(nn.Cell):
        def construct(self, x):
            return {"a": x * 2, "b": [x * 3, (x * 5,)]}

    log = []
    net = Nested()
    notes(net, log)
    out = ms.grad(lambda x: net(x)["b"][1][0])(X)
    assert out.tolist() == [5.0, 5.0]
    assert log == [("pre", (None, None, [1.0, 1.0])), ("post", ([5.0, 5.0],), (None, None, [1.0, 1.0]))]


def test_inputs_in_containers():
    class Nested(nn.Cell):
        def construct(self, pair):
            return pair[0] * pair[1]

    log = []
    net = Nested()
    notes(net, log)
    dx, dy = ms.grad(lambda x, y: net((x, y)), (0, 1))(X, Y)
    assert (dx.tolist(), dy.tolist()) == ([3.0, 5.0], [1.0, 2.0])
    assert log[1] == ("post", ([3.0, 5.0], [1.0, 2.0]), ([1.0, 1.0],))


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float64], ids=str)
def test_gradients_have_the_type_of_their_tensors(dtype):
    seen = []
    net = nn.ReLU()
    net.register_backward_hook(lambda cell, gi, go: seen.append((gi[0].dtype, go[0].dtype)))
    assert ms.grad(net)(Tensor([1.0], dtype)).dtype is present(dtype)
    assert seen == [(present(dtype), present(dtype))]


# ---- what they return


def test_pre_hook_changes_what_the_cell_and_its_weights_get():
    net = Scale()
    net.register_backward_pre_hook(lambda cell, go: (go[0] * 10,))
    dx, dw = ms.grad(net, 0, net.w)(X)
    assert (dx.tolist(), dw.tolist()) == ([30.0, 40.0], [10.0, 20.0])


def test_backward_hook_changes_what_the_inputs_get_only():
    net = Scale()
    net.register_backward_hook(lambda cell, gi, go: (gi[0] * 10,))
    dx, dw = ms.grad(net, 0, net.w)(X)
    assert (dx.tolist(), dw.tolist()) == ([30.0, 40.0], [1.0, 2.0])


def test_bare_tensor_stands_for_one():
    net = Scale()
    net.register_backward_pre_hook(lambda cell, go: go[0] * 10)
    net.register_backward_hook(lambda cell, gi, go: gi[0] * 10)
    assert ms.grad(net)(X).tolist() == [300.0, 400.0]


def test_returned_argument_keeps():
    net = Two()
    net.register_backward_pre_hook(lambda cell, go: go)
    net.register_backward_hook(lambda cell, gi, go: gi)
    assert ms.grad(lambda x, y: net(x, y)[0])(X, Y).tolist() == [3.0, 5.0]


def test_each_hook_is_fed_by_the_one_before():
    log = []
    net = Scale((1.0, 1.0))
    net.register_backward_pre_hook(lambda cell, go: log.append(numbers(go)) or (go[0] + 1,))
    net.register_backward_pre_hook(lambda cell, go: log.append(numbers(go)) or (go[0] * 10,))
    net.register_backward_hook(lambda cell, gi, go: log.append((numbers(gi), numbers(go))) or (gi[0] + 1,))
    net.register_backward_hook(lambda cell, gi, go: log.append((numbers(gi), numbers(go))))
    assert ms.grad(net)(X).tolist() == [21.0, 21.0]
    ten, twenty, more = [1.0] * 2, [20.0] * 2, [21.0] * 2
    assert log == [(ten,), ([2.0] * 2,), ((twenty,), (twenty,)), ((more,), (twenty,))]


def test_tensor_in_the_place_of_none_flows_on():
    class First(nn.Cell):
        def construct(self, x, y):
            return x * 2

    net = First()
    net.register_backward_hook(lambda cell, gi, go: (gi[0], gi[0] * 10))
    dx, dy = ms.grad(net, (0, 1))(X, Y)
    assert (dx.tolist(), dy.tolist()) == ([2.0, 2.0], [20.0, 20.0])


def test_pre_hook_may_fill_in_the_gradient_of_an_unused_output():
    net = Two()
    net.register_backward_pre_hook(lambda cell, go: (go[1] * 10, go[1]))
    assert ms.grad(lambda x, y: net(x, y)[1])(X, Y).tolist() == [31.0, 51.0]


def test_prepend():
    log = []
    net = nn.ReLU()
    for name in ("1", "2"):
        net.register_backward_pre_hook(lambda cell, go, name=name: log.append("pre " + name))
        net.register_backward_hook(lambda cell, gi, go, name=name: log.append("post " + name))
    net.register_backward_pre_hook(lambda cell, go: log.append("pre 0"), prepend=True)
    net.register_backward_hook(lambda cell, gi, go: log.append("post 0"), prepend=True)
    ms.grad(net)(X)
    assert log == ["pre 0", "pre 1", "pre 2", "post 0", "post 1", "post 2"]


# ---- order and number of runs


def test_nested_order():
    log = []
    net = nn.SequentialCell(nn.ReLU(), nn.SequentialCell(nn.Tanh()))
    for path, cell in net.cells_and_names():
        cell.register_backward_pre_hook(lambda cell, go, path=path: log.append("pre " + path))
        cell.register_backward_hook(lambda cell, gi, go, path=path: log.append("post " + path))
    ms.grad(net)(X)
    assert log == ["pre ", "pre 1", "pre 1.0", "post 1.0", "post 1", "pre 0", "post 0", "post "]


def test_cell_called_twice_runs_its_hooks_last_call_first():
    log = []
    net = Scale((3.0, 3.0))
    notes(net, log)
    ms.grad(lambda x: net(net(x)))(Tensor([1.0]).broadcast_to((2,)))
    assert log == [
        ("pre", ([1.0, 1.0],)),
        ("post", ([3.0, 3.0],), ([1.0, 1.0],)),
        ("pre", ([3.0, 3.0],)),
        ("post", ([9.0, 9.0],), ([3.0, 3.0],)),
    ]


def test_branches_run_latest_first():
    log = []
    a, b = Scale(), Scale()
    notes(a, log, "a ")
    notes(b, log, "b ")
    ms.grad(lambda x: a(x) + b(x))(X)
    assert [entry[0] for entry in log] == ["b pre", "b post", "a pre", "a post"]


def test_every_pass_runs_them_once():
    log = []
    net = Scale()
    notes(net, log)
    gradient = ms.grad(net)
    for _ in range(3):
        gradient(X)
    assert len(log) == 6
    _, vjp_fn = ms.vjp(net, X)
    assert len(log) == 6
    vjp_fn(X)
    vjp_fn(Y)
    assert len(log) == 10 and log[-2] == ("pre", ([3.0, 5.0],))


def test_second_order_numbers():
    net = nn.ReLU()
    net.register_backward_hook(lambda cell, gi, go: (gi[0] * gi[0],))
    f = lambda x: net(x * x) * x  # noqa: E731
    # d/dx = x**2 * 2x + x**2; and of that: 6 x**2 + 2 x
    assert ms.grad(f)(X).tolist() == [3.0, 20.0]
    assert ms.grad(ms.grad(f))(X).tolist() == [8.0, 28.0]


# ---- when hooks come and go


def test_registered_after_the_gradient_function_was_made():
    net = Scale()
    gradient = ms.grad(net)
    assert gradient(X).tolist() == [3.0, 4.0]
    handle = net.register_backward_hook(lambda cell, gi, go: (gi[0] * 10,))
    assert gradient(X).tolist() == [30.0, 40.0]
    handle.remove()
    assert gradient(X).tolist() == [3.0, 4.0]


def test_removed_between_forward_and_backward():
    log = []
    net = Scale()
    handle = net.register_backward_hook(lambda cell, gi, go: log.append("ran"))

    def f(x):
        out = net(x)
        handle.remove()
        return out

    assert ms.grad(f)(X).tolist() == [3.0, 4.0] and log == []


def test_registered_inside_hooks():
    log = []
    net = nn.ReLU()

    def adds(cell, gi, go):
        log.append("old")
        if len(log) == 1:
            cell.register_backward_hook(lambda cell, gi, go: log.append("new"))

    net.register_backward_hook(adds)
    ms.grad(net)(X)
    assert log == ["old"]
    ms.grad(net)(X)
    assert log == ["old", "old", "new"]


def test_hooks_may_compute_gradients():
    log = []
    other = Scale()
    net = Scale()
    net.register_backward_hook(lambda cell, gi, go: log.append(ms.grad(other)(go[0]).tolist()))
    assert ms.grad(net)(X).tolist() == [3.0, 4.0] and log == [[3.0, 4.0]]


def test_hooks_may_call_the_cell_itself():
    log = []
    net = Scale()
    net.register_backward_hook(lambda cell, gi, go: log.append(cell(go[0]).tolist()))
    ms.grad(net)(X)
    assert log == [[3.0, 4.0]]


def test_recursive_cell():
    class Power(nn.Cell):
        def construct(self, x, n):
            return x if n == 0 else x * self(x, n - 1)

    log = []
    net = Power()
    net.register_backward_hook(lambda cell, gi, go: log.append(numbers(go)))
    assert ms.grad(net)(Tensor([2.0]), 2).tolist() == [12.0]
    assert log == [([4.0],), ([2.0],), ([1.0],)]


def test_forward_hooks_and_backward_hooks_together():
    net = Scale()
    net.register_forward_pre_hook(lambda cell, args: (args[0] * 2,))
    net.register_backward_hook(lambda cell, gi, go: (gi[0] * 100,))
    assert ms.grad(net)(X).tolist() == [600.0, 800.0]


def test_bound_to_a_training_step():
    """A hook that halves the gradient of a layer's output halves the step of its weights."""
    x = Tensor(np.eye(2, dtype=np.float32))
    steps = []
    for factor in (1.0, 0.5):
        dense = nn.Dense(2, 2, weight_init="zeros", bias_init="zeros")
        dense.register_backward_pre_hook(lambda cell, go, factor=factor: (go[0] * factor,))
        grads = ms.grad(lambda x, dense=dense: (dense(x) - 1).square().sum(), None, dense.trainable_params())(x)
        steps.append([g.asnumpy() for g in grads])
    for full, half in zip(*steps):
        np.testing.assert_allclose(half, full / 2)


REFUSED = [3, None, "print"]


@pytest.mark.parametrize("name", ["backward_pre", "backward"])
@pytest.mark.parametrize("bad", REFUSED, ids=str)
def test_registration_refuses_what_can_not_be_called(name, bad):
    with pytest.raises(TypeError, match=f"register_{name}_hook.*must be callable"):
        getattr(nn.ReLU(), f"register_{name}_hook")(bad)


@dataclasses.dataclass
class Output:
    logits: object


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Known(Output):
    pass


def returning(base, method, result):
    """A network whose output is an object of a class."""
    return type("Net", (base,), {method: lambda self, x: result(x * 2)})()


@pytest.mark.parametrize("kind", ["backward", "backward_pre"])
@pytest.mark.parametrize("result", [Output, Known])
@pytest.mark.parametrize("framework", [(nn.Cell, "construct", ms.grad), (nnx.Module, "__call__", jax.grad)], ids=["Cell", "nnx"])
def test_an_object_that_jax_does_not_know_hides_outputs_from_hooks_of_gradients_with_a_warning(framework, result, kind):
    *made_of, grad = framework
    net, log = returning(*made_of, result), []
    getattr(hooks, f"register_{kind}_hook")(net, lambda net, *grads: log.append(len(grads[-1])))
    x = X if grad is ms.grad else X._value
    expected = pytest.warns(UserWarning, match="gradients in .* find no .*s in its output, Output")
    with expected if result is Output else contextlib.nullcontext():
        assert grad(lambda x: net(x).logits.sum())(x).tolist() == [2.0, 2.0]
    assert log == ([1] if result is Known else [0] if kind == "backward" else [])
