"""Operators on images, by numbers of the real MindSpore."""

import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.expected.recorded import cases, check, with_gradients


def inputs(draw):
    return {"x": draw.F(2, 3, 4, 5), "x1": draw.F(2, 3, 7), "x5": draw.F(1, 2, 3, 4, 5)}


CALLS = [
    lambda x: ops.interpolate(x, size=(7, 3)),
    lambda x: ops.interpolate(x, size=6),
    (lambda x: ops.interpolate(x, size=(7, 3), mode="nearest", align_corners=True), ValueError),
    lambda x: ops.interpolate(x, scale_factor=(1.5, 2.0), recompute_scale_factor=True),
    lambda x: ops.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    lambda x: ops.interpolate(x, size=(7, 3), mode="bilinear"),
    lambda x: ops.interpolate(x, size=(7, 3), mode="bilinear", align_corners=True),
    lambda x: ops.interpolate(x, size=(1, 1), mode="bilinear", align_corners=True),
    lambda x: ops.interpolate(x, size=(7, 3), mode="bicubic"),
    lambda x: ops.interpolate(x, size=(9, 8), mode="bicubic", align_corners=True),
    lambda x: ops.interpolate(x, scale_factor=(1.5, 2.0), mode="bicubic", recompute_scale_factor=True),
    lambda x1: ops.interpolate(x1, size=(9,), mode="linear"),
    lambda x1: ops.interpolate(x1, size=9, mode="linear", align_corners=True),
    lambda x1: ops.interpolate(x1, scale_factor=2.0, mode="linear", recompute_scale_factor=True),
    lambda x1: ops.interpolate(x1, size=9),
    (lambda x1: ops.interpolate(x1, size=3, mode="area"), ValueError),
    lambda x1: ops.interpolate(x1, size=7, mode="area"),
    lambda x: ops.interpolate(x, size=(3, 2), mode="area"),
    lambda x5: ops.interpolate(x5, size=(2, 3, 2), mode="area"),
    lambda x5: ops.interpolate(x5, size=(5, 6, 7), mode="trilinear"),
    lambda x5: ops.interpolate(x5, size=(5, 6, 7), mode="trilinear", align_corners=True),
    lambda x5: ops.interpolate(x5, scale_factor=2.0, mode="trilinear"),
    lambda x5: ops.interpolate(x5, size=(5, 6, 7)),
    lambda x: ops.interpolate(x, size=(7, 3), mode="nearest-exact"),
    lambda x1: ops.interpolate(x1, size=9, mode="nearest-exact"),
    (lambda x: ops.interpolate(x, size=(7, 3), scale_factor=2.0), ValueError),
    (lambda x: ops.interpolate(x), ValueError),
    (lambda x: ops.interpolate(x, size=(7, 3), mode="foo"), ValueError),
    (lambda x: ops.interpolate(x, size=(7,), mode="bilinear"), ValueError),
    (lambda x1: ops.interpolate(x1, size=(7, 3), mode="bilinear"), ValueError),
    (lambda x: ops.interpolate(x, size=(7, -3), mode="bilinear"), ValueError),
    (lambda x: ops.interpolate(x, scale_factor=-1.0, mode="bilinear"), ValueError),
    (lambda x: ops.interpolate(x, size="a"), TypeError),
    lambda x: with_gradients(lambda x: ops.interpolate(x, size=(7, 3), mode="bilinear"), x),
    lambda x: with_gradients(lambda x: ops.interpolate(x, size=(7, 8), mode="bicubic"), x),
    lambda x: with_gradients(lambda x: ops.interpolate(x, size=(7, 8)), x),
    lambda F: ops.pixel_shuffle(F(2, 2, 8, 3, 3), 2),
    lambda F: ops.pixel_unshuffle(F(2, 2, 4, 6), 2),
    (lambda F: ops.pixel_unshuffle(F(2, 2, 5, 6), 2), ValueError),
    lambda x, P: ops.grid_sample(x, P(2, 4, 6, 2) * 2 - 1),
    lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), align_corners=True),
    lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), padding_mode="border"),
    lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2) * 2, padding_mode="reflection"),
    lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2) * 2, padding_mode="reflection", align_corners=True),
    lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), mode="nearest", padding_mode="reflection"),
    lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), mode="nearest"),
    (lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), mode="bicubic"), ValueError),
    lambda x5, F: ops.grid_sample(x5, F(1, 2, 4, 6, 3)),
    lambda x5, F: ops.grid_sample(x5, F(1, 2, 4, 6, 3), mode="nearest", padding_mode="border", align_corners=True),
    lambda x5, F: ops.grid_sample(x5, F(1, 2, 4, 6, 3) * 2, padding_mode="reflection"),
    (lambda x, F: ops.grid_sample(x, F(3, 4, 6, 2)), ValueError),
    (lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), mode="x"), ValueError),
    (lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), padding_mode="x"), ValueError),
    (lambda x, F: ops.grid_sample(x, F(2, 4, 6, 2), align_corners=1), TypeError),
    lambda x, P: with_gradients(lambda x, g: ops.grid_sample(x, g), x, P(2, 4, 4, 2) * 1.6 - 0.8),
    lambda F: ops.affine_grid(F(2, 2, 3), (2, 3, 4, 5)),
    lambda F: ops.affine_grid(F(2, 3, 4), (2, 3, 2, 4, 5)),
    lambda F: ops.affine_grid(F(2, 3, 4), (2, 3, 2, 4, 5), True),
    (lambda F: ops.affine_grid(F(2, 2, 3), (2, 3, 4)), ValueError),
    lambda x: ops.unfold(x, 2),
    lambda x: ops.unfold(x, (2, 3), 1, (1, 0), (2, 1)),
    lambda x: ops.unfold(x, 2, 2),
    (lambda x: ops.unfold(x[0], 2), ValueError),
    (lambda x: ops.unfold(x, 2, 1, (1, 0, 2, 1)), ValueError),
    lambda F: ops.fold(F(2, 12, 12), Tensor([4, 5], ms.int32), (2, 2)),
    lambda F: ops.fold(F(2, 3, 4, 12), Tensor([4, 5], ms.int32), (2, 2)),
    (lambda F: ops.fold(F(2, 12, 20), Tensor([6, 6], ms.int32), 2, 1, (0, 0), (1, 1)), ValueError),
    lambda F: ops.col2im(F(2, 3, 4, 12), Tensor([4, 5], ms.int32), (2, 2), (1, 1), (0, 0), (1, 1)),
    lambda F: ops.crop_and_resize(
        F(2, 5, 6, 3),
        Tensor([[0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], [-0.5, 0, 1.5, 2]], ms.float32),
        Tensor([0, 1, 1], ms.int32),
        (3, 4),
    ),
    lambda F: ops.crop_and_resize(
        F(2, 5, 6, 3),
        Tensor([[0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], [-0.5, 0, 1.5, 2]], ms.float32),
        Tensor([0, 1, 1], ms.int32),
        (3, 4),
        "nearest",
        2.0,
    ),
    lambda F: ops.crop_and_resize(
        F(2, 5, 6, 3), Tensor([[0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]], ms.float32), Tensor([0, 1, 1], ms.int32), (1, 1)
    ),
    lambda P: ops.iou(P(3, 4) * 10, P(2, 4) * 10),
    lambda P: ops.iou(P(3, 4) * 10, P(2, 4) * 10, "iof"),
    lambda F: ops.space_to_batch_nd(F(2, 3, 4, 6), [2, 2], [[0, 0], [2, 0]]),
    lambda F: ops.batch_to_space_nd(F(4, 3, 2, 3), [2, 2], [[0, 1], [1, 0]]),
    lambda P, F: ops.bounding_box_decode(P(3, 4) * 10, F(3, 4), (20, 20)),
    lambda F: ops.check_valid(F(3, 4) * 10, Tensor([5.0, 5.0, 1.0], ms.float32)),
]


@pytest.mark.parametrize("case", cases("images", inputs, CALLS))
def test_as_recorded(case):
    check(case)
