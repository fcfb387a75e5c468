"""Operator classes of networks and images, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.expected.recorded import cases, check, with_gradients


def normalization_inputs(draw):
    return {"x": draw.F(4, 3, 5, 6), "x2": draw.F(4, 3), "x1": draw.F(4, 3, 5), "x5": draw.F(2, 3, 4, 2, 2)}


NORMALIZATION = [
    lambda x2: ops.LayerNorm()(x2, ops.ones(3), ops.zeros(3)),
    lambda x: ops.LayerNorm(-1, -1)(x, ops.ones(6), ops.zeros(6)),
    lambda x: ops.LayerNorm(1, 1, 1e-05)(x, ops.ones((3, 5, 6)), ops.zeros((3, 5, 6))),
    lambda x2: ops.L2Normalize()(x2),
    lambda x: ops.L2Normalize(axis=-1)(x),
    (lambda x: ops.L2Normalize(axis=[0, 1])(x), TypeError),
    lambda x: ops.L2Normalize(axis=(1,))(x),
    lambda x: with_gradients(lambda x: ops.L2Normalize(axis=1)(x), x),
    lambda x: ops.LRN(2)(x),
    lambda x: ops.LpNorm([1])(x),
    lambda x: ops.LpNorm([1, 2], 3, True)(x),
    lambda x: ops.LpNorm(1)(x),
    lambda x: with_gradients(lambda x: ops.LpNorm([1])(x), x),
    lambda x, F: with_gradients(lambda x, g, b: ops.LayerNorm(-1, -1, 1e-05)(x, g, b)[0], x, F(6), F(6)),
]


def losses_inputs(draw):
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


LOSSES = [
    lambda x, p: ops.SoftmaxCrossEntropyWithLogits()(x, p),
    (lambda x, t: ops.SparseSoftmaxCrossEntropyWithLogits()(x, t), 2.112169),
    lambda x, t: ops.SparseSoftmaxCrossEntropyWithLogits(True)(x, t),
    lambda x, b: ops.SigmoidCrossEntropyWithLogits()(x, b),
    (lambda p, b, w: ops.BinaryCrossEntropy("sum")(p, b, w * 0 + ops.ones((3, 5))), 10.38828),
    (lambda p, b: ops.BinaryCrossEntropy()(p, b), 0.6925512),
    lambda x, b, P: ops.BCEWithLogitsLoss("none")(x, b, P(3, 5), P(5)),
    lambda x, b: ops.BCEWithLogitsLoss("none")(x, b),
    (lambda x, p: ops.KLDivLoss("sum")(x, p), -3.726821),
    lambda x, t, w: ops.NLLLoss("none")(x, t, w),
    lambda x, t, w: ops.NLLLoss("sum", 2)(x, t, w),
    lambda x, y: ops.SmoothL1Loss()(x, y),
    (lambda x: ops.L2Loss()(x), 6.481057),
    (lambda x, t, w: ops.MultiMarginLoss()(x, t.astype(ms.int64), w), 0.6210505),
    lambda F: ops.CTCGreedyDecoder()(F(6, 2, 5), Tensor([6, 5], ms.int32)),
]


def images_inputs(draw):
    return {"x": draw.F(2, 3, 4, 5), "x1": draw.F(2, 3, 7), "x5": draw.F(1, 2, 3, 4, 5)}


IMAGES = [
    lambda x: ops.ResizeBilinearV2()(x, (7, 3)),
    lambda x: ops.ResizeBilinearV2(True)(x, (7, 3)),
    lambda x: ops.ResizeBilinearV2(False, True)(x, (7, 3)),
    lambda x: ops.ResizeBilinear((7, 3))(x),
    lambda x: ops.ResizeBilinear((7, 3), True)(x),
    lambda x: ops.ResizeNearestNeighbor((7, 3))(x),
    lambda x: ops.ResizeNearestNeighbor((7, 3), True)(x),
    lambda x: ops.ResizeNearestNeighbor((7, 3), False, True)(x),
    lambda x: ops.ResizeNearestNeighborV2()(x, (7, 3)),
    lambda x: ops.ResizeNearestNeighborV2(True)(x, (7, 3)),
    lambda x: ops.ResizeNearestNeighborV2(False, True)(x, (7, 3)),
    lambda x: ops.ResizeBicubic(False, True)(x, (7, 8)),
    lambda x1: ops.ResizeLinear1D()(x1, Tensor([9], ms.int64)),
    lambda x5: ops.UpsampleTrilinear3D()(x5, (5, 6, 7)),
    lambda x5: ops.UpsampleNearest3D()(x5, (5, 6, 7)),
    lambda F: ops.AffineGrid()(F(2, 2, 3), (2, 3, 4, 5)),
    lambda x: ops.Im2Col(2)(x),
    lambda F: ops.Col2Im(2)(F(2, 3, 4, 12), Tensor([4, 5], ms.int32)),
    lambda P: ops.IOU()(P(3, 4) * 10, P(2, 4) * 10),
    lambda F: ops.SpaceToDepth(2)(F(2, 3, 4, 6)),
    lambda F: ops.DepthToSpace(2)(F(2, 8, 2, 3)),
    lambda F: ops.SpaceToBatchND([2, 2], [[0, 0], [2, 0]])(F(2, 3, 4, 6)),
    lambda F: ops.BatchToSpaceND([2, 2], [[0, 1], [1, 0]])(F(4, 3, 2, 3)),
]


def pooling_inputs(draw):
    return {"x": draw.F(2, 3, 7, 8), "x1": draw.F(2, 3, 9), "x3": draw.F(1, 2, 5, 6, 7)}


POOLING = [
    lambda x: ops.MaxPool(3, 2)(x),
    lambda x: ops.AvgPool(3, 2)(x),
    lambda x3: ops.MaxPool3D(2, 2)(x3),
    lambda x3: ops.MaxPool3D(2, 2, "pad", 1)(x3),
    lambda x3: ops.AvgPool3D(2, 2)(x3),
    lambda x3: ops.AvgPool3D(2, 2, "pad", 1)(x3),
    lambda x: ops.MaxPoolWithArgmax(2, 2)(x),
    lambda x: ops.MaxPoolWithArgmaxV2(2, 2)(x),
    lambda x3: ops.MaxPool3DWithArgmax(2, 2, 0)(x3),
    lambda x3: ops.AdaptiveAvgPool3D(3)(x3),
    (lambda x: ops.AdaptiveMaxPool2D(3)(x), TypeError),
    lambda x3: ops.AdaptiveMaxPool3D()(x3, Tensor([2, 2, 2], ms.int32)),
]


@pytest.mark.parametrize(
    "case",
    cases("primitives_normalization", normalization_inputs, NORMALIZATION)
    + cases("primitives_losses", losses_inputs, LOSSES)
    + cases("primitives_images", images_inputs, IMAGES)
    + cases("primitives_pooling", pooling_inputs, POOLING),
)
def test_as_recorded(case):
    check(case)


def test_optimizer_steps():
    w, m, v = (ms.Parameter(ms.Tensor(np.array(a, np.float32))) for a in ([1.0, 2.0], [0.5, 0.0], [0.25, 1.0]))
    g = ms.Tensor(np.array([0.5, -1.0], np.float32))
    ops.Adam()(w, m, v, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, g)
    m1 = np.array([0.5, 0.0]) * 0.9 + 0.1 * g.asnumpy()
    v1 = np.array([0.25, 1.0]) * 0.999 + 0.001 * g.asnumpy() ** 2
    step = 0.1 * np.sqrt(1 - 0.999) / (1 - 0.9)
    np.testing.assert_allclose(m.asnumpy(), m1, rtol=1e-6)
    np.testing.assert_allclose(v.asnumpy(), v1, rtol=1e-6)
    np.testing.assert_allclose(w.asnumpy(), np.array([1.0, 2.0]) - step * m1 / (np.sqrt(v1) + 1e-8), rtol=1e-5)
    w, accum = ms.Parameter(ms.Tensor([1.0])), ms.Parameter(ms.Tensor([2.0]))
    out = ops.ApplyMomentum(use_nesterov=True)(w, accum, 0.5, ms.Tensor([1.0]), 0.9)
    np.testing.assert_allclose(accum.asnumpy(), [2.8])
    np.testing.assert_allclose(out.asnumpy(), [1 - 0.5 * (1 + 0.9 * 2.8)], rtol=1e-6)
    with pytest.raises(TypeError):
        ops.ApplyMomentum()(ms.Tensor([1.0]), accum, 0.5, ms.Tensor([1.0]), 0.9)


def test_dynamic_rnn_is_an_lstm():
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (6, 8), (8,)))
    h, c = np.zeros((3, 2), np.float32), np.ones((3, 2), np.float32)
    outputs = ops.DynamicRNN(forget_bias=1.0)(
        ms.Tensor(x), ms.Tensor(w), ms.Tensor(b), None, ms.Tensor(h[None]), ms.Tensor(c[None])
    )
    assert len(outputs) == 8

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    for step in range(2):
        i, j, f, o = np.split(np.concatenate([x[step], h], 1) @ w + b, 4, 1)
        c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * sigmoid(o)
        np.testing.assert_allclose(outputs[0].asnumpy()[step], h, rtol=1e-4)
        np.testing.assert_allclose(outputs[2].asnumpy()[step], c, rtol=1e-4)
