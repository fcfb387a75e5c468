"""Transforms of images: for `map`, or called on arrays and Pillow images.

What decodes images or changes their colours and angles needs Pillow (``pip install msjax[data]``); the rest only numpy.
"""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.vision.angles import (
    Affine as Affine,
    HorizontalFlip as HorizontalFlip,
    RandomAffine as RandomAffine,
    RandomHorizontalFlip as RandomHorizontalFlip,
    RandomRotation as RandomRotation,
    RandomVerticalFlip as RandomVerticalFlip,
    Rotate as Rotate,
    VerticalFlip as VerticalFlip,
)
from msjax.dataset.vision.chance import (
    RandomAutoContrast as RandomAutoContrast,
    RandomColor as RandomColor,
    RandomColorAdjust as RandomColorAdjust,
    RandomEqualize as RandomEqualize,
    RandomGrayscale as RandomGrayscale,
    RandomInvert as RandomInvert,
    RandomPosterize as RandomPosterize,
    RandomSelectSubpolicy as RandomSelectSubpolicy,
    RandomSharpness as RandomSharpness,
    RandomSolarize as RandomSolarize,
)
from msjax.dataset.vision.channels import (
    ConvertColor as ConvertColor,
    Grayscale as Grayscale,
    HsvToRgb as HsvToRgb,
    RgbToHsv as RgbToHsv,
)
from msjax.dataset.vision.colors import (
    AdjustBrightness as AdjustBrightness,
    AdjustContrast as AdjustContrast,
    AdjustGamma as AdjustGamma,
    AdjustHue as AdjustHue,
    AdjustSaturation as AdjustSaturation,
    AdjustSharpness as AdjustSharpness,
    AutoContrast as AutoContrast,
    Equalize as Equalize,
    GaussianBlur as GaussianBlur,
    Invert as Invert,
    Posterize as Posterize,
    Solarize as Solarize,
)
from msjax.dataset.vision.enums import (
    Border as Border,
    ConvertMode as ConvertMode,
    ImageBatchFormat as ImageBatchFormat,
    Inter as Inter,
)
from msjax.dataset.vision.mixing import (
    CutMixBatch as CutMixBatch,
    CutOut as CutOut,
    MixUpBatch as MixUpBatch,
    RandomErasing as RandomErasing,
)
from msjax.dataset.vision.policies import (
    AutoAugment as AutoAugment,
    AutoAugmentPolicy as AutoAugmentPolicy,
    RandAugment as RandAugment,
    RandomAdjustSharpness as RandomAdjustSharpness,
    TrivialAugmentWide as TrivialAugmentWide,
    UniformAugment as UniformAugment,
)
from msjax.dataset.vision.several import FiveCrop as FiveCrop, TenCrop as TenCrop
from msjax.dataset.vision.sizes import (
    CenterCrop as CenterCrop,
    Crop as Crop,
    Pad as Pad,
    PadToSize as PadToSize,
    RandomCrop as RandomCrop,
    RandomCropDecodeResize as RandomCropDecodeResize,
    RandomResize as RandomResize,
    RandomResizedCrop as RandomResizedCrop,
    Resize as Resize,
    ResizedCrop as ResizedCrop,
)
from msjax.dataset.vision.values import (
    HWC2CHW as HWC2CHW,
    Decode as Decode,
    Normalize as Normalize,
    NormalizePad as NormalizePad,
    Rescale as Rescale,
    ToNumpy as ToNumpy,
    ToPIL as ToPIL,
    ToTensor as ToTensor,
    ToType as ToType,
)

# What MindSpore has beside these, and the base classes of its transforms.
_OTHERS = (
    "BoundingBoxAugment", "DecodeVideo", "Erase", "ImageReadMode",
    "LinearTransformation", "MixUp", "Perspective", "RandomLighting", "RandomPerspective",
    "SliceMode", "SlicePatches", "VideoDecoder", "*WithBBox", "*Operation",
)  # fmt: skip
_PLACEHOLDERS = dict.fromkeys(_OTHERS, "a function of a numpy array can be given to map in its place.")

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
