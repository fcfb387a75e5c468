"""Transforms of sounds: for `map`, or called on arrays of (..., time) and spectrograms of (..., frequency, time)."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.audio import utils as utils
from msjax.dataset.audio.effects import (
    ComputeDeltas as ComputeDeltas,
    Contrast as Contrast,
    DCShift as DCShift,
    Fade as Fade,
    FrequencyMasking as FrequencyMasking,
    Gain as Gain,
    MuLawDecoding as MuLawDecoding,
    MuLawEncoding as MuLawEncoding,
    Resample as Resample,
    SlidingWindowCmn as SlidingWindowCmn,
    TimeMasking as TimeMasking,
    Vol as Vol,
)
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
from msjax.dataset.audio.filters import (
    AllpassBiquad as AllpassBiquad,
    BandBiquad as BandBiquad,
    BandpassBiquad as BandpassBiquad,
    BandrejectBiquad as BandrejectBiquad,
    BassBiquad as BassBiquad,
    Biquad as Biquad,
    EqualizerBiquad as EqualizerBiquad,
    HighpassBiquad as HighpassBiquad,
    LFilter as LFilter,
    LowpassBiquad as LowpassBiquad,
    RiaaBiquad as RiaaBiquad,
    TrebleBiquad as TrebleBiquad,
)
from msjax.dataset.audio.phases import (
    InverseSpectrogram as InverseSpectrogram,
    PhaseVocoder as PhaseVocoder,
    PitchShift as PitchShift,
    TimeStretch as TimeStretch,
)
from msjax.dataset.audio.spectra import (
    MFCC as MFCC,
    AmplitudeToDB as AmplitudeToDB,
    Angle as Angle,
    ComplexNorm as ComplexNorm,
    DBToAmplitude as DBToAmplitude,
    Magphase as Magphase,
    MelScale as MelScale,
    MelSpectrogram as MelSpectrogram,
    SpectralCentroid as SpectralCentroid,
    Spectrogram as Spectrogram,
)

_PLACEHOLDERS = {"[A-Z]*": "a function of numpy arrays does for `map` what a transform does."}

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
