"""Values and gradients where formulas have a gap: infinities, NaN, zeros. Numbers without a reason are PyTorch's and MindSpore's."""

import numpy as np
import pytest

import msjax as ms
from msjax import COOTensor, CSRTensor, Tensor, mint, nn, ops

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


@pytest.mark.parametrize(
    ("weight", "value"),
    [(0.25, [1.5, INF, NAN, NAN, 2]), (0.5, [2, NAN, INF, NAN, 2]), (1.0, [3, NAN, NAN, NAN, 2]), (2.0, [5, INF, -INF, INF, 2])],
)
def test_lerp_goes_from_the_nearer_end(weight, value):
    """PyTorch's and MindSpore's formula; the gradient has no part of the other end's."""
    x, y = [1.0, 1.0, INF, -INF, 2.0], [3.0, INF, 1.0, INF, 2.0]
    check(lambda x, y: ops.lerp(x, y, weight), (x, y), value, [1 - weight] * 5, [weight] * 5)
    slope = ms.grad(lambda w: ops.lerp(Tensor(x), Tensor(y), w).sum())(Tensor([weight] * 5))
    np.testing.assert_array_equal(slope.asnumpy(), [2, INF, -INF, INF, 0])


@pytest.mark.parametrize("alpha", [INF, -INF])
def test_leaky_relu_of_an_infinite_slope(alpha):
    check(lambda x: ops.leaky_relu(x, alpha), ([-1.0, 1.0, INF, 2.0],), [-alpha, 1, INF, 2], [alpha, 1, 1, 1])


HUGE = {
    "add": ops.add, "mul": ops.mul, "pow": ops.pow, "maximum": ops.maximum, "less": ops.less, "clamp": ops.clamp,
    "celu": ops.celu, "hardshrink": ops.hardshrink, "leaky_relu": ops.leaky_relu, "lerp": lambda x, a: ops.lerp(x, x + 1, a),
    "masked_fill": lambda x, a: ops.masked_fill(x, x > 0, a), "where": lambda x, a: ops.where(x > 0, x, a), "full_like": ops.full_like,
    "addmm": lambda x, a: ops.addmm(x, x, x, beta=a, alpha=a), "pad": lambda x, a: ops.pad(x, (1, 1), "constant", a),
    "subtract": lambda x, a: a - x, "nan_to_num": lambda x, a: ops.nan_to_num(x, a, a, a),
}  # fmt: skip


@pytest.mark.parametrize("name", HUGE)
def test_an_int_that_jax_has_no_dtype_for_is_a_float_beside_floats(name):
    x = Tensor(np.array([[1.5, -2.0], [NAN, 0.25]], np.float32))
    for number in (10**12, -(10**20)):
        want = HUGE[name](x, float(number)).asnumpy()
        got = HUGE[name](x, number)
        np.testing.assert_array_equal(got.asnumpy(), want)
        np.testing.assert_array_equal(ms.jit(lambda x: HUGE[name](x, number))(x).asnumpy(), want)  # noqa: B023
        if got.is_floating_point():
            slopes = [ms.grad(lambda x: HUGE[name](x, n).sum())(x).asnumpy() for n in (number, float(number))]  # noqa: B023
            np.testing.assert_array_equal(*slopes)


def test_an_int_that_does_not_fit_beside_ints_is_refused():
    with pytest.raises(RuntimeError, match="Add"):
        ops.add(Tensor([1, 2], ms.int32), 10**20)


@pytest.mark.parametrize(
    ("resize", "mixed"),
    [
        (lambda x: ops.interpolate(x, 9, mode="linear", align_corners=False), (3, 4, 5)),
        (lambda x: ops.interpolate(x, 13, mode="linear", align_corners=True), (4, 5, 6, 7)),  # a weight of 0, too
        (lambda x: ops.adaptive_avg_pool2d(x.expand_dims(2), (1, 5))[:, :, 0], (2,)),
    ],
)
def test_a_nan_stays_where_it_is_when_lines_are_resized(resize, mixed):
    x = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
    want = resize(Tensor(x)).asnumpy()
    with_nan = x.copy()
    with_nan[0, 0, 3] = NAN
    got = resize(Tensor(with_nan)).asnumpy()
    assert np.flatnonzero(np.isnan(got)).tolist() == list(mixed)
    np.testing.assert_array_equal(np.delete(got.ravel(), mixed), np.delete(want.ravel(), mixed))


@pytest.mark.parametrize("loss", [ops.smooth_l1_loss, ops.huber_loss])
def test_losses_that_become_linear_have_its_slope_at_infinite_distances(loss):
    check(
        lambda x: loss(x, ops.zeros_like(x), reduction="none"), ([INF, -INF, 0.5, 3.0],), [INF, INF, 0.125, 2.5], [1, -1, 0.5, 1]
    )
    nan = ms.grad(lambda x: loss(x, ops.zeros_like(x), reduction="none").sum())(Tensor([NAN]))
    assert np.isnan(nan.asnumpy()).all()


@pytest.mark.parametrize("fn", [ops.addcmul, ops.addcdiv])
def test_gradients_of_empty_results_are_zeros(fn):
    empty, y, z = Tensor(np.zeros((0, 3), np.float32)), Tensor([1.0, INF, NAN]), Tensor(np.float32(NAN))
    gradients = ms.grad(lambda *values: fn(*values).sum(), (0, 1, 2))(empty, y, z)
    assert [g.asnumpy().tolist() for g in gradients] == [[], [0, 0, 0], 0]


def test_second_derivatives_of_empty_quotients_are_zeros():
    def slope(x, y):
        return ms.grad(lambda y: ops.div(x, y).sum())(y)

    second = ms.grad(lambda x, y: slope(x, y).sum(), 1)(Tensor(np.zeros((0, 3), np.float32)), Tensor([1.0, 0.0, NAN]))
    assert second.asnumpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("fn", [ops.std, lambda x: mint.std(x, correction=0), lambda x: ops.std_mean(x)[0]])
def test_the_slope_of_a_deviation_of_equal_values_is_zero(fn):
    check(fn, ([2.0, 2.0, 2.0],), 0.0, [0, 0, 0])


def test_the_second_derivative_of_a_bessel_function_beside_zero():
    x = Tensor(np.array([0.0, 1e-30, -1e-12, 1e-5], np.float32))
    slope = ms.grad(lambda x: ms.grad(lambda x: ops.bessel_i1(x).sum())(x).sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), 0, atol=1e-4)  # 3/8 x


def test_the_slope_of_sinc_beside_zero():
    x = np.array([0.0, 1e-30, -1e-6, 1e-3, 0.05], np.float32)
    slope = -(np.pi**2) / 3 * x * (1 - (np.pi * x) ** 2 / 10 + (np.pi * x) ** 4 / 280)
    tensor = Tensor(x)
    np.testing.assert_allclose(ops.sinc(tensor).asnumpy(), np.sinc(x.astype(np.float64)), rtol=1e-6)
    np.testing.assert_allclose(ms.grad(ops.sinc)(tensor).asnumpy(), slope, rtol=1e-3)


def test_a_limit_that_is_nan_is_the_result():
    check(lambda x: ops.clip(x, -1.0, NAN), ([2.0, 0.5],), [NAN, NAN], [0, 0])
    check(lambda x, low: ops.clamp(x, low, 1.0), ([2.0, 0.5], [NAN, 0.0]), [NAN, 0.5], [0, 1], [1, 0])


def test_the_angle_of_no_direction_has_no_slope():
    check(ops.atan2, ([0.0, 1.0], [0.0, 0.0]), [0, np.pi / 2], [0, 0], [0, -1])


def test_a_norm_of_negative_order_of_a_zero():
    check(lambda x: ops.vector_norm(x, -1), ([0.0, 2.0, 4.0],), 0.0, [0, 0, 0])
    check(lambda x: ops.vector_norm(x, -1), ([1.0, 2.0, 4.0],), 4 / 7, [16 / 49, 4 / 49, 1 / 49])


def test_medians_of_nan_and_of_equal_values():
    check(mint.median, ([3.0, 1.0, NAN, NAN],), NAN, [0, 0, 0.5, 0.5])
    check(mint.median, ([3.0, 1.0, 1.0],), 1.0, [0, 0.5, 0.5])
    value, index = mint.median(Tensor([3.0, NAN, 1.0]), 0)
    assert np.isnan(value.asnumpy()) and int(index) == 1


def test_the_slope_of_rrelu_at_zero_and_of_nan():
    check(lambda x: ops.rrelu(x, 0.25, 0.25), ([0.0, NAN, -1.0],), [0, NAN, -0.25], [0.25, 1, 0.25])


def test_slopes_of_large_numbers():
    check(ops.softsign, ([1e4, -1.0],), [1e4 / 10001, -0.5], [1 / 10001**2, 0.25])
    slope = ms.grad(lambda x: ms.grad(lambda x: ops.softplus(x).sum())(x).sum())
    np.testing.assert_allclose(slope(Tensor([15.0, -15.0])).asnumpy(), np.exp(-15.0) / (1 + np.exp(-15.0)) ** 2, rtol=1e-5)


def test_half_precision_is_rounded_once():
    x = Tensor([6.0], ms.bfloat16)
    assert ops.sigmoid(x).astype(ms.float32).asnumpy()[0] == 0.99609375  # in bfloat16, 1 + exp(-6) is 1
    np.testing.assert_allclose(ms.grad(ops.sigmoid)(x).astype(ms.float32).asnumpy(), 0.99609375 * 0.00390625, rtol=1e-2)
    y = np.float16(np.tanh(2.603))
    slope = ms.grad(ops.tanh)(Tensor([2.603], ms.float16)).asnumpy()
    np.testing.assert_allclose(slope, 1 - float(y) ** 2, rtol=1e-3)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
@pytest.mark.parametrize(
    "op, expected",
    [
        (lambda x: ops.norm(x, 2, 0), 583.095),
        (lambda x: ops.norm(x, 3.0, 0), 490.566),
        (lambda x: ops.std(x), 273.861),
        (lambda x: ops.std_mean(x)[0], 273.861),
        (lambda x: ops.clip_by_global_norm((x,), 1.0)[0][1], 0.68599),
        (lambda x: ops.cdist(x.reshape(2, 2), ops.zeros((1, 2), x.dtype))[0, 0], 500.0),
        (lambda x: ops.avg_pool2d((x * 100).reshape(1, 1, 1, 4)[..., :2], (1, 2))[0, 0, 0, 0], 35000.0),
        (lambda x: ops.lrn(x.reshape(1, 4, 1, 1))[0, 1, 0, 0], 0.68599),
        (lambda x: ops.hardswish(x[1] * 100), 40000.0),
        (lambda x: ops.cosine_similarity(x, x, 0), 1.0),
        (lambda x: ops.cosine_embedding_loss(x[None], x[None], Tensor([1])), 0.0),
        (lambda x: ops.triplet_margin_loss(x[None], x[None] + 1, -x[None], margin=2000.0), 835.81),
        (lambda x: ms.grad(lambda y: ops.gelu(y, "tanh").sum())(x)[1], 1.0),
    ],
)
def test_sums_of_half_precision_numbers_do_not_overflow(op, expected, dtype):
    out = op(Tensor([300.0, 400.0, 0.0, -300.0], dtype))
    assert out.dtype is dtype
    np.testing.assert_allclose(float(out), expected, rtol=1e-3 if dtype is ms.float16 else 1e-2, atol=1e-3)


def test_covariances_of_half_precision_numbers_and_of_none_are_float32():
    out = ops.cov(Tensor([300.0, 400.0, 0.0, -300.0], ms.float16))
    assert out.dtype is ms.float32 and float(out) == 100000.0
    assert ops.cov(Tensor(np.zeros((0, 3), np.float32))).dtype is ms.float32


def test_medians_of_nothing_are_refused():
    with pytest.raises(ValueError, match=r"'median': axis 0 of a Tensor of shape \(0, 3\) has no elements"):
        ops.median(Tensor(np.zeros((0, 3), np.float32)), 0)


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_runs_in_nothing(shape):
    values, inverse, counts = ops.unique_consecutive(Tensor(np.zeros(shape, np.float32)), True, True)
    assert values.shape == (0,) and inverse.shape == shape and counts.shape == (0,)


def test_zeta_has_gradients_by_the_second_operand():
    gradients = ms.grad(ops.zeta, (0, 1))(Tensor([2.0, 3.0]), Tensor([1.5, 2.0]))
    np.testing.assert_allclose(gradients[0].asnumpy(), 0)
    np.testing.assert_allclose(gradients[1].asnumpy(), [-0.82879674, -0.24696971], rtol=1e-6)


@pytest.mark.parametrize(
    "op",
    [ops.acos, ops.asin, ops.asinh, ops.atanh, ops.tan, ops.mish, ops.softplus, ops.softsign, ops.hardsigmoid, ops.fast_gelu],
)
def test_half_precision_numbers_are_rounded_once(op):
    x = np.linspace(-0.999, 0.999, 501).astype(np.float16)
    found, exact = op(Tensor(x)), op(Tensor(x.astype(np.float32)))
    np.testing.assert_array_equal(found.asnumpy(), exact.asnumpy().astype(np.float16))


@pytest.mark.parametrize(
    "op",
    [
        ops.div, ops.tensor_div, ops.xdivy, lambda x, y: ops.addcdiv(0 * x, x, y), lambda x, y: ops.clip_by_norm(ops.stack([x, y]), 1.0),
        lambda x, y: ops.renorm(ops.stack([x, y]), 2, 0, 1.0), lambda x, y: ops.clip_by_global_norm([x, y], 1.0)[0],
        lambda x, y: mint.nn.functional.normalize(ops.stack([x, y]), dim=0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("divisor", [1e-3, 1000.0])
def test_gradients_by_divisors_whose_squares_float16_cannot_hold(op, divisor):
    x, y = np.float16([divisor / 2] * 2), np.float16([divisor] * 2)
    found, exact = (ms.grad(op, (0, 1))(Tensor(x.astype(t)), Tensor(y.astype(t))) for t in (np.float16, np.float32))
    for f, e in zip(found, exact):
        np.testing.assert_allclose(f.asnumpy(), e.asnumpy(), rtol=3e-3, atol=2e-3 / divisor)


def test_half_precision_functions_whose_terms_float16_cannot_hold():
    np.testing.assert_array_equal(ops.cross(*[Tensor([1000.0, 1001.0, 1002.0], ms.float16)] * 2).asnumpy(), 0)
    assert abs(ops.sinc(Tensor([2.5e4], ms.float16)).asnumpy()[0]) < 1e-5
    for op, slope in ((ops.atan, 1.11e-5), (ops.reciprocal, -1.11e-5), (ops.inv, -1.11e-5)):
        np.testing.assert_allclose(ms.grad(op)(Tensor([300.0], ms.float16)).asnumpy(), slope, rtol=1e-2)
    for size in (300.0, 2e-4):
        slope = ms.grad(ops.atan2)(*[Tensor([size], ms.float16)] * 2).asnumpy()
        np.testing.assert_allclose(slope, 0.5 / size, rtol=1e-3)


@pytest.mark.parametrize("dtype", [ms.float16, ms.float32], ids=str)
def test_batch_normalization_of_half_precision_numbers_with_large_variances(dtype):
    x, statistics = Tensor([[300.0], [400.0], [-1000.0], [3.0]], ms.float16), [ms.Parameter(ops.ones(1, dtype)) for _ in range(2)]
    out = mint.nn.functional.batch_norm(x, *statistics, training=True)
    assert out.dtype is ms.float16 and statistics[1].dtype is dtype
    np.testing.assert_allclose(out.asnumpy().ravel(), [0.67546, 0.85594, -1.67083, 0.13942], rtol=1e-3)
    np.testing.assert_allclose(statistics[1].asnumpy(), 40932.8, rtol=1e-3)


def test_slopes_of_likelihoods_and_rows_of_half_precision_numbers():
    slope = ms.grad(ops.gaussian_nll_loss, 2)(*(Tensor([v], ms.float16) for v in (0.0, 200.0, 1000.0)))
    np.testing.assert_allclose(slope.asnumpy(), 0.5 / 1000 - 0.5 * 200**2 / 1000**2, rtol=2e-3)
    row = ops.embedding(Tensor([0]), Tensor([[300.0, 400.0]], ms.float16), max_norm=1.0)
    np.testing.assert_allclose(row.asnumpy(), [[0.6, 0.8]], rtol=2e-3)
    between = ops.interpolate(Tensor([[[1e4, -1e4]]], ms.float16), size=300, mode="linear").asnumpy()[0, 0, 149]
    np.testing.assert_allclose(between, 66.667, rtol=1e-3)


def test_common_divisors_and_multiples_of_the_least_integer():
    least = np.iinfo(np.int32).min
    x, y = Tensor(np.array([least, 0, least, 12, -4], np.int32)), Tensor(np.array([6, least, least, -8, 0], np.int32))
    np.testing.assert_array_equal(ops.gcd(x, y).asnumpy(), [2, least, least, 4, 4])
    np.testing.assert_array_equal(ops.lcm(x[3:], y[3:]).asnumpy(), [24, 0])


def assigned(x, b):
    y = x * 1
    y[:, 0] = b
    return y


_AT = Tensor(np.zeros(6400, np.int64))
_ONE = {
    "add": lambda x, b: x + b, "mul": lambda x, b: x * b, "sub": lambda x, b: b - x, "div": lambda x, b: b / x,
    "where": lambda x, b: ops.where(x > 0, b, 0.0), "maximum": lambda x, b: ops.maximum(x * 0, b), "lerp": lambda x, b: ops.lerp(x, b, 1.0),
    "addcmul": lambda x, b: ops.addcmul(x, x, b), "clamp": lambda x, b: ops.clamp(x * 0, b), "broadcast_to": lambda x, b: b.expand_as(x),
    "tile": lambda x, b: ops.tile(b.reshape(1, 1, 1), (8, 10, 80)), "kron": lambda x, b: ops.kron(b.reshape(1, 1), x.reshape(80, 80)),
    "masked_fill": lambda x, b: ops.masked_fill(x, x > 0, b), "bidense": lambda x, b: ops.bidense(*[x.reshape(4, 40, 40, 1)] * 2, x[:1, 0, 0, 0, :1, None], b.reshape(1)),
    "bias_add": lambda x, b: ops.bias_add(x, b.reshape(1)), "prelu": lambda x, b: ops.prelu(-x, -b.reshape(1)),
    "transposed": lambda x, b: ops.conv_transpose2d(x.reshape(4, 1, 40, 40), x[0, :, :1, :1, :1], b.reshape(1)),
    "assigned": lambda x, b: assigned(x, b),
    "repeat": lambda x, b: ops.repeat_interleave(b, x.size), "gather": lambda x, b: ops.gather_elements(b.reshape(1), 0, _AT),
    "items": lambda x, b: b.reshape(1)[_AT], "index_select": lambda x, b: ops.index_select(b.reshape(1), 0, _AT),
    "gather_nd": lambda x, b: ops.gather_nd(b.reshape(1), _AT[:, None]), "embedding": lambda x, b: ops.embedding(_AT, b.reshape(1, 1)),
    "embedding_lookup": lambda x, b: ops.EmbeddingLookup()(b.reshape(1), _AT, 0),
    "baddbmm": lambda x, b: ops.baddbmm(b.reshape(1, 1, 1), *[x.reshape(1, 80, 80)] * 2), "addr": lambda x, b: ops.addr(b.reshape(1, 1), *[x.ravel()[:80]] * 2),
    "grid_sample": lambda x, b: ops.grid_sample(b.reshape(1, 1, 1, 1), ops.zeros((1, 80, 80, 2), x.dtype)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
@pytest.mark.parametrize("op", _ONE.values(), ids=_ONE)
def test_gradients_of_one_half_precision_number_for_many_are_summed_in_single_precision(op, dtype):
    x = ops.ones((4, 1, 10, 10, 16), dtype)  # above 2,048 and 256, a sum of ones stood still
    gradient = ms.grad(lambda b: op(x, b).sum())(ops.ones((), dtype))
    assert gradient.dtype == dtype
    assert float(gradient) == 6400.0


_SUMS = {
    "index_add": lambda o: ops.index_add(ms.Parameter(o[:1] * 0), _AT.astype(ms.int32), o, 0), "bincount": lambda o: ops.bincount(_AT, o),
    "scatter_nd": lambda o: ops.scatter_nd(_AT[:, None], o, (1,)), "tensor_scatter_sub": lambda o: ops.tensor_scatter_sub(o[:1] * 0, _AT[:, None], -o),
    "segment": lambda o: ops.unsorted_segment_sum(o, _AT, 1), "SegmentMean": lambda o: ops.SegmentMean()(o, _AT) * 6400,
    "index_put": lambda o: (o[:1] * 0).index_put((_AT,), o, True),
    "coo": lambda o: COOTensor(ops.zeros((6400, 2), ms.int64), o, (1, 1)).to_dense()[0],
    "csr": lambda o: csr(o).mv(o[:1, None])[0], "csr_sum": lambda o: csr(o).sum(1)[0],
}  # fmt: skip


def csr(values):
    return CSRTensor(Tensor([0, 6400]), Tensor(np.zeros(6400, np.int64)), values, (1, 1))


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
@pytest.mark.parametrize("op", _SUMS.values(), ids=_SUMS)
def test_half_precision_numbers_are_added_at_one_place_in_single_precision(op, dtype):
    assert float(op(ops.ones(6400, dtype))[0]) == 6400.0


def test_weights_of_small_integers_are_counted_without_overflow():
    assert ops.bincount(Tensor([0, 0]), Tensor(np.array([100, 100], np.int8))).tolist() == [200.0]


def test_the_gradient_of_lp_pooling_is_zero_where_a_window_has_only_zeros():
    check(lambda x: ops.lp_pool1d(x, 2.0, 2), ([[[3.0, 4.0, 0.0, 0.0]]],), [[[5.0, 0.0]]], [[[0.6, 0.8, 0.0, 0.0]]])
