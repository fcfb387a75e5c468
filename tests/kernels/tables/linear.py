"""Products, norms of matrices, solvers, distances."""

from tests.kernels.tables.make import row, rows

WIDE = ("float32", "float64")
MATRICES = (((2, 3), (3, 4)), ((1, 3), (3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 2)))
BATCHES = (((2, 2, 3), (2, 3, 2)), ((1, 2, 2), (1, 2, 3)), ((0, 2, 2), (0, 2, 2)))
SQUARE = (((3, 3),), ((2, 2, 2),), ((1, 1),))
REGULAR = "torch.linalg.{}(x + 6 * torch.eye(x.shape[-1], dtype=x.dtype))"

ROWS = [
    row("ops.matmul(x, y)", None, (*MATRICES, *BATCHES, ((3,), (3,)), ((2, 2, 3), (3,)), ((3,), (3, 2))), x="mild", y="mild"),
    row("ops.mm(x, y)", None, MATRICES, x="mild", y="mild"),
    row("ops.bmm(x, y)", None, BATCHES, x="mild", y="mild"),
    row("ops.dot(x, y)", None, ((4,), (4,)), x="mild", y="mild"),
    row("ops.mv(x, y)", None, ((2, 3), (3,)), x="mild", y="mild"),
    *rows("outer ger", "ops.{}(x, y)", "torch.{}(x, y)", ((3,), (2,)), x="edge", y="edge"),
    row("ops.inner(x, y)", None, (((3,), (3,)), ((2, 3), (4, 3))), x="mild", y="mild"),
    row("ops.kron(x, y)", None, (((2, 2), (1, 3)), ((3,), (2,))), x="edge", y="edge"),
    row("ops.tensor_dot(x, y, 1)", "torch.tensordot(x, y, 1)", ((2, 3), (3, 2)), x="mild", y="mild"),
    row("ops.einsum('ij,jk->ik', x, y)", None, ((2, 3), (3, 2)), x="mild", y="mild"),
    row("ops.cross(x, y)", "torch.linalg.cross(x, y)", (((3,), (3,)), ((2, 3), (2, 3))), x="mild", y="mild"),
    row("ops.vecdot(x, y)", "torch.linalg.vecdot(x, y)", ((2, 3), (2, 3)), x="mild", y="mild"),
    row("ops.dense(x, w, b)", "F.linear(x, w, b)", (((2, 3), (4, 3), (4,)), ((0, 3), (2, 3), (2,)), ((2, 2, 3), (2, 3), (2,))), x="mild", w="mild", b="mild"),
    row("ops.bidense(x, y, w, b)", "F.bilinear(x, y, w, b)", ((2, 3), (2, 2), (4, 3, 2), (4,)), x="mild", y="mild", w="normal", b="normal"),
    row("ops.bias_add(x, b)", "x + b", ((2, 3), (3,)), x="edge", b="edge"),
    *rows("addmm", "ops.{}(z, x, y, beta=b, alpha=a)", "torch.{}(z, x, y, beta=b, alpha=a)", ((2, 4), (2, 3), (3, 4)), z="mild", x="mild", y="mild", settings={"b": [1, 0.5, 2], "a": [1, 2.0, 0]}),
    *rows("addbmm", "ops.{}(z, x, y, beta=b, alpha=a)", "torch.{}(z, x, y, beta=b, alpha=a)", ((2, 2), (2, 2, 3), (2, 3, 2)), z="mild", x="mild", y="mild", settings={"b": [1, 0.5], "a": [1, 2.0]}),
    *rows("baddbmm", "ops.{}(z, x, y, beta=b, alpha=a)", "torch.{}(z, x, y, beta=b, alpha=a)", ((2, 2, 2), (2, 2, 3), (2, 3, 2)), z="mild", x="mild", y="mild", settings={"b": [1, 0.5], "a": [1, 2.0]}),
    *rows("addmv", "ops.{}(z, x, y, beta=b, alpha=a)", "torch.{}(z, x, y, beta=b, alpha=a)", ((2,), (2, 3), (3,)), z="mild", x="mild", y="mild", settings={"b": [1, 0.5], "a": [1, 2.0]}),
    *rows("addr", "ops.{}(z, x, y, beta=b, alpha=a)", "torch.{}(z, x, y, beta=b, alpha=a)", ((2, 3), (2,), (3,)), z="mild", x="mild", y="mild", settings={"b": [1, 0.5], "a": [1, 2.0]}),
    row("ops.cdist(x, y, p)", "torch.cdist(x, y, p)", ((2, 3), (3, 3)), x="normal", y="normal", settings={"p": [1.0, 2.0, 3.0, float("inf")]}, dtypes=WIDE, loose=3, second=False),
    row("ops.pdist(x, p)", "F.pdist(x, p)", ((3, 3),), x="normal", settings={"p": [1.0, 2.0, 3.0, float("inf")]}, dtypes=WIDE, second=False),
    row("ops.dist(x, y, p)", "torch.dist(x, y, p)", ((5,), (5,)), x="normal", y="normal", settings={"p": [1, 2, 3, float("inf")]}),
    row("ops.cosine_similarity(x, y, 1)", "F.cosine_similarity(x, y, 1)", ((2, 4), (2, 4)), x="mild", y="mild"),
    row("ops.matrix_norm(x, o)", "torch.linalg.matrix_norm(x, o)", (((3, 3),), ((2, 4),)), x="normal", settings={"o": ["fro", "nuc", 1, -1, 2, float("inf")]}, dtypes=WIDE, second=False),
    row("ops.matrix_power(x, n)", "torch.linalg.matrix_power(x, n)", SQUARE, x="normal", settings={"n": [0, 1, 2, 3]}, dtypes=WIDE, loose=3),
    row("ops.matrix_exp(x / 4)", "torch.linalg.matrix_exp(x / 4)", SQUARE, x="normal", dtypes=WIDE, loose=3, second=False),
    row("ops.det(x)", "torch.linalg.det(x)", SQUARE, x="normal", dtypes=WIDE, loose=3),
    row("ops.slogdet(x)", "torch.linalg.slogdet(x)", SQUARE, x="normal", dtypes=WIDE, loose=3),
    row("ops.logdet(x @ x.swapaxes(-1, -2) + ops.eye(x.shape[-1], x.shape[-1], x.dtype))", "torch.logdet(x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype))", SQUARE, x="normal", dtypes=WIDE, loose=5),
    row("ops.inverse(x + 6 * ops.eye(x.shape[-1], x.shape[-1], x.dtype))", REGULAR.format("inv"), SQUARE, x="prob", dtypes=WIDE, loose=3),
    row("ops.pinv(x + 6 * ops.eye(x.shape[-1], x.shape[-1], x.dtype))", REGULAR.format("pinv"), SQUARE, x="prob", dtypes=WIDE, loose=5, second=False),
    row("ops.cholesky(x @ x.swapaxes(-1, -2) + ops.eye(x.shape[-1], x.shape[-1], x.dtype))", "torch.linalg.cholesky(x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype))", SQUARE, x="normal", dtypes=WIDE, loose=5),
    row("ops.matrix_solve(x + 6 * ops.eye(3, 3, x.dtype), y)", "torch.linalg.solve(x + 6 * torch.eye(3, dtype=x.dtype), y)", ((3, 3), (3, 2)), x="prob", y="normal", dtypes=WIDE, loose=5),
    row("ops.lstsq(x + 6 * ops.eye(3, 3, x.dtype), y)", "torch.linalg.lstsq(x + 6 * torch.eye(3, dtype=x.dtype), y)[0]", ((3, 3), (3, 2)), x="prob", y="normal", dtypes=WIDE, loose=20, second=False),
    row("ops.svd(x, compute_uv=False)", "torch.linalg.svdvals(x)", (((3, 3),), ((2, 3),)), x="normal", dtypes=WIDE, loose=3, second=False),
]  # fmt: skip
