"""Elementwise operators: values, gradients, the data types of results, errors."""

import numpy as np
import pytest

import msjax as ms
from msjax import ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
Y = np.array([[1.5, 0.5, -2.5], [0.75, 1.25, 2.0]], np.float32)
P = np.abs(X) + 0.5
U = np.array([0.1, -0.4, 0.75], np.float32)
I = np.array([7, -7, 6], np.int32)
J = np.array([2, 2, -4], np.int32)
B = np.array([True, True, False])
C = np.array([True, False, False])


def as_bool(fn):
    return lambda *args: fn(*args).astype(bool)


SMOOTH = [
    Case("add", ops.add, (X, Y), np.add),
    Case("add_broadcast", ops.add, (X, Y[0]), np.add),
    Case("sub", ops.sub, (X, Y), np.subtract),
    Case("subtract_alpha", lambda x, y: ops.subtract(x, y, alpha=2), (X, Y), lambda x, y: x - 2 * y),
    Case("mul", ops.mul, (X, Y), np.multiply),
    Case("div", ops.div, (X, Y), np.divide),
    Case("pow", ops.pow, (P, Y), np.power),
    Case("pow_int", lambda x: ops.pow(x, 3), (X,), lambda x: x**3),
    Case("float_power", ops.float_power, (P, Y), lambda x, y: np.float_power(x, y)),
    Case("maximum", ops.maximum, (X, Y), np.maximum),
    Case("minimum", ops.minimum, (X, Y), np.minimum),
    Case("fmod", ops.fmod, (X, P), np.fmod),
    Case("remainder", ops.remainder, (X, P), np.remainder),
    Case("hypot", ops.hypot, (X, Y), np.hypot),
    Case("atan2", ops.atan2, (X, Y), np.arctan2),
    Case("logaddexp", ops.logaddexp, (X, Y), np.logaddexp),
    Case("logaddexp2", ops.logaddexp2, (X, Y), np.logaddexp2),
    Case("lerp", lambda x, y: ops.lerp(x, y, 0.3), (X, Y), lambda x, y: x + 0.3 * (y - x)),
    Case("addcmul", lambda x, y, z: ops.addcmul(x, y, z, 0.5), (X, Y, P), lambda x, y, z: x + 0.5 * y * z),
    Case("addcdiv", lambda x, y, z: ops.addcdiv(x, y, z, 0.5), (X, Y, P), lambda x, y, z: x + 0.5 * y / z),
    Case("clamp", lambda x: ops.clamp(x, -1.0, 1.0), (X,), lambda x: np.clip(x, -1, 1)),
    Case("clamp_low", lambda x: ops.clamp(x, 0.1), (X,), lambda x: np.maximum(x, np.float32(0.1))),
    Case("frac", ops.frac, (X * 0.9,), lambda x: x - np.trunc(x)),
    Case("sinc", ops.sinc, (X,), np.sinc),
    Case("logit", ops.logit, (P / 4,), lambda x: np.log(x / (1 - x)), rtol=1e-4),
    Case("exp2", ops.exp2, (X,), np.exp2),
    Case("inv", ops.inv, (P,), lambda x: 1 / x),
    Case("polar", lambda x, y: ops.real(ops.polar(x, y)), (P, X), lambda x, y: x * np.cos(y)),
]


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_value(case):
    check_value(case)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_gradient(case):
    check_gradient(case)


NUMPY = {name: name for name in "abs square exp expm1 sqrt sin cos tan sinh cosh tanh deg2rad rad2deg reciprocal".split()}
NUMPY |= {
    "log": "log",
    "log1p": "log1p",
    "log2": "log2",
    "log10": "log10",
    "asinh": "arcsinh",
    "atan": "arctan",
    "neg": "negative",
}


@pytest.mark.parametrize("name", NUMPY)
def test_one_operand(name):
    check_value(Case(name, getattr(ops, name), (P,), getattr(np, NUMPY[name]), rtol=2e-5))
    check_gradient(Case(name, getattr(ops, name), (P,)))


@pytest.mark.parametrize("name, numpy", [("asin", "arcsin"), ("acos", "arccos"), ("atanh", "arctanh")])
def test_one_operand_within_one(name, numpy):
    check_value(Case(name, getattr(ops, name), (U,), getattr(np, numpy), rtol=2e-5))
    check_gradient(Case(name, getattr(ops, name), (U,)))


FLAT = [
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("trunc", np.trunc),
    ("round", np.round),
    ("sign", np.sign),
    ("sgn", np.sign),
]


@pytest.mark.parametrize("name, numpy", FLAT)
def test_steps_have_no_slope(name, numpy):
    check_value(Case(name, getattr(ops, name), (X * 3,), numpy))
    assert not ms.grad(getattr(ops, name))(ms.Tensor(X)).asnumpy().any()


@pytest.mark.parametrize(
    "divide", [ops.floor_divide, ops.truncate_div, ops.tensor_div, lambda x, y: ops.div(x, y, rounding_mode="trunc")]
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32])
def test_quotients_of_integers_by_0_are_the_farthest_numbers_of_the_type(divide, dtype):
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    given, expected = ([7, 0, 9], [greatest, 0, 4]) if least == 0 else ([7, 0, -7, 9], [greatest, 0, least, 4])
    quotients = divide(ms.Tensor(np.array(given, dtype)), ms.Tensor(np.array([0] * (len(given) - 1) + [2], dtype)))
    assert quotients.asnumpy().dtype == dtype and quotients.asnumpy().tolist() == expected


VALUES = [
    Case("floor_divide", ops.floor_divide, (X, Y), np.floor_divide),
    Case("div_floor", lambda x, y: ops.div(x, y, rounding_mode="floor"), (X, Y), np.floor_divide),
    Case("div_trunc", lambda x, y: ops.div(x, y, rounding_mode="trunc"), (X, Y), lambda x, y: np.trunc(x / y)),
    Case("truncate_div", ops.truncate_div, (I, J), lambda x, y: np.array([3, -3, -1])),
    Case("truncate_mod", ops.truncate_mod, (I, J), lambda x, y: np.array([1, -1, 2])),
    Case("floor_mod", ops.floor_mod, (I, J), np.mod),
    Case("tensor_div", ops.tensor_div, (I, J), lambda x, y: np.array([3, -3, -1])),
    Case("fmax", ops.fmax, (X, Y), np.fmax),
    Case("fmin", ops.fmin, (X, Y), np.fmin),
    Case("copysign", ops.copysign, (X, Y), np.copysign),
    Case("heaviside", ops.heaviside, (X, Y), np.heaviside),
    Case("nextafter", ops.nextafter, (X, Y), np.nextafter),
    Case("ldexp", ops.ldexp, (X, np.array([1, 2, 3])), lambda x, y: x * 2.0**y),
    Case("gcd", ops.gcd, (I, J), np.gcd),
    Case("lcm", ops.lcm, (I, J), np.lcm),
    Case("bitwise_and", ops.bitwise_and, (I, J), np.bitwise_and),
    Case("bitwise_or", ops.bitwise_or, (I, J), np.bitwise_or),
    Case("bitwise_xor", ops.bitwise_xor, (I, J), np.bitwise_xor),
    Case("bitwise_not", ops.bitwise_not, (I,), np.bitwise_not),
    Case("bitwise_left_shift", ops.bitwise_left_shift, (I, np.abs(J)), np.left_shift),
    Case("bitwise_right_shift", ops.bitwise_right_shift, (I, np.abs(J)), np.right_shift),
    Case("population_count", ops.population_count, (np.array([0, 7, 255], np.uint8),), lambda x: np.array([0, 3, 8])),
    Case("logical_and", ops.logical_and, (B, C), np.logical_and),
    Case("logical_or", ops.logical_or, (B, C), np.logical_or),
    Case("logical_xor", ops.logical_xor, (B, C), np.logical_xor),
    Case("logical_of_numbers", ops.logical_and, (I, I - 7), as_bool(np.logical_and)),
    Case("isclose", lambda x, y: ops.isclose(x, y, 0.5, 0.5), (X, Y), lambda x, y: np.isclose(x, y, 0.5, 0.5)),
    Case("approximate_equal", lambda x, y: ops.approximate_equal(x, y, 1.1), (X, Y), lambda x, y: np.abs(x - y) < 1.1),
    Case("isfinite", ops.isfinite, (np.array([1.0, np.inf, np.nan]),), np.isfinite),
    Case("isneginf", ops.isneginf, (np.array([1.0, -np.inf, np.inf]),), np.isneginf),
    Case("signbit", ops.signbit, (np.array([-0.0, 0.0, -1.0]),), np.signbit),
    Case(
        "nan_to_num",
        lambda x: ops.nan_to_num(x, 1.0, 2.0, 3.0),
        (np.array([np.nan, np.inf, -np.inf, 4.0]),),
        lambda x: np.array([1.0, 2, 3, 4]),
    ),
    Case("addn", lambda x, y: ops.addn([x, y, x]), (X, Y), lambda x, y: 2 * x + y),
    Case("angle", ops.angle, (np.array([1j, -1 + 0j], np.complex64),), np.angle),
    Case("view_as_real", ops.view_as_real, (np.array([1 + 2j], np.complex64),), lambda z: np.array([[1, 2]])),
]


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_plain_value(case):
    check_value(case)


@pytest.mark.parametrize("name", ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"])
def test_comparisons(name):
    check_value(Case(name, getattr(ops, name), (X, X.T.reshape(2, 3)), getattr(np, name)))
    assert getattr(ops, name)(ms.Tensor(X), 1).dtype == ms.bool_


DTYPES = [
    ("add", ms.int32, ms.int64, ms.int64),
    ("add", ms.uint8, ms.int8, ms.int16),
    ("add", ms.int64, ms.float16, ms.float16),
    ("add", ms.float16, ms.bfloat16, ms.float32),
    ("add", ms.bool_, 2, ms.int64),
    ("add", ms.int32, 2.5, ms.float32),
    ("add", ms.float16, 2.5, ms.float16),
    ("add", ms.float64, 2, ms.float64),
    ("div", ms.int32, ms.int64, ms.float32),
    ("div", ms.bool_, ms.bool_, ms.float32),
    ("tensor_div", ms.int32, ms.int64, ms.int64),
    ("float_power", ms.int32, 2, ms.float64),
    ("floor_divide", ms.int32, ms.int64, ms.int64),
    ("pow", ms.int32, 2.5, ms.float32),
    ("copysign", ms.int32, ms.int32, ms.float32),
    ("ldexp", ms.int32, ms.int32, ms.float32),
]


@pytest.mark.parametrize("name, first, second, want", DTYPES)
def test_dtypes(name, first, second, want):
    x = ms.Tensor([3, 5]).astype(first)
    y = ms.Tensor([2, 1]).astype(second) if isinstance(second, type(ms.int32)) else second
    assert getattr(ops, name)(x, y).dtype == want


def test_scalar_tensors_yield_in_products_only():
    x, wide = ms.Tensor([1.0], ms.float32), ms.Tensor(2.0, ms.float64)
    assert (x * wide).dtype == (x / wide).dtype == ops.fmod(x, wide).dtype == ms.float32
    assert (x + wide).dtype == ops.floor_divide(x, wide).dtype == ms.float64


def test_numbers_alone():
    assert ops.add(1, 2).dtype == ms.int64
    with pytest.raises(TypeError, match="should be a Tensor"):
        ops.exp(1.0)


def test_integer_gradients():
    grads = ms.grad(ops.mul, (0, 1))(ms.Tensor([1], ms.int32), ms.Tensor([2], ms.int32))
    assert [str(g) for g in grads] == ["[2]", "[1]"] and grads[0].dtype == ms.int32


def test_gradients_at_edges():
    assert str(ms.grad(lambda x: ops.clamp(x, 0.0, 1.0))(ms.Tensor([0.0, 1.0, 2.0]))) == "[1. 1. 0.]"
    assert str(ms.grad(ops.maximum, (0, 1))(ms.Tensor([2.0]), ms.Tensor([2.0]))[0]) == "[0.5]"
    assert float(ms.grad(ops.abs)(ms.Tensor(0.0))) == 0
    assert np.isnan(float(ms.grad(ops.pow, 1)(ms.Tensor(-2.0), ms.Tensor(3.0))))


def test_other_names():
    for name, same in {"multiply": "mul", "tensor_add": "add", "negative": "neg", "arctan2": "atan2", "gt": "greater"}.items():
        assert getattr(ops, name) is getattr(ops, same)


def test_errors():
    x = ms.Tensor([1.0])
    with pytest.raises(ValueError, match="rounding_mode"):
        ops.div(x, x, rounding_mode="up")
    with pytest.raises(TypeError, match="None"):
        ops.add(x, None)
    with pytest.raises(TypeError, match="integers or Bools"):
        ops.bitwise_and(x, x)
    with pytest.raises(ValueError, match="min"):
        ops.clamp(x)
    with pytest.raises(ValueError):
        ops.add(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="AddN"):
        ops.addn(x)
