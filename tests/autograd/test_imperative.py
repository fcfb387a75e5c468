"""requires_grad, backward() and grad, as far as they are msjax's own: errors, modes, Parameters, threads, memory."""

import gc
import sys
import threading
import warnings
import weakref

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from tests.x64 import present


def leaf(*values):
    return ms.Tensor(list(values), ms.float32).requires_grad_()


def small_net():
    return nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 1))


# ---- errors say what to do


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: (leaf(1.0, 2.0) * 2).backward(), r"ones_like\(y\).*y\.sum\(\)\.backward"),
        (lambda: ms.Tensor([1.0]).backward(), "requires no gradient"),
        (lambda: (leaf(1.0) * 2).backward(ms.Tensor([1.0, 2.0])), r"'gradient' has shape \(2,\).*\(1,\)"),
        (lambda: (leaf(1.0) * 2).requires_grad_(False), "detach"),
        (lambda: ms.Tensor([1]).requires_grad_(), f"floating-point.*{present(ms.int64)}"),
        (lambda: leaf(1.0).__setitem__(0, 2.0), r"no_grad\(\)"),
        (lambda: ms.grad(lambda x: (x * 2).backward())(ms.Tensor(1.0)), "being differentiated.*ms.value_and_grad"),
        (lambda: ms.grad(lambda x: ms.Tensor(1.0).requires_grad_() * x)(ms.Tensor(1.0)), "grad_position"),
        (lambda: jax.jit(lambda x: (ms.Tensor(x) * leaf(1.0)).backward())(np.float32(1)), "being compiled"),
        (lambda: setattr(leaf(1.0, 2.0), "grad", ms.Tensor([1.0])), r"shape \(2,\)"),
        (lambda: (leaf(1.0) * 2).register_post_accumulate_grad_hook(print), "register_hook"),
        (lambda: ms.Tensor([1.0]).retain_grad(), "requires no gradient"),
        (lambda: (leaf(1.0) * 2).backward(inputs=[]), "should not be empty"),
        (lambda: (leaf(1.0) * 2).backward(inputs=[ms.Tensor([1.0])]), "leaves"),
    ],
)
def test_runtime_errors(call, message):
    with pytest.raises(RuntimeError, match=f"(?s){message}"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: (leaf(1.0) * 2).backward(np.ones(1, np.float32)),
        lambda: setattr(leaf(1.0), "requires_grad", 1),
        lambda: setattr(leaf(1.0), "grad", 1.0),
        lambda: leaf(1.0).register_post_accumulate_grad_hook(3),
        lambda: ms.saved_tensors_hooks(1, 2),
        lambda: ms.recompute(3),
        lambda: ms.no_grad()(3),
        lambda: nn.register_cell_forward_hook("hook"),
        lambda: nn.ReLU().train("yes"),
    ],
)
def test_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_freed_graph_names_the_operator():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"'Mul'.*retain_graph=True"):
        y.backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_grad_of_no_leaf_warns_and_is_none():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ms.Tensor([1.0]).grad is None and leaf(1.0).grad is None


# ---- modes


def test_modes_nest_and_come_back():
    x = leaf(1.0)
    assert ms.is_grad_enabled()
    with ms.no_grad():
        assert not ms.is_grad_enabled() and not (x * 2).requires_grad
        with ms.enable_grad():
            assert (x * 2).requires_grad
        assert not ms.is_grad_enabled()
    ms.set_grad_enabled(False)
    assert not ms.is_grad_enabled()
    ms.set_grad_enabled(True)
    assert (x * 2).requires_grad


def test_no_grad_decorates_with_and_without_parentheses():
    x = leaf(1.0)

    @ms.no_grad
    def one():
        """Doc."""
        return x * 2

    @ms.set_grad_enabled(False)
    def two():
        return x * 2

    assert one.__doc__ == "Doc." and not one().requires_grad and not two().requires_grad and (x * 2).requires_grad


def test_no_grad_refuses_a_generator():
    with pytest.raises(TypeError, match="be a function that is no generator"):

        @ms.no_grad()
        def numbers():
            yield 1


def test_gradient_functions_record_under_no_grad():
    with ms.no_grad():
        assert ms.grad(lambda x: x * x)(ms.Tensor(3.0)).item() == 6.0


def test_results_of_gradient_functions_are_plain_values():
    x, net = leaf(2.0), small_net()
    assert not ms.grad(lambda v: v * v)(x).requires_grad
    assert not ms.grad(net)(ops.ones((1, 3))).requires_grad
    value, _ = ms.value_and_grad(lambda v: v * x)(ms.Tensor([3.0]))
    assert not value.requires_grad


# ---- Parameters and cells


def test_parameters_take_part():
    net, x = small_net(), ms.Tensor(np.linspace(-1, 1, 6).reshape(2, 3), ms.float32)
    expected = ms.grad(lambda v: net(v).sum(), None, net.trainable_params())(x)
    net(x).sum().backward()
    for parameter, grad in zip(net.trainable_params(), expected):
        np.testing.assert_allclose(parameter.grad.asnumpy(), grad.asnumpy(), rtol=1e-6)
    assert net[0].weight.is_leaf and net[0].weight.grad_fn is None


def test_optimizer_steps_on_grads():
    net, x = small_net(), ops.ones((2, 3))
    parameters = net.trainable_params()
    optimizer = nn.Momentum(parameters, 0.1, 0.9)
    before = net(x).sum().item()
    for _ in range(5):
        net.zero_grad()
        net(x).sum().backward()
        assert optimizer([p.grad for p in parameters]) is not None
    assert net(x).sum().item() < before


def test_new_data_between_forward_and_backward_leaves_the_gradient_right():
    layer = nn.Dense(2, 1, ms.Tensor([[2.0, 3.0]]), "zeros")
    x = leaf(1.0, 1.0).reshape(1, 2) * 1
    x.retain_grad()
    out = layer(x).sum()
    layer.weight.set_data(ms.Tensor([[100.0, 100.0]]))
    layer.weight[0, 0] = -5.0
    out.backward()
    assert x.grad.tolist() == [[2.0, 3.0]]
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    layer.zero_grad()
    layer(ops.ones((1, 2))).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_zero_grad_sees_new_members():
    net = small_net()
    net.zero_grad()
    net.append(nn.Dense(1, 1))
    net(ops.ones((1, 3))).sum().backward()
    net.zero_grad()
    assert [p.grad for p in net.parameters()] == [None] * 6


def test_gradient_functions_and_backward_do_not_disturb_each_other():
    net, x = small_net(), ops.ones((1, 3))
    out = net(x).sum()
    first = ms.grad(net, None, net[0].weight)(x)
    out.backward()
    np.testing.assert_allclose(net[0].weight.grad.asnumpy(), first.asnumpy(), rtol=1e-6)


# ---- in place


def test_what_was_recorded_keeps_its_values():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    square = (y * y).sum()  # PyTorch refuses this one: y is written to after it was used
    y[0] = 100.0
    square.backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_written_from_itself():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    y[0] = y[1] * y[2]
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [0.0, 2 * 6 * 3 + 4, 2 * 6 * 2 + 6])


def test_rows_written_in_a_loop():
    rows = [leaf(float(i), 1.0) for i in range(4)]
    table = ops.zeros((4, 2))
    for i, row in enumerate(rows):
        table[i] = row * (i + 1)
    (table * table).sum().backward()
    for i, row in enumerate(rows):
        np.testing.assert_allclose(row.grad.asnumpy(), 2 * (i + 1) ** 2 * row.asnumpy())


def test_write_through_a_mask_and_an_index_tensor():
    x = leaf(1.0, -2.0, 3.0)
    y = x * 1
    y[y < 0] = 0.0
    y[ms.Tensor([2])] = x[0] * 5
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 0.0, 0.0]


def test_written_without_recording_keeps_the_backward():
    x = leaf(1.0, 2.0)
    y = x * 2
    with ms.no_grad():
        y[0] = 50.0
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad.tolist() == [200.0, 16.0]


# ---- several outputs, higher order, hooks on the way


def test_several_outputs_and_unused_ones():
    x = leaf(3.0, 1.0, 2.0)
    values, indices = ops.topk(x, 2)
    (values * ms.Tensor([10.0, 1.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 0.0, 1.0] and not indices.requires_grad
    x.grad = None
    first, _, _ = ops.split(x, 1)
    (first * first).backward()
    assert x.grad.tolist() == [6.0, 0.0, 0.0]


def test_custom_bprop_and_hookbackward_on_the_way():
    class Triple(nn.Cell):
        def construct(self, x):
            return x * 3

        def bprop(self, x, out, dout):
            return (dout * 1000,)

    seen = []
    x = leaf(2.0)
    tap = ops.HookBackward(lambda grads: seen.append(grads[0].item()))
    Triple()(tap(x * 5)).sum().backward()
    assert seen == [1000.0] and x.grad.tolist() == [5000.0]


def test_create_graph_agrees_with_nested_grad():
    def f(x):
        return (ops.sin(x) * ops.exp(x) + x**3 / (1 + x * x)).sum()

    x = leaf(0.3, -0.7)
    f(x).backward(create_graph=True)
    (x.grad * x.grad).sum().backward()
    twice = x.grad - ms.grad(f)(x.detach())

    def penalty(v):
        grad = ms.grad(f)(v)
        return (grad * grad).sum()

    np.testing.assert_allclose(twice.asnumpy(), ms.grad(penalty)(x.detach()).asnumpy(), rtol=1e-4)


def test_backward_in_a_hook():
    x, other = leaf(2.0), leaf(5.0)

    def hook(grad):
        with ms.enable_grad():
            (other * other).backward()

    y = x * 3
    y.register_hook(hook)
    y.backward()
    assert x.grad.tolist() == [3.0] and other.grad.tolist() == [10.0]


def test_integer_steps_on_the_way():
    x = leaf(1.7, 2.2)
    (x * x.astype(ms.int32)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_threads_have_modes_and_tapes_of_their_own():
    results = {}

    def work(n):
        x = leaf(float(n))
        for _ in range(20):
            (x * x).backward()
        results[n] = x.grad.item(), ms.is_grad_enabled()

    with ms.no_grad():
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {n: (40.0 * n, True) for n in range(4)}


def test_threads_that_record_an_operator_for_the_first_time_at_once():
    """Each compiles it, and the program of one takes the place of the others', which go with what describes their residuals."""
    barrier, results = threading.Barrier(4), []

    def work():
        x = leaf(*range(23))
        barrier.wait()
        for operator in (ops.tanh, ops.sin, ops.exp):
            operator(x).sum().backward()
        results.append(x.grad.shape)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [(23,)] * 4


# ---- memory


def live_bytes():
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays())


def test_steps_with_hooks_leave_memory_flat():
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Dense(4 * 8 * 8, 10))
    parameters = net.trainable_params()
    optimizer = nn.SGD(parameters, 0.01)
    seen = {}
    for name, cell in net.named_modules():
        cell.register_forward_hook(lambda cell, args, out, name=name: seen.update({name: out}))
        cell.register_backward_hook(lambda cell, grad_input, grad_output, name=name: seen.update({name + "'": grad_output}))
    for parameter in parameters:
        parameter.register_hook(lambda grad: seen.update(last=grad))
        parameter.register_post_accumulate_grad_hook(lambda parameter: seen.update(after=parameter.grad))
    x = ms.Tensor(np.random.rand(2, 1, 8, 8), ms.float32)

    def steps(n):
        for _ in range(n):
            net.zero_grad()
            hidden = net(x)
            hidden.retain_grad()
            (hidden * hidden).mean().backward()
            optimizer([p.grad for p in parameters])

    steps(5)
    before = live_bytes()
    gc.disable()  # nothing may be left to the collector of cycles
    try:
        steps(100)
        after = sum(array.nbytes for array in jax.live_arrays())
    finally:
        gc.enable()
    assert after == before


def test_a_graph_goes_with_its_last_tensor():
    x = leaf(1.0, 2.0)
    y = (x * x).exp()
    # Of the graph itself, nothing public is left to ask.
    node = weakref.ref(y._node)
    del y
    assert node() is None
    gone = weakref.ref(x)
    del x
    assert gone() is None


def test_a_gradient_function_keeps_only_the_results_that_gradients_need():
    x, held = ops.ones(1000, ms.float32), []

    def f(x):
        y = (x * 2).exp()  # its gradient needs the result and the factor
        held.append(live_bytes() - before)
        return y.sum()

    before = live_bytes()
    np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), np.full(1000, 2 * np.exp(2)), rtol=1e-6)
    assert 4000 <= held[0] < 8000


def test_accumulated_grad_holds_no_graph():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    assert x.grad.is_leaf and not x.grad.requires_grad
    before = live_bytes()
    for _ in range(50):
        (x * x).sum().backward()
    assert live_bytes() == before
