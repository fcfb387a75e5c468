"""Options of transforms of sounds."""

from msjax.dataset.enums import Named

__all__ = ["BorderType", "FadeShape", "GainType", "MelType", "NormMode", "NormType", "ResampleMethod", "ScaleType", "WindowType"]


class BorderType(Named):
    """What stands beyond the ends of a sound: CONSTANT (zeros), EDGE, REFLECT (without the end itself), SYMMETRIC (with it).

    Example:
        >>> from msjax.dataset.audio import BorderType
        >>> BorderType.REFLECT.value
        'reflect'
    """

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class FadeShape(Named):
    """How a sound swells: QUARTER_SINE, HALF_SINE, LINEAR, LOGARITHMIC, EXPONENTIAL.

    Example:
        >>> from msjax.dataset.audio import FadeShape
        >>> FadeShape.LINEAR.value
        'linear'
    """

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(Named):
    """What a gain is: a factor of the AMPLITUDE or of the POWER, or in decibels (DB).

    Example:
        >>> from msjax.dataset.audio import GainType
        >>> GainType.DB.value
        'db'
    """

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class MelType(Named):
    """Which mel scale: HTK or SLANEY.

    Example:
        >>> from msjax.dataset.audio import MelType
        >>> MelType.HTK.value
        'htk'
    """

    HTK = "htk"
    SLANEY = "slaney"


class NormMode(Named):
    """How a cosine transform is scaled: ORTHO or NONE.

    Example:
        >>> from msjax.dataset.audio import NormMode
        >>> NormMode.ORTHO.value
        'ortho'
    """

    ORTHO = "ortho"
    NONE = "none"


class NormType(Named):
    """How mel filters are scaled: SLANEY (to the same area) or NONE.

    Example:
        >>> from msjax.dataset.audio import NormType
        >>> NormType.NONE.value
        'none'
    """

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(Named):
    """The window of the filter that changes a sample rate: SINC_INTERPOLATION (Hann's) or KAISER_WINDOW.

    Example:
        >>> from msjax.dataset.audio import ResampleMethod
        >>> ResampleMethod.SINC_INTERPOLATION.value
        'sinc_interpolation'
    """

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(Named):
    """What a spectrogram holds: POWER or MAGNITUDE.

    Example:
        >>> from msjax.dataset.audio import ScaleType
        >>> ScaleType.POWER.value
        'power'
    """

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(Named):
    """The window of a short-time Fourier transform: BARTLETT, BLACKMAN, HAMMING, HANN, KAISER (beta 12).

    Example:
        >>> from msjax.dataset.audio import WindowType
        >>> WindowType.HANN.value
        'hann'
    """

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"
