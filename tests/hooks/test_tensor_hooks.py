"""Tensor.register_hook and Parameter.register_hook under gradient functions."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn, ops
from msjax.common.tensor_hooks import HookList

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])


def test_hook_gets_a_bare_tensor_with_the_summed_gradient():
    log = []

    def f(x):
        y = x * 2
        y.register_hook(lambda grad: log.append((type(grad), grad.tolist())))
        return y * 3 + y * y

    assert ms.grad(f)(X).tolist() == [14.0, 22.0]
    assert log == [(Tensor, [7.0, 11.0])]


def test_replacement_and_order():
    log = []

    def f(x):
        y = x * 2
        y.register_hook(lambda grad: log.append(grad.tolist()) or grad * 10)
        y.register_hook(lambda grad: log.append(grad.tolist()))
        y.register_hook(lambda grad: grad + 1)
        return y

    assert ms.grad(f)(X).tolist() == [22.0, 22.0]
    assert log == [[1.0, 1.0], [10.0, 10.0]]


def test_registered_after_use():
    log = []

    def f(x):
        y = x * 2
        z = y * 3
        y.register_hook(lambda grad: log.append(grad.tolist()))
        return z + y

    ms.grad(f)(X)
    assert log == [[4.0, 4.0]]


def test_on_an_input():
    log = []

    def f(x):
        x.register_hook(lambda grad: log.append(grad.tolist()) or grad * 10)
        return x * x

    assert ms.grad(f)(Tensor([1.0, 2.0])).tolist() == [20.0, 40.0]
    assert log == [[2.0, 4.0]]


def test_on_a_tensor_before_it_is_differentiated():
    log = []
    x = Tensor([1.0, 2.0])
    handle = x.register_hook(lambda grad: log.append(grad.tolist()) or grad * 10)
    gradient = ms.grad(lambda x: x * x)
    assert gradient(x).tolist() == [20.0, 40.0]
    assert gradient(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    handle.remove()
    assert gradient(x).tolist() == [2.0, 4.0] and log == [[2.0, 4.0]]


def test_on_an_input_that_is_returned():
    x = Tensor([1.0, 2.0])
    x.register_hook(lambda grad: grad * 10)
    assert ms.grad(lambda x: x)(x).tolist() == [10.0, 10.0]


def test_not_run_where_no_gradient_passes():
    log = []

    def f(x, y):
        z = y * 2
        z.register_hook(log.append)
        return x * ops.stop_gradient(z)

    ms.grad(f)(X, Y)
    X.register_hook(log.append).remove()
    ms.grad(lambda x: x)(X)
    assert log == []


def test_list_and_removal():
    def f(x):
        y = x * 2
        first = y.register_hook(lambda grad: grad * 10)
        second = y.register_hook(print)
        assert len(y.hooks()) == 2 and y.hooks()[1] is print
        second.remove()
        second.remove()
        assert len(y.hooks()) == 1
        del first
        return y

    assert ms.grad(f)(X).tolist() == [20.0, 20.0]
    x = Tensor([1.0])
    assert x.hooks() == []
    x.register_hook(print)
    x.remove_hook()
    assert x.hooks() == []


def test_handle_is_a_context_manager():
    x = Tensor([1.0])
    with x.register_hook(lambda grad: grad * 10):
        assert ms.grad(lambda x: x * 2)(x).tolist() == [20.0]
    assert ms.grad(lambda x: x * 2)(x).tolist() == [2.0]


def test_one_of_several_outputs():
    log = []

    def f(x):
        a, b = ops.split(x, 1)
        a.register_hook(lambda grad: log.append(grad.tolist()) or grad * 10)
        return a * b

    assert ms.grad(f)(X).tolist() == [20.0, 1.0]
    assert log == [[2.0]]


def test_in_place_writes_give_a_new_value():
    """A hook belongs to the value that the Tensor had when it was registered."""
    log = []

    def before(x):
        y = x * 2
        y.register_hook(lambda grad: log.append(grad.tolist()))
        y[0] = 7.0
        return y * y

    def after(x):
        y = x * 2
        y[0] = 7.0
        y.register_hook(lambda grad: log.append(grad.tolist()))
        return y * y

    assert ms.grad(before)(X).tolist() == [0.0, 16.0]
    assert ms.grad(after)(X).tolist() == [0.0, 16.0]
    assert log == [[0.0, 8.0], [14.0, 8.0]]


def test_order_with_cell_hooks():
    log = []

    class Double(nn.Cell):
        def construct(self, x):
            y = x * 2
            y.register_hook(lambda grad: log.append("inside"))
            return y * 3

    net = Double()
    net.register_backward_pre_hook(lambda cell, go: log.append("pre"))
    net.register_backward_hook(lambda cell, gi, go: log.append("post"))

    def f(x):
        x = x + 0
        x.register_hook(lambda grad: log.append("input"))
        y = net(x)
        y.register_hook(lambda grad: log.append("output"))
        return y * 5

    ms.grad(f)(X)
    assert log == ["output", "pre", "inside", "post", "input"]


def test_fits_the_replacement():
    """As in MindSpore, another dtype is cast; a shape that broadcasts is broadcast, another one is an error."""
    half = lambda grad: (grad * 2).astype(ms.float16)  # noqa: E731
    one = lambda grad: Tensor(5.0)  # noqa: E731
    for hook, want in [(half, [4.0, 4.0]), (one, [10.0, 10.0])]:

        def f(x, hook=hook):
            y = x * 2
            y.register_hook(hook)
            return y

        dx = ms.grad(f)(X)
        assert dx.tolist() == want and dx.dtype is ms.float32


@pytest.mark.parametrize("jit", [lambda fn: fn, ms.jit], ids=["PyNative", "ms.jit"])
def test_a_complex_replacement_of_a_real_gradient_is_an_error(jit):
    def f(x):
        y = x * 2
        y.register_hook(lambda grad: grad.astype(ms.complex64))
        return y

    with pytest.raises(ValueError, match=r"dtype Complex64, but expected are shape \(2,\) and dtype Float32"):
        jit(ms.grad(f))(X)


def test_fits_the_replacement_in_second_order_too():
    def f(x):
        x.register_hook(lambda grad: (grad * 2).astype(ms.float16))
        return x * x

    def inner(x):
        first = ms.grad(f)(x * 1)
        assert first.dtype is ms.float32 and first.tolist() == [4.0, 8.0]
        return first * x

    # As in MindSpore, the hook sees what arrives at its Tensor outside of the inner function, too.
    assert ms.grad(inner)(X).tolist() == [12.0, 24.0]


def test_second_order():
    def f(x):
        y = x * x
        y.register_hook(lambda grad: grad * grad)
        return y * x

    assert ms.grad(f)(X).tolist() == [3.0, 20.0]
    assert ms.grad(ms.grad(f))(X).tolist() == [8.0, 28.0]


# ---- Parameters


class Scale(nn.Cell):
    def __init__(self, w=None):
        super().__init__()
        self.w = Parameter(Tensor([3.0, 4.0])) if w is None else w

    def construct(self, x):
        return x * self.w


def test_parameter_hook():
    log = []
    net = Scale()
    net.w.register_hook(lambda grad: log.append(grad.tolist()) or grad * 10)
    dx, dw = ms.grad(net, 0, net.w)(X)
    assert (dx.tolist(), dw.tolist(), log) == ([3.0, 4.0], [10.0, 20.0], [[1.0, 2.0]])


def test_parameter_hook_runs_only_if_its_gradient_is_asked_for():
    log = []
    net, other = Scale(), Parameter(Tensor(1.0), name="other")
    net.w.register_hook(log.append)
    ms.grad(net)(X)
    ms.grad(lambda x: (net(x) * other).sum(), None, other)(X)
    net(X)
    assert log == []
    ms.grad(net, None, [net.w])(X)
    assert len(log) == 1


def test_parameter_that_was_asked_for_but_not_used_has_zeros():
    """As in MindSpore; an input that is not used is another matter: its hooks don't run."""
    log = []
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    w.register_hook(lambda grad: log.append(grad.tolist()) or grad + 5)
    assert ms.grad(lambda x: x * 2, None, w)(X).tolist() == [5.0, 5.0]
    assert ms.grad(ms.grad(lambda x: x * x), 0, w)(X)[1].tolist() == [5.0, 5.0]
    assert log == [[0.0, 0.0]] * 2
    x = Tensor([1.0, 2.0])
    x.register_hook(log.append)
    ms.grad(lambda x, y: y * 2, (0, 1))(x, Y)
    ms.grad(lambda x: Y, None, w)(X)
    assert len(log) == 2


def test_shared_parameter_has_one_total_gradient():
    log = []
    a = Scale()
    b = Scale(a.w)
    a.w.register_hook(lambda grad: log.append(grad.tolist()))
    ms.grad(lambda x: a(x) + b(x * 10), None, a.w)(X)
    assert log == [[11.0, 22.0]]


def test_parameter_hooks_clip():
    """The commonest use: clip every gradient of a network."""
    net = nn.Dense(2, 2, weight_init="ones", bias_init="zeros")
    handles = [p.register_hook(lambda grad: grad.clip(-1.0, 1.0)) for p in net.get_parameters()]
    f = lambda x: (net(x) * 100).sum()  # noqa: E731
    clipped = ms.grad(f, None, net.trainable_params())(Tensor([[1.0, -1.0]]))
    assert [g.tolist() for g in clipped] == [[[1.0, -1.0], [1.0, -1.0]], [1.0, 1.0]]
    for handle in handles:
        handle.remove()
    assert ms.grad(f, None, net.trainable_params())(Tensor([[1.0, -1.0]]))[1].tolist() == [100.0, 100.0]


def test_hook_outlives_set_data_and_changes_of_requires_grad():
    log = []
    net = Scale()
    net.w.register_hook(log.append)
    net.w.set_data(Tensor([5.0, 6.0]))
    net.w.requires_grad = False
    net.w.requires_grad = True
    ms.grad(net, None, net.w)(X)
    assert len(log) == 1


# ---- errors


@pytest.mark.parametrize("make", [lambda: Tensor(1.0), lambda: Parameter(1.0)], ids=["Tensor", "Parameter"])
@pytest.mark.parametrize("bad", [3, None, "print"], ids=str)
def test_registration_refuses_what_can_not_be_called(make, bad):
    with pytest.raises(TypeError, match=r"register_hook.*must be callable"):
        make().register_hook(bad)


def test_on_a_stopped_tensor():
    def f(x):
        y = ops.stop_gradient(x * 2)
        with pytest.raises(RuntimeError, match=r"stop_gradient"):
            y.register_hook(print)
        return x

    assert ms.grad(f)(X).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("way", ["backward", "jit", "graph", "functional"])
def test_on_a_stopped_tensor_in_every_mode(way):
    class Net(nn.Cell):
        def construct(self, x):
            y = ops.stop_gradient(x * 2)
            y.register_hook(print)
            return x * y

    net = Net()
    with pytest.raises(RuntimeError, match=r"stop_gradient"):
        if way == "backward":
            net(Tensor([1.0]).requires_grad_()).backward()
        elif way == "functional":
            apply, params, buffers = ms.functionalize(net)
            jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(np.ones(2, "float32"))
        else:
            ms.set_context(mode=ms.GRAPH_MODE if way == "graph" else ms.PYNATIVE_MODE)
            (ms.jit(net) if way == "jit" else net)(Tensor([1.0]))


def test_on_a_parameter_that_requires_no_gradient():
    with pytest.raises(RuntimeError, match=r"Parameter 'frozen'.*requires no gradient"):
        Parameter(1.0, name="frozen", requires_grad=False).register_hook(print)


def test_on_constants_and_integers_nothing_happens():
    for constant in (Tensor([1.0]), Tensor([1])):
        constant.register_hook(lambda grad: 1 / 0)
        ms.grad(lambda x, c=constant: x * c)(Tensor([2.0]))


def test_lists_that_are_joined_lose_a_hook_by_either_one_s_handle():
    first, second = HookList(), HookList()
    here, there = first.add(lambda grad: grad * 2), second.add(lambda grad: grad * 3)
    first.join(second)
    assert first.run(X).tolist() == second.run(X).tolist() == (X * 6).tolist()
    there.remove()
    assert first.run(X).tolist() == (X * 2).tolist()
    here.remove()
    assert not first and not second
