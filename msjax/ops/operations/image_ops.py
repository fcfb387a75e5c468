"""Operator classes on images: resizing, sampling, rearranging of pixels, boxes, colors, data formats and regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.checks import check_rank, check_value
from msjax.core.base.typing import Axes, JaxArray
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.function.image_func import boxes, grids, pixels, resizing
from msjax.ops.primitive import Form, OfInputX, OfX

__all__ = [
    "ResizeBilinearV2", "ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighborV2", "ResizeNearestNeighbor",
    "ResizeLinear1D", "UpsampleNearest3D", "UpsampleTrilinear3D", "CropAndResize", "AffineGrid", "GridSampler2D",
    "GridSampler3D", "DepthToSpace", "SpaceToDepth", "SpaceToBatchND", "SpaceToBatch", "BatchToSpaceND", "BatchToSpace",
    "ChannelShuffle", "Col2Im", "Im2Col", "ExtractImagePatches", "IOU", "CheckValid", "BoundingBoxEncode",
    "BoundingBoxDecode", "RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation", "DataFormatDimMap",
    "DataFormatVecPermute", "ROIAlign", "NMSWithMask",
]  # fmt: skip


# ---- resizing


def _resized(form, image, size, half):
    if form.align_corners and form.half_pixel_centers:
        raise ValueError(f"For '{form.name}', 'align_corners' and 'half_pixel_centers' can't both be True.")
    return resizing.resize(image, freeze(size), form._mode, "corners" if form.align_corners else "half" if half else "plain")


class _Resize(Form):
    """The base of operators that take the size as an input.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
        half_pixel_centers (bool): whether coordinates are those of elements' centres. Default: False.
    """

    align_corners: bool = False
    half_pixel_centers: bool = False
    _mode: ClassVar[str]

    def __call__(self, image: Tensor, size: Shape) -> Tensor:
        return _resized(self, image, size, self.half_pixel_centers)


class ResizeBilinearV2(_Resize):
    """Images (N, C, H, W) brought to another size, linearly: called with (image, size)."""

    _mode = "linear"


class ResizeBicubic(_Resize):
    """Images (N, C, H, W) brought to another size, by cubic curves: called with (image, size)."""

    _mode = "cubic"


class ResizeNearestNeighborV2(_Resize):
    """Images (N, C, H, W) brought to another size, to the nearest element: called with (image, size)."""

    _mode = "nearest"


# MindSpore had this one before its version 2.
class ResizeBilinear(Form):
    """Images (N, C, H, W) brought to another size, linearly.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
        half_pixel_centers (bool): whether coordinates are those of elements' centres. Default: False.
    """

    size: Axes
    align_corners: bool = False
    half_pixel_centers: bool = False
    _mode: ClassVar[str] = "linear"

    def __call__(self, image: Tensor) -> Tensor:
        return _resized(self, image, self.size, self.half_pixel_centers)


class ResizeNearestNeighbor(ResizeBilinear):
    """Images (N, C, H, W) brought to another size, to the nearest element.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
        half_pixel_centers (bool): without effect, as in MindSpore's kernel. Default: False.
    """

    _mode = "nearest"

    def __call__(self, image: Tensor) -> Tensor:
        return _resized(self, image, self.size, False)


class ResizeLinear1D(Form):
    """Inputs (N, C, L) brought to another size, linearly: of (x, size)."""

    coordinate_transformation_mode: str = "align_corners"

    def __call__(self, x: TensorLike, size: Axes) -> Tensor:
        how = {"align_corners": "corners", "half_pixel": "half"}.get(self.coordinate_transformation_mode)
        if how is None:
            raise ValueError(f"For 'ResizeLinear1D', there is no mode {self.coordinate_transformation_mode!r}.")
        sizes = freeze(size)
        return resizing.resize(x, sizes if isinstance(sizes, tuple) else (sizes,), "linear", how)


class UpsampleNearest3D(Form):
    """Volumes brought to another size by the nearest elements; see `ops.interpolate`."""

    def __call__(self, x: TensorLike, output_size: Axes | None = None, scales: float | Sequence[float] | None = None) -> Tensor:
        return resizing.interpolate(x, output_size, scales, "nearest")


class UpsampleTrilinear3D(Form):
    """Volumes brought to another size linearly; see `ops.interpolate`.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
    """

    align_corners: bool = False

    def __call__(self, x: TensorLike, output_size: Axes | None = None, scales: float | Sequence[float] | None = None) -> Tensor:
        return resizing.interpolate(x, output_size, scales, "trilinear", self.align_corners or None)


# ---- sampling


class CropAndResize(Form, of=grids.crop_and_resize):
    method: str = "bilinear"
    extrapolation_value: float = 0.0

    def __call__(self, image: Tensor, boxes: Tensor, box_indices: Tensor, crop_size: tuple[int, ...]) -> Tensor:
        return grids.crop_and_resize(image, boxes, box_indices, crop_size, self.method, self.extrapolation_value)


class AffineGrid(Form, of=grids.affine_grid):
    align_corners: bool = False

    def __call__(self, theta: Tensor, size: tuple[int, ...]) -> Tensor:
        return grids.affine_grid(theta, size, self.align_corners)


class _GridSampler(Form):
    interpolation_mode: str = "bilinear"
    padding_mode: str = "zeros"
    align_corners: bool | None = False

    def __call__(self, input: Tensor, grid: Tensor) -> Tensor:
        return grids.grid_sample(input, grid, self.interpolation_mode, self.padding_mode, self.align_corners)


# fmt: off
class GridSampler2D(_GridSampler, of=grids.grid_sample, interpolation_mode="mode"): ...
class GridSampler3D(_GridSampler, of=grids.grid_sample, interpolation_mode="mode"): ...
# fmt: on


# ---- rearranging


class SpaceToBatchND(OfInputX, of=pixels.space_to_batch_nd, block_shape="block_size"):
    block_shape: int | Sequence[int]
    paddings: Sequence[int]


class SpaceToBatch(OfInputX, of=pixels.space_to_batch_nd):
    block_size: int | Sequence[int]
    paddings: Sequence[int]


class BatchToSpaceND(OfInputX, of=pixels.batch_to_space_nd):
    block_shape: int | Sequence[int]
    crops: Sequence[Any]


class BatchToSpace(OfInputX, of=pixels.batch_to_space_nd, block_size="block_shape"):
    block_size: int | Sequence[int]
    crops: Sequence[Any]


class Col2Im(Form, of=pixels.col2im, padding="padding_value"):
    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: Axes = 0
    stride: int | tuple[int, ...] = 1

    def __call__(self, input_x: TensorLike, output_size: int | tuple[int, ...]) -> Tensor:
        return pixels.col2im(input_x, output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Im2Col(Form):
    """The windows of (N, C, H, W) as columns (N, C, elements of a window, windows)."""

    ksizes: Axes
    strides: Axes = 1
    dilations: Axes = 1
    pads: Axes = 0

    def __call__(self, input_x: TensorLike) -> Tensor:
        return apply(
            pixels.IM2COL, (input_x,), pixels.window_sizes(self.ksizes, self.dilations, self.pads, self.strides, "Im2Col")
        )


class ExtractImagePatches(Form):
    """The windows of (N, C, H, W) as channels; sizes are [1, 1, height, width]."""

    ksizes: Axes
    strides: Axes
    rates: Axes
    padding: str = "VALID"

    def __call__(self, input_x: TensorLike) -> Tensor:
        windows = [freeze(getattr(self, key))[2:] for key in ("ksizes", "strides", "rates")]
        return pixels.extract_image_patches(input_x, *windows, self.padding.upper() == "SAME")


# ---- boxes


class IOU(Form, of=boxes.iou):
    mode: str = "iou"

    def __call__(self, anchor_boxes: Tensor, gt_boxes: Tensor) -> Tensor:
        return boxes.iou(anchor_boxes, gt_boxes, self.mode)


# fmt: off
class CheckValid(Form): __call__ = staticmethod(boxes.check_valid)
class DepthToSpace(OfX, of=pixels.depth_to_space): block_size: int
class SpaceToDepth(OfX, of=pixels.space_to_depth): block_size: int
class ChannelShuffle(OfX, of=pixels.channel_shuffle, group="groups"): group: int
# fmt: on


class BoundingBoxEncode(Form, of=boxes.bounding_box_encode):
    means: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    stds: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)

    def __call__(self, anchor_box: Tensor, groundtruth_box: Tensor) -> Tensor:
        return boxes.bounding_box_encode(anchor_box, groundtruth_box, self.means, self.stds)


class BoundingBoxDecode(Form, of=boxes.bounding_box_decode):
    max_shape: tuple[int, ...]
    means: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    stds: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    wh_ratio_clip: float = 0.016

    def __call__(self, anchor_box: Tensor, deltas: Tensor) -> Tensor:
        return boxes.bounding_box_decode(anchor_box, deltas, self.max_shape, self.means, self.stds, self.wh_ratio_clip)


# ---- colors and data formats


def _images(images):
    return check_value(images, images.shape[-1:] == (3,), "have 3 colors", "the last axis")


def _hue_saturation_value(rgb):
    largest = rgb.max(-1)
    spread = largest - rgb.min(-1)
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    over = jnp.where(spread > 0, spread, 1)
    sixth = jnp.where(largest == r, (g - b) / over, jnp.where(largest == g, (b - r) / over + 2, (r - g) / over + 4))
    hue = jnp.where(spread > 0, jnp.mod(sixth / 6, 1), 0)
    return hue, jnp.where(largest > 0, spread / jnp.where(largest > 0, largest, 1), 0), largest


def _colors(hue, saturation, value):
    # The share of each color: trapezoids over the circle of hues, a third of it apart.
    parts = jnp.stack([jnp.abs(6 * hue - 3) - 1, 2 - jnp.abs(6 * hue - 2), 2 - jnp.abs(6 * hue - 4)], -1)
    return ((jnp.clip(parts, 0, 1) - 1) * saturation[..., None] + 1) * value[..., None]


@operator(name="RGBToHSV", differentiable=False, tensors=True)
def _rgb_to_hsv(images: TensorLike) -> JaxArray:
    """Images (..., 3) of red, green, blue as hue, saturation, value."""
    return jnp.stack(_hue_saturation_value(_images(images)), -1)


@operator(name="HSVToRGB", differentiable=False, tensors=True)
def _hsv_to_rgb(x: TensorLike) -> JaxArray:
    """Images (N, H, W, 3) of hue, saturation, value as red, green, blue."""
    check_rank(x, 4, "x")
    x = _images(x)
    return _colors(x[..., 0], x[..., 1], x[..., 2])


@operator(2, name="AdjustHue", differentiable=False, tensors=True)
def _adjust_hue(image: TensorLike, delta: TensorLike) -> JaxArray:
    """Images (..., 3) with `delta` added to their hue."""
    hue, saturation, value = _hue_saturation_value(_images(image))
    return _colors(jnp.mod(hue + delta, 1), saturation, value).astype(image.dtype)


@operator(2, name="AdjustSaturation", differentiable=False, tensors=True)
def _adjust_saturation(image: TensorLike, scale: TensorLike) -> JaxArray:
    """Images (..., 3) with their saturation times `scale`."""
    hue, saturation, value = _hue_saturation_value(_images(image))
    return _colors(hue, jnp.clip(saturation * scale, 0, 1), value).astype(image.dtype)


def _places(source, target, who):
    if sorted(source) != sorted(target) or len(source) != 4:
        raise ValueError(f"For '{who}', the formats should be 'NHWC' and 'NCHW', but got {source!r} and {target!r}.")
    return np.array([source.index(axis) for axis in target])


@operator(name="DataFormatDimMap", differentiable=False, tensors=True)
def _dim_map(x: TensorLike, src_format: str, dst_format: str) -> JaxArray:
    """Numbers of axes in one data format as those in another."""
    return jnp.asarray(_places(src_format, dst_format, "DataFormatDimMap"), x.dtype)[jnp.mod(x, 4)]


@operator(name="DataFormatVecPermute", differentiable=False, tensors=True)
def _vec_permute(x: TensorLike, src_format: str, dst_format: str) -> JaxArray:
    """A value for each axis, (4,) or (4, 2), in the order of another data format."""
    if x.shape not in ((4,), (4, 2)):
        raise ValueError(f"the shape should be (4,) or (4, 2), but is {x.shape}.")
    return x[_places(src_format, dst_format, "DataFormatVecPermute")]


# fmt: off
class RGBToHSV(Form): __call__ = staticmethod(_rgb_to_hsv)
class HSVToRGB(Form): __call__ = staticmethod(_hsv_to_rgb)
class AdjustHue(Form): __call__ = staticmethod(_adjust_hue)
class AdjustSaturation(Form): __call__ = staticmethod(_adjust_saturation)
# fmt: on


class DataFormatDimMap(OfX, of=_dim_map):
    src_format: str = "NHWC"
    dst_format: str = "NCHW"


class DataFormatVecPermute(OfX, of=_vec_permute):
    src_format: str = "NHWC"
    dst_format: str = "NCHW"


# ---- regions


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
