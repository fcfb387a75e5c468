"""In the place of MindSpore's transforms of images, which msjax lacks; the names of their options are there."""

import enum
from typing import TYPE_CHECKING

from msjax.lazy import NO_DATA, class_placeholders


class Inter(enum.IntEnum):
    """Ways to interpolate between pixels."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(enum.StrEnum):
    """What stands beyond an image's edges."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, NO_DATA)
