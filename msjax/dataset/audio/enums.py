"""Options of transforms of sounds."""

from msjax.dataset.enums import Named

__all__ = [
    "BorderType", "FadeShape", "GainType", "Interpolation", "MelType", "Modulation", "NormMode", "NormType", "ResampleMethod", "ScaleType",
    "WindowType",
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
