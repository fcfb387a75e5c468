"""numpy's names on Tensors, against numpy itself."""

import numpy as np
import pytest

import msjax as ms
import msjax.numpy as mnp
from msjax import Tensor
from tests import x64

A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
B = np.array([[1.5, 0.5, -2.5], [0.75, 1.25, 2.0]], np.float32)
V = np.array([1.0, 2.0, 4.0], np.float32)
I = np.array([0, 2, 1])
N = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]], np.float32)

CALLS = {
    "add": lambda m, a, b, v: m.add(a, b),
    "divide": lambda m, a, b, v: m.divide(a, b),
    "arctan2": lambda m, a, b, v: m.arctan2(a, b),
    "heaviside": lambda m, a, b, v: m.heaviside(a, b),
    "hypot": lambda m, a, b, v: m.hypot(a, b),
    "logaddexp2": lambda m, a, b, v: m.logaddexp2(a, b),
    "divmod": lambda m, a, b, v: m.divmod(a, b),
    "cbrt": lambda m, a, b, v: m.cbrt(a),
    "rint": lambda m, a, b, v: m.rint(a * 2),
    "clip": lambda m, a, b, v: m.clip(a, -1, 1),
    "amax": lambda m, a, b, v: m.amax(a, 1, keepdims=True),
    "max_where": lambda m, a, b, v: m.max(a, 0, initial=-9.0, where=a > 0),
    "sum_initial": lambda m, a, b, v: m.sum(a, 0, initial=2.0),
    "std": lambda m, a, b, v: m.std(a, 0, ddof=1),
    "average": lambda m, a, b, v: m.average(a, 0, a * a),
    "nanmean": lambda m, a, b, v: m.nanmean(a + b * 0, 1),
    "cumsum": lambda m, a, b, v: m.cumsum(a),
    "diff": lambda m, a, b, v: m.diff(a, 2),
    "ediff1d": lambda m, a, b, v: m.ediff1d(a),
    "gradient": lambda m, a, b, v: m.gradient(a, axis=1),
    "interp": lambda m, a, b, v: m.interp(a, v, v * 2),
    "cov": lambda m, a, b, v: m.cov(a),
    "corrcoef": lambda m, a, b, v: m.corrcoef(a),
    "concatenate": lambda m, a, b, v: m.concatenate((a, b), None),
    "append": lambda m, a, b, v: m.append(a, b, 0),
    "array_split": lambda m, a, b, v: m.array_split(a, 2, 1),
    "dstack": lambda m, a, b, v: m.dstack((a, b)),
    "broadcast_arrays": lambda m, a, b, v: m.broadcast_arrays(a, v),
    "expand_dims": lambda m, a, b, v: m.expand_dims(a, (0, 2)),
    "rollaxis": lambda m, a, b, v: m.rollaxis(a, 1),
    "roll": lambda m, a, b, v: m.roll(a, 1),
    "pad": lambda m, a, b, v: m.pad(a, ((1, 1), (0, 2)), constant_values=5),
    "pad_ramp": lambda m, a, b, v: m.pad(v, (1, 2), "linear_ramp", end_values=3),
    "pad_mean": lambda m, a, b, v: m.pad(v, (1, 2), "mean"),
    "dot": lambda m, a, b, v: m.dot(a, v),
    "inner": lambda m, a, b, v: m.inner(a, b),
    "kron": lambda m, a, b, v: m.kron(a, v),
    "tensordot": lambda m, a, b, v: m.tensordot(a, b, ((1,), (1,))),
    "cross": lambda m, a, b, v: m.cross(a, b),
    "diag": lambda m, a, b, v: m.diag(a),
    "convolve": lambda m, a, b, v: m.convolve(v, v, "same"),
    "correlate": lambda m, a, b, v: m.correlate(v, v, "full"),
    "polyval": lambda m, a, b, v: m.polyval(v, a),
    "polymul": lambda m, a, b, v: m.polymul(v, v),
    "polyint": lambda m, a, b, v: m.polyint(v),
    "select": lambda m, a, b, v: m.select([a > 1, a > 0], [a, b]),
    "where": lambda m, a, b, v: m.where(a > 0, a, 0.0),
    "take_along_axis": lambda m, a, b, v: m.take_along_axis(a, m.argmax(a, 1).reshape(2, 1), 1),
    "linspace": lambda m, a, b, v: m.linspace(0, 1, 5, endpoint=False),
    "geomspace": lambda m, a, b, v: m.geomspace(1, 8, 4),
    "tri": lambda m, a, b, v: m.tri(2, 3, 1),
    "vander": lambda m, a, b, v: m.vander(v, 2, True),
    "hanning": lambda m, a, b, v: m.hanning(5),
    "histogram": lambda m, a, b, v: m.histogram(a, 3),
    "histogram2d": lambda m, a, b, v: m.histogram2d(v, v * v, 2),
    "intersect1d": lambda m, a, b, v: m.intersect1d(v, v * 2),
    "setdiff1d": lambda m, a, b, v: m.setdiff1d(v, [1.0]),
    "isin": lambda m, a, b, v: m.isin(v, [1.0, 4.0]),
    "digitize": lambda m, a, b, v: m.digitize(a, v),
    "searchsorted": lambda m, a, b, v: m.searchsorted(v, a, "right"),
    "unravel_index": lambda m, a, b, v: m.unravel_index(I if m is np else Tensor(I), (2, 2)),
    "ravel_multi_index": lambda m, a, b, v: m.ravel_multi_index((I, I) if m is np else (Tensor(I),) * 2, (4, 4)),
    "meshgrid": lambda m, a, b, v: m.meshgrid(v, v, sparse=True),
    "indices": lambda m, a, b, v: tuple(m.indices((2, 3))),
    "ix_": lambda m, a, b, v: m.ix_(I if m is np else Tensor(I), I if m is np else Tensor(I)),
    "apply_along_axis": lambda m, a, b, v: m.apply_along_axis(lambda q: q * 2, 0, a),
    "piecewise": lambda m, a, b, v: m.piecewise(a, [a < 0, a >= 0], [-1.0, 1.0]),
    "unwrap": lambda m, a, b, v: m.unwrap(v * 3),
    "norm": lambda m, a, b, v: m.linalg.norm(a, 1, 0) if m is np else m.norm(a, 1, 0),
}


def numbers(value):
    if isinstance(value, (tuple, list)):
        return [numbers(v) for v in value]
    return [value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)]


def flat(values):
    return [a for v in values for a in flat(v)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("name", CALLS)
def test_value(name):
    got = flat(numbers(CALLS[name](mnp, Tensor(A), Tensor(B), Tensor(V))))
    want = flat(numbers(CALLS[name](np, A, B, V)))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


def test_types_are_mindspores():
    assert mnp.array([1, 2]).dtype is mnp.arange(3).dtype is mnp.full((2,), 3).dtype is ms.int32
    assert mnp.array([1.0]).dtype is mnp.ones(2).dtype is mnp.eye(2).dtype is ms.float32
    assert mnp.sum(Tensor([1, 2], ms.int32)).dtype is ms.int64
    assert mnp.argmax(Tensor(A)).dtype is ms.int64 and mnp.argmin(Tensor(A)).dtype is ms.int32
    assert mnp.add(Tensor(A), 1, dtype=ms.float16).dtype is ms.float16
    assert mnp.promote_types(ms.int8, ms.uint8) is ms.int16 and mnp.result_type("i2", ms.float32) is ms.float32


# A number beside a Tensor is an Int32 or a Float32, as in MindSpore: bytes don't wrap around.
BESIDE_NUMBERS = [
    ("add", ms.uint8, [1, 250], 10, ms.int32, [11, 260]),
    ("subtract", ms.uint8, [1, 250], 10, ms.int32, [-9, 240]),
    ("multiply", ms.int8, [100, 2], 100, ms.int32, [10000, 200]),
    ("power", ms.uint8, [1, 2], 10, ms.int32, [1, 1024]),
    ("floor_divide", ms.int8, [100, 2], 7, ms.int32, [14, 0]),
    ("fmod", ms.uint8, [1, 250], 3, ms.int32, [1, 1]),
    ("hypot", ms.uint8, [3, 6], 8, ms.float32, [73**0.5, 10]),
    ("add", ms.float16, [1.0, 2.5], 2.5, ms.float32, [3.5, 5.0]),
    ("add", ms.float16, [1.0, 2.5], 2, ms.float16, [3.0, 4.5]),
    ("subtract", ms.bool_, [True, False], 2, ms.int32, [-1, -2]),
    ("subtract", ms.int8, [100, 2], True, ms.int8, [99, 1]),
    ("maximum", ms.uint8, [1, 250], 10, ms.uint8, [10, 250]),
    ("copysign", ms.int32, [1, 2], -2.5, ms.int32, [-1, -2]),
    ("copysign", ms.float16, [1.0, 2.0], -2.5, ms.float16, [-1.0, -2.0]),
]


@pytest.mark.parametrize("name, dtype, values, number, expected, result", BESIDE_NUMBERS)
def test_types_of_tensors_beside_numbers(name, dtype, values, number, expected, result):
    found = getattr(mnp, name)(Tensor(values, dtype), number)
    assert found.dtype == expected
    assert np.allclose(found.asnumpy(), result)


def test_reciprocals_of_integers_are_integers():
    for dtype in (ms.int8, ms.uint8, ms.int32):
        found = mnp.reciprocal(Tensor([1, 2, 3], dtype))
        assert found.dtype == dtype and found.tolist() == [1, 0, 0]
    assert mnp.reciprocal(Tensor([-1, -2], ms.int32)).tolist() == [-1, 0]
    assert mnp.reciprocal(Tensor([2.0])).tolist() == [0.5]


@x64.needs_x64
def test_integers_that_are_no_int32_stay_as_they_are():
    assert mnp.add(Tensor([1, 2]), 2**40).tolist() == [2**40 + 1, 2**40 + 2] and mnp.array([1, 2**40]).dtype is ms.int64


def test_nan_is_left_out():
    assert mnp.nansum(Tensor(N)).item() == 13 and mnp.nanmax(Tensor(N), 0).tolist() == [4, 5, 3]


def test_grids():
    np.testing.assert_array_equal(mnp.mgrid[0:2, 0:3][1].asnumpy(), np.mgrid[0:2, 0:3][1])
    np.testing.assert_allclose(mnp.mgrid[0:1:5j].asnumpy(), np.mgrid[0:1:5j])


@pytest.mark.long
def test_gradients_flow():
    grad = ms.grad(lambda x: mnp.sum(mnp.tensordot(x, x, 2) * mnp.pad(x, 1)))(Tensor(A))
    assert grad.shape == A.shape and np.isfinite(grad.asnumpy()).all()
    assert ms.grad(lambda x: mnp.interp(x, Tensor(V), Tensor(V * 2)))(Tensor([1.5, 3.0])).tolist() == [2, 2]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: mnp.split(Tensor(A), 2, 1), ValueError),
        (lambda: mnp.clip(Tensor(A), None, None), ValueError),
        (lambda: mnp.meshgrid(Tensor(V), indexing="uv"), ValueError),
        (lambda: mnp.convolve(Tensor(V), Tensor(V), "most"), ValueError),
        (lambda: mnp.select([Tensor(A) > 0], []), ValueError),
        (lambda: mnp.einsum, AttributeError),
        (lambda: mnp.stack(2.0), TypeError),
        (lambda: mnp.choose(Tensor([0, 1]), 2.0), TypeError),
        (lambda: mnp.sum(Tensor(A), "rows"), TypeError),
        (lambda: mnp.argmax(2.0, 3), ValueError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()


def test_grids_and_powers_of_matrices():
    first, second = mnp.meshgrid(ms.Tensor([[1, 2], [3, 4]]), ms.Tensor([5, 6]))
    assert first.asnumpy().tolist() == [[1, 2, 3, 4]] * 2 and second.asnumpy().tolist() == [[5] * 4, [6] * 4]
    found = mnp.geomspace(ms.Tensor([[1.0], [2.0]]), 8.0, num=3, axis=-1)
    np.testing.assert_allclose(found.asnumpy(), [[[1, 8**0.5, 8]], [[2, 4, 8]]], rtol=1e-6)
    power = mnp.matrix_power(ms.Tensor([[1, 1], [0, 1]]), 3)
    assert power.asnumpy().tolist() == [[1, 3], [0, 1]] and power.dtype.kind == "i"
