"""Transforms of images: for `map`, or called on arrays and Pillow images.

What decodes images or changes their colours and angles needs Pillow (``pip install 'msjax[data]'``); the rest only numpy.
"""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.vision.angles import *
from msjax.dataset.vision.chance import *
from msjax.dataset.vision.channels import *
from msjax.dataset.vision.colors import *
from msjax.dataset.vision.enums import *
from msjax.dataset.vision.mixing import *
from msjax.dataset.vision.policies import *
from msjax.dataset.vision.sizes import *
from msjax.dataset.vision.values import *
from msjax.dataset.vision.warps import *

# What MindSpore has beside these, and the base classes of its transforms.
_OTHERS = (
    "BoundingBoxAugment", "DecodeVideo", "ImageReadMode", "MixUp", "SliceMode", "SlicePatches", "VideoDecoder", "*WithBBox", "*Operation",
)  # fmt: skip
_PLACEHOLDERS = dict.fromkeys(_OTHERS, "a function of a numpy array can be given to map in its place.")

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
