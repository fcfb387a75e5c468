"""Operator classes on images: resizing, sampling, rearranging of pixels, boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msjax.autograd.op import apply
from msjax.base.typing import Axes, Shape, TensorLike
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.image_func import boxes, grids, pixels, resizing
from msjax.ops.function.image_func.patches import extract_image_patches
from msjax.ops.primitive import REQUIRED, class_form, given_as, name_classes, operator_class

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


# ---- resizing


def _resizing(way, mode, size_given=True):
    """A class that resizes images; its size is an input, or else an attribute."""

    def call(self, image: Tensor, *size: Shape) -> Tensor:
        if self.align_corners and self.half_pixel_centers:
            raise ValueError(f"For '{self.name}', 'align_corners' and 'half_pixel_centers' can't both be True.")
        # The first version of nearest takes half_pixel_centers, but MindSpore's kernel ignores it.
        half = self.half_pixel_centers and (size_given or mode != "nearest")
        how = "corners" if self.align_corners else "half" if half else "plain"
        (wanted,) = size if size_given else (self.size,)
        return resizing.resize(image, freeze(wanted), mode, how)

    call.__doc__ = f"""Images (N, C, H, W) brought to another size, {way}{": called with (image, size)" if size_given else ""}.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
        half_pixel_centers (bool): whether coordinates are those of elements' centres. Default: False.
    """
    attributes = {} if size_given else {"size": REQUIRED}
    return operator_class(**attributes, align_corners=False, half_pixel_centers=False)(call)


ResizeBilinearV2 = _resizing("linearly", "linear")
# MindSpore had this one before its version 2.
ResizeBilinear = _resizing("linearly", "linear", size_given=False)
ResizeBicubic = _resizing("by cubic curves", "cubic")
ResizeNearestNeighborV2 = _resizing("to the nearest element", "nearest")
ResizeNearestNeighbor = _resizing("to the nearest element", "nearest", size_given=False)


@operator_class(coordinate_transformation_mode="align_corners")
def ResizeLinear1D(self: PrimitiveSelf, x: TensorLike, size: Axes) -> Tensor:
    """Inputs (N, C, L) brought to another size, linearly: of (x, size)."""
    how = {"align_corners": "corners", "half_pixel": "half"}.get(self.coordinate_transformation_mode)
    if how is None:
        raise ValueError(f"For 'ResizeLinear1D', there is no mode {self.coordinate_transformation_mode!r}.")
    sizes = freeze(size)
    return resizing.resize(x, sizes if isinstance(sizes, tuple) else (sizes,), "linear", how)


@operator_class()
def UpsampleNearest3D(
    self: PrimitiveSelf, x: TensorLike, output_size: Axes | None = None, scales: float | Sequence[float] | None = None
) -> Tensor:
    """Volumes brought to another size by the nearest elements; see `ops.interpolate`."""
    return resizing.interpolate(x, output_size, scales, "nearest")


@operator_class(align_corners=False)
def UpsampleTrilinear3D(
    self: PrimitiveSelf, x: TensorLike, output_size: Axes | None = None, scales: float | Sequence[float] | None = None
) -> Tensor:
    """Volumes brought to another size linearly; see `ops.interpolate`.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
    """
    return resizing.interpolate(x, output_size, scales, "trilinear", self.align_corners or None)


# ---- sampling

CropAndResize = class_form(grids.crop_and_resize, method="bilinear", extrapolation_value=0.0)
AffineGrid = class_form(grids.affine_grid, align_corners=False)
GridSampler2D, GridSampler3D = (
    class_form(grids.grid_sample, interpolation_mode=given_as("mode", "bilinear"), padding_mode="zeros", align_corners=False)
    for _ in range(2)
)

# ---- rearranging


def _depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """Channels spread over space, by blocks: (N, C * b * b, H, W) to (N, C, H * b, W * b).

    Args:
        x (Tensor): of shape (N, C * b * b, H, W).
        block_size (int): b.
    """
    return apply(pixels.DEPTH_TO_SPACE, (x,), (block_size,))


def _space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """The inverse of `DepthToSpace`: (N, C, H * b, W * b) to (N, C * b * b, H, W).

    Args:
        x (Tensor): of shape (N, C, H * b, W * b).
        block_size (int): b.
    """
    return apply(pixels.SPACE_TO_DEPTH, (x,), (block_size,))


DepthToSpace = class_form(_depth_to_space, block_size=REQUIRED)
SpaceToDepth = class_form(_space_to_depth, block_size=REQUIRED)
SpaceToBatchND = class_form(pixels.space_to_batch_nd, block_shape=given_as("block_size"), paddings=REQUIRED)
SpaceToBatch = class_form(pixels.space_to_batch_nd, block_size=REQUIRED, paddings=REQUIRED)
BatchToSpaceND = class_form(pixels.batch_to_space_nd, block_shape=REQUIRED, crops=REQUIRED)
BatchToSpace = class_form(pixels.batch_to_space_nd, block_size=given_as("block_shape"), crops=REQUIRED)
ChannelShuffle = class_form(pixels.channel_shuffle, group=given_as("groups"))
Col2Im = class_form(pixels.col2im, kernel_size=REQUIRED, dilation=1, padding=given_as("padding_value", 0), stride=1)


@operator_class(ksizes=REQUIRED, strides=1, dilations=1, pads=0)
def Im2Col(self: PrimitiveSelf, input_x: TensorLike) -> Tensor:
    """The windows of (N, C, H, W) as columns (N, C, elements of a window, windows)."""
    return apply(pixels.IM2COL, (input_x,), pixels.window_sizes(self.ksizes, self.dilations, self.pads, self.strides, "Im2Col"))


@operator_class(ksizes=REQUIRED, strides=REQUIRED, rates=REQUIRED, padding="VALID")
def ExtractImagePatches(self: PrimitiveSelf, input_x: TensorLike) -> Tensor:
    """The windows of (N, C, H, W) as channels; sizes are [1, 1, height, width]."""
    windows = [freeze(getattr(self, key))[2:] for key in ("ksizes", "strides", "rates")]
    return extract_image_patches(input_x, *windows, self.padding.upper() == "SAME")


# ---- boxes

_BOXES = {"means": (0.0, 0.0, 0.0, 0.0), "stds": (1.0, 1.0, 1.0, 1.0)}
IOU = class_form(boxes.iou, mode="iou")
CheckValid = class_form(boxes.check_valid)
BoundingBoxEncode = class_form(boxes.bounding_box_encode, **_BOXES)
BoundingBoxDecode = class_form(boxes.bounding_box_decode, max_shape=REQUIRED, **_BOXES, wh_ratio_clip=0.016)

name_classes(globals())
