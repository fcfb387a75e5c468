"""Loss layers, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops
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
    (lambda: nn.MSELoss(), "MSELoss()"),
    (lambda: nn.MSELoss("x"), ValueError),
    (lambda: nn.MSELoss(reduction=1), ValueError),
    (lambda x, y: nn.L1Loss("sum")(x, y), 14.11125),
    (lambda x, y: nn.MAELoss()(x, y), 0.9407493),
    (lambda x, y: nn.RMSELoss()(x, y), 1.106754),
    lambda x, y: nn.SmoothL1Loss()(x, y),
    (lambda x, y: nn.SmoothL1Loss(0.5, "sum")(x, y), 10.66601),
    (lambda: nn.SmoothL1Loss(0.0), "SmoothL1Loss()"),
    (lambda: nn.SmoothL1Loss(1), "SmoothL1Loss()"),
    (lambda: nn.SmoothL1Loss(reduction="x"), ValueError),
    lambda x, y: nn.HuberLoss("none", 2)(x, y),
    (lambda x, y: nn.HuberLoss(delta=0)(x, y), ValueError),
    (lambda x, y: nn.HuberLoss(delta="a")(x, y), TypeError),
    (lambda x, t: nn.CrossEntropyLoss()(x, t), 2.112169),
    (lambda x4, t4: nn.CrossEntropyLoss()(x4, t4), 2.10273),
    (lambda x, p: nn.CrossEntropyLoss()(x, p), 4.518489),
    (lambda w, x, p: nn.CrossEntropyLoss(w, label_smoothing=0.1)(x, p), 2.201601),
    (lambda w, x, t: nn.CrossEntropyLoss(w, label_smoothing=0.1)(x, t), 2.032177),
    lambda w, x, t: nn.CrossEntropyLoss(w, 2, "none", label_smoothing=0.1)(x, t),
    (lambda w, x4, t4: nn.CrossEntropyLoss(w, 2, "sum")(x4, t4), 9.200497),
    lambda x4, F: nn.CrossEntropyLoss(reduction="none")(x4, F(2, 5, 3, 2)),
    (lambda x, t: nn.CrossEntropyLoss()(x[0], t[0]), 2.259032),
    (lambda x, p: nn.CrossEntropyLoss()(x[0], p[0]), 3.819843),
    (lambda x, t: nn.CrossEntropyLoss(reduction="x")(x, t), ValueError),
    (lambda x, t: nn.CrossEntropyLoss(label_smoothing=2.0)(x, t), ValueError),
    (lambda x, t: nn.CrossEntropyLoss(ignore_index=1.5)(x, t), TypeError),
    (lambda x, I: nn.CrossEntropyLoss()(x, I(5, 4)), ValueError),
    lambda w, t, x: with_gradients(lambda x: nn.CrossEntropyLoss(w, 2, label_smoothing=0.1)(x, t), x),
    lambda w, p, x: with_gradients(lambda x: nn.CrossEntropyLoss(w, label_smoothing=0.1)(x, p), x),
    (lambda x, t: nn.NLLLoss()(x, t), 0.4860649),
    (lambda w, x, t: nn.NLLLoss(w, 1, "sum")(x, t), 0.8292931),
    lambda w, x4, t4: nn.NLLLoss(w, 1, "none")(x4, t4),
    (lambda x, t: nn.NLLLoss()(x[0], t[0]), 0.5356686),
    (lambda x, t: nn.NLLLoss(reduction="x")(x, t), ValueError),
    (lambda x, t: nn.NLLLoss()(x, t.astype(ms.int64)), 0.4860649),
    lambda x, p: nn.SoftmaxCrossEntropyWithLogits()(x, p),
    lambda x, t: nn.SoftmaxCrossEntropyWithLogits(True)(x, t),
    (lambda x, p: nn.SoftmaxCrossEntropyWithLogits(True)(x, p), TypeError),
    (lambda x, t: nn.SoftmaxCrossEntropyWithLogits(False)(x, t), TypeError),
    (lambda x, t: nn.SoftmaxCrossEntropyWithLogits(True, "mean")(x, t), 2.112169),
    (lambda: nn.SoftmaxCrossEntropyWithLogits(1), TypeError),
    (lambda x4, t4: nn.SoftmaxCrossEntropyWithLogits(True)(x4, t4), ValueError),
    (lambda p, b: nn.BCELoss()(p, b), 0.6925512),
    lambda P, p, b: nn.BCELoss(P(3, 5), "none")(p, b),
    (lambda b: nn.BCELoss()(b, b), 0),
    lambda b, p: with_gradients(lambda p: nn.BCELoss()(p, b), p),
    lambda b: with_gradients(lambda p: nn.BCELoss()(p, b), b * 0.99999999),
    (lambda: nn.BCELoss(reduction="x"), ValueError),
    (lambda: nn.BCELoss(weight=1), "BCELoss()"),
    (lambda x, b: nn.BCEWithLogitsLoss()(x, b), 0.6799712),
    lambda P, x, b: nn.BCEWithLogitsLoss("none", P(5), P(5))(x, b),
    (lambda: nn.BCEWithLogitsLoss(weight=1), "BCEWithLogitsLoss()"),
    (lambda x, p: nn.KLDivLoss()(x, p), -0.2484554),
    (lambda x, p: nn.KLDivLoss("sum")(x, p), -3.726821),
    lambda x, b: nn.KLDivLoss("none")(x, b),
    (lambda x, b: nn.KLDivLoss("batchmean")(x, b), 0.03398338),
    (lambda x, b: nn.KLDivLoss("x")(x, b), ValueError),
    (lambda x, y: nn.MarginRankingLoss(0.3)(x, y, ops.sign(y)), 1.127197),
    (lambda: nn.MarginRankingLoss(1), "MarginRankingLoss()"),
    (lambda: nn.MarginRankingLoss(0.3, "x"), ValueError),
    (lambda x, y: nn.MarginRankingLoss(0.3)(x, y[0], ops.sign(y)), 1.083823),
    (lambda x, y: nn.HingeEmbeddingLoss(0.5)(x, ops.sign(y)), 0.1454776),
    (lambda: nn.HingeEmbeddingLoss("a"), TypeError),
    (lambda x, y: nn.CosineEmbeddingLoss(0.3)(x, y, Tensor([1, -1, 1], ms.int32)), 0.6814778),
    (lambda: nn.CosineEmbeddingLoss(3.0), ValueError),
    (lambda: nn.CosineEmbeddingLoss(0.1, "x"), ValueError),
    (lambda x, b: nn.MultiLabelSoftMarginLoss()(x, b), 0.6799712),
    (lambda w, x, b: nn.MultiLabelSoftMarginLoss(w, "sum")(x, b), 1.166014),
    (lambda x, t: nn.MultiMarginLoss()(x, t.astype(ms.int64)), 1.12663),
    (lambda w, x, t: nn.MultiMarginLoss(2, 0.5, "sum", w)(x, t.astype(ms.int64)), 2.401933),
    (lambda: nn.MultiMarginLoss(3), ValueError),
    (lambda x, y, p: nn.TripletMarginWithDistanceLoss()(x, y, p), 1.160467),
    (lambda x, y, p: nn.TripletMarginWithDistanceLoss(swap=True, margin=0.5, reduction="sum")(x, y, p), 3.69036),
    (lambda x, y, p: nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: ops.abs(a - b).sum(-1))(x, y, p), 1.6233),
    (lambda x, p: nn.PoissonNLLLoss()(x, p), 1.180943),
    (lambda x, p: nn.PoissonNLLLoss(True, True, 0.0001, "sum")(x, p * 5), 41.77902),
    lambda p: nn.PoissonNLLLoss(False, True, 0.0001, "none")(p, p * 5),
    (lambda: nn.PoissonNLLLoss(1), "PoissonNLLLoss()"),
    (lambda x, y, p: nn.GaussianNLLLoss()(x, y, p), 1.2299),
    lambda x, y, p: nn.GaussianNLLLoss(full=True, eps=0.5, reduction="none")(x, y, p),
    (lambda: nn.GaussianNLLLoss(eps=0), TypeError),
    (lambda: nn.GaussianNLLLoss(eps="a"), TypeError),
    (lambda x, y, p: nn.GaussianNLLLoss()(x, y, -p), 612446),
    (lambda x4, I: nn.FocalLoss()(x4, I(5, 2, 1, 3, 2)), 1.350979),
    (lambda w, x4, I: nn.FocalLoss(w, 1.0, "sum")(x4, I(5, 2, 1, 3, 2)), 1.338976),
    (lambda x, I: nn.FocalLoss()(x, I(5, 3, 1)), 2.480482),
    (lambda x, F: nn.FocalLoss()(x, F(3, 5)), -1.023207),
    (lambda: nn.FocalLoss("a"), TypeError),
    (lambda: nn.FocalLoss(gamma="a"), TypeError),
    (lambda p, b: nn.DiceLoss()(p, b), 0.295231),
    (lambda p, b: nn.DiceLoss(0.1)(p, b), 0.3008353),
    (lambda: nn.DiceLoss("a"), TypeError),
    (lambda p, b: nn.DiceLoss()(p, b[:, :2]), ValueError),
    (lambda p, b: nn.MultiClassDiceLoss()(p, b), 0.7637632),
    lambda P, x, b: nn.MultiClassDiceLoss(P(5, 1), None, "sigmoid")(x, b),
    lambda P, x, b: nn.MultiClassDiceLoss(P(5, 2))(x, b),
    (lambda x, b: nn.MultiClassDiceLoss(None, 1, "softmax")(x, b), 0.6548427),
    (lambda x, b: nn.MultiClassDiceLoss(None, None, None)(x, b), 1.067702),
    (lambda: nn.MultiClassDiceLoss(None, None, "xx"), ValueError),
    (lambda F, I: nn.CTCLoss()(F(6, 2, 5), I(4, 2, 3) + 1, Tensor([6, 5], ms.int32), Tensor([3, 2], ms.int32)), -2.188571),
    (lambda: nn.BCELoss(), "BCELoss()"),
    (lambda: nn.CrossEntropyLoss(), "CrossEntropyLoss()"),
    (lambda: nn.NLLLoss(), "NLLLoss()"),
    (lambda: nn.DiceLoss(), "DiceLoss()"),
    (lambda: nn.SoftmaxCrossEntropyWithLogits(), "SoftmaxCrossEntropyWithLogits()"),
    (lambda: nn.CosineEmbeddingLoss(), "CosineEmbeddingLoss()"),
    (lambda x, y: nn.LossBase()(x, y), NotImplementedError),
    (lambda x: nn.MSELoss()(x, 1.0), TypeError),
    (lambda x, F: nn.MSELoss()(x, F(4, 5)), ValueError),
    (lambda x, F: nn.MSELoss()(x, F(5)), 0.8928483),
    (lambda x, y: nn.L1Loss()(x.astype(ms.float16), y), 0.9407437),
    lambda x, t: nn.CrossEntropyLoss()(x.astype(ms.float16), t),
    lambda b, p: with_gradients(lambda x: nn.DiceLoss()(x, b), p),
    lambda b, p: with_gradients(lambda x: nn.MultiClassDiceLoss()(x, b), p),
    lambda I, x: with_gradients(lambda x: nn.FocalLoss()(x, I(5, 3, 1)), x),
    lambda x, y: with_gradients(lambda x, y: nn.SmoothL1Loss()(x, y), x, y),
    lambda p, x: with_gradients(lambda x: nn.PoissonNLLLoss()(x, p), x),
    lambda x, y, p: with_gradients(lambda x, y, p: nn.GaussianNLLLoss()(x, y, p), x, y, p),
    lambda t, x: with_gradients(lambda x: nn.MultiMarginLoss(2)(x, t.astype(ms.int64)), x),
    lambda x, y: with_gradients(lambda x, y: nn.CosineEmbeddingLoss(0.3)(x, y, Tensor([1, -1, 1], ms.int32)), x, y),
    lambda y, x: with_gradients(lambda x: nn.HingeEmbeddingLoss(0.5)(x, ops.sign(y)), x),
    lambda y, p, x: with_gradients(lambda x: nn.TripletMarginWithDistanceLoss()(x, y, p), x),
    lambda x, y: with_gradients(lambda x, y: nn.HuberLoss()(x, y), x, y),
]


@pytest.mark.parametrize("case", cases("loss_layers", inputs, CALLS))
def test_as_recorded(case):
    check(case)


def test_the_mean_cross_entropy_of_pixels():
    """Of logits with more axes the classes are along the last one; the number is MindSpore's."""
    logits = ms.Tensor(np.arange(27).reshape(1, 3, 3, 3).astype(np.float32) ** 0.5)
    labels = ms.Tensor(np.array([[[0, 1, 2], [2, 1, 0], [0, 0, 1]]], np.int32))
    assert abs(float(nn.SoftmaxCrossEntropyWithLogits(True, "mean")(logits, labels)) - 1.2113445) < 1e-6
    for reduction in ("sum", "none"):
        with pytest.raises(ValueError, match="don't fit labels"):
            nn.SoftmaxCrossEntropyWithLogits(True, reduction)(logits, labels)
