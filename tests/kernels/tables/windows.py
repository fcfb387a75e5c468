"""Convolution, pooling, folding, resizing."""

from tests.kernels.tables.make import row, rows

SOME = ("float32", "float64", "float32", "float16")
TWICE = {"s": [1, 2], "p": [0, 1], "d": [1, 2]}
CONVS = (
    ((2, 4, 5, 6), (4, 4, 3, 3), (4,)), ((1, 2, 4, 4), (2, 2, 2, 2), (2,)), ((2, 6, 5, 5), (6, 6, 1, 1), (6,)), ((1, 4, 7, 5), (4, 4, 3, 2), (4,)),
    ((0, 2, 5, 5), (2, 2, 3, 3), (2,)),
)  # fmt: skip
GROUPED = (((2, 4, 5, 6), (4, 1, 3, 3)), ((1, 4, 4, 4), (4, 1, 2, 2)), ((2, 4, 5, 5), (8, 1, 3, 3)))
HALVES = (((2, 4, 5, 6), (4, 2, 3, 3)), ((1, 4, 4, 4), (6, 2, 2, 2)))
IMAGES = (((1, 2, 5, 6),), ((2, 1, 4, 4),), ((1, 1, 7, 5),))
LINES = (((1, 2, 7),), ((2, 1, 6),))
VOLUMES = (((1, 2, 4, 5, 4),), ((1, 1, 6, 4, 4),))
POOL = {"k": [2, 3, (3, 2)], "s": [1, 2, (2, 1)], "c": [True, False]}
MODES = "nearest area"

ROWS = [
    row("ops.conv2d(x, w, b, s, 'pad', p, d)", "F.conv2d(x, w, b, s, p, d)", CONVS, x="mild", w="normal", b="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv2d(x, w, None, s, 'pad', p, d, 4)", "F.conv2d(x, w, None, s, p, d, 4)", GROUPED, x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv2d(x, w, None, s, 'pad', p, d, 2)", "F.conv2d(x, w, None, s, p, d, 2)", HALVES, x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv2d(x, w, None, 1, 'same', 0, d)", "F.conv2d(x, w, None, 1, 'same', d)", (((2, 2, 5, 6), (3, 2, 3, 2)), ((1, 1, 4, 4), (2, 1, 2, 3))), x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv1d(x, w, None, s, 'pad', p, d)", "F.conv1d(x, w, None, s, p, d)", (((2, 2, 7), (3, 2, 3)), ((1, 4, 6), (2, 4, 1))), x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv3d(x, w, None, s, 'pad', p, d)", "F.conv3d(x, w, None, s, p, d)", ((1, 2, 4, 5, 4), (2, 2, 2, 2, 2)), x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv_transpose2d(x, w, None, s, p, 0, 1, d)", "F.conv_transpose2d(x, w, None, s, p, 0, 1, d)", (((2, 2, 3, 4), (2, 3, 3, 2)), ((1, 4, 2, 2), (4, 2, 2, 2))), x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv_transpose2d(x, w, None, s, p, e, 1, 3)", "F.conv_transpose2d(x, w, None, s, p, e, 1, 3)", ((2, 2, 3, 4), (2, 3, 3, 2)), x="mild", w="normal", settings={"s": [1, 2, 3], "p": [0, 1, 2], "e": [0, 1, 2, (2, 1)]}, dtypes=SOME, loose=2),
    row("ops.conv_transpose2d(x, w, None, s, p, 0, 2, d)", "F.conv_transpose2d(x, w, None, s, p, 0, 2, d)", ((2, 4, 3, 4), (4, 2, 3, 2)), x="mild", w="normal", settings=TWICE, dtypes=SOME, loose=2),
    row("ops.conv3d_transpose(x, w, 'pad', p, s, d, 1, e)", "F.conv_transpose3d(x, w, None, s, p, e, 1, d)", ((1, 2, 3, 2, 3), (2, 2, 2, 2, 2)), x="mild", w="normal", settings={**TWICE, "e": [0, 1]}, dtypes=SOME, loose=2),
    row("ops.max_pool2d(x, k, s, 1)", "F.max_pool2d(x, k, s, 1)", IMAGES, x="mild", settings=POOL, dtypes=SOME),
    row("ops.max_pool2d(x, k, s, 1, 1, True, c)", "F.max_pool2d(x, k, s, 1, 1, c, True)", IMAGES, x="mild", settings=POOL, dtypes=SOME),
    row("ops.max_pool2d(x, 2, s, 1, 2, False, c)", "F.max_pool2d(x, 2, s, 1, 2, c)", IMAGES, x="mild", settings=POOL, dtypes=SOME),
    row("ops.max_pool3d(x, 2, 1, 0, 1, c)", "F.max_pool3d(x, 2, 1, 0, 1, c)", VOLUMES, x="mild", settings=POOL, dtypes=SOME),
    row("ops.avg_pool1d(x, 3, 2, 1, c, i)", "F.avg_pool1d(x, 3, 2, 1, c, i)", LINES, x="mild", settings={**POOL, "i": [True, False]}, dtypes=SOME),
    row("ops.avg_pool2d(x, k, s, 1, c, i)", "F.avg_pool2d(x, k, s, 1, c, i)", IMAGES, x="mild", settings={**POOL, "i": [True, False]}, dtypes=SOME),
    row("ops.avg_pool2d(x, k, s, 0, c, True, 3)", "F.avg_pool2d(x, k, s, 0, c, True, 3)", IMAGES, x="mild", settings=POOL, dtypes=SOME),
    row("ops.avg_pool3d(x, 2, 2, 1, c, i)", "F.avg_pool3d(x, 2, 2, 1, c, i)", VOLUMES, x="mild", settings={**POOL, "i": [True, False]}, dtypes=SOME),
    row("ops.lp_pool1d(x, q, 3, 2, c)", "F.lp_pool1d(x, q, 3, 2, c)", LINES, x="pos", settings={**POOL, "q": [1.0, 2.0, 3.0]}, dtypes=SOME, loose=2),
    row("ops.lp_pool2d(x, q, k, s, False)", "F.lp_pool2d(x, q, k, s, False)", IMAGES, x="pos", settings={**POOL, "q": [1.0, 2.0, 3.0]}, dtypes=SOME, loose=2),
    *rows("adaptive_avg_pool2d adaptive_max_pool2d", "ops.{}(x, n)", "F.{}(x, n)", IMAGES, x="mild", settings={"n": [1, 3, (2, None), (3, 2)]}, dtypes=SOME),
    row("ops.adaptive_avg_pool2d_ext(x, n)", "F.adaptive_avg_pool2d(x, n)", IMAGES, x="mild", settings={"n": [1, 3, (3, 2)]}, dtypes=SOME),
    *rows("adaptive_avg_pool3d adaptive_max_pool3d", "ops.{}(x, n)", "F.{}(x, n)", VOLUMES, x="mild", settings={"n": [1, 3, (2, 3, 2)]}, dtypes=SOME),
    *rows("adaptive_avg_pool1d adaptive_max_pool1d", "ops.{}(x, n)", "F.{}(x, n)", ((1, 2, 6),), x="mild", settings={"n": [1, 2, 3, 6]}, dtypes=SOME),
    row("ops.max_unpool2d(*ops.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape)", "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape)", IMAGES, x="normal", dtypes=SOME),
    row("ops.max_unpool3d(*ops.max_pool3d(x, 2, return_indices=True), 2, output_size=x.shape)", "F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2, output_size=x.shape)", VOLUMES, x="normal", dtypes=SOME),
    row("ops.unfold(x, k, d, p, s)", "F.unfold(x, k, d, p, s)", IMAGES, x="mild", settings={"k": [2, (2, 3)], **TWICE}, dtypes=SOME),
    row("ops.fold(x, (4, 5), 2, 1, p, 1)", "F.fold(x, (4, 5), 2, 1, p, 1)", ((1, 8, 12),), x="mild", settings={"p": [0]}, dtypes=SOME),
    *rows(MODES, "ops.interpolate(x, (3, 7), mode='{}')", "F.interpolate(x, (3, 7), mode='{}')", IMAGES, x="mild", dtypes=SOME),
    *rows("bilinear bicubic", "ops.interpolate(x, (3, 7), mode='{}', align_corners=c)", "F.interpolate(x, (3, 7), mode='{}', align_corners=c)", IMAGES, x="mild", settings=POOL, dtypes=("float32",), loose=3),
    *rows("linear", "ops.interpolate(x, 5, mode='{}', align_corners=c)", "F.interpolate(x, 5, mode='{}', align_corners=c)", LINES, x="mild", settings=POOL, dtypes=("float32",), loose=3),
    row("ops.upsample(x, (8, 8))", "F.upsample(x, (8, 8))", IMAGES, x="mild", dtypes=SOME),
    row("ops.grid_sample(x, y, m, q, c)", "F.grid_sample(x, y, m, q, c)", ((1, 2, 4, 4), (1, 3, 3, 2)), x="normal", y="normal", settings={"m": ["bilinear", "nearest"], "q": ["zeros", "border", "reflection"], **POOL}, dtypes=("float32", "float64"), loose=3, second=False),
    row("ops.affine_grid(x, (1, 2, 3, 4), c)", "F.affine_grid(x, (1, 2, 3, 4), c)", ((1, 2, 3),), x="normal", settings=POOL, dtypes=("float32", "float64")),
    row("ops.lrn(x, 2, 1.0, 0.5, 0.75)", "F.local_response_norm(x, 5, 5 * 0.5, 0.75, 1.0)", ((1, 5, 3, 3),), x="normal", dtypes=("float32",)),
]  # fmt: skip
