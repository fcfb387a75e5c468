"""Loss functions, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.expected.recorded import cases, check, with_gradients


def inputs(draw):
    return {
        "x": draw.F(3, 5),
        "y": draw.F(3, 5),
        "t": draw.I(5, 3),
        "p": draw.P(3, 5),
        "b": Tensor((np.random.default_rng(1).random((3, 5)) > 0.5).astype(np.float32)),
        "w": draw.P(5),
        "x4": draw.F(2, 5, 3, 2),
        "t4": draw.I(5, 2, 3, 2),
    }


CALLS = [
    (lambda x, y: ops.huber_loss(x, y, "sum", 0.3), 3.588454),
    lambda x, t, w: ops.cross_entropy(x, t, w, 1, "none", 0.2),
    (lambda x, t, w: ops.nll_loss(x, t, w, 1, "mean", 0.2), 0.4229762),
    (lambda x4, t4, w: ops.nll_loss(x4, t4, w, 1, "mean", 0.2), 0.1252658),
    (lambda x4, t4: ops.nll_loss(x4, t4, label_smoothing=0.2), 0.1254103),
    (lambda p, b, P: ops.binary_cross_entropy(p, b, P(3, 5), "sum"), 5.494091),
    (lambda x, b, P: ops.binary_cross_entropy_with_logits(x, b, P(3, 5), P(5), "sum"), 3.4539),
    lambda b, P, x: with_gradients(lambda x: ops.binary_cross_entropy_with_logits(x, b, P(3, 5), P(5), "sum"), x),
    lambda P, x, b: with_gradients(lambda x, b: ops.binary_cross_entropy_with_logits(x, b, P(3, 5), P(5), "sum"), x, b),
    (lambda x, p: ops.kl_div(x, p, "batchmean"), -1.242273),
    (lambda x, p: ops.kl_div(x, p, "x"), ValueError),
    (lambda x, y: ops.hinge_embedding_loss(x, ops.sign(y), 2.0, "sum"), 13.59467),
    lambda x, y: ops.cosine_embedding_loss(x, y, Tensor([1, -1, 1], ms.int32), 0.1, "none"),
    lambda x, y: ops.cosine_similarity(x, y),
    lambda x, y: ops.cosine_similarity(x, y, 0),
    lambda x, b, w: ops.multilabel_soft_margin_loss(x, b, w, "none"),
    (lambda x, t, w: ops.multi_margin_loss(x, t.astype(ms.int64), weight=w), 0.6210505),
    (lambda x, y, p: ops.gaussian_nll_loss(x, y, p, True, 0.5, "sum"), 27.62583),
    (lambda x, y, p: ops.gaussian_nll_loss(x, y, p[:, :1]), 0.9804085),
    lambda I, F: with_gradients(
        lambda a: ops.ctc_loss(ops.log_softmax(a), I(4, 2, 3) + 1, Tensor([6, 5], ms.int32), Tensor([3, 2], ms.int32))[0],
        F(6, 2, 5),
    ),
    lambda F: ops.ctc_greedy_decoder(F(6, 2, 5), Tensor([6, 5], ms.int32)),
    lambda x, y: ops.mse_loss(x, y, "none"),
    (lambda x, y: ops.mse_loss(x, y[0], "mean"), 1.81397),
    (lambda x, y: ops.mse_loss(x, y, "x"), ValueError),
    (lambda x, y: ops.l1_loss(x, y, "x"), ValueError),
    (lambda x, y: ops.smooth_l1_loss(x, y, 0.5, "mean"), 0.7110667),
    (lambda x, y: ops.smooth_l1_loss(x, y, -1.0), RuntimeError),
    (lambda x, y: ops.margin_ranking_loss(x, y, ops.sign(y), 0.1, "sum"), 14.10795),
]


@pytest.mark.parametrize("case", cases("losses", inputs, CALLS))
def test_as_recorded(case):
    check(case)


@pytest.mark.parametrize(
    "loss, slope",
    [
        (lambda x: ops.l1_loss(x, ops.zeros_like(x), "sum"), 0.0),
        (lambda x: ops.smooth_l1_loss(x, ops.zeros_like(x), 1.0, "sum"), 0.0),
        (lambda x: ops.smooth_l1_loss(x, ops.zeros_like(x), 0.0, "sum"), 0.0),
        (lambda x: ops.huber_loss(x, ops.zeros_like(x), "sum"), 0.0),
        (lambda x: ops.margin_ranking_loss(x, ops.zeros_like(x), ops.ones_like(x), 0.0, "sum"), -1.0),
        (lambda x: ops.binary_cross_entropy_with_logits(x, ops.ones_like(x), reduction="sum"), -0.5),
        (lambda x: ops.binary_cross_entropy_with_logits(x, ops.zeros_like(x), reduction="sum"), 0.5),
    ],
)
def test_slopes_at_0(loss, slope):
    assert ms.grad(loss)(ms.Tensor([0.0])).tolist() == [slope]


def test_cross_entropy_with_large_logits():
    x = ms.Tensor([-200.0, 200.0])
    assert ops.binary_cross_entropy_with_logits(x, ms.Tensor([1.0, 1.0]), reduction="none").tolist() == [200.0, 0.0]


def test_ctc_loss_without_any_step():
    """No targets are certain then, others impossible."""
    log_probs, targets = ops.log_softmax(Tensor(np.ones((3, 2, 4), "float32"))), Tensor([[1, 2], [2, 1]])
    loss, _ = ops.ctc_loss(log_probs, targets, Tensor([0, 0]), Tensor([0, 1]), 0, "none")
    assert loss.tolist() == [0.0, float("inf")]
