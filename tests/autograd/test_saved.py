"""saved_tensors_hooks and recompute."""

import gc

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.tools import hooks_of


def net_and_input():
    ms.set_seed(3)
    return nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2)), ms.Tensor([[0.3, -0.2, 0.9]], ms.float32)


def all_grads(fn, net, x):
    by_input, by_weight = ms.grad(fn, 0, net.trainable_params())(x)
    return [g.asnumpy() for g in (by_input, *by_weight)]


def same(got, expected):
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-6)


# ---- saved_tensors_hooks


def test_pack_and_unpack_run_once_for_each_value():
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.asnumpy())
        return len(packed) - 1

    def unpack(i):
        unpacked.append(i)
        return ms.Tensor(packed[i])

    x = ms.Tensor([1.0, 2.0], ms.float32)
    with ms.saved_tensors_hooks(pack, unpack):
        y = ops.exp(x.requires_grad_()) * x
    assert packed and not unpacked
    y.sum().backward()
    assert sorted(unpacked) == list(range(len(packed)))
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp([1, 2]) * [2, 3], rtol=1e-6)


def test_values_are_not_kept_besides():
    x = ops.ones((1000,)).requires_grad_()
    kept = []
    y = x
    gc.collect()
    before = len(jax.live_arrays())
    with ms.saved_tensors_hooks(lambda t: kept.append(t.asnumpy()) or len(kept) - 1, lambda i: ms.Tensor(kept[i])):
        for _ in range(10):
            y = ops.exp(y * 0.5)
    gc.collect()
    assert len(jax.live_arrays()) - before <= 3
    y.sum().backward()
    assert x.grad is not None


def test_nested_contexts_and_nothing_outside():
    log = []

    def hooks(name):
        return ms.saved_tensors_hooks(lambda t: log.append(name) or t, lambda t: t)

    x = ms.Tensor(2.0).requires_grad_()
    with hooks("outer"):
        x * x
        with hooks("inner"):
            x * x
        x * x
    x * x
    assert log == ["outer"] * 2 + ["inner"] * 2 + ["outer"] * 2
    ms.Tensor(2.0) * 3
    assert len(log) == 6


def test_values_changed_by_unpack_in_nested_gradients():
    def f(x):
        with ms.saved_tensors_hooks(lambda t: t, lambda t: t * 1):
            return x * x * x

    assert ms.grad(ms.grad(f))(ms.Tensor(2.0)).item() == 12.0
    x = ms.Tensor(2.0).requires_grad_()
    with pytest.raises(RuntimeError, match="create_graph"):
        f(x).backward(create_graph=True)


@pytest.mark.parametrize(
    "unpack, kind, message",
    [
        (lambda t: 3, TypeError, "should return a Tensor"),
        (lambda t: ops.ones((5,)), ValueError, r"shape \(2,\)"),
        (lambda t: t.astype(ms.float16), ValueError, "dtype float32"),
    ],
)
def test_wrong_unpack(unpack, kind, message):
    x = ops.ones((2,)).requires_grad_()
    with ms.saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sum()
    with pytest.raises(kind, match=message):
        y.backward()


def test_not_while_compiling():
    def f(x):
        with ms.saved_tensors_hooks(lambda t: t, lambda t: t):
            return ms.grad(lambda v: v * v)(ms.Tensor(x))

    with pytest.raises(NotImplementedError, match="being compiled"):
        jax.jit(f)(np.float32(1))


def test_cell_registers_a_pair_and_removes_it():
    net, x = net_and_input()
    expected, log = all_grads(net, net, x), []
    handle = net.register_saved_tensors_hooks(lambda t: log.append("pack") or t.asnumpy(), lambda a: ms.Tensor(a))
    same(all_grads(net, net, x), expected)
    assert log
    log.clear()
    handle.remove()
    same(all_grads(net, net, x), expected)
    assert not log and not hooks_of(net)


# ---- recompute


def test_recomputed_cell_has_the_same_gradients():
    net, x = net_and_input()
    expected = all_grads(net, net, x)
    net.recompute()
    same(all_grads(net, net, x), expected)
    net(x).sum().backward()
    same([p.grad.asnumpy() for p in net.trainable_params()], expected[1:])


def test_forward_hooks_inside_run_again_before_the_backward_hooks():
    net, x = net_and_input()
    log = []
    for name, cell in net.named_children():
        cell.register_forward_hook(lambda cell, args, out, name=name: log.append(f"forward {name}"))
        cell.register_backward_hook(lambda cell, grad_input, grad_output, name=name: log.append(f"backward {name}"))
    net.register_forward_hook(lambda cell, args, out: log.append("forward net"))
    net.recompute()
    ms.grad(net)(x)
    forward = [f"forward {i}" for i in range(3)]
    assert log == [*forward, "forward net", *forward, "backward 2", "backward 1", "backward 0"]


def test_inner_values_are_not_kept():
    def chain(x):
        for _ in range(20):
            x = ops.sin(x * 1.01)
        return x

    x = ops.ones((1000,)).requires_grad_()
    gc.collect()
    before = len(jax.live_arrays())
    y = ms.recompute(chain, x)
    gc.collect()
    assert len(jax.live_arrays()) - before <= 2
    y.sum().backward()
    again, x.grad = x.grad, None
    chain(x).sum().backward()
    np.testing.assert_allclose(again.asnumpy(), x.grad.asnumpy(), rtol=1e-6)


def test_twice_with_retained_graph():
    net, x = net_and_input()
    out = ms.recompute(net, x).sum()
    out.backward(retain_graph=True)
    once = [p.grad.asnumpy() for p in net.trainable_params()]
    out.backward()
    same([p.grad.asnumpy() for p in net.trainable_params()], [2 * g for g in once])
    with pytest.raises(RuntimeError, match="retain_graph"):
        out.backward()


def test_new_weights_between_forward_and_backward():
    net, x = net_and_input()
    expected = all_grads(net, net, x)[1:]
    out = ms.recompute(net, x).sum()
    weight = net[2].weight
    weight.set_data(weight * 100)
    now = weight.asnumpy()
    out.backward()
    same([p.grad.asnumpy() for p in net.trainable_params()], expected)
    np.testing.assert_array_equal(weight.asnumpy(), now)


def test_random_numbers_are_repeated_and_averages_kept():
    net = nn.SequentialCell(nn.BatchNorm1d(4), nn.Dropout(p=0.5)).set_train()
    x = ms.Tensor(np.random.rand(8, 4), ms.float32).requires_grad_()
    out = ms.recompute(net, x)
    mean = net[0].moving_mean.asnumpy()
    state = ms.default_generator.state.asnumpy()
    out.sum().backward()
    np.testing.assert_array_equal(net[0].moving_mean.asnumpy(), mean)
    np.testing.assert_array_equal(ms.default_generator.state.asnumpy(), state)
    weights = (out.asnumpy() != 0).astype(np.float32) * 2
    np.testing.assert_allclose(net[0].beta.grad.asnumpy(), weights.sum(0), rtol=1e-6)


def test_nested_and_higher_order():
    def inner(x):
        return ops.sin(x) * x

    def plain(x):
        return ops.exp(inner(x)) * x

    def again(x):
        return ms.recompute(lambda v: ops.exp(ms.recompute(inner, v)) * v, x)

    x = ms.Tensor(0.4)
    for _ in range(3):
        plain, again = ms.grad(plain), ms.grad(again)
        np.testing.assert_allclose(again(x).asnumpy(), plain(x).asnumpy(), rtol=1e-5)


def test_each_backward_pass_of_nested_gradients_runs_the_block_once():
    runs = []

    def block(x):
        runs.append(1)
        return ops.exp(x) * x * x

    ms.grad(ms.grad(lambda x: ms.recompute(block, x)))(ms.Tensor(1.0))
    assert len(runs) == 3


def test_something_else_the_second_time():
    calls = []

    def fickle(x):
        calls.append(1)
        return x * x if len(calls) == 1 else ops.exp(x)

    y = ms.recompute(fickle, ms.Tensor(2.0).requires_grad_())
    with pytest.raises(RuntimeError, match="something else in its second run"):
        y.backward()
    assert ms.grad(lambda x: x * x)(ms.Tensor(3.0)).item() == 6.0


def test_contexts_for_both_runs():
    log = []

    class Note:
        def __init__(self, text):
            self.text = text

        def __enter__(self):
            log.append(self.text)

        def __exit__(self, *_exception):
            log.append("end")

    y = ms.recompute(ops.exp, ms.Tensor(2.0).requires_grad_(), context_fn=lambda: (Note("first"), Note("second")))
    y.backward()
    assert log == ["first", "end", "second", "end"]


def test_containers_keywords_and_no_gradient():
    def f(pair, *, scale):
        return {"sum": pair[0] * scale + pair[1] * pair[1], "text": "kept"}

    x = ms.Tensor([2.0]).requires_grad_()
    out = ms.recompute(f, (x, ms.Tensor([3.0])), scale=x * 5)
    assert out["text"] == "kept"
    out["sum"].backward()
    assert x.grad.tolist() == [20.0]
    assert ms.recompute(ops.exp, ms.Tensor(0.0)).item() == 1.0
    with ms.no_grad():
        assert not ms.recompute(ops.exp, x).requires_grad
