"""Operator classes on colors (hue, saturation) and on data formats."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_rank, check_value
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.primitive import Form, OfX

__all__ = [
    "RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation", "DataFormatDimMap", "DataFormatVecPermute",
]  # fmt: skip


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
    return np.array([target.index(axis) for axis in source]), np.array([source.index(axis) for axis in target])


@operator(name="DataFormatDimMap", differentiable=False, tensors=True)
def _dim_map(x: TensorLike, src_format: str, dst_format: str) -> JaxArray:
    """Numbers of axes in one data format as those in another."""
    return jnp.asarray(_places(src_format, dst_format, "DataFormatDimMap")[1], x.dtype)[jnp.mod(x, 4)]


@operator(name="DataFormatVecPermute", differentiable=False, tensors=True)
def _vec_permute(x: TensorLike, src_format: str, dst_format: str) -> JaxArray:
    """A value for each axis, (4,) or (4, 2), in the order of another data format."""
    if x.shape not in ((4,), (4, 2)):
        raise ValueError(f"the shape should be (4,) or (4, 2), but is {x.shape}.")
    return x[_places(src_format, dst_format, "DataFormatVecPermute")[1]]


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
