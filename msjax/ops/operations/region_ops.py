"""Operator classes on regions of images: ROIAlign and non-maximum suppression."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_value
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.primitive import Form

__all__ = [
    "ROIAlign", "NMSWithMask",
]  # fmt: skip


def _bilinear(image, y, x):
    """Values of an image (C, H, W) between its elements; 0 more than one element outside of it."""
    height, width = image.shape[1:]
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y, x = jnp.clip(y, 0, height - 1), jnp.clip(x, 0, width - 1)
    top, left = jnp.floor(y).astype(jnp.int32), jnp.floor(x).astype(jnp.int32)
    bottom, right = jnp.minimum(top + 1, height - 1), jnp.minimum(left + 1, width - 1)
    down, over = y - top, x - left
    upper = image[:, top, left] * (1 - over) + image[:, top, right] * over
    lower = image[:, bottom, left] * (1 - over) + image[:, bottom, right] * over
    return jnp.where(inside, upper * (1 - down) + lower * down, 0)


def _at(start, size, pooled, samples):
    """Where samples lie along an axis: (pooled * samples,)."""
    return start + (jnp.arange(pooled * samples) + 0.5) * size / (pooled * samples)


@operator(2, numbers=("spatial_scale",), name="ROIAlign", tensors=True)
def _roi_align(
    features: TensorLike,
    rois: TensorLike,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sample_num: int,
    roi_end_mode: int,
) -> JaxArray:
    """Regions of images, each pooled to one size by means of bilinear samples: of (features, rois).

    Args:
        features (Tensor): shape (N, C, H, W).
        rois (Tensor): shape (regions, 5), each the number of an image, left, top, right, bottom.
        pooled_height, pooled_width (int): the size.
        spatial_scale (float): from the regions' coordinates to those of the features.
        sample_num (int): samples along each axis of a pooled element. Default: 2.
        roi_end_mode (int): what is added to a region's end. Default: 1.
    """
    if features.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ValueError(f"the shapes should be (N, C, H, W) and (regions, 5), but are {features.shape} and {rois.shape}.")
    if sample_num <= 0:
        raise NotImplementedError(
            "msjax offers ROIAlign for a positive 'sample_num' only, since shapes may not depend on values."
        )

    def pool(roi):
        image = features[roi[0].astype(jnp.int32)]
        left, top = roi[1] * spatial_scale, roi[2] * spatial_scale
        right, bottom = (roi[3] + roi_end_mode) * spatial_scale, (roi[4] + roi_end_mode) * spatial_scale
        y = _at(top, jnp.maximum(bottom - top, 1), pooled_height, sample_num)
        x = _at(left, jnp.maximum(right - left, 1), pooled_width, sample_num)
        values = _bilinear(image, y[:, None], x[None])
        return values.reshape(-1, pooled_height, sample_num, pooled_width, sample_num).mean((2, 4))

    return jax.vmap(pool)(rois).astype(features.dtype)


@operator(numbers=("iou_threshold",), name="NMSWithMask", differentiable=False, tensors=True)
def _nms_with_mask(bboxes: TensorLike, iou_threshold: float) -> tuple[JaxArray, JaxArray, JaxArray]:
    """Boxes by falling score, and which of them overlap none that is better by more than `iou_threshold`.

    Args:
        bboxes (Tensor): shape (boxes, 5), each left, top, right, bottom, score.
        iou_threshold (float): the overlap, as a share of both boxes, from which the worse one is dropped. Default: 0.5.

    Returns:
        The sorted boxes, their numbers as Int32, and Bools that are True for those kept.
    """
    check_value(bboxes, bboxes.ndim == 2 and bboxes.shape[1] == 5, "have shape (boxes, 5)", "bboxes")
    boxes = bboxes[jnp.argsort(-bboxes[:, 4], stable=True)]
    left, top, right, bottom = (boxes[:, i] for i in range(4))
    width = jnp.minimum(right[:, None], right) - jnp.maximum(left[:, None], left)
    height = jnp.minimum(bottom[:, None], bottom) - jnp.maximum(top[:, None], top)
    common = jnp.maximum(width, 0) * jnp.maximum(height, 0)
    area = (right - left) * (bottom - top)
    overlapping = common / (area[:, None] + area - common) > iou_threshold
    later = jnp.arange(boxes.shape[0])

    def drop(i, kept):
        return kept & ~(kept[i] & overlapping[i] & (later > i))

    kept = jax.lax.fori_loop(0, boxes.shape[0], drop, jnp.ones(boxes.shape[0], bool))
    return boxes, later.astype(jnp.int32), kept


class ROIAlign(Form, of=_roi_align):
    pooled_height: int
    pooled_width: int
    spatial_scale: float
    sample_num: int = 2
    roi_end_mode: int = 1

    def __call__(self, features: Tensor, rois: Tensor) -> Tensor:
        return _roi_align(features, rois, *self._attributes())


class NMSWithMask(Form, of=_nms_with_mask):
    iou_threshold: float = 0.5

    def __call__(self, bboxes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _nms_with_mask(bboxes, self.iou_threshold)
