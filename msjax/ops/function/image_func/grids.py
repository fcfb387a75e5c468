"""Operators that sample images: at the points of a grid, or inside of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_kind, check_one_of, check_rank, check_type
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import freeze, operator, require_tensors
from msjax.ops.dispatch.promotion import rounded_once

__all__ = ["affine_grid", "crop_and_resize", "grid_sample"]


def _reflect(at, low, high):
    """Coordinates mirrored at the ends of [low, high]."""
    if high <= low:
        return jnp.zeros_like(at)
    span = high - low
    at = jnp.abs(at - low)
    turns = jnp.floor(at / span)
    rest = at - turns * span
    return jnp.where(turns % 2 == 0, rest + low, high - rest)


def _place(grid, size, padding_mode, align_corners):
    """Coordinates in [-1, 1] as positions on an axis of `size` elements."""
    at = (grid + 1) / 2 * (size - 1) if align_corners else ((grid + 1) * size - 1) / 2
    if padding_mode == "border":
        return jnp.clip(at, 0, size - 1)
    if padding_mode == "reflection":
        at = _reflect(at, 0.0, size - 1.0) if align_corners else _reflect(at, -0.5, size - 0.5)
        return jnp.clip(at, 0, size - 1)
    return at


def gather_points(x: TensorLike, places: list[JaxArray]) -> JaxArray:
    """Elements of x (N, C, *sizes) at whole positions, one integer array (N, *points) for each axis; 0 outside."""
    sizes = x.shape[2:]
    inside = jnp.ones(places[0].shape, bool)
    flat = jnp.zeros(places[0].shape, jnp.int32)
    for size, at in zip(sizes, places):
        inside &= (at >= 0) & (at < size)
        flat = flat * size + jnp.clip(at, 0, size - 1)
    n, c = x.shape[:2]  # pyright: ignore[reportAssignmentType]
    index = jnp.broadcast_to(flat.reshape(n, 1, -1), (n, c, flat[0].size))
    values = jnp.take_along_axis(x.reshape(n, c, -1), index, 2, mode="promise_in_bounds")
    values = values.reshape(n, c, *flat.shape[1:])
    return jnp.where(inside[:, None], values, jnp.zeros((), x.dtype))


def sample_linear(x: TensorLike, places: list[JaxArray]) -> JaxArray:
    """x (N, C, *sizes) between elements: the mean of the neighbours, weighted; `places` are (N, *points) floats."""
    lows = [jnp.floor(at) for at in places]
    out: Any = 0
    for corner in range(2 ** len(places)):
        weight: Any = 1
        points = []
        for axis, (at, low) in enumerate(zip(places, lows)):
            high = corner >> axis & 1
            weight = weight * ((at - low) if high else (low + 1 - at))
            points.append(low.astype(jnp.int32) + high)
        out = out + gather_points(x, points) * weight[:, None].astype(x.dtype)
    return out


@operator(2)
def _grid_sample(input, grid, mode, padding_mode, align_corners):
    sizes = input.shape[2:]
    # The grid's last number is that of the first axis.
    places = [
        _place(grid[..., len(sizes) - 1 - i], size, padding_mode, align_corners) for i, size in enumerate(sizes)
    ]  # fmt: skip
    if mode == "nearest":
        return rounded_once(gather_points, input, [jnp.round(jax.lax.stop_gradient(at)).astype(jnp.int32) for at in places])
    return rounded_once(sample_linear, input, places)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """An image sampled at the points of a grid.

    Args:
        input (Tensor): of shape (N, C, H, W) or (N, C, D, H, W).
        grid (Tensor): of shape (N, H', W', 2) or (N, D', H', W', 3): points (x, y) or (x, y, z), where -1 and 1 are
            the image's ends.
        mode (str): "bilinear" (the default) or "nearest".
        padding_mode (str): outside of the image, "zeros" (the default), "border" or "reflection".
        align_corners (bool, optional): whether -1 and 1 are the corner elements' centres; by default, their outer edges.

    Returns:
        Tensor, of shape (N, C, H', W') or (N, C, D', H', W').

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> image, grid = Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), ops.zeros((1, 1, 1, 2))
        >>> print(ops.grid_sample(image, grid))
        [[[[2.5]]]]
    """
    who = "grid_sample"
    require_tensors(who, input=input, grid=grid)
    if align_corners is not None:
        check_bool(align_corners, "align_corners", who)
    check_one_of(mode, ("bilinear", "nearest"), "mode", who)
    check_one_of(padding_mode, ("zeros", "border", "reflection"), "padding_mode", who)
    n = input.ndim - 2
    if n not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != n or grid.shape[0] != input.shape[0]:
        raise ValueError(f"For '{who}', a grid of shape {grid.shape} doesn't fit an input of shape {input.shape}.")
    return _grid_sample(input, grid, mode, padding_mode, bool(align_corners))


@operator(name="AffineGrid")
def _affine_grid(theta, sizes, align_corners):
    lines = []
    for size in sizes:
        line = jnp.linspace(-1.0, 1.0, size, dtype=theta.dtype) if size > 1 else jnp.zeros((1,), theta.dtype)
        lines.append(line if align_corners or size == 1 else line * (size - 1) / size)
    points = jnp.stack([*reversed(jnp.meshgrid(*lines, indexing="ij")), jnp.ones(sizes, theta.dtype)], -1)
    return jnp.einsum("...k,nik->n...i", points, theta)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The grid for `grid_sample` of affine maps.

    Args:
        theta (Tensor): the maps, of shape (N, 2, 3) or (N, 3, 4).
        size (tuple): of the images, (N, C, H, W) or (N, C, D, H, W).
        align_corners (bool): whether -1 and 1 are the corner elements' centres, or their outer edges. Default: False.

    Returns:
        Tensor, of shape (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> theta = Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> print(ops.affine_grid(theta, (1, 1, 1, 2)))
        [[[[-0.5  0. ]
           [ 0.5  0. ]]]]
    """
    sizes = freeze(size)
    check_bool(align_corners, "align_corners", "affine_grid")
    check_kind(size, isinstance(sizes, tuple), "be a tuple", "size", "affine_grid")
    n = len(sizes) - 2
    if n not in (2, 3) or theta.shape != (sizes[0], n, n + 1):
        raise ValueError(f"For 'affine_grid', theta of shape {theta.shape} doesn't fit images of size {sizes}.")
    return _affine_grid(theta, sizes[2:], align_corners)


@operator(3, numbers=("extrapolation",), name="CropAndResize")
def _crop_and_resize(image, boxes, box_indices, crop_size, method, extrapolation):
    height, width = image.shape[1:3]
    places, inside = [], []
    for out, size, low, high in ((crop_size[0], height, 0, 2), (crop_size[1], width, 1, 3)):
        begin, end = boxes[:, low, None], boxes[:, high, None]
        steps = jnp.arange(out, dtype=boxes.dtype)
        if method == "bilinear_v2":
            # The centres of the crop's elements, spread over the box's whole width.
            at = begin * size + (end - begin) * size / out * (steps + 0.5) - 0.5
            places.append(jnp.clip(at, 0, size - 1))
            inside.append((at >= -1) & (at <= size))
            continue
        if out > 1:
            at = begin * (size - 1) + steps * (end - begin) * (size - 1) / (out - 1)
        else:
            at = 0.5 * (begin + end) * (size - 1)
        places.append(at)
        inside.append((at >= 0) & (at <= size - 1))
    crops = jnp.moveaxis(jnp.take(image, box_indices, 0), -1, 1)
    shape = (boxes.shape[0], *crop_size)
    places = [jnp.broadcast_to(places[0][:, :, None], shape), jnp.broadcast_to(places[1][:, None, :], shape)]
    if method == "nearest":
        # Halves away from zero.
        out = gather_points(crops, [jnp.floor(at + 0.5).astype(jnp.int32) for at in places])
    else:
        out = rounded_once(sample_linear, crops, places)
    known = inside[0][:, :, None] & inside[1][:, None, :]
    return jnp.where(known[..., None], jnp.moveaxis(out, 1, -1), jnp.asarray(extrapolation, image.dtype))


def crop_and_resize(
    image: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Sequence[int],
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Parts of images, brought to one size.

    Args:
        image (Tensor): of shape (N, H, W, C).
        boxes (Tensor): of shape (M, 4): (y1, x1, y2, x2), where 0 and 1 are the image's ends.
        box_indices (Tensor): of shape (M,): the image of each box.
        crop_size (tuple): the height and width of the results.
        method (str): "bilinear" (the default), "nearest" or "bilinear_v2".
        extrapolation_value (float): outside of the image. Default: 0.0.

    Returns:
        Tensor, of shape (M, *crop_size, C).

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.
    """
    who = "crop_and_resize"
    for name, value, ndim in (("image", image, 4), ("boxes", boxes, 2), ("box_indices", box_indices, 1)):
        check_type(value, Tensor, name, who)
        check_rank(value, ndim, name, who)
    check_one_of(method, ("bilinear", "nearest", "bilinear_v2"), "method", who)
    return _crop_and_resize(image, boxes, box_indices, freeze(crop_size), method, float(extrapolation_value))
