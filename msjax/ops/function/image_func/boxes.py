"""Operators on boxes in images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_one_of
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator

__all__ = ["bounding_box_decode", "bounding_box_encode", "check_valid", "iou"]


@operator(2, name="IOU", differentiable=False)
def _iou(anchor_boxes, gt_boxes, mode):
    a, b = anchor_boxes[None], gt_boxes[:, None]
    # A box covers the elements at both its ends.
    width = jnp.minimum(a[..., 2], b[..., 2]) - jnp.maximum(a[..., 0], b[..., 0]) + 1
    height = jnp.minimum(a[..., 3], b[..., 3]) - jnp.maximum(a[..., 1], b[..., 1]) + 1
    common = jnp.maximum(width, 0) * jnp.maximum(height, 0)

    def area(box):
        return (box[..., 2] - box[..., 0] + 1) * (box[..., 3] - box[..., 1] + 1)

    whole = area(b) if mode == "iof" else area(a) + area(b) - common
    return common / whole


def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """How much boxes overlap.

    Args:
        anchor_boxes (Tensor): of shape (N, 4): (x0, y0, x1, y1).
        gt_boxes (Tensor): of shape (M, 4).
        mode (str): "iou" (the default), the common area divided by that of both together, or "iof", by that of the
            `gt_boxes`.

    Returns:
        Tensor, of shape (M, N).

    Raises:
        ValueError: an unknown mode.

    Example:
        >>> print(ops.iou(Tensor([[0.0, 0.0, 4.0, 4.0]]), Tensor([[0.0, 0.0, 2.0, 2.0]])))
        [[0.36]]
    """
    check_one_of(mode, ("iou", "iof"), "mode", "iou")
    return _iou(anchor_boxes, gt_boxes, mode)


def _centre(box):
    size = box[:, 2:] - box[:, :2] + 1
    return (box[:, :2] + box[:, 2:]) / 2, size


@operator(2, differentiable=False)
def bounding_box_encode(
    anchor_box: Tensor, groundtruth_box: Tensor, means: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    stds: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
) -> JaxArray:  # fmt: skip
    """How boxes differ from anchors: the shift of the centre, relative to the size, and the logarithm of the sizes' ratio.

    Args:
        anchor_box, groundtruth_box (Tensor): of shape (N, 4): (x0, y0, x1, y1).
        means, stds (tuple): what the four numbers are normalized with.
    """
    at, size = _centre(anchor_box)
    to, wanted = _centre(groundtruth_box)
    deltas = jnp.concatenate([(to - at) / size, jnp.log(wanted / size)], 1)
    return (deltas - jnp.asarray(means, deltas.dtype)) / jnp.asarray(stds, deltas.dtype)


@operator(2, differentiable=False)
def bounding_box_decode(
    anchor_box: Tensor, deltas: Tensor, max_shape: tuple[int, ...], means: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    stds: Sequence[float] = (1.0, 1.0, 1.0, 1.0), wh_ratio_clip: float = 0.016,
) -> JaxArray:  # fmt: skip
    """Boxes from anchors and deltas; the inverse of `bounding_box_encode`, within an image.

    Args:
        anchor_box, deltas (Tensor): of shape (N, 4).
        max_shape (tuple): the image's height and width.
        means, stds (tuple): what the deltas were normalized with.
        wh_ratio_clip (float): the least ratio of sizes. Default: 0.016.
    """
    deltas = deltas * jnp.asarray(stds, deltas.dtype) + jnp.asarray(means, deltas.dtype)
    limit = abs(math.log(wh_ratio_clip))
    at, size = _centre(anchor_box)
    at = at + size * deltas[:, :2]
    size = size * jnp.exp(jnp.clip(deltas[:, 2:], -limit, limit))
    box = jnp.concatenate([at - size / 2 + 0.5, at + size / 2 - 0.5], 1)
    height, width = max_shape[:2]
    return jnp.clip(box, 0, jnp.asarray([width - 1, height - 1] * 2, box.dtype))


@operator(2, differentiable=False)
def check_valid(bboxes: Tensor, img_metas: Tensor) -> JaxArray:
    """Whether boxes (N, 4), of (x0, y0, x1, y1), lie in an image of (height, width, ratio)."""
    height, width = img_metas[0] * img_metas[2], img_metas[1] * img_metas[2]
    low = (bboxes[:, 0] >= 0) & (bboxes[:, 1] >= 0)
    return low & (bboxes[:, 2] <= width - 1) & (bboxes[:, 3] <= height - 1)
