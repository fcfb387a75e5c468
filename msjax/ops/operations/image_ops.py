"""Operator classes on images: resizing, sampling, rearranging of pixels, boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.typing import Axes
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.image_func import boxes, grids, pixels, resizing
from msjax.ops.primitive import Form, OfInputX, OfX

__all__ = [
    "ResizeBilinearV2", "ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighborV2", "ResizeNearestNeighbor",
    "ResizeLinear1D", "UpsampleNearest3D", "UpsampleTrilinear3D", "CropAndResize", "AffineGrid", "GridSampler2D",
    "GridSampler3D", "DepthToSpace", "SpaceToDepth", "SpaceToBatchND", "SpaceToBatch", "BatchToSpaceND", "BatchToSpace",
    "ChannelShuffle", "Col2Im", "Im2Col", "ExtractImagePatches", "IOU", "CheckValid", "BoundingBoxEncode",
    "BoundingBoxDecode",
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
