"""Operators that make Tensors."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

import msjax as ms
from msjax import ops
from tests.accelerators.devices import eight_devices

MADE = [
    (lambda: ops.zeros((2, 3), ms.int32), np.zeros((2, 3), np.int32)),
    (lambda: ops.zeros(ms.Tensor([2, 3])), np.zeros((2, 3), np.float32)),
    (lambda: ops.ones(3, ms.float16), np.ones(3, np.float16)),
    (lambda: ops.full((2,), 1.5), np.full(2, 1.5, np.float32)),
    (lambda: ops.full((2,), 3), np.full(2, 3, np.int64)),
    (lambda: ops.full((2,), ms.Tensor(2, ms.int32)), np.full(2, 2, np.int32)),
    (lambda: ops.full_like(ms.Tensor([1, 2], ms.int32), 1.5), np.array([1, 1], np.int32)),
    (lambda: ops.fill(ms.bool_, (2,), 3), np.array([True, True])),
    (lambda: ops.zeros_like(ms.Tensor([1, 2]), dtype=ms.float32), np.zeros(2, np.float32)),
    (lambda: ops.ones_like(ms.Tensor([True, False])), np.array([True, True])),
    (lambda: ops.eye(2, 3, ms.int32), np.eye(2, 3, dtype=np.int32)),
    (lambda: ops.arange(5), np.arange(5)),
    (lambda: ops.arange(0.0, 1.0, 0.25), np.arange(0, 1, 0.25, np.float32)),
    (lambda: ops.arange(ms.Tensor(2, ms.int32), ms.Tensor(6, ms.int32)), np.arange(2, 6)),
    (lambda: ops.arange(1, 6, dtype=ms.float32), np.arange(1, 6, dtype=np.float32)),
    (lambda: ops.range(1, 8, 3), np.array([1, 4, 7])),
    (lambda: ops.linspace(1, 5, 3), np.array([1, 3, 5], np.float32)),
    (lambda: ops.linspace(ms.Tensor(0.0), ms.Tensor(1.0), ms.Tensor(5)), np.linspace(0, 1, 5, dtype=np.float32)),
    (lambda: ops.logspace(ms.Tensor(0.0), ms.Tensor(2.0), 3, 2), np.array([1, 2, 4], np.float32)),
    (lambda: ops.vander(ms.Tensor([1.0, 2.0]), 3), np.vander([1, 2], 3).astype(np.float32)),
    (lambda: ops.vander(ms.Tensor(np.array([20, 3], np.int8)), 4), np.vander([20, 3], 4)),
    (lambda: ops.eps(ms.Tensor([1.0])), np.array([np.finfo(np.float32).eps])),
]


@pytest.mark.parametrize("make, want", MADE, ids=range(len(MADE)))
def test_made(make, want):
    got = make().asnumpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann"])
def test_windows(name):
    numpy = {"hann": np.hanning}.get(name) or getattr(np, name)
    window = getattr(ops, f"{name}_window")
    np.testing.assert_allclose(window(6).asnumpy(), numpy(7)[:-1], atol=1e-6)
    np.testing.assert_allclose(window(6, periodic=False).asnumpy(), numpy(6), atol=1e-6)
    assert window(1).asnumpy() == [1] and window(0).shape == (0,)
    assert window(4, dtype=ms.float16).dtype == ms.float16


def test_kaiser_window():
    np.testing.assert_allclose(ops.kaiser_window(5, False, 8.0).asnumpy(), np.kaiser(5, 8), atol=1e-6)


def test_gradient_through_limits():
    grads = ms.grad(lambda a, b: ops.linspace(a, b, 3).sum(), (0, 1))(ms.Tensor(0.0), ms.Tensor(1.0))
    assert [float(g) for g in grads] == [1.5, 1.5]
    assert float(ms.grad(lambda v: ops.full((3,), v).sum())(ms.Tensor(1.0))) == 3


def test_errors():
    with pytest.raises(ValueError, match="negative"):
        ops.zeros(-1)
    with pytest.raises(TypeError, match="ints"):
        ops.ones((2.0,))
    with pytest.raises(ValueError, match="step"):
        ops.arange(0, 5, 0)
    with pytest.raises(ValueError, match="steps"):
        ops.linspace(0, 1, 0)
    with pytest.raises(ValueError, match="'n' should be positive, but got 0"):
        ops.rfftfreq(0)
    with pytest.raises(TypeError, match="window_length"):
        ops.hann_window(2.5)
    with pytest.raises(ValueError, match="at most 2"):
        ops.range(0, 5, 1, 2)


@pytest.mark.long
def test_what_is_like_a_tensor_lies_where_that_lies():
    devices = eight_devices()
    for place in (SingleDeviceSharding(devices[1]), NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))):
        x = ms.Tensor(jax.device_put(np.ones((8, 2), np.float32), place))
        for made, number in ((ops.zeros_like, 0), (ops.ones_like, 1), (lambda x, **options: ops.full_like(x, 3, **options), 3)):
            for found in (made(x), made(x, dtype=ms.int32)):
                assert found._value.sharding == place
                np.testing.assert_array_equal(found.asnumpy(), np.full((8, 2), number))
            assert made(x, dtype=ms.int32).dtype == ms.int32
