"""Options of transforms of images."""

import enum

from msjax.dataset.enums import Named

__all__ = ["Border", "ConvertMode", "ImageBatchFormat", "Inter"]


class Inter(enum.IntEnum):
    """Ways to interpolate between pixels: NEAREST, LINEAR (BILINEAR), CUBIC (BICUBIC), AREA, and Pillow's ANTIALIAS and PILCUBIC.

    Example:
        >>> from msjax.dataset.vision import Inter
        >>> Inter.LINEAR is Inter.BILINEAR
        True
    """

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(Named):
    """What stands beyond an image's edges: CONSTANT, EDGE, REFLECT (without the edge), SYMMETRIC (with it)."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ImageBatchFormat(enum.IntEnum):
    """The layout of a batch of images: NHWC or NCHW.

    Example:
        >>> from msjax.dataset.vision import ImageBatchFormat
        >>> ImageBatchFormat.NHWC.name
        'NHWC'
    """

    NHWC = 0
    NCHW = 1


class ConvertMode(enum.IntEnum):
    """What `ConvertColor` converts into what, such as COLOR_RGB2GRAY.

    Example:
        >>> from msjax.dataset.vision import ConvertMode
        >>> ConvertMode.COLOR_RGB2BGR is ConvertMode.COLOR_BGR2RGB
        True
    """

    COLOR_BGR2BGRA = COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11
