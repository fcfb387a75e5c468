"""Memory that Tensors share: gradients, hooks and leaves of views, what keeps memory of its own, strides, threads."""

import copy
import pickle
import threading
import weakref

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops


def zeros(*shape):
    return ops.zeros(shape or (3, 4), ms.float32)


def test_views_show_what_is_written_to_their_base_and_to_each_other():
    x = zeros(2, 3)
    row, flat, turned = x[1], x.view(-1), x.T
    x[1, 2] = 5.0
    assert (row.asnumpy()[2], flat.asnumpy()[5], turned.asnumpy()[2, 1]) == (5, 5, 5)
    turned[0].fill_(1)
    assert row.asnumpy().tolist() == [1, 0, 5] and flat.asnumpy().tolist() == [1, 0, 0, 1, 0, 5]


def test_a_gradient_passes_through_what_is_written_to_a_view():
    x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    v = ms.Tensor([10.0, 20.0]).requires_grad_()
    y = x * 1
    column = y[:, 0]
    column.mul_(v)
    (y * ms.Tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    # y[i, 0] is x[i, 0] * v[i], with the factors 1 and 3.
    assert x.grad.asnumpy().tolist() == [[10.0, 2.0], [60.0, 4.0]]
    assert v.grad.asnumpy().tolist() == [1.0, 9.0]


def test_ms_grad_records_writes_to_views():
    def f(x):
        y = x * 2
        y[0][1] = 0.0
        return (y * y).sum()

    assert ms.grad(f)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])).asnumpy().tolist() == [[8.0, 0.0], [24.0, 32.0]]
    assert ms.jit(ms.grad(f))(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])).asnumpy().tolist() == [[8.0, 0.0], [24.0, 32.0]]


def test_a_view_that_is_an_argument_of_a_gradient_function_passes_its_own_gradient():
    x = zeros(2, 2)
    x[...] = 3.0

    def f(row):
        row[1] = 0.0
        return (row * row).sum()

    assert ms.grad(f)(x[0]).asnumpy().tolist() == [6.0, 0.0]
    assert x.asnumpy().tolist() == [[3.0, 0.0], [3.0, 3.0]]


def test_views_of_a_leaf_are_refused_where_the_leaf_is():
    x = zeros(2, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        x[0][1] = 1.0
    with pytest.raises(RuntimeError, match="leaf"):
        x.T.fill_(1.0)
    assert x.asnumpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with ms.no_grad():
        x[0][1] = 1.0
    x.data[1] = 2.0
    x.detach()[1][0] = 3.0
    assert x.requires_grad and x.asnumpy().tolist() == [[0.0, 1.0], [3.0, 2.0]]


def test_several_elements_that_are_one_are_not_written():
    x = zeros(3)
    repeated = x.expand((2, 3))
    with pytest.raises(RuntimeError, match="several elements are one"):
        repeated.add_(1.0)
    repeated[1].add_(1.0)
    assert repeated.asnumpy().tolist() == [[1.0] * 3] * 2 and x.asnumpy().tolist() == [1.0] * 3
    # One value everywhere is the same for each of them.
    assert repeated.fill_(5.0) is repeated and x.asnumpy().tolist() == [5.0] * 3
    repeated[:, 1:].zero_()
    assert repeated.asnumpy().tolist() == [[5.0, 0.0, 0.0]] * 2


def test_parameters_are_written_through_views_and_optimizers_show_in_them():
    net = nn.Dense(2, 2, weight_init="zeros", has_bias=False)
    row = net.weight[0]
    row[1] = 4.0
    with ms.no_grad():
        net.weight[:, 0].fill_(2.0)
    assert net.weight.asnumpy().tolist() == [[2.0, 4.0], [2.0, 0.0]]
    nn.SGD(net.trainable_params(), 1.0)((ops.ones((2, 2)),))
    assert row.asnumpy().tolist() == [1.0, 3.0]
    net.weight.set_data(ops.ones((2, 2)))
    assert row.asnumpy().tolist() == [1.0, 1.0]
    net.weight.data[0] = 5.0
    assert row.asnumpy().tolist() == [5.0, 5.0]
    ms.load_param_into_net(net, {"weight": ms.Parameter(zeros(2, 2), name="weight")})
    assert row.asnumpy().tolist() == [0.0, 0.0]


def test_new_memory_of_another_shape_leaves_the_views_the_old_one():
    x = zeros(2, 2)
    first, second = x[0], x.view(-1)
    x.assign_value(ops.ones((3,)))
    first[0] = 7.0
    assert second.asnumpy().tolist() == [7.0, 0.0, 0.0, 0.0] and x.asnumpy().tolist() == [1.0] * 3


def test_a_compiled_function_writes_to_its_callers_view_and_to_views_from_outside():
    x = zeros(2, 3)
    whole = x.view(-1)
    row = x[1]

    @ms.jit
    def fill(part):
        part[0] = 1.0
        row[2] = 5.0
        return row.sum()

    assert float(fill(zeros(3))) == 5.0
    assert whole.asnumpy().tolist() == [0.0] * 5 + [5.0]

    @ms.jit
    def only(part):
        part.T[0] = 2.0

    only(x[0:1])
    assert whole.asnumpy().tolist() == [2.0, 0.0, 0.0, 0.0, 0.0, 5.0]


def test_arguments_that_share_memory_run_in_pynative_mode():
    @ms.jit
    def move(target, source):
        target[0] = 3.0
        return source.sum()

    x = zeros(2, 2)
    with pytest.warns(UserWarning, match="share"):
        assert float(move(x[0], x)) == 3.0
    assert float(move(zeros(2), zeros(2, 2))) == 0.0


def test_hooks_of_a_view_get_the_gradient_of_what_it_was():
    seen = []
    x = ms.Tensor([1.0, 2.0]).requires_grad_()
    y = x * 3
    part = y[:1]
    part.register_hook(lambda grad: seen.append(grad.asnumpy().tolist()))
    loss = (part * 5).sum()
    part.fill_(0.0)
    (loss + (part * 7).sum()).backward()
    assert seen == [[5.0]] and x.grad.asnumpy().tolist() == [15.0, 0.0]


def test_a_write_that_is_not_recorded_keeps_hooks_and_gradients():
    seen = []
    x = ms.Tensor([1.0, 2.0]).requires_grad_()
    y = x * 3
    part = y[:1]
    part.register_hook(lambda grad: seen.append(grad.asnumpy().tolist()))
    with ms.no_grad():
        y.fill_(10.0)
    (part * 5).sum().backward()
    assert seen == [[5.0]] and x.grad.asnumpy().tolist() == [15.0, 0.0] and part.asnumpy().tolist() == [10.0]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.copy()])
def test_copies_have_memory_of_their_own(copied):
    x = zeros(2, 2)
    other = copied(x[0])
    other[0] = 1.0
    x[0] = 2.0
    assert x.asnumpy().tolist() == [[2.0, 2.0], [0.0, 0.0]] and other.asnumpy().tolist() == [1.0, 0.0]


def test_numpy_arrays_share_no_memory():
    array = np.zeros(3, np.float32)
    x = ms.Tensor.from_numpy(array)
    array[0] = 1.0
    x.asnumpy()[1] = 1.0
    assert x.asnumpy().tolist() == [0.0] * 3


def test_strides_tell_how_a_view_lies_in_its_base():
    x = zeros(3, 4)
    assert (x.T.stride(), x.T.strides, x.T.is_contiguous()) == ([1, 4], (4, 16), False)
    assert (x[1:, 2].storage_offset(), x[1:, 2].stride(), x.diagonal().stride()) == (6, [4], [5])
    assert x[1].is_contiguous() and x[1].contiguous() is not x and x.contiguous() is x
    turned = x.T.contiguous()
    turned[0] = 1.0
    assert float(x.sum()) == 0.0
    z = ms.Tensor([1 + 2j, 3j], ms.complex64)
    ops.imag(z)[0] = 5.0
    assert ops.view_as_real(z).asnumpy().tolist() == [[1.0, 5.0], [0.0, 3.0]] and ops.real(z).stride() == [2]


def test_a_view_keeps_its_base_and_not_the_other_way_round():
    x = zeros(2, 2)
    row = x[0]
    base, view = weakref.ref(x), weakref.ref(row)
    del x
    assert base() is not None
    del row
    assert view() is None and base() is None


@pytest.mark.parametrize("write", ["row[j] = i + 1", "row[j:j + 1].fill_(i + 1)", "x[i, j] = i + 1"])
@pytest.mark.parametrize("make", [zeros, lambda *shape: ms.Parameter(zeros(*shape))])
def test_threads_write_to_different_parts_without_losing_any(make, write):
    x = make(8, 20)
    code = compile(f"for j in range(20): {write}", "writes", "exec")
    threads = [threading.Thread(target=exec, args=(code, {"x": x, "row": x[i], "i": i})) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.asnumpy().tolist() == [[float(i + 1)] * 20 for i in range(8)]


def test_bits_read_as_a_type_of_the_same_size_are_a_view():
    x = ms.Tensor([1.0, 2.0, 3.0])
    bits = x.T.view(ms.int32)
    bits[0] = 0x40800000
    bits[1:].fill_(0x3F000000)
    assert x.asnumpy().tolist() == [4.0, 0.5, 0.5]
    x[2] = 1.0
    assert bits.asnumpy()[2] == 0x3F800000
    halves = x.view(ms.int16)  # a copy
    halves.fill_(0)
    assert x.asnumpy().tolist() == [4.0, 0.5, 1.0]


def test_bits_that_are_written_carry_no_gradient():
    x = ms.Tensor([1.0, 2.0, 3.0]).requires_grad_()
    y = x * 2
    y[:1].view(ms.int32).fill_(0)
    y.sum().backward()
    assert x.grad.asnumpy().tolist() == [0.0, 2.0, 2.0]


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, lambda f: jax.vmap(f, 1), lambda f: lambda x: jax.lax.map(f, x)])
@pytest.mark.parametrize("use", [lambda x: x + 1, lambda x: x.asnumpy(), str, lambda x: float(x[0, 0]), lambda x: x.add_(1)])
def test_what_a_transformation_of_jax_wrote_to_a_tensor_from_outside_is_an_error(transform, use):
    x = zeros(2, 3)
    row = x[0]

    def writes(v):
        row[0] = ms.Tensor(v).sum()
        return jax.numpy.sum(v)

    transform(writes)(np.ones((2, 3), np.float32))
    for tensor in (lambda: x, lambda: row.view(1, 3)):
        with pytest.raises(jax.errors.UnexpectedTracerError, match=r"(?s)has no value: it.*return the new value from the"):
            use(tensor())


def test_gradients_that_are_kept_are_those_of_what_a_write_left():
    x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    y = x * 2
    row = y[0]
    y.retain_grad()
    row.mul_(3)
    (y * y).sum().backward()
    # y is [[6, 12], [6, 8]] after the write.
    assert y.grad.asnumpy().tolist() == [[12.0, 24.0], [12.0, 16.0]]
    assert x.grad.asnumpy().tolist() == [[72.0, 144.0], [24.0, 32.0]]


def test_checkpoints_have_the_values_of_views_and_loading_shows_in_them(tmp_path):
    net = nn.Dense(2, 2)
    row, before = net.weight[0], net.weight.asnumpy()
    net.weight[1] = 5.0
    ms.save_checkpoint([{"name": "row", "data": net.weight[1]}], str(tmp_path / "row.ckpt"))
    assert ms.load_checkpoint(str(tmp_path / "row.ckpt"))["row"].asnumpy().tolist() == [5.0, 5.0]
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    net.weight.fill_(0.0)
    assert row.asnumpy().tolist() == [0.0, 0.0]
    ms.load_param_into_net(net, ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    assert row.asnumpy().tolist() == before[0].tolist() and net.weight.asnumpy()[1].tolist() == [5.0, 5.0]
