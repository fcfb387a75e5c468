"""Reductions, cumulative operators, norms and statistics."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import mint, ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
Y = np.array([[1.5, 0.5, -2.5], [0.75, 1.25, 2.0]], np.float32)
Z = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7 - 1.3
N = np.array([[np.nan, 1, 2], [3, np.nan, np.nan]], np.float32)
I = np.array([[3, 1, 2], [4, -5, 6]], np.int32)

CASES = [
    Case("sum", ops.sum, (Z,), np.sum),
    Case("sum_axes", lambda x: ops.sum(x, (0, 2), True), (Z,), lambda x: x.sum((0, 2), keepdims=True), rtol=1e-4),
    Case("mean", lambda x: ops.mean(x, 1), (Z,), lambda x: x.mean(1)),
    Case("prod", lambda x: ops.prod(x, 1, True), (X,), lambda x: x.prod(1, keepdims=True)),
    Case("var", lambda x: ops.var(x, (0, 2), 1), (Z,), lambda x: x.var((0, 2), ddof=1)),
    Case("std", lambda x: ops.std(x, 1, True, True), (Z,), lambda x: x.std(1, ddof=1, keepdims=True)),
    Case("std_mean", lambda x: ops.std_mean(x, 1), (Z,), lambda x: (x.std(1), x.mean(1))),
    Case("var_mean", ops.var_mean, (Z,), lambda x: (x.var(), x.mean())),
    Case("amax", lambda x: ops.amax(x, 1), (X,), lambda x: x.max(1)),
    Case("amin", lambda x: ops.amin(x, 0, True), (X,), lambda x: x.min(0, keepdims=True)),
    Case("max", lambda x: ops.max(x, 1), (X,), lambda x: (x.max(1), x.argmax(1))),
    Case("min", lambda x: ops.min(x, 0, True), (X,), lambda x: (x.min(0, keepdims=True), x.argmin(0)[None])),
    Case("max_of_all", ops.max, (X,), lambda x: (x.max(), 0)),
    Case("aminmax", lambda x: ops.aminmax(x, axis=1), (X,), lambda x: (x.min(1), x.max(1))),
    Case("logsumexp", lambda x: ops.logsumexp(x, 1), (X,), lambda x: np.log(np.exp(x).sum(1))),
    Case("cumsum", lambda x: ops.cumsum(x, 1), (X,), lambda x: x.cumsum(1)),
    Case("cumprod", lambda x: ops.cumprod(x, -1), (X,), lambda x: x.cumprod(1)),
    Case("cummax", lambda x: ops.cummax(x, 1)[0], (X,), lambda x: np.maximum.accumulate(x, 1)),
    Case("cummin", lambda x: ops.cummin(x, 0)[0], (X,), lambda x: np.minimum.accumulate(x, 0)),
    Case("logcumsumexp", lambda x: ops.logcumsumexp(x, 1), (X,), lambda x: np.log(np.exp(x).cumsum(1))),
    Case("diff", lambda x: ops.diff(x, 2), (X,), lambda x: np.diff(x, 2)),
    Case("diff_joined", lambda x, y: ops.diff(x, prepend=y), (X, Y), lambda x, y: np.diff(x, prepend=y)),
    Case("trapz", lambda x: ops.trapz(x, dx=2.0), (X,), lambda x: np.trapezoid(x, dx=2.0)),
    Case("norm", ops.norm, (X,), np.linalg.norm),
    Case("norm_2", lambda x: ops.norm(x, 2), (X,), lambda x: np.linalg.norm(x, 2)),
    Case("norm_nuc", lambda x: ops.norm(x, "nuc"), (X,), lambda x: np.linalg.norm(x, "nuc")),
    Case("norm_rows", lambda x: ops.norm(x, 3, 1), (X,), lambda x: np.linalg.norm(x, 3, 1)),
    Case("norm_inf", lambda x: ops.norm(x, float("inf"), 1, True), (X,), lambda x: np.linalg.norm(x, np.inf, 1, True)),
    Case("vector_norm", lambda x: ops.vector_norm(x, 1), (X,), lambda x: np.abs(x).sum()),
    Case("matrix_norm", lambda x: ops.matrix_norm(x, 1), (X,), lambda x: np.linalg.norm(x, 1)),
    Case("dist", ops.dist, (X, Y), lambda x, y: np.linalg.norm(x - y)),
    Case("cdist", ops.cdist, (X, Y), lambda x, y: np.linalg.norm(x[:, None] - y[None], axis=-1)),
    Case(
        "pdist",
        lambda x: ops.pdist(x, 1.0),
        (X.T,),
        lambda x: np.array([np.abs(x[i] - x[j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))]),
    ),
    Case(
        "cosine_similarity",
        ops.cosine_similarity,
        (X, Y),
        lambda x, y: (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1),
    ),
    Case("renorm", lambda x: ops.renorm(x, 2, 0, 1.0), (X,), lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
    Case("nansum", lambda x: ops.nansum(x, 1), (N,), lambda x: np.nansum(x, 1), smooth=False),
    Case("nanmean", lambda x: ops.nanmean(x, 1), (N,), lambda x: np.nanmean(x, 1), smooth=False),
    Case("median", lambda x: ops.median(x, 1)[0], (X,), lambda x: np.median(x, 1)),
    Case("quantile", lambda x: ops.quantile(x, 0.3, 1), (X,), lambda x: np.quantile(x, 0.3, 1)),
    Case("cov", ops.cov, (X,), np.cov),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


GRADIENTS = {
    "mean", "prod", "var", "std", "amax", "max", "logsumexp", "cumsum", "cumprod", "cummax", "logcumsumexp", "diff_joined", "trapz",
    "norm", "norm_2", "norm_rows", "cdist", "cosine_similarity", "renorm", "median", "quantile", "nanmean",
}  # fmt: skip


@pytest.mark.parametrize("case", [c for c in CASES if c.name in GRADIENTS], ids=str)
def test_gradient(case):
    check_gradient(case)


VALUES = [
    ("all", lambda x: ops.all(x > 0, 1), lambda x: (x > 0).all(1)),
    ("any", lambda x: ops.any(x > 1, 0, True), lambda x: (x > 1).any(0, keepdims=True)),
    ("count_nonzero", lambda x: ops.count_nonzero(x > 0, 1), lambda x: np.count_nonzero(x > 0, 1)),
    ("argmax", lambda x: ops.argmax(x, 1, True), lambda x: x.argmax(1)[:, None]),
    ("argmin", ops.argmin, np.argmin),
    ("cond", ops.cond, np.linalg.cond),
    ("amax_where", lambda x: ops.amax(x, 0, initial=1.0, where=x > 0), lambda x: x.max(0, initial=1.0, where=x > 0)),
]


@pytest.mark.parametrize("name, call, want", VALUES, ids=[v[0] for v in VALUES])
def test_plain_value(name, call, want):
    check_value(Case(name, call, (X,), want))


DTYPES = [
    (ops.sum, ms.bool_, ms.int64),
    (ops.sum, ms.int32, ms.int64),
    (ops.sum, ms.float16, ms.float16),
    (ops.prod, ms.uint8, ms.int64),
    (ops.mean, ms.int32, ms.int32),
    (ops.reduce_sum, ms.int32, ms.int32),
    (lambda x: ops.cumsum(x, 0), ms.int8, ms.int8),
    (lambda x: ops.cumprod(x, 0), ms.int32, ms.int64),
    (ops.argmax, ms.float32, ms.int64),
    (ops.argmin, ms.float32, ms.int32),
    (ops.count_nonzero, ms.float32, ms.int32),
    (lambda x: ops.max(x, 0)[1], ms.float32, ms.int64),
    (lambda x: ops.cummax(x, 0)[1], ms.float32, ms.int64),
    (lambda x: ops.cummin(x, 0)[1], ms.float32, ms.int32),
]


@pytest.mark.parametrize("call, dtype, want", DTYPES)
def test_dtypes(call, dtype, want):
    assert call(ms.Tensor([1, 2, 3]).astype(dtype)).dtype == want


def test_integer_mean_is_cut():
    assert str(ops.mean(ms.Tensor(I))) == "1" and str(ops.mean(ms.Tensor([-3, -4]))) == "-3"


def test_ties():
    x = ms.Tensor([2.0, 2.0, 1.0])
    assert str(ms.grad(ops.amax)(x)) == "[0.5 0.5 0. ]"
    assert str(ms.grad(lambda x: ops.max(x, 0)[0])(x)) == "[1. 0. 0.]"
    assert str(ops.cummax(ms.Tensor([1.0, 3.0, 3.0, 2.0]), 0)[1]) == "[0 1 2 2]"


def test_norm_of_zeros_has_a_gradient():
    for p in (2, 3):
        assert not ms.grad(lambda x, p=p: ops.vector_norm(x, p))(ms.Tensor([0.0, 0.0])).asnumpy().any()


def test_nan_in_medians():
    x = ms.Tensor([3.0, float("nan"), 1.0])
    assert np.isnan(float(ops.median(x)[0])) and float(ops.nanmedian(x)[0]) == 1


def test_clip_by_norm():
    x = [ms.Tensor([3.0, 0.0]), ms.Tensor([4.0])]
    np.testing.assert_allclose(np.concatenate([t.asnumpy() for t in ops.clip_by_norm(x, 1.0)]), [0.6, 0, 0.8], rtol=1e-5)
    assert [str(t) for t in ops.clip_by_global_norm(x, 10.0)] == ["[3. 0.]", "[4.]"]
    with pytest.raises(RuntimeError, match="finite"):
        ops.clip_by_norm(ms.Tensor([float("inf")]), 1.0, error_if_nonfinite=True)


def test_errors():
    x = ms.Tensor(X)
    with pytest.raises(TypeError, match="axis"):
        ops.max(x, (0, 1))
    with pytest.raises(ValueError, match="initial"):
        ops.amax(x, where=x > 0)
    with pytest.raises(TypeError, match="Bools"):
        ops.mean(x > 0)
    with pytest.raises(ValueError, match="axis"):
        ops.cumsum(x, 2)
    with pytest.raises(ValueError, match="ord"):
        ops.norm(ms.Tensor(Z), 2)
    with pytest.raises(ValueError, match="matrix norm"):
        ops.matrix_norm(x, 3)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        ops.quantile(x, 1.5)
    with pytest.raises(TypeError, match="axis"):
        ops.median(x, None)


def test_elements_that_are_nan_get_the_gradient_of_an_extreme_that_is():
    x = ms.Tensor(np.array([[1, np.nan, 2, np.nan], [3, 3, 1, 0]], np.float32))
    for fn in (
        lambda x: ops.amax(x, 1)[0],
        lambda x: ops.max(x[0])[0],
        lambda x: ops.aminmax(x, axis=1)[1][0],
        lambda x: mint.min(x[0]),
    ):
        for call in (fn, ms.jit(fn)):
            np.testing.assert_array_equal(ms.grad(call)(x).asnumpy(), [[0, 0.5, 0, 0.5], [0, 0, 0, 0]])
    many = ms.Tensor(np.zeros(70_000, np.float16))
    assert ms.grad(lambda x: ops.amax(x) * 60_000)(many).asnumpy()[0] > 0.8


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort", "max"])
def test_an_index_that_fits_no_int32_is_an_error(name):
    many = jax.ShapeDtypeStruct((2**31 + 1,), "uint8")
    with jax.enable_x64(False), pytest.raises(OverflowError, match="2147483649 elements does not fit int32"):
        jax.eval_shape(
            lambda v: (ops.max(ms.Tensor(v), 0)[1] if name == "max" else getattr(ops, name)(ms.Tensor(v)))._value, many
        )
