"""Values and gradients where formulas have a gap: infinities, NaN, zeros. Numbers without a reason are PyTorch's and MindSpore's."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, mint, nn, ops

INF, NAN = np.inf, np.nan


def check(fn, operands, value, *gradients):
    tensors = [Tensor(np.array(v, np.float32)) for v in operands]
    np.testing.assert_allclose(fn(*tensors).asnumpy(), value, rtol=1e-6)
    found = ms.grad(fn, tuple(range(len(tensors))))(*tensors)
    for got, want in zip(found if isinstance(found, tuple) else (found,), gradients, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


@pytest.mark.parametrize("fn", [ops.logaddexp, ops.logaddexp2])
def test_sums_of_exponentials_beside_an_infinity(fn):
    x, y = [INF, -INF, INF, INF, 1.0, NAN], [1.0, 1.0, -INF, INF, 1.0, 1.0]
    value = fn(Tensor(1.0), Tensor(1.0)).item()
    check(fn, (x, y), [INF, 1.0, INF, INF, value, NAN], [1.0, 0.0, 1.0, NAN, 0.5, NAN], [0.0, 1.0, 0.0, NAN, 0.5, NAN])


def test_xlogy_at_zero():
    x, y = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, -1.0, NAN, 0.0, INF]
    check(ops.xlogy, (x, y), [0, 0, 0, NAN, -INF, 0], [0, 0, 0, NAN, -INF, INF], [NAN, 0, 0, NAN, INF, 0])


@pytest.mark.parametrize("fn", [ops.maximum, ops.minimum])
def test_both_operands_of_an_extreme_get_the_gradient_of_nan(fn):
    check(fn, ([NAN, 1.0, NAN, 2.0], [1.0, NAN, NAN, 2.0]), [NAN, NAN, NAN, 2.0], [1, 1, 1, 0.5], [1, 1, 1, 0.5])


@pytest.mark.parametrize("fn", [ops.fmax, ops.fmin])
def test_the_first_of_equal_values_gets_the_gradient(fn):
    check(fn, ([2.0, NAN, 1.0, NAN], [2.0, 1.0, NAN, NAN]), [2.0, 1.0, 1.0, NAN], [1, 0, 1, 1], [0, 1, 0, 0])


def test_leaky_relu_of_infinities():
    check(lambda x: ops.leaky_relu(x, 0.0), ([INF, -INF, -2.0, 2.0],), [INF, NAN, 0.0, 2.0], [1, 0, 0, 1])
    check(lambda x: ops.leaky_relu(x, 2.0), ([INF, -INF, -2.0, 2.0],), [INF, -INF, -4.0, 2.0], [1, 2, 2, 1])


@pytest.mark.parametrize("fn", [mint.nn.functional.elu, mint.nn.ELU(), ops.elu, nn.ELU()])
def test_elu_near_zero(fn):
    check(fn, ([0.0, -0.0, -1e-6, 1e-6, -INF, INF],), [0, 0, -1e-6, 1e-6, -1, INF], [1, 1, 1 - 1e-6, 1, 0, 1])


def test_add_layer_norm():
    x, y = np.random.RandomState(0).rand(2, 2, 4).astype("float32")
    gamma, beta = np.arange(8, dtype=np.float32).reshape(2, 4)
    out, mean, scale, total = ops.add_layer_norm(*map(Tensor, (x, y, gamma, beta)), 0.5, True)
    sum_ = x + y
    centred = sum_ - sum_.mean(-1, keepdims=True)
    expected = 1 / np.sqrt(sum_.var(-1, keepdims=True) + 0.5)
    np.testing.assert_allclose(out.asnumpy(), centred * expected * gamma + beta, rtol=1e-5)
    np.testing.assert_allclose(mean.asnumpy(), sum_.mean(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(scale.asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(total.asnumpy(), sum_, rtol=1e-6)


@pytest.mark.parametrize("layer", [False, True])
def test_average_pooling_with_a_padding_for_each_axis(layer):
    for axes, padding in ((2, (1, 0)), (3, (1, 0, 2))):
        x = Tensor(np.random.RandomState(0).rand(1, 1, *(5, 6, 7)[:axes]).astype("float32"))
        name = f"{'AvgPool' if layer else 'avg_pool'}{axes}d"
        pool = getattr(mint.nn, name) if layer else getattr(mint.nn.functional, name)
        got = pool(4, 1, padding)(x) if layer else pool(x, 4, 1, padding)
        widths = tuple(p for size in reversed(padding) for p in (size, size))
        plain = (ops.avg_pool2d if axes == 2 else ops.avg_pool3d)(ops.pad(x, widths), 4, 1)
        np.testing.assert_allclose(got.asnumpy(), plain.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "extra"), [(1, 1, 3, 2), (2, 0, 3, 2), (2, 1, 4, (3, 1)), (1, 0, 2, 1)]
)
def test_an_output_padding_of_the_stride_or_more(stride, padding, dilation, extra):
    """The output is a part of the one without padding on either side, with zeros where that ends."""
    x, weight = (Tensor(np.random.RandomState(i).rand(*s).astype("float32")) for i, s in enumerate([(1, 2, 3, 4), (2, 3, 3, 2)]))
    got = ops.conv_transpose2d(x, weight, None, stride, padding, extra, 1, dilation).asnumpy()
    whole = ops.conv_transpose2d(x, weight, None, stride, 0, 0, 1, dilation).asnumpy()
    whole = np.pad(whole, [(0, 0), (0, 0), (0, 9), (0, 9)])[:, :, padding:, padding:]
    np.testing.assert_allclose(got, whole[:, :, : got.shape[2], : got.shape[3]], rtol=1e-5)
    assert got.shape[2] == 2 * stride - 2 * padding + 2 * dilation + 1 + np.broadcast_to(extra, 2)[0]


def test_an_output_padding_that_nothing_allows():
    with pytest.raises(ValueError, match="'output_padding' should be below 'stride' or 'dilation', but got"):
        ops.conv_transpose2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 3, 3)), None, 2, 1, 3, 1, 2)
