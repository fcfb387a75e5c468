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


def test_selu_and_celu_near_zero():
    scale = 1.0507009873554805
    check(ops.selu, ([0.0, -0.0, INF, NAN],), [0, 0, INF, NAN], [scale] * 4)
    check(lambda x: ops.celu(x, 2.0), ([0.0, -0.0, INF, -INF],), [0, 0, INF, -2], [1, 1, 1, 0])


def test_sign_and_magnitude_of_nan():
    check(ops.sign, ([NAN, -INF, -0.0],), [0, -1, 0], [0, 0, 0])
    check(ops.abs, ([NAN, -INF, -0.0],), [NAN, INF, 0], [0, -1, 0])


def test_hypot_beside_an_infinity():
    check(ops.hypot, ([INF, 1.0, 3.0], [1.0, -INF, 4.0]), [INF, INF, 5], [NAN, 0, 0.6], [0, NAN, 0.8])


def test_bessel_functions_at_zero_and_far_away():
    for fn in (ops.i0, ops.bessel_i0):
        check(fn, ([0.0, 1e4, -1e4],), [1, INF, INF], [0, INF, -INF])
    check(ops.bessel_i1, ([0.0, 1e4],), [0, INF], [0.5, NAN])
    check(ops.bessel_k1e, ([INF, 0.0],), [0, INF], [0, NAN])


def test_gamma_at_its_pole():
    check(ops.lgamma, ([0.0, -0.0, 2.0],), [INF, INF, 0], [-INF, INF, 0.42278433])
    check(ops.digamma, ([0.0, -0.0],), [-INF, INF], [INF, INF])


def test_gradients_outside_of_the_limits():
    check(ops.logit, ([0.5, 3.0, -1.0, 1.0],), [0, NAN, NAN, INF], [4, NAN, NAN, INF])
    check(lambda x: ops.clamp(x, -1.0, 1.0), ([NAN, -1.0, 2.0, 0.5],), [NAN, -1, 1, 0.5], [0, 1, 0, 1])
    check(ops.hardtanh, ([NAN, -1.0, 2.0, 0.5],), [NAN, -1, 1, 0.5], [1, 0.5, 0, 1])
    check(ops.angle, ([INF, -INF, 2.0],), [0, np.pi, 0], [0, 0, 0])


def test_the_weight_of_prelu_beside_infinities():
    check(ops.prelu, ([INF, 2.0, -3.0], [0.5]), [INF, 2, -1.5], [1, 1, 0.5], [-3])


def second(fn, *operands):
    """The gradients of the sum of all gradients of a function."""
    tensors = [Tensor(np.array(v, np.float32)) for v in operands]
    at = tuple(range(len(tensors)))

    def total(*values):
        found = ms.grad(lambda *v: fn(*v).sum(), at)(*values)
        return sum(g.sum() for g in (found if isinstance(found, tuple) else (found,)))

    found = ms.grad(total, at)(*tensors)
    return [g.asnumpy() for g in (found if isinstance(found, tuple) else (found,))]


def test_second_derivatives_pass_no_zeros_on():
    """What a gradient does not depend on gets no gradient: zeros, times an infinite slope, would be NaN."""
    np.testing.assert_allclose(second(lambda x: ops.exp2(x) * 2, [INF, 0.0])[0], [INF, 2 * np.log(2) ** 2], rtol=1e-6)
    np.testing.assert_allclose(second(lambda x: ops.reciprocal(x) * 3, [0.0, 1.0])[0], [INF, 6.0])
    for found in second(ops.dot, [1.0, NAN], [3.0, 2.0]):
        np.testing.assert_allclose(found, [1.0, 1.0])
    np.testing.assert_allclose(second(lambda x: nn.Softsign()(x) * 1.0, [0.0, 1.0])[0], [0.0, -0.25])


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
