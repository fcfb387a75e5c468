"""Operator classes of optimizers' steps, of colors and of regions, against closed forms and stored numbers."""

import colorsys

import numpy as np
import pytest

import msjax as ms
from msjax import ops

W, A, G = np.array([2.5, -0.7, 0.05]), np.array([0.6, 0.36, 0.34]), np.array([0.55, 0.12, -1.5])
M, B = np.array([-1.2, 0.003, -2.6]), np.array([1.7, 2.0, 2.5])


def parameters(*values):
    return [ms.Parameter(ms.Tensor(v, ms.float32), name=f"p{i}") for i, v in enumerate(values)]


def shrunk(x, by):
    return np.sign(x) * np.maximum(np.abs(x) - by, 0)


def _ftrl():
    larger = A + G**2
    linear = M + G - (np.sqrt(larger) - np.sqrt(A)) / 0.1 * W
    return [-shrunk(linear, 0.01) / (np.sqrt(larger) / 0.1 + 0.04), larger, linear]


def _amsgrad():
    m, v = 0.9 * M + 0.1 * G, 0.999 * A + 0.001 * G**2
    best = np.maximum(B, v)
    return [W - 0.1 * np.sqrt(1 - 0.99) / (1 - 0.9) * m / (np.sqrt(best) + 1e-8), m, v, best]


def _proximal(rate):
    return shrunk(W - rate * G, rate * 0.2) / (1 + rate * 0.3)


def _mean_square(gradient):
    return 0.75 * A + 0.25 * (gradient**2 + 0.01)


def _clipped(gradient):
    """AdaFactor's move, whose root mean square is 0.5 at most."""
    move = gradient / np.sqrt(_mean_square(gradient))
    return move / max(1, np.sqrt(np.mean(move**2)) / 0.5)


MOVED = 0.9 * M + 0.1 * G
SIGNS = np.sign(G) * np.sign(MOVED)
STEPS = [
    ("ApplyFtrl", {}, (W, A, M), lambda *p: (*p, G, 0.1, 0.01, 0.02, -0.5), _ftrl),
    ("ApplyAdagradV2", {"epsilon": 0.01}, (W, A), lambda *p: (*p, 0.1, G),
     lambda: [W - 0.1 * G / (np.sqrt(A + G**2) + 0.01), A + G**2]),
    ("ApplyAdagradV2", {"epsilon": 0.01, "update_slots": False}, (W, A), lambda *p: (*p, 0.1, G),
     lambda: [W - 0.1 * G / (np.sqrt(A) + 0.01), A]),
    ("ApplyAdagradDA", {}, (W, M, A), lambda *p: (*p, G, 0.1, 0.1, 0.2, 2),
     lambda: [-0.1 * shrunk(M + G, 0.2) / (0.2 * 2 * 0.1 + np.sqrt(A + G**2)), M + G, A + G**2]),
    ("ApplyAddSign", {}, (W, M), lambda *p: (*p, 0.1, 1.0, 0.9, 0.9, G), lambda: [W - 0.1 * (1 + 0.9 * SIGNS) * G, MOVED]),
    ("ApplyPowerSign", {}, (W, M), lambda *p: (*p, 0.1, 2.7, 0.9, 0.9, G),
     lambda: [W - 0.1 * np.exp(2.7 * 0.9 * SIGNS) * G, MOVED]),
    ("ApplyProximalAdagrad", {}, (W, A), lambda *p: (*p, 0.1, 0.2, 0.3, G),
     lambda: [_proximal(0.1 / np.sqrt(A + G**2)), A + G**2]),
    ("ApplyProximalGradientDescent", {}, (W,), lambda *p: (*p, 0.1, 0.2, 0.3, G), lambda: [_proximal(0.1)]),
    ("ApplyAdamWithAmsgrad", {}, (W, M, A, B), lambda *p: (*p, 0.9, 0.99, 0.1, G), _amsgrad),
    ("ApplyAdamWithAmsgradV2", {}, (W, M, A, B), lambda *p: (*p, 0.9, 0.99, 0.1, 0.9, 0.999, 1e-8, G), _amsgrad),
    ("FusedAdaFactor", {}, (W, M, B[:1], B[:1], A), lambda *p: ((0.01, 0.2), 0.5, 0.9, 0.75, 0.0, 0.1, G, *p),
     lambda: [W - 0.1 * _clipped(G), M, B[:1], B[:1], _mean_square(G)]),
    ("FusedAdaFactorWithGlobalNorm", {"enable_first_moment": True, "enable_weight_decay": True, "enable_scale_parameter": True},
     (W, M, B[:1], B[:1], A), lambda *p: ((0.01, 9.0), 0.5, 0.9, 0.75, 0.2, 0.1, G, *p, 4.0),
     lambda: [W * (1 - 0.2 * 0.9) - (m := 0.9 * M + 0.1 * 0.9 * _clipped(G / 4)), m, B[:1], B[:1], _mean_square(G / 4)]),
    ("SGD", {}, (W, M, B), lambda w, accum, stat: (w, G, 0.1, accum, 0.9, stat), lambda: [W - 0.1 * G, G, B * 0]),
    ("SGD", {"dampening": 0.1, "weight_decay": 0.2}, (W, M, B * 0), lambda w, accum, stat: (w, G, 0.1, accum, 0.9, stat),
     lambda: [W - 0.1 * (0.9 * M + 0.9 * (G + 0.2 * W)), 0.9 * M + 0.9 * (G + 0.2 * W), B * 0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attributes", "written", "operands", "want"), STEPS, ids=[s[0] for s in STEPS])
def test_steps(name, attributes, written, operands, want):
    written = parameters(*written)
    values = [ms.Tensor(v, ms.float32) if isinstance(v, np.ndarray) else v for v in operands(*written)]
    getattr(ops, name)(**attributes)(*values)
    for got, expected in zip(written, want()):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=1e-6)


def test_centered_rms_prop_moves_by_its_moment():
    w, mean, square, moment = parameters(W, M * 0.1, B, A)
    ops.ApplyCenteredRMSProp()(w, mean, square, moment, ms.Tensor(G, ms.float32), 0.1, 0.9, 0.5, 1e-3)
    g, s = 0.09 * M + 0.1 * G, 0.9 * B + 0.1 * G**2
    step = 0.5 * A + 0.1 * G / np.sqrt(s - g**2 + 1e-3)
    np.testing.assert_allclose(moment.asnumpy(), step, rtol=1e-4)
    np.testing.assert_allclose(w.asnumpy(), W - step, rtol=1e-4)


COLORS = np.random.default_rng(0).random((1, 3, 4, 3))


def each(function):
    return np.apply_along_axis(lambda c: np.array(function(*c)), -1, COLORS)


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda x: ops.RGBToHSV()(x), each(colorsys.rgb_to_hsv)),
        (lambda x: ops.HSVToRGB()(x), each(colorsys.hsv_to_rgb)),
        (
            lambda x: ops.AdjustHue()(x, ms.Tensor(0.2)),
            each(lambda *c: colorsys.hsv_to_rgb((colorsys.rgb_to_hsv(*c)[0] + 0.2) % 1, *colorsys.rgb_to_hsv(*c)[1:])),
        ),
        (
            lambda x: ops.AdjustSaturation()(x, ms.Tensor(0.5)),
            each(lambda *c: colorsys.hsv_to_rgb(*np.array(colorsys.rgb_to_hsv(*c)) * (1, 0.5, 1))),
        ),
    ],
)
def test_colors(call, want):
    np.testing.assert_allclose(call(ms.Tensor(COLORS, ms.float32)).asnumpy(), want, atol=1e-5)


def test_colors_are_three():
    with pytest.raises(ValueError, match="3 colors"):
        ops.RGBToHSV()(ops.ones((2, 4)))


def test_data_formats():
    assert ops.DataFormatDimMap()(ms.Tensor([0, 1, 2, 3, -1], ms.int32)).tolist() == [0, 3, 1, 2, 2]
    assert ops.DataFormatVecPermute("NHWC", "NCHW")(ms.Tensor([1, 2, 3, 4], ms.int32)).tolist() == [1, 4, 2, 3]


def test_boxes_that_overlap_better_ones_are_dropped():
    boxes = [[0, 0, 10, 10, 0.9], [1, 1, 11, 11, 0.8], [20, 20, 30, 30, 0.7], [0, 0, 9, 10, 0.95]]
    found, numbers, kept = ops.NMSWithMask(0.5)(ms.Tensor(boxes, ms.float32))
    np.testing.assert_allclose(found[:, 4].asnumpy(), [0.95, 0.9, 0.8, 0.7])
    assert numbers.tolist() == [0, 1, 2, 3] and kept.tolist() == [True, False, False, True]


def test_pooled_regions_of_a_ramp():
    # On x + 10 y, a mean of bilinear samples is the value in the middle of them.
    ramp = ms.Tensor((np.arange(8)[None] + 10 * np.arange(8)[:, None])[None, None], ms.float32)
    got = ops.ROIAlign(2, 2, 0.5, 2, 0)(ramp, ms.Tensor([[0, 2.0, 4.0, 10.0, 12.0]], ms.float32))
    np.testing.assert_allclose(got.asnumpy(), [[[[32.0, 34.0], [52.0, 54.0]]]], rtol=1e-6)
    with pytest.raises(NotImplementedError, match="sample_num"):
        ops.ROIAlign(2, 2, 0.5, 0)(ramp, ms.Tensor([[0, 2.0, 4.0, 10.0, 12.0]], ms.float32))


@pytest.mark.long
def test_ctc_loss_of_logits():
    x = ms.Tensor(np.random.default_rng(1).normal(size=(4, 2, 3)), ms.float32)
    places, labels = ms.Tensor([[0, 0], [1, 0], [1, 1]]), ms.Tensor([1, 0, 1], ms.int32)
    steps = ms.Tensor([4, 3], ms.int32)
    loss, gradient = ops.CTCLoss()(x, places, labels, steps)
    want, _ = ops.ctc_loss(
        ops.log_softmax(x), ms.Tensor([[1, 0], [0, 1]]), steps, ms.Tensor([1, 2], ms.int32), blank=2, reduction="none"
    )
    np.testing.assert_allclose(loss.asnumpy(), want.asnumpy(), rtol=1e-5)
    slopes = ms.grad(lambda x: ops.CTCLoss()(x, places, labels, steps)[0].sum())(x)
    np.testing.assert_allclose(gradient.asnumpy(), slopes.asnumpy(), rtol=1e-4, atol=1e-6)
