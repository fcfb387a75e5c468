"""Indices: reading, writing, gradients, errors."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MASK = np.array([[True, False, True], [False, True, False]])

INDICES = [
    -1,
    (1, 2),
    (..., 0),
    (slice(None), None),
    (slice(0, 1), ..., 1),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(1, 0),
    (0, slice(None), slice(1, None)),
    [0, 1],
    (slice(None), [0, 2]),
    ([0, 1], [1, 2]),
    (None, 0, ..., None),
    MASK,
    (slice(None), np.array([True, False, True])),
    (slice(None), np.array([[0, 2], [1, 1]])),
    (np.array([0, 1]), slice(None), np.array([0, 3])),
    (),
]


def as_tensors(index):
    if isinstance(index, tuple):
        return tuple(as_tensors(i) for i in index)
    return Tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading(index):
    got = Tensor(X)[as_tensors(index)]
    np.testing.assert_array_equal(got.asnumpy(), X[index])


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_gradient_of_reading(index):
    grad = ms.grad(lambda x: (x[as_tensors(index)] * 2).sum())(Tensor(X))
    want = np.zeros_like(X)
    np.add.at(want, index, 2)
    np.testing.assert_array_equal(grad.asnumpy(), want)


@pytest.mark.parametrize("index", INDICES[:-1], ids=str)
def test_writing_and_its_gradients(index):
    def write(x, value):
        y = x * 1
        y[as_tensors(index)] = value
        return y * 3

    want = X.copy()
    want[index] = -1
    np.testing.assert_array_equal(write(Tensor(X), -1).asnumpy(), want * 3)
    by_x, by_value = ms.grad(write, (0, 1))(Tensor(X), Tensor(-1.0))
    kept = np.ones_like(X)
    kept[index] = 0
    np.testing.assert_array_equal(by_x.asnumpy(), kept * 3)
    assert by_value.asnumpy() == (1 - kept).sum() * 3


def test_lists_of_lists_are_tuples_of_indices():
    assert Tensor(X)[[[0, 1], [1, 2]]].shape == (2, 4)
    assert Tensor(X)[[[0, 1]]].shape == (2, 3, 4)


def test_a_bool_makes_an_axis():
    assert Tensor(X)[True].shape == Tensor(X)[Tensor(True)].shape == (1, 2, 3, 4)


def test_true_beside_arrays_is_one_of_them():
    for index in ((True, [0, 1]), ([0, 1], True), (np.array([True, False]), True), (0, True, [1, 2])):
        np.testing.assert_array_equal(Tensor(X)[index].asnumpy(), X[index])


@pytest.mark.parametrize("index", [False, (False, 0), Tensor(False), ([0, 1], False)], ids=str)
def test_false_leaves_nothing_to_write(index):
    x = Tensor(X)
    x[index] = Tensor([7.0])
    np.testing.assert_array_equal(x.asnumpy(), X)


def test_values_are_broadcast_and_converted():
    x = Tensor([[1, 2], [3, 4]])
    x[:, 0] = [7.9, 8]
    assert x.tolist() == [[7, 2], [8, 4]] and x.dtype is ms.int64
    x[Tensor([True, False])] = Tensor([5, 6])
    assert x.tolist() == [[5, 6], [8, 4]]


@pytest.mark.parametrize("index", [5, -3, (0, 9), 1.0, "x", (0, 0, 0, 0), Tensor([1.0]), Tensor([5])], ids=str)
def test_bad_indices(index):
    with pytest.raises(IndexError):
        Tensor(X)[index]


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"Bool index of shape \(3,\)"):
        Tensor(X)[Tensor([True, False, True])]


@pytest.mark.parametrize("value", [None, "a"])
def test_what_is_no_number_cannot_be_put_in(value):
    with pytest.raises(TypeError, match="can be set to"):
        Tensor(X)[0] = value


def test_loops_over_rows_compile_once():
    compiled = []

    def note(name, _, **about):
        if name.endswith("backend_compile_duration"):
            compiled.append(about)

    x = Tensor(np.ones((16, 3), np.float32))
    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        x[0]
        count = len(compiled)
        for i in range(1, 16):
            x[i]
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert len(compiled) == count <= 1


def test_a_parameter_that_is_written_to_still_trains():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    w[0] = 5.0
    assert w.value().tolist() == [5, 2]
    assert ms.grad(lambda x: (w * x).sum(), None, [w])(Tensor(3.0))[0].asnumpy().ravel().tolist() == [3, 3]


@pytest.mark.long
def test_iteration_and_containment():
    assert [row.tolist() for row in Tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert 3 in Tensor([1, 3]) and 4 not in Tensor([1, 3])
    with pytest.raises(TypeError):
        list(Tensor(1.0))
