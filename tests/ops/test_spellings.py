"""Keywords as MindSpore spells them, and what it refuses: tables of calls."""

import numpy as np
import pytest

import msjax as ms
import msjax.numpy as mnp
from msjax import mint, ops

X = ms.Tensor([[1.0, 4.0], [9.0, 16.0]])
V = ms.Tensor([1.0, 2.0])
N = ms.Tensor([5, 6], ms.int32)


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda: ops.sqrt(x=X), [[1.0, 2.0], [3.0, 4.0]]),
        (lambda: ops.inv(x=V), [1.0, 0.5]),
        (lambda: ops.invert(x=N), [-6, -7]),
        (lambda: ops.population_count(input_x=N), [2, 2]),
        (lambda: ops.relu6(x=V * 5), [5.0, 6.0]),
        (lambda: ops.frac(x=V + 0.5), [0.5, 0.5]),
        (lambda: ops.floor_div(x=N, y=4), [1, 1]),
        (lambda: ops.true_divide(dividend=X, divisor=2.0), [[0.5, 2.0], [4.5, 8.0]]),
        (lambda: ops.float_power(input=V, exponent=3), [1.0, 8.0]),
        (lambda: ops.arcsin(x=V * 0), [0.0, 0.0]),
        (lambda: ops.bessel_j0(x=V * 0), [1.0, 1.0]),
        (lambda: ops.rad2deg(x=V * 0), [0.0, 0.0]),
        (lambda: mint.mv(input=X, vec=V), [9.0, 41.0]),
        (lambda: mint.bmm(input=X[None], mat2=X[None]), [[[37.0, 68.0], [153.0, 292.0]]]),
        (lambda: mint.sqrt(input=X), [[1.0, 2.0], [3.0, 4.0]]),
        (lambda: mint.permute(input=X, dims=(1, 0)), [[1.0, 9.0], [4.0, 16.0]]),
        (lambda: mnp.negative(a=V), [-1.0, -2.0]),
        (lambda: mnp.logical_not(a=V), [False, False]),
        (lambda: mnp.empty_like(prototype=V * 0), [0.0, 0.0]),
        (lambda: X.addmm(mat1=X, mat2=X), [[38.0, 72.0], [162.0, 308.0]]),
        (lambda: X[0].addmv(mat=X, vec=V, beta=2), [11.0, 49.0]),
        (lambda: X.addr(V, V, 2, 3), [[5.0, 14.0], [24.0, 44.0]]),
        (lambda: V.float_power(exponent=2), [1.0, 4.0]),
    ],
)
def test_keywords(call, want):
    got = call()
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got.asnumpy(), want, atol=1e-6)


def test_scalar_functions_name_their_operands():
    assert ops.scalar_sub(x=5, y=3) == 2 and ops.scalar_usub(x=4) == -4


@pytest.mark.parametrize(
    "function", [ops.exp, ops.sqrt, ops.neg, ops.relu6, ops.erf, ops.isnan, ops.round, ops.gelu], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("operand", [2.0, 2, True, [1.0, 2.0], (1.0,), None, "a"], ids=str)
def test_functions_of_one_tensor_refuse_what_is_none(function, operand):
    with pytest.raises(TypeError):
        function(operand)


@pytest.mark.parametrize(
    "function",
    [ops.digamma, ops.i0, ops.bessel_k1, ops.softplus, ops.softsign, ops.mish, ops.gelu, ops.celu, ops.logit, ops.hardshrink],
    ids=lambda f: f.__name__,
)
def test_functions_of_floats_refuse_integers(function):
    with pytest.raises(TypeError, match="floats"):
        function(N)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ops.reshape(X, ("a",)), TypeError),
        (lambda: ops.swapaxes(X, 0, 5), ValueError),
        (lambda: ops.swapaxes(X, "a", 1), TypeError),
        (lambda: ops.unsqueeze(X, 1.0), TypeError),
        (lambda: ops.tile(X, (-1, 1)), ValueError),
        (lambda: ops.tile(X, (1.0, 2)), TypeError),
        (lambda: ops.concat(()), ValueError),
        (lambda: ops.concat((X, 2)), TypeError),
        (lambda: ops.concat((X, None)), TypeError),
        (lambda: ops.stack([]), ValueError),
        (lambda: ops.combinations(X), ValueError),
        (lambda: X.addmm(X, X, mat2=X), TypeError),
    ],
)
def test_refused(call, error):
    with pytest.raises(error):
        call()


def test_squeeze_leaves_axes_of_other_sizes():
    x = ops.ones((3, 1, 1))
    assert ops.squeeze(x, 0).shape == (3, 1, 1)
    assert ops.squeeze(x, (0, -1)).shape == (3, 1)


def test_pieces_may_be_empty():
    pieces = ops.tensor_split(ops.arange(3), (2, 1, 7))
    assert [p.tolist() for p in pieces] == [[0, 1], [], [1, 2], []]
    assert ops.flatten(ops.zeros((0, 4))).shape == (0, 4)


def test_places_of_distinct_elements_are_int32_but_for_int64():
    for dtype, places in ((ms.float32, ms.int32), (ms.int8, ms.int32), (ms.int64, ms.int64)):
        assert ops.unique(ms.Tensor([3, 1, 3], dtype))[1].dtype is places
    assert ops.unique_consecutive(N, return_counts=True)[1].dtype is ms.int64


def test_trace_keeps_the_dtype_and_the_method_does_not():
    x = ms.Tensor([[1, 2], [3, 4]], ms.int32)
    assert ops.trace(x).dtype is ms.int32 and x.trace().dtype is ms.int64


def test_bincount_differentiates_its_weights():
    grad = ms.grad(lambda w: (ops.bincount(N, w) * ops.arange(7).astype(ms.float32)).sum())(V)
    assert grad.tolist() == [5.0, 6.0]


def test_select_of_two_numbers():
    assert ops.select(V > 1, 1.0, 2.0).tolist() == [2.0, 1.0]


def test_product_of_one_vector():
    assert ops.cartesian_prod(V).shape == (2, 1)


def test_text_of_float32_numbers_keeps_fixed_points():
    assert str(ms.Tensor([237301.84, 108648.375, 1438239.6], ms.float32)) == "[ 237301.84   108648.375 1438239.6  ]"


def test_python_float_means_float64_in_astype():
    assert V.astype(float).dtype is (ms.float64 if ms.Tensor(np.ones(1)).dtype is ms.float64 else ms.float32)


@pytest.mark.parametrize(("dtype", "want"), [(ms.bool_, ms.float16), (ms.uint8, ms.float16), (ms.int16, ms.float32)])
def test_circular_functions_of_bytes_are_half(dtype, want):
    assert mnp.sin(N.astype(dtype)).dtype is want and mnp.sqrt(N.astype(dtype)).dtype is ms.float32


def test_integers_stay_integers_without_nan():
    assert mnp.nansum(N).dtype is mnp.nanmax(N).dtype is ms.int32 and mnp.nansum(N).item() == 11
    assert mnp.nanmean(N).dtype is ms.float32 and mnp.trace(ms.Tensor([[1, 2], [3, 4]], ms.int32)).dtype is ms.int64
