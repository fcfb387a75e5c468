"""Memory that Tensors share: gradients, hooks and leaves of views, what keeps memory of its own, strides, threads."""

import copy
import pickle
import threading
import weakref

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
    assert (x.T.stride(), x.T.strides, x.T.is_contiguous()) == ((1, 4), (4, 16), False)
    assert (x[1:, 2].storage_offset(), x[1:, 2].stride(), x.diagonal().stride()) == (6, (4,), (5,))
    assert x[1].is_contiguous() and x[1].contiguous() is not x and x.contiguous() is x
    turned = x.T.contiguous()
    turned[0] = 1.0
    assert float(x.sum()) == 0.0
    z = ms.Tensor([1 + 2j, 3j], ms.complex64)
    ops.imag(z)[0] = 5.0
    assert ops.view_as_real(z).asnumpy().tolist() == [[1.0, 5.0], [0.0, 3.0]] and ops.real(z).stride() == (2,)


def test_a_view_keeps_its_base_and_not_the_other_way_round():
    x = zeros(2, 2)
    row = x[0]
    base, view = weakref.ref(x), weakref.ref(row)
    del x
    assert base() is not None
    del row
    assert view() is None and base() is None


def test_threads_write_to_views_of_one_base():
    x = zeros(8, 50)

    def work(i):
        row = x[i]
        for j in range(50):
            with lock:
                row[j] = float(i + 1)

    lock = threading.Lock()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.asnumpy().tolist() == [[float(i + 1)] * 50 for i in range(8)]
