"""Options and matrices of transforms of sounds, under the name that MindSpore has for them."""

from msjax.dataset.audio.enums import (
    BorderType as BorderType,
    FadeShape as FadeShape,
    GainType as GainType,
    MelType as MelType,
    NormMode as NormMode,
    NormType as NormType,
    ResampleMethod as ResampleMethod,
    ScaleType as ScaleType,
    WindowType as WindowType,
)
from msjax.dataset.audio.filter_banks import (
    create_dct as create_dct,
    linear_fbanks as linear_fbanks,
    melscale_fbanks as melscale_fbanks,
)
