"""Operator classes of networks and images, by numbers of the real MindSpore."""

import numpy as np
import pytest

import msjax as ms
from msjax import ops
from tests.ops.recorded import check

NORMALIZATION = "x=F(4,3,5,6); x2=F(4,3); x1=F(4,3,5); x5=F(2,3,4,2,2)"
LOSSES = "x=F(3,5); y=F(3,5); t=I(5,3); p=P(3,5); b=Tensor((np.random.default_rng(1).random((3,5))>.5).astype(np.float32)); w=P(5); x4=F(2,5,3,2); t4=I(5,2,3,2)"
IMAGES = "x=F(2,3,4,5); x1=F(2,3,7); x5=F(1,2,3,4,5)"
POOLING = "x=F(2,3,7,8); x1=F(2,3,9); x3=F(1,2,5,6,7)"
RECORDED = [
    (
        NORMALIZATION,
        "ops.LayerNorm()(x2,ops.ones(3),ops.zeros(3))",
        "[(4, 3)Float32:-3.53733, (4, 1)Float32:0.838679, (4, 1)Float32:0.731626]",
    ),
    (
        NORMALIZATION,
        "ops.LayerNorm(-1,-1)(x,ops.ones(6),ops.zeros(6))",
        "[(4, 3, 5, 6)Float32:12.2844, (4, 3, 5, 1)Float32:-1.12003, (4, 3, 5, 1)Float32:2.49254]",
    ),
    (
        NORMALIZATION,
        "ops.LayerNorm(1,1,1e-5)(x,ops.ones((3,5,6)),ops.zeros((3,5,6)))",
        "[(4, 3, 5, 6)Float32:16.9314, (4, 1, 1, 1)Float32:0.237762, (4, 1, 1, 1)Float32:-1.70273]",
    ),
    (NORMALIZATION, "ops.L2Normalize()(x2)", "(4, 3)Float32:-2.01873"),
    (NORMALIZATION, "ops.L2Normalize(axis=-1)(x)", "(4, 3, 5, 6)Float32:4.77687"),
    (NORMALIZATION, "ops.L2Normalize(axis=[0,1])(x)", "TypeError"),
    (NORMALIZATION, "ops.L2Normalize(axis=(1,))(x)", "(4, 3, 5, 6)Float32:9.58195"),
    (NORMALIZATION, "G(lambda x: ops.L2Normalize(axis=1)(x),x)", "[(4, 3, 5, 6)Float32:9.58195, (4, 3, 5, 6)Float32:99.9834]"),
    (NORMALIZATION, "ops.LRN(2)(x)", "(4, 3, 5, 6)Float32:7.06975"),
    (NORMALIZATION, "ops.LpNorm([1])(x)", "(4, 5, 6)Float32:7.73982"),
    (NORMALIZATION, "ops.LpNorm([1,2],3,True)(x)", "(4, 1, 1, 6)Float32:-5.86909"),
    (NORMALIZATION, "ops.LpNorm(1)(x)", "(4, 5, 6)Float32:7.73982"),
    (NORMALIZATION, "G(lambda x: ops.LpNorm([1])(x),x)", "[(4, 5, 6)Float32:7.73982, (4, 3, 5, 6)Float32:-5.12496]"),
    (
        NORMALIZATION,
        "G(lambda x,g,b: ops.LayerNorm(-1,-1,1e-5)(x,g,b)[0],x,F(6),F(6))",
        "[(4, 3, 5, 6)Float32:16.6257, [(4, 3, 5, 6)Float32:19.0302, (6,)Float32:-5.14116, (6,)Float32:-8.36779]]",
    ),
    (LOSSES, "ops.SoftmaxCrossEntropyWithLogits()(x,p)", "[(3,)Float32:-4.47224, (3, 5)Float32:-0.0822425]"),
    (LOSSES, "ops.SparseSoftmaxCrossEntropyWithLogits()(x,t)", "()Float32:1.14121"),
    (LOSSES, "ops.SparseSoftmaxCrossEntropyWithLogits(True)(x,t)", "(3, 5)Float32:0.25877"),
    (LOSSES, "ops.SigmoidCrossEntropyWithLogits()(x,b)", "(3, 5)Float32:-1.10754"),
    (LOSSES, "ops.BinaryCrossEntropy('sum')(p,b,w*0+ops.ones((3,5)))", "()Float32:5.61281"),
    (LOSSES, "ops.BinaryCrossEntropy()(p,b)", "()Float32:0.374187"),
    (LOSSES, "ops.BCEWithLogitsLoss('none')(x,b,P(3,5),P(5))", "(3, 5)Float32:0.206431"),
    (LOSSES, "ops.BCEWithLogitsLoss('none')(x,b)", "(3, 5)Float32:-1.10754"),
    (LOSSES, "ops.KLDivLoss('sum')(x,p)", "()Float32:-2.01361"),
    (LOSSES, "ops.NLLLoss('none')(x,t,w)", "[(3,)Float32:-0.287376, ()Float32:0.94599]"),
    (LOSSES, "ops.NLLLoss('sum',2)(x,t,w)", "[()Float32:0.448069, ()Float32:0.94599]"),
    (LOSSES, "ops.SmoothL1Loss()(x,y)", "(3, 5)Float32:-1.61503"),
    (LOSSES, "ops.L2Loss()(x)", "()Float32:3.50173"),
    (LOSSES, "ops.MultiMarginLoss()(x,t.astype(ms.int64),w)", "()Float32:0.335555"),
    (
        LOSSES,
        "ops.CTCGreedyDecoder()(F(6,2,5),Tensor([6,5],ms.int32))",
        "[(7, 2)Int64:-1.47748, (7,)Int64:0.359798, (2,)Int64:-1.00013, (2, 1)Float32:-0.0661758]",
    ),
    (IMAGES, "ops.ResizeBilinearV2()(x,(7,3))", "(2, 3, 7, 3)Float32:-0.562895"),
    (IMAGES, "ops.ResizeBilinearV2(True)(x,(7,3))", "(2, 3, 7, 3)Float32:-1.41246"),
    (IMAGES, "ops.ResizeBilinearV2(False,True)(x,(7,3))", "(2, 3, 7, 3)Float32:-0.449376"),
    (IMAGES, "ops.ResizeBilinear((7,3))(x)", "(2, 3, 7, 3)Float32:-0.562895"),
    (IMAGES, "ops.ResizeBilinear((7,3),True)(x)", "(2, 3, 7, 3)Float32:-1.41246"),
    (IMAGES, "ops.ResizeNearestNeighbor((7,3))(x)", "(2, 3, 7, 3)Float32:-2.68049"),
    (IMAGES, "ops.ResizeNearestNeighbor((7,3),True)(x)", "(2, 3, 7, 3)Float32:0.577368"),
    (IMAGES, "ops.ResizeNearestNeighbor((7,3),False,True)(x)", "(2, 3, 7, 3)Float32:-2.68049"),
    (IMAGES, "ops.ResizeNearestNeighborV2()(x,(7,3))", "(2, 3, 7, 3)Float32:-2.68049"),
    (IMAGES, "ops.ResizeNearestNeighborV2(True)(x,(7,3))", "(2, 3, 7, 3)Float32:0.577368"),
    (IMAGES, "ops.ResizeNearestNeighborV2(False,True)(x,(7,3))", "(2, 3, 7, 3)Float32:5.11973"),
    (IMAGES, "ops.ResizeBicubic(False,True)(x,(7,8))", "(2, 3, 7, 8)Float32:0.960023"),
    (IMAGES, "ops.ResizeLinear1D()(x1,Tensor([9],ms.int64))", "(2, 3, 9)Float32:-4.53298"),
    (IMAGES, "ops.UpsampleTrilinear3D()(x5,(5,6,7))", "(1, 2, 5, 6, 7)Float32:6.15983"),
    (IMAGES, "ops.UpsampleNearest3D()(x5,(5,6,7))", "(1, 2, 5, 6, 7)Float32:6.07631"),
    (IMAGES, "ops.AffineGrid()(F(2,2,3),(2,3,4,5))", "(2, 4, 5, 2)Float32:0.166995"),
    (IMAGES, "ops.Im2Col(2)(x)", "(2, 3, 4, 12)Float32:-18.1577"),
    (IMAGES, "ops.Col2Im(2)(F(2,3,4,12),Tensor([4,5],ms.int32))", "(2, 3, 4, 5)Float32:-14.0794"),
    (IMAGES, "ops.IOU()(P(3,4)*10,P(2,4)*10)", "(2, 3)Float32:0"),
    (IMAGES, "ops.SpaceToDepth(2)(F(2,3,4,6))", "(2, 12, 2, 3)Float32:7.99536"),
    (IMAGES, "ops.DepthToSpace(2)(F(2,8,2,3))", "(2, 2, 4, 6)Float32:1.64416"),
    (IMAGES, "ops.SpaceToBatchND([2,2],[[0,0],[2,0]])(F(2,3,4,6))", "(8, 3, 2, 4)Float32:-2.07292"),
    (IMAGES, "ops.BatchToSpaceND([2,2],[[0,1],[1,0]])(F(4,3,2,3))", "(1, 3, 3, 5)Float32:-3.55133"),
    (POOLING, "ops.MaxPool(3,2)(x)", "(2, 3, 3, 3)Float32:-2.82139"),
    (POOLING, "ops.AvgPool(3,2)(x)", "(2, 3, 3, 3)Float32:-0.17691"),
    (POOLING, "ops.MaxPool3D(2,2)(x3)", "(1, 2, 2, 3, 3)Float32:-4.01429"),
    (POOLING, "ops.MaxPool3D(2,2,'pad',1)(x3)", "(1, 2, 3, 4, 4)Float32:-1.24851"),
    (POOLING, "ops.AvgPool3D(2,2)(x3)", "(1, 2, 2, 3, 3)Float32:-2.9923"),
    (POOLING, "ops.AvgPool3D(2,2,'pad',1)(x3)", "(1, 2, 3, 4, 4)Float32:-0.83148"),
    (POOLING, "ops.MaxPoolWithArgmax(2,2)(x)", "[(2, 3, 3, 4)Float32:-1.13483, (2, 3, 3, 4)Int32:-186.915]"),
    (POOLING, "ops.MaxPoolWithArgmaxV2(2,2)(x)", "[(2, 3, 3, 4)Float32:-1.13483, (2, 3, 3, 4)Int64:-187.938]"),
    (POOLING, "ops.MaxPool3DWithArgmax(2,2,0)(x3)", "[(1, 2, 2, 3, 3)Float32:-4.01429, (1, 2, 2, 3, 3)Int64:-346.043]"),
    (POOLING, "ops.AdaptiveAvgPool3D(3)(x3)", "(1, 2, 3, 3, 3)Float32:-0.75374"),
    (POOLING, "ops.AdaptiveMaxPool2D(3)(x)", "TypeError"),
    (
        POOLING,
        "ops.AdaptiveMaxPool3D()(x3,Tensor([2,2,2],ms.int32))",
        "[(1, 2, 2, 2, 2)Float32:-4.53082, (1, 2, 2, 2, 2)Int32:162.066]",
    ),
]


@pytest.mark.parametrize("setup, expression, want", RECORDED, ids=[e for _, e, _ in RECORDED])
def test_as_recorded(setup, expression, want):
    check(setup, expression, want)


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
