"""Operator classes on images: resizing, sampling, rearranging of pixels, boxes."""

from msjax.autograd.op import apply
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.image_func import boxes, grids, pixels, resizing
from msjax.ops.function.image_func.patches import extract_image_patches
from msjax.ops.operations import color_ops, region_ops
from msjax.ops.operations.color_ops import *
from msjax.ops.operations.region_ops import *
from msjax.ops.primitive import REQUIRED, primitive_class

__all__ = [*color_ops.__all__, *region_ops.__all__]


def _how(self):
    if self.align_corners and self.half_pixel_centers:
        raise ValueError(f"For '{self.name}', 'align_corners' and 'half_pixel_centers' can't both be True.")
    return "corners" if self.align_corners else "half" if self.half_pixel_centers else "plain"


def _resize(mode):
    return lambda self, image, size: resizing.resize(image, freeze(size), mode, _how(self))


def _resize_bilinear(self, image):
    return resizing.resize(image, freeze(self.size), "linear", _how(self))


def _resize_nearest(self, image, size=None):
    how = _how(self)
    # The first version takes half_pixel_centers, but MindSpore's kernel ignores it.
    how = "plain" if how == "half" and self.name == "ResizeNearestNeighbor" else how
    return resizing.resize(image, freeze(self.size if size is None else size), "nearest", how)


def _resize_linear_1d(self, x, size):
    how = {"align_corners": "corners", "half_pixel": "half"}.get(self.coordinate_transformation_mode)
    if how is None:
        raise ValueError(f"For 'ResizeLinear1D', there is no mode {self.coordinate_transformation_mode!r}.")
    sizes = freeze(size)
    return resizing.resize(x, sizes if isinstance(sizes, tuple) else (sizes,), "linear", how)


def _upsample_3d(mode):
    def call(self, x, output_size=None, scales=None):
        return resizing.interpolate(x, output_size, scales, mode, getattr(self, "align_corners", None) or None)

    return call


def _sampler(self, input_x, grid):
    return grids.grid_sample(input_x, grid, self.interpolation_mode, self.padding_mode, self.align_corners)


def _bounds(self):
    return freeze(self.means), freeze(self.stds)


def _im2col(self, input_x):
    return apply(pixels.IM2COL, (input_x,), pixels._window(self.ksizes, self.dilations, self.pads, self.strides, "Im2Col"))


def _col2im(self, x, output_size):
    return pixels.col2im(x, output_size, self.kernel_size, self.dilation, self.padding, self.stride)


def _patches(self, input_x):
    windows = [freeze(getattr(self, key))[2:] for key in ("ksizes", "strides", "rates")]
    return extract_image_patches(input_x, *windows, self.padding.upper() == "SAME")


_CORNERS = {"align_corners": False, "half_pixel_centers": False}
_SAMPLER = {"interpolation_mode": "bilinear", "padding_mode": "zeros", "align_corners": False}
_BOXES = {"means": (0.0, 0.0, 0.0, 0.0), "stds": (1.0, 1.0, 1.0, 1.0)}
_RESIZE_DOC = """Images (N, C, H, W) brought to another size, {}.

    Args:
        align_corners (bool): whether the corner elements' centres stay where they are. Default: False.
        half_pixel_centers (bool): whether coordinates are those of elements' centres. Default: False.
    """
for _name, _attributes, _call, _doc in (
    ("ResizeBilinearV2", _CORNERS, _resize("linear"), _RESIZE_DOC.format("linearly: of (image, size)")),
    # MindSpore has had this one before its version 2.
    ("ResizeBilinear", {"size": REQUIRED, **_CORNERS}, _resize_bilinear, _RESIZE_DOC.format("linearly")),
    ("ResizeBicubic", _CORNERS, _resize("cubic"), _RESIZE_DOC.format("by cubic curves: of (image, size)")),
    ("ResizeNearestNeighborV2", _CORNERS, _resize_nearest, _RESIZE_DOC.format("to the nearest element: of (image, size)")),
    ("ResizeNearestNeighbor", {"size": REQUIRED, **_CORNERS}, _resize_nearest, _RESIZE_DOC.format("to the nearest element")),
    (
        "ResizeLinear1D",
        {"coordinate_transformation_mode": "align_corners"},
        _resize_linear_1d,
        "Inputs (N, C, L) brought to another size, linearly: of (x, size).",
    ),
    ("UpsampleNearest3D", {}, _upsample_3d("nearest"), "See `ops.interpolate`."),
    ("UpsampleTrilinear3D", {"align_corners": False}, _upsample_3d("trilinear"), "See `ops.interpolate`."),
    (
        "CropAndResize",
        {"method": "bilinear", "extrapolation_value": 0.0},
        lambda self, x, boxes, box_indices, crop_size: grids.crop_and_resize(
            x, boxes, box_indices, crop_size, self.method, self.extrapolation_value
        ),
        "See `ops.crop_and_resize`.",
    ),
    ("GridSampler2D", _SAMPLER, _sampler, "See `ops.grid_sample`."),
    ("GridSampler3D", _SAMPLER, _sampler, "See `ops.grid_sample`."),
    (
        "AffineGrid",
        {"align_corners": False},
        lambda self, theta, output_size: grids.affine_grid(theta, output_size, self.align_corners),
        "See `ops.affine_grid`.",
    ),
    (
        "DepthToSpace",
        {"block_size": REQUIRED},
        lambda self, x: apply(pixels.DEPTH_TO_SPACE, (x,), (self.block_size,)),
        "Channels spread over space, by blocks: (N, C * b * b, H, W) to (N, C, H * b, W * b).",
    ),
    (
        "SpaceToDepth",
        {"block_size": REQUIRED},
        lambda self, x: apply(pixels.SPACE_TO_DEPTH, (x,), (self.block_size,)),
        "The inverse of `DepthToSpace`.",
    ),
    (
        "SpaceToBatchND",
        {"block_shape": REQUIRED, "paddings": REQUIRED},
        lambda self, x: pixels.space_to_batch_nd(x, self.block_shape, self.paddings),
        "See `ops.space_to_batch_nd`.",
    ),
    (
        "BatchToSpaceND",
        {"block_shape": REQUIRED, "crops": REQUIRED},
        lambda self, x: pixels.batch_to_space_nd(x, self.block_shape, self.crops),
        "See `ops.batch_to_space_nd`.",
    ),
    (
        "SpaceToBatch",
        {"block_size": REQUIRED, "paddings": REQUIRED},
        lambda self, x: pixels.space_to_batch_nd(x, self.block_size, self.paddings),
        "`SpaceToBatchND` with one block size for both axes.",
    ),
    (
        "BatchToSpace",
        {"block_size": REQUIRED, "crops": REQUIRED},
        lambda self, x: pixels.batch_to_space_nd(x, self.block_size, self.crops),
        "`BatchToSpaceND` with one block size for both axes.",
    ),
    (
        "ChannelShuffle",
        {"group": REQUIRED},
        lambda self, x: pixels.channel_shuffle(x, self.group),
        "See `ops.channel_shuffle`.",
    ),
    (
        "Im2Col",
        {"ksizes": REQUIRED, "strides": 1, "dilations": 1, "pads": 0},
        _im2col,
        "The windows of (N, C, H, W) as columns (N, C, elements of a window, windows).",
    ),
    (
        "Col2Im",
        {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
        _col2im,
        "See `ops.col2im`.",
    ),
    (
        "ExtractImagePatches",
        {"ksizes": REQUIRED, "strides": REQUIRED, "rates": REQUIRED, "padding": "VALID"},
        _patches,
        "The windows of (N, C, H, W) as channels; sizes are [1, 1, height, width].",
    ),
    ("IOU", {"mode": "iou"}, lambda self, anchor, truth: boxes.iou(anchor, truth, self.mode), "See `ops.iou`."),
    ("CheckValid", {}, lambda self, bboxes, img_metas: boxes.check_valid(bboxes, img_metas), "See `ops.check_valid`."),
    (
        "BoundingBoxEncode",
        _BOXES,
        lambda self, anchor, truth: boxes.bounding_box_encode(anchor, truth, *_bounds(self)),
        "See `ops.bounding_box_encode`.",
    ),
    (
        "BoundingBoxDecode",
        {"max_shape": REQUIRED, **_BOXES, "wh_ratio_clip": 0.016},
        lambda self, anchor, deltas: boxes.bounding_box_decode(
            anchor, deltas, self.max_shape, *_bounds(self), self.wh_ratio_clip
        ),
        "See `ops.bounding_box_decode`.",
    ),
):
    globals()[_name] = primitive_class(_name, _attributes, _call, _doc)
    __all__.append(_name)
