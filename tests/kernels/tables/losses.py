"""Losses and normalization."""

from tests.kernels.tables.make import POSITIVE, SCALARS, row, rows

WIDE = ("float32", "float64", "float32", "float16")
RED = {"r": ["none", "mean", "sum"]}
PAIR = (((2, 4), (2, 4)), ((5,), (5,)), ((2, 2, 2), (2, 2, 2)), ((0, 3), (0, 3)))
CLASSES = (((4, 5), (4,)), ((3, 6), (3,)))

ROWS = [
    *rows("mse_loss l1_loss", "ops.{}(x, y, reduction=r)", "F.{}(x, y, reduction=r)", PAIR, x="edge", y="edge", settings=RED),
    row("ops.smooth_l1_loss(x, y, b, r)", "F.smooth_l1_loss(x, y, reduction=r, beta=b)", PAIR, x="edge", y="normal", settings={**RED, "b": [1.0, 0.5, 2, *SCALARS]}),
    row("ops.huber_loss(x, y, r, b)", "F.huber_loss(x, y, reduction=r, delta=b)", PAIR, x="edge", y="normal", settings={**RED, "b": [1.0, 0.5, 2, *SCALARS]}),
    row("ops.soft_margin_loss(x, y, r)", "F.soft_margin_loss(x, y, reduction=r)", PAIR, x="edge", y="const:normal", settings=RED, overflows=True),
    row("ops.hinge_embedding_loss(x, y * 2 - 1, m, r)", "F.hinge_embedding_loss(x, y * 2 - 1, m, reduction=r)", PAIR, x="edge", y="const:int<2", settings={**RED, "m": [1.0, 0.5]}),
    row("ops.binary_cross_entropy(x, y, reduction=r)", "F.binary_cross_entropy(x, y, reduction=r)", PAIR, x="prob", y="const:prob", settings=RED, dtypes=WIDE),
    row("ops.binary_cross_entropy_with_logits(x, y, reduction=r)", "F.binary_cross_entropy_with_logits(x, y, reduction=r)", PAIR, x="edge", y="prob", settings=RED, dtypes=WIDE),
    row("ops.binary_cross_entropy_with_logits(x, y, w, p, r)", "F.binary_cross_entropy_with_logits(x, y, w, r and None, None, r, p)", ((2, 4), (2, 4), (4,), (4,)), x="edge", y="const:prob", w="const:pos", p="const:pos", settings=RED, dtypes=WIDE),
    row("ops.kl_div(x, y, r)", "F.kl_div(x, y, reduction=r)", PAIR, x="edge", y="const:prob", settings={"r": ["none", "mean", "sum", "batchmean"]}, dtypes=WIDE),
    row("ops.cross_entropy(x, y, reduction=r)", "F.cross_entropy(x, y.long(), reduction=r)", CLASSES, x="mild", y="int<5", settings=RED, dtypes=WIDE),
    row("ops.cross_entropy(x, y, None, i, r, s)", "F.cross_entropy(x, y.long(), None, None, i, None, r, s)", CLASSES, x="mild", y="int<5", settings={**RED, "i": [-100, 1, 4], "s": [0.0, 0.25, 1.0]}, dtypes=WIDE),
    row("ops.cross_entropy(x, y, w, 2, r)", "F.cross_entropy(x, y.long(), w, None, 2, None, r)", ((4, 5), (4,), (5,)), x="mild", y="int<5", w="const:pos", settings=RED, dtypes=WIDE),
    row("ops.cross_entropy(x, y, reduction=r)", "F.cross_entropy(x, y, reduction=r)", ((4, 5), (4, 5)), x="mild", y="const:prob", settings=RED, dtypes=WIDE),
    row("ops.nll_loss(x, y, None, i, r)", "F.nll_loss(x, y.long(), None, None, i, None, r)", CLASSES, x="edge", y="int<5", settings={**RED, "i": [-100, 1]}, dtypes=WIDE),
    row("ops.nll_loss(x, y, w, 2, r)", "F.nll_loss(x, y.long(), w, None, 2, None, r)", ((4, 5), (4,), (5,)), x="normal", y="int<5", w="const:pos", settings=RED, dtypes=WIDE),
    row("ops.gaussian_nll_loss(x, y, v, full=f, reduction=r)", "F.gaussian_nll_loss(x, y, v, full=f, reduction=r)", ((2, 4), (2, 4), (2, 4)), x="mild", y="normal", v="pos", settings={**RED, "f": [True, False]}, dtypes=WIDE),
    row("ops.margin_ranking_loss(x, y, t, m, r)", "F.margin_ranking_loss(x, y, t, m, reduction=r)", ((5,), (5,), (5,)), x="edge", y="normal", t="const:normal", settings={**RED, "m": [0.0, 0.5]}, dtypes=WIDE),
    row("ops.cosine_embedding_loss(x, y, t * 2 - 1, m, r)", "F.cosine_embedding_loss(x, y, t * 2 - 1, m, reduction=r)", ((3, 4), (3, 4), (3,)), x="mild", y="normal", t="int<2", settings={**RED, "m": [0.0, 0.5]}, dtypes=WIDE),
    row("ops.triplet_margin_loss(x, y, z, m, 2, 1e-6, False, r)", "F.triplet_margin_loss(x, y, z, m, 2, 1e-6, False, reduction=r)", ((3, 4), (3, 4), (3, 4)), x="normal", y="normal", z="normal", settings={**RED, "m": [1.0, 0.5]}, dtypes=("float32",), loose=3),
    row("ops.multi_margin_loss(x, y, p, m, None, r)", "F.multi_margin_loss(x, y.long(), p, m, None, None, None, r)", CLASSES, x="normal", y="int<5", settings={**RED, "p": [1, 2], "m": [1.0, 0.5]}, dtypes=("float32", "float64"), second=False),
    row("ops.multilabel_margin_loss(x, y, r)", "F.multilabel_margin_loss(x, y.long(), reduction=r)", ((3, 4), (3, 4)), x="normal", y="int<4", settings=RED, dtypes=("float32",), second=False),
    row("ops.multilabel_soft_margin_loss(x, y, None, r)", "F.multilabel_soft_margin_loss(x, y, None, reduction=r)", ((3, 4), (3, 4)), x="mild", y="const:prob", settings=RED, dtypes=WIDE),
    row("ops.ctc_loss(ops.log_softmax(x, -1), y, n, m, 0, 'none', True)[0]", "F.ctc_loss(F.log_softmax(x, -1), y.long() + 0, n.long(), m.long(), 0, 'none', True)", ((5, 2, 4), (2, 2), (2,), (2,)), x="normal", y="const:int<3", n="const:int<1", m="const:int<1", dtypes=("float32",), second=False),
    # Normalization.
    row("ops.layer_norm(x, (4,), w, b, e)", "F.layer_norm(x, (4,), w, b, e)", (((2, 4), (4,), (4,)), ((2, 3, 4), (4,), (4,)), ((0, 4), (4,), (4,))), x="finite", w="normal", b="normal", settings={"e": [1e-5, 0.5, 1, *SCALARS]}, dtypes=WIDE, loose=5),
    row("ops.layer_norm(x, (3, 4))", "F.layer_norm(x, (3, 4))", ((2, 3, 4),), x="finite", dtypes=WIDE, loose=5),
    row("ops.add_layer_norm(x, y, w, b, 1e-3)[0]", "F.layer_norm(x + y, (4,), w, b, 1e-3)", ((2, 4), (2, 4), (4,), (4,)), x="finite", y="normal", w="normal", b="normal", dtypes=WIDE, loose=5),
    row("ops.rms_norm(x, w, e)[0]", "F.rms_norm(x, (4,), w, e)", ((2, 4), (4,)), x="finite", w="normal", settings={"e": [1e-6, 0.5]}, dtypes=WIDE, loose=5),
    row("ops.add_rms_norm(x, y, w, 1e-3)[0]", "F.rms_norm(x + y, (4,), w, 1e-3)", ((2, 4), (2, 4), (4,)), x="finite", y="normal", w="normal", dtypes=WIDE, loose=5),
    row("ops.group_norm(x, 2, w, b, e)", "F.group_norm(x, 2, w, b, e)", (((2, 4), (4,), (4,)), ((2, 4, 3), (4,), (4,)), ((1, 2, 2, 2), (2,), (2,))), x="finite", w="normal", b="normal", settings={"e": [1e-5, 0.5]}, dtypes=WIDE, loose=5),
    row("ops.batch_norm(x, m, v, w, b, False, 0.1, e)", "F.batch_norm(x, m, v, w, b, False, 0.1, e)", (((2, 3), (3,), (3,), (3,), (3,)), ((2, 2, 2, 2), (2,), (2,), (2,), (2,))), x="finite", m="const:normal", v="const:pos", w="normal", b="normal", settings={"e": POSITIVE[:2] + [1e-5]}, dtypes=WIDE, loose=5),
    row("ops.batch_norm(x, m, v, w, b, True, 0.1, e)", "F.batch_norm(x, m, v, w, b, True, 0.1, e)", (((4, 3), (3,), (3,), (3,), (3,)), ((2, 2, 2, 2), (2,), (2,), (2,), (2,))), x="finite", m="const:normal", v="const:pos", w="normal", b="normal", settings={"e": [0.5, 1e-5]}, dtypes=("float32",), loose=10, traced=False),
]  # fmt: skip
