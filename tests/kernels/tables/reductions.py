"""Reductions, scans, sorting."""

from tests.kernels.cases import ANY
from tests.kernels.tables.make import row, rows

SHAPES = (((2, 5),), ((4, 3),), ((2, 3, 4),), ((1, 6),))
EMPTY = (*SHAPES, ((0, 4),))
AXES = {"a": [0, 1, -1], "k": [True, False]}

ROWS = [
    *rows("sum mean", "ops.{}(x, a, k)", "torch.{}(x, a, k)", EMPTY, x="mild", settings=AXES),
    # PyTorch divides the product by an element for the product of the others, which is NaN for an infinite one.
    row("ops.prod(x, a, k)", "torch.prod(x, a, k)", EMPTY, x="mild", settings=AXES, overflows=True),
    row("ops.prod(x)", "torch.prod(x)", EMPTY, x="mild", overflows=True),
    *rows("sum mean", "ops.{}(x)", "torch.{}(x)", EMPTY, x="mild"),
    *rows("sum prod any all", "ops.{}(x)", "torch.{}(x)", EMPTY, x="any", dtypes=ANY),
    # NaNs get the gradient of a result that is NaN, as in PyTorch's max of all elements; those of its amax are all NaN.
    *rows("amax amin", "ops.{}(x, a, k)", "torch.{}(x, a, k)", SHAPES, x="mild", settings=AXES, overflows=True),
    row("ops.logsumexp(x, a, k)", "torch.logsumexp(x, a, k)", SHAPES, x="mild", settings=AXES),
    *rows("amax amin", "ops.{}(x, (0, 1))", "torch.{}(x, (0, 1))", SHAPES, x="mild", overflows=True),
    *rows("max min", "ops.{}(x, a)", "torch.{}(x, a)", SHAPES, x="edge", settings=AXES),
    *rows("argmax argmin", "ops.{}(x, a, k)", "torch.{}(x, a, k)", SHAPES, x="edge", settings=AXES),
    *rows("argmax argmin", "ops.{}(x)", "torch.{}(x)", SHAPES, x="mild"),
    row("ops.aminmax(x, axis=a)", "torch.aminmax(x, dim=a)", SHAPES, x="mild", settings=AXES, overflows=True),
    *rows("reduce_max:amax reduce_min:amin", "ops.{}(x, a)", "torch.{}(x, a)", SHAPES, x="mild", settings=AXES, overflows=True),
    *rows("reduce_sum:sum reduce_mean:mean", "ops.{}(x, a)", "torch.{}(x, a)", SHAPES, x="mild", settings=AXES),
    *rows("std", "ops.{}(x, a, d, k)", "torch.{}(x, a, correction=int(d), keepdim=k)", SHAPES[:3], x="mild", settings={**AXES, "d": [0, 1]}, loose=5),
    *rows("var", "ops.{}(x, a, d, k)", "torch.{}(x, a, correction=int(d), keepdim=k)", SHAPES[:3], x="mild", settings={**AXES, "d": [0, 1]}, loose=5),
    *rows("std_mean var_mean", "ops.{}(x, a, d, k)", "torch.{}(x, a, correction=int(d), keepdim=k)", SHAPES[:3], x="mild", settings={**AXES, "d": [0, 1]}, loose=5),
    *rows("nansum nanmean", "ops.{}(x, a, k)", "torch.{}(x, a, k)", SHAPES, x="mild", settings=AXES),
    row("ops.nanmedian(x, a)", "torch.nanmedian(x, a)", SHAPES, x="edge", settings=AXES),
    row("ops.median(x, a)", "torch.median(x, a)", SHAPES, x="edge", settings=AXES),
    row("ops.nanquantile(x, q, a)", "torch.nanquantile(x, q, a)", SHAPES, x="normal", settings={**AXES, "q": [0.5, 0.25, 1.0]}, dtypes=("float32", "float64")),
    row("ops.quantile(x, q, a)", "torch.quantile(x, q, a)", SHAPES, x="normal", settings={**AXES, "q": [0.5, 0.25, 1.0]}, dtypes=("float32", "float64")),
    row("ops.count_nonzero(x, a)", "torch.count_nonzero(x, a)", SHAPES, x="any", settings=AXES, dtypes=ANY),
    row("ops.cumsum(x, a)", "torch.cumsum(x, a)", EMPTY, x="mild", settings=AXES, loose=5),
    row("ops.cumprod(x, a)", "torch.cumprod(x, a)", EMPTY, x="mild", settings=AXES, loose=5, overflows=True),
    *rows("cummax cummin", "ops.{}(x, a)", "torch.{}(x, a)", SHAPES, x="mild", settings=AXES),
    row("ops.logcumsumexp(x, a)", "torch.logcumsumexp(x, a)", SHAPES, x="mild", settings=AXES, overflows=True),
    row("ops.sort(x, a)[0]", "torch.sort(x, a)[0]", SHAPES, x="mild", settings=AXES),
    row("ops.argsort(x)", "torch.argsort(x)", SHAPES, x="normal"),
    row("ops.msort(x)", "torch.msort(x)", SHAPES, x="mild"),
    row("ops.topk(x, 2, a)", "torch.topk(x, 2, a)", (((2, 5),), ((4, 3),)), x="normal", settings=AXES),
    *rows("softmax log_softmax", "ops.{}(x, a)", "torch.{}(x, a)", SHAPES, x="mild", settings=AXES),
    row("ops.softmin(x, a)", "F.softmin(x, a)", SHAPES, x="mild", settings=AXES),
    *rows("norm:linalg.vector_norm vector_norm:linalg.vector_norm", "ops.{}(x, p, a, k)", "torch.{}(x, p, a, k)", SHAPES, x="mild", settings={**AXES, "p": [0, 1, 2, 3, float("inf"), -float("inf"), 0.5, -1]}),
    row("ops.renorm(x, p, a, m)", "torch.renorm(x, p, a, m)", SHAPES, x="mild", settings={"p": [1, 2], "a": [0, 1], "m": [1.0, 5.0]}, dtypes=("float32",)),
    row("ops.diff(x, n, a)", "torch.diff(x, n, a)", SHAPES, x="mild", settings={"n": [1, 2], "a": [-1, 1]}),
    row("ops.trapz(x, dx=d, dim=a)", "torch.trapz(x, dx=d, dim=a)", SHAPES, x="mild", settings={"d": [1.0, 0.5], "a": [-1, 1]}),
    row("ops.histc(x, 4, -2.0, 2.0)", "torch.histc(x, 4, -2.0, 2.0)", ((8,),), x="const:normal", dtypes=("float32",)),
    row("ops.bincount(x)", "torch.bincount(x)", ((8,),), x="int<5", traced=False),
    row("ops.searchsorted(ops.sort(x)[0], y)", "torch.searchsorted(torch.sort(x)[0], y)", ((6,), (4,)), x="order<9", y="int<9"),
    row("ops.cov(x)", "torch.cov(x)", (((2, 5),), ((3, 4),)), x="normal", dtypes=("float32", "float64")),
    row("ops.unique_consecutive(x)", "torch.unique_consecutive(x)", ((8,),), x="int<3", traced=False),
    row("ops.unique(x)[0]", "torch.unique(x)", ((8,),), x="int<5", traced=False),
    row("ops.nonzero(x)", "torch.nonzero(x)", (((2, 5),), ((8,),)), x="any", dtypes=ANY, traced=False),
    row("ops.argwhere(x)", "torch.argwhere(x)", (((2, 5),), ((8,),)), x="any", dtypes=ANY, traced=False),
    row("ops.masked_select(x, b)", "torch.masked_select(x, b)", ((2, 4), (2, 4)), x="edge", b="bool", traced=False),
    row("ops.gumbel_softmax(x * 0 - 1e4, 1.0, True).sum(-1)", "x.sum(-1) * 0 + 1", ((2, 4),), x="const:normal", traced=False, dtypes=("float32",)),
]  # fmt: skip
