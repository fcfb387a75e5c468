"""Matrix products, decompositions, solvers."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
Y = np.array([[1.5, 0.5, -2.5], [0.75, 1.25, 2.0]], np.float32)
Q = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)
B = np.stack([Q, Q.T + np.triu(np.ones((3, 3), np.float32))])
V, W = X[0], Y[1]

CASES = [
    Case("matmul", ops.matmul, (X, Q), np.matmul),
    Case("matmul_batch", ops.matmul, (B, Q), np.matmul),
    Case("matmul_vector", ops.matmul, (X, V), np.matmul),
    Case("bmm", ops.bmm, (B, B), np.matmul),
    Case("mm", ops.mm, (X, Q), np.matmul),
    Case("mv", ops.mv, (X, V), np.matmul),
    Case("dot", ops.dot, (X, Q), np.dot),
    Case("inner", ops.inner, (X, Y), np.inner),
    Case("outer", ops.outer, (V, W), np.outer),
    Case("kron", ops.kron, (X, V), lambda x, y: np.kron(x, y)),
    Case("kron_of_bools", ops.kron, (V > 0, W > 0), lambda x, y: np.kron(x, y)),
    Case("cross", ops.cross, (X, Y), lambda x, y: np.cross(x, y)),
    Case("vecdot", ops.vecdot, (X, Y), lambda x, y: (x * y).sum(-1)),
    Case("tensor_dot", lambda x, y: ops.tensor_dot(x, y, ((0, 1), (0, 1))), (X, Y), np.vdot),
    Case("batch_dot", lambda x, y: ops.batch_dot(x, y, (2, 2)), (B, B), lambda x, y: np.einsum("bij,bkj->bik", x, y)),
    Case("addmm", lambda c, a, b: ops.addmm(c, a, b, beta=0.5, alpha=2), (Q, B[0], B[1]), lambda c, a, b: 0.5 * c + 2 * a @ b),
    Case("addmv", ops.addmv, (V[:2], X, W), lambda c, a, b: c + a @ b),
    Case("addr", ops.addr, (X, V[:2], W), lambda c, a, b: c + np.outer(a, b)),
    Case("addbmm", ops.addbmm, (Q, B, B), lambda c, a, b: c + (a @ b).sum(0)),
    Case("baddbmm", lambda c, a, b: ops.baddbmm(c, a, b, 2, 3), (B, B, B), lambda c, a, b: 2 * c + 3 * a @ b),
    Case("dense", ops.dense, (X, Q, V), lambda x, w, b: x @ w.T + b),
    Case("dense_of_several_axes", ops.dense, (B, Q, V), lambda x, w, b: x @ w.T + b),
    Case("dense_of_fewer_outputs", ops.dense, (B, X, W[:2]), lambda x, w, b: x @ w.T + b),
    Case("dense_of_a_vector", ops.dense, (V, Q, V), lambda x, w, b: x @ w.T + b),
    Case("bidense", ops.bidense, (X, Y, B), lambda x, y, w: np.einsum("ni,kij,nj->nk", x, w, y)),
    Case("einsum", lambda x, y: ops.einsum("ij,bjk->bik", x, y), (X, B), lambda x, y: x @ y),
    Case("einsum_lists", lambda x, y: ops.einsum(x, [0, 1], y, [1, 2], [2, 0]), (X, Q), lambda x, y: (x @ y).T),
    Case("inverse", ops.inverse, (Q,), np.linalg.inv),
    Case("det", ops.det, (B,), np.linalg.det),
    Case("slogdet", ops.slogdet, (B,), lambda x: tuple(np.linalg.slogdet(x))),
    Case("logdet", ops.logdet, (Q,), lambda x: np.linalg.slogdet(x)[1]),
    Case("trace", ops.trace, (Q,), np.trace),
    Case("matrix_power", lambda x: ops.matrix_power(x, -2), (Q,), lambda x: np.linalg.matrix_power(x, -2), rtol=1e-4),
    Case("matrix_exp", lambda x: ops.matrix_exp(x / 4), (Q,), lambda x: sum_of_powers(x / 4), rtol=1e-4),
    Case("matrix_solve", ops.matrix_solve, (Q, X.T), np.linalg.solve, rtol=1e-4),
    Case(
        "matrix_solve_adjoint",
        lambda a, b: ops.matrix_solve(a, b, True),
        (B[1], X.T),
        lambda a, b: np.linalg.solve(a.T, b),
        rtol=1e-4,
    ),
    Case("pinv", ops.pinv, (X,), np.linalg.pinv, rtol=1e-4),
    Case("lstsq", ops.lstsq, (X.T, V), lambda x, y: np.linalg.lstsq(x, y[:, None])[0], rtol=1e-4),
    Case("svd_values", lambda x: ops.svd(x, compute_uv=False), (X,), lambda x: np.linalg.svd(x, compute_uv=False), rtol=1e-4),
    Case("adjoint", ops.adjoint, (X,), np.transpose),
    Case("cholesky_upper", lambda x: ops.cholesky(x, True), (Q,), lambda x: np.linalg.cholesky(x).T),
]


def sum_of_powers(x):
    out = term = np.eye(len(x))
    for k in range(1, 20):
        term = term @ x / k
        out = out + term
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


GRADIENTS = {
    "matmul", "matmul_batch", "bmm", "outer", "cross", "batch_dot", "addmm", "baddbmm", "dense", "dense_of_several_axes",
    "dense_of_fewer_outputs", "dense_of_a_vector", "bidense", "einsum", "inverse",
    "det", "logdet", "matrix_solve", "pinv", "lstsq", "svd_values",
}  # fmt: skip


@pytest.mark.parametrize("case", [c for c in CASES if c.name in GRADIENTS], ids=str)
def test_gradient(case):
    check_gradient(case)


def together(*factors):
    out = factors[0].asnumpy()
    for f in factors[1:]:
        out = out @ f.asnumpy()
    return out


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_factors_give_the_matrix_back():
    x, q = ms.Tensor(X), ms.Tensor(Q)
    s, u, v = ops.svd(x)
    close((u.asnumpy() * s.asnumpy()) @ v.asnumpy().T, X)
    s, u, v = ops.svd(x, full_matrices=True)
    assert u.shape == (2, 2) and v.shape == (3, 3)
    close(together(*ops.qr(x)), X)
    orthogonal, r = ops.qr(ms.Tensor(X.T), "complete")
    assert orthogonal.shape == (3, 3) and r.shape == (3, 2)
    lower = ops.cholesky(q)
    close(together(lower, lower.T), Q)
    values, vectors = ops.eig(q)
    close(np.sort(values.asnumpy().real), np.linalg.eigvalsh(Q))
    close(vectors.asnumpy() * values.asnumpy() @ np.linalg.inv(vectors.asnumpy()), Q)


def test_cholesky_factors():
    q = ms.Tensor(Q)
    for upper in (False, True):
        factor = ops.cholesky(q, upper)
        close(ops.cholesky_inverse(factor, upper).asnumpy(), np.linalg.inv(Q))
        close(ops.cholesky_solve(ms.Tensor(X.T), factor, upper).asnumpy(), np.linalg.solve(Q, X.T))


def test_householder_reflectors():
    x = ms.Tensor(X.T)
    y, tau = ops.geqrf(x)
    close(ops.orgqr(y, tau).asnumpy() @ np.triu(y.asnumpy())[:2], X.T)
    whole = ops.ormqr(y, tau, ms.Tensor(np.eye(3, dtype=np.float32)))
    close(ops.ormqr(y, tau, whole, transpose=True).asnumpy(), np.eye(3))


def test_lu():
    lu, pivots = ms.Tensor([[2.0, 1.0], [0.5, 3.0]]), ms.Tensor([2, 2], ms.int32)
    p, lower, upper = ops.lu_unpack(lu, pivots)
    matrix = together(p, lower, upper)
    close(matrix, [[1.0, 3.5], [2.0, 1.0]])
    b = np.array([[1.0], [2.0]], np.float32)
    close(ops.lu_solve(ms.Tensor(b), lu, pivots).asnumpy(), np.linalg.solve(matrix, b))


def test_integers():
    x = ms.Tensor([[1, 2], [3, 4]], ms.int32)
    assert ops.matmul(x, x).dtype == ms.int32 and ops.trace(x).dtype == ms.int32
    grads = ms.grad(ops.matmul, (0, 1))(x, x)
    assert str(grads[0]) == "[[3 7]\n [3 7]]" and grads[0].dtype == ms.int32


def test_half_floats_stay():
    x = ms.Tensor(Q, ms.float16)
    assert ops.matmul(x, x).dtype == ops.einsum("ij,jk->ik", x, x).dtype == ops.addmm(x, x, x).dtype == ms.float16


def test_errors():
    x = ms.Tensor(X)
    with pytest.raises(RuntimeError, match="MatMul"):
        ops.matmul(x, x)
    half, square = ms.Tensor(Q, ms.float16), ms.Tensor(Q)
    for product in (ops.matmul, ops.mm, ops.bmm, ops.dense, ops.MatMul(), ops.MatMul(transpose_b=True), ms.Tensor.__matmul__):
        with pytest.raises(TypeError, match="one dtype, but have float16, float32"):
            product(half, square)
    with pytest.raises(TypeError, match="one dtype"):
        ops.addmm(square, half, square)
    with pytest.raises(TypeError, match="numbers"):
        ops.matmul(x, 2)
    with pytest.raises(ValueError, match="axes"):
        ops.mm(x, ms.Tensor(B))
    with pytest.raises(ValueError, match="square"):
        ops.inverse(x)
    with pytest.raises(ValueError, match="size 3"):
        ops.cross(x, x, 0)
    with pytest.raises(TypeError, match="mode"):
        ops.qr(x, "r")
    with pytest.raises(TypeError, match="operands"):
        ops.einsum("ij->ji", 3)
    with pytest.raises(ValueError, match="batch"):
        ops.batch_dot(x, x, (0, 1))
    with pytest.raises(ValueError, match="two axes"):
        ops.trace(ms.Tensor(B))


@pytest.mark.parametrize("spec", [("d",), (None, "d")])
def test_gradient_of_dense_where_axes_of_a_mesh_are_explicit(spec):
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    ones = np.ones((4, 2), np.float32)
    with jax.set_mesh(mesh):
        x = ms.Tensor(jax.device_put(np.arange(16, dtype=np.float32).reshape(2, 4, 2), jax.NamedSharding(mesh, jax.P(*spec))))
        weight = ms.Tensor(jax.device_put(ones, jax.NamedSharding(mesh, jax.P())))
        got = ms.grad(lambda w: ops.dense(x, w).sum())(weight)
    assert got.asnumpy().tolist() == [[56.0, 64.0]] * 4


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 1), (2, 2)])
def test_gradient_of_dense_has_the_shape_of_a_bias_that_is_broadcast(shape):
    x, weight = ms.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), ms.Tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    bias = ops.zeros(shape, ms.float32)
    scale = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
    d_x, d_weight, d_bias = ms.grad(lambda *operands: (ops.dense(*operands) * scale).sum(), (0, 1, 2))(x, weight, bias)
    assert d_x.asnumpy().tolist() == [[1.0, 2.0, 4.0], [3.0, 4.0, 10.0]]
    assert d_weight.asnumpy().tolist() == [[13.0, 17.0, 21.0], [18.0, 24.0, 30.0]]
    wanted = {(): 10.0, (1,): [10.0], (2,): [4.0, 6.0], (2, 1): [[3.0], [7.0]], (2, 2): [[1.0, 2.0], [3.0, 4.0]]}
    assert d_bias.asnumpy().tolist() == wanted[shape]


@pytest.mark.parametrize("ins, outs", [(1024, 3), (3, 1024)])
def test_gradient_of_dense_of_many_samples_and_whole_pages(ins, outs):
    # Small integers, so that every sum is exact.
    rng = np.random.default_rng(0)
    x, weight, ct = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((2, 256, ins), (outs, ins), (2, 256, outs)))
    by_x, by_weight = ms.grad(lambda x, w: (ops.dense(x, w) * ms.Tensor(ct)).sum(), (0, 1))(ms.Tensor(x), ms.Tensor(weight))
    np.testing.assert_array_equal(by_x.asnumpy(), ct @ weight)
    np.testing.assert_array_equal(by_weight.asnumpy(), ct.reshape(-1, outs).T @ x.reshape(-1, ins))


def test_outer_products_of_numbers():
    assert ops.outer(ms.Tensor(2.0), ms.Tensor([3.0, 4.0])).tolist() == [[6.0, 8.0]]
    assert ops.outer(ms.Tensor([2.0]), ms.Tensor(3.0)).tolist() == ops.outer(ms.Tensor(2.0), ms.Tensor(3.0)).tolist() == [[6.0]]
