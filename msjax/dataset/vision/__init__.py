"""Transforms of images: for `map`, or called on arrays and Pillow images.

What decodes images or changes their colours and angles needs Pillow (``pip install msjax[data]``); the rest only numpy.
"""

from typing import TYPE_CHECKING

from msjax.dataset.vision.angles import (
    Affine,
    HorizontalFlip,
    RandomAffine,
    RandomHorizontalFlip,
    RandomRotation,
    RandomVerticalFlip,
    Rotate,
    VerticalFlip,
)
from msjax.dataset.vision.chance import (
    CutMixBatch,
    CutOut,
    MixUpBatch,
    RandomAutoContrast,
    RandomColor,
    RandomColorAdjust,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
)
from msjax.dataset.vision.channels import ConvertColor, Grayscale, HsvToRgb, RgbToHsv
from msjax.dataset.vision.colors import (
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    AutoContrast,
    Equalize,
    GaussianBlur,
    Invert,
    Posterize,
    Solarize,
)
from msjax.dataset.vision.enums import Border, ConvertMode, ImageBatchFormat, Inter
from msjax.dataset.vision.sizes import (
    CenterCrop,
    Crop,
    Pad,
    PadToSize,
    RandomCrop,
    RandomCropDecodeResize,
    RandomResize,
    RandomResizedCrop,
    Resize,
    ResizedCrop,
)
from msjax.dataset.vision.values import HWC2CHW, Decode, Normalize, NormalizePad, Rescale, ToNumpy, ToPIL, ToTensor, ToType
from msjax.lazy import class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, "a function of a numpy array can be given to map in its place.")
