"""Options of transforms of sounds, and matrices that take spectra to mel scales and to cepstra."""

from __future__ import annotations

import numpy as np

from msjax.core.base.errors import describe
from msjax.dataset.checks import check_enum, check_real, check_whole
from msjax.dataset.enums import Named

__all__ = [
    "BorderType", "FadeShape", "GainType", "Interpolation", "MelType", "Modulation", "NormMode", "NormType", "ResampleMethod",
    "ScaleType", "WindowType", "create_dct", "linear_fbanks", "melscale_fbanks",
]  # fmt: skip


class BorderType(Named):
    """What stands beyond the ends of a sound: CONSTANT (zeros), EDGE, REFLECT (without the end itself), SYMMETRIC (with it)."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class FadeShape(Named):
    """How a sound swells: QUARTER_SINE, HALF_SINE, LINEAR, LOGARITHMIC, EXPONENTIAL."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(Named):
    """What a gain is: a factor of the AMPLITUDE or of the POWER, or in decibels (DB)."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(Named):
    """What stands between samples: LINEAR or QUADRATIC."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class Modulation(Named):
    """The wave by which a delay varies: SINUSOIDAL or TRIANGULAR."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class MelType(Named):
    """Which mel scale: HTK or SLANEY."""

    HTK = "htk"
    SLANEY = "slaney"


class NormMode(Named):
    """How a cosine transform is scaled: ORTHO or NONE."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(Named):
    """How mel filters are scaled: SLANEY (to the same area) or NONE."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(Named):
    """The window of the filter that changes a sample rate: SINC_INTERPOLATION (Hann's) or KAISER_WINDOW."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(Named):
    """What a spectrogram holds: POWER or MAGNITUDE."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(Named):
    """The window of a short-time Fourier transform: BARTLETT, BLACKMAN, HAMMING, HANN, KAISER (beta 12)."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"


# ---- matrices


# The mel scale of Slaney: linear to 1000 Hz, 15 mels; logarithmic from there.
_LINEAR, _KNEE, _LOG = 200.0 / 3, 1000.0, np.log(6.4) / 27


def _mels(frequency, kind):
    if kind is MelType.HTK:
        return 2595.0 * np.log10(1.0 + frequency / 700.0)
    return frequency / _LINEAR if frequency < _KNEE else _KNEE / _LINEAR + np.log(frequency / _KNEE) / _LOG


def _frequencies(mels, kind):
    if kind is MelType.HTK:
        return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    return np.where(mels < _KNEE / _LINEAR, _LINEAR * mels, _KNEE * np.exp(_LOG * (mels - _KNEE / _LINEAR)))


def _triangles(frequencies, points):
    """Filters that rise and fall between each three points: (frequencies, filters)."""
    widths = np.diff(points)
    slopes = points[None] - frequencies[:, None]
    return np.maximum(0.0, np.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]))


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: NormType = NormType.NONE,
    mel_type: MelType = MelType.HTK,
) -> np.ndarray:
    """The filters of a mel scale, float32, of (frequencies, mels).

    Args:
        n_freqs (int): the number of frequencies, from 0 to half the sample rate.
        f_min, f_max (float): the range, in Hz.
        n_mels (int): the number of filters.
        sample_rate (int): samples a second.
        norm (NormType): Default: NONE.
        mel_type (MelType): Default: HTK.

    Example:
        >>> audio.melscale_fbanks(9, 0.0, 4000.0, 3, 8000).shape
        (9, 3)
    """
    who = "melscale_fbanks"
    check_whole(n_freqs, "n_freqs", who)
    check_whole(n_mels, "n_mels", who)
    check_whole(sample_rate, "sample_rate", who)
    if not 0 <= check_real(f_min, "f_min", who) < check_real(f_max, "f_max", who):
        raise ValueError(f"For '{who}', 'f_max' should be above 'f_min', {describe(f_min)}, but got {describe(f_max)}.")
    check_enum(norm, NormType, "norm", who)
    check_enum(mel_type, MelType, "mel_type", who)
    points = _frequencies(np.linspace(_mels(f_min, mel_type), _mels(f_max, mel_type), n_mels + 2), mel_type)
    bank = _triangles(np.linspace(0, sample_rate // 2, n_freqs), points)
    if norm is NormType.SLANEY:
        bank *= 2.0 / (points[2:] - points[:-2])
    return bank.astype(np.float32)


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> np.ndarray:
    """Filters that lie at equal distances, float32, of (frequencies, filters); for the arguments, see :func:`melscale_fbanks`.

    Example:
        >>> audio.linear_fbanks(9, 0.0, 4000.0, 3, 8000).shape
        (9, 3)
    """
    for name, value in (("n_freqs", n_freqs), ("n_filter", n_filter), ("sample_rate", sample_rate)):
        check_whole(value, name, "linear_fbanks")
    return _triangles(np.linspace(0, sample_rate // 2, n_freqs), np.linspace(f_min, f_max, n_filter + 2)).astype(np.float32)


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> np.ndarray:
    """The matrix of a cosine transform of type 2, float32, of (mels, coefficients).

    Args:
        n_mfcc (int): the number of coefficients.
        n_mels (int): the number of mels.
        norm (NormMode): Default: NONE.

    Example:
        >>> audio.create_dct(2, 3).shape
        (3, 2)
    """
    check_whole(n_mfcc, "n_mfcc", "create_dct")
    check_whole(n_mels, "n_mels", "create_dct")
    check_enum(norm, NormMode, "norm", "create_dct")
    matrix = np.cos(np.pi / n_mels * np.outer(np.arange(n_mels) + 0.5, np.arange(n_mfcc)))
    if norm is NormMode.NONE:
        return (matrix * 2).astype(np.float32)
    matrix[:, 0] /= np.sqrt(2.0)
    return (matrix * np.sqrt(2.0 / n_mels)).astype(np.float32)
