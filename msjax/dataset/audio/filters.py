"""Recursive filters of sounds, most of them of the second order: what goes out of their range is cut at -1 and 1."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_value
from msjax.dataset.audio.base import AudioTransform
from msjax.dataset.checks import check_numbers, check_real, check_whole

__all__ = [
    "AllpassBiquad", "BandBiquad", "BandpassBiquad", "BandrejectBiquad", "BassBiquad", "Biquad", "DeemphBiquad", "EqualizerBiquad",
    "Filtfilt", "HighpassBiquad", "LFilter", "LowpassBiquad", "RiaaBiquad", "TrebleBiquad",
]  # fmt: skip


def _filtered(sound, b, a, clamp=True):
    from scipy.signal import lfilter

    result: Any = lfilter(np.asarray(b, float) / a[0], np.asarray(a, float) / a[0], sound)
    return np.clip(result, -1.0, 1.0) if clamp else result


class _Filter(AudioTransform):
    _kept = (np.float64, np.float16)


class LFilter(_Filter):
    """A filter of any order, given by its coefficients.

    Args:
        a_coeffs, b_coeffs (Sequence[float]): the coefficients of the output and of the input, the first for the present; as many of both.
        clamp (bool): True cuts the output at -1 and 1. Default: True.

    Example:
        >>> audio.LFilter([1.0, 0.0], [0.5, 0.5])(np.array([1.0, 0.0, 1.0], np.float32))
        array([0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(self, a_coeffs: Sequence[float], b_coeffs: Sequence[float], clamp: bool = True):
        self.a_coeffs = check_numbers(a_coeffs, "a_coeffs", "LFilter")
        self.b_coeffs = check_numbers(b_coeffs, "b_coeffs", "LFilter", n=len(self.a_coeffs))
        self.clamp = check_bool(clamp, "clamp", "LFilter")

    def _sound(self, sound):
        return _filtered(sound, self.b_coeffs, self.a_coeffs, self.clamp)


class Filtfilt(LFilter):
    """A filter that runs forward and then backward, so that no phase changes; for the arguments, see :class:`LFilter`.

    Example:
        >>> audio.Filtfilt([1.0, 0.0], [0.5, 0.5])(np.array([0.0, 1.0, 0.0], np.float32))
        array([0.25, 0.5 , 0.25], dtype=float32)
    """

    def _sound(self, sound):
        forward = _filtered(sound, self.b_coeffs, self.a_coeffs, clamp=False)
        return _filtered(forward[..., ::-1], self.b_coeffs, self.a_coeffs, self.clamp)[..., ::-1]


class Biquad(_Filter):
    """A filter of the second order, given by its coefficients.

    Args:
        b0, b1, b2 (float): the coefficients of the input, of now and of two samples before.
        a0, a1, a2 (float): those of the output.

    Example:
        >>> audio.Biquad(0.5, 0.5, 0.0, 1.0, 0.0, 0.0)(np.array([1.0, 0.0, 1.0], np.float32))
        array([0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(self, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float):
        self._coefficients = [
            check_real(value, name, "Biquad")
            for name, value in zip(("b0", "b1", "b2", "a0", "a1", "a2"), (b0, b1, b2, a0, a1, a2))
        ]
        check_value(a0, a0 != 0, "not be 0", "a0", "Biquad")

    def _sound(self, sound):
        return _filtered(sound, self._coefficients[:3], self._coefficients[3:])


class _Band(_Filter):
    """A filter around a frequency, whose coefficients `_design` gives.

    Args:
        shown (str): the arguments in the example that a subclass's docstring gets.
    """

    def __init_subclass__(cls, shown: str = "8000, 1000.0") -> None:
        if cls.__module__ == __name__ and cls.__doc__ is not None:  # there is none under python -OO
            call = f">>> audio.{cls.__name__}({shown})(np.zeros(4, np.float32)).shape"
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\nExample:\n    {call}\n    (4,)"

    # What the argument is called that is the frequency.
    _frequency = "central_freq"
    # The coefficients of the input and of the output, from the cosine of the frequency and the half width of the band.
    _design: Callable[[Any, Any], tuple[Any, ...]]

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707):
        who = type(self).__name__
        self.sample_rate = check_whole(abs(sample_rate) if isinstance(sample_rate, int) else sample_rate, "sample_rate", who)
        self.frequency = check_real(central_freq, self._frequency, who)
        self.Q = check_real(Q, "Q", who, above=0, high=1)
        self._w = 2 * np.pi * central_freq / sample_rate
        self._alpha = np.sin(self._w) / (2 * Q)

    def _sound(self, sound):
        coefficients = self._design(np.cos(self._w), self._alpha)
        return _filtered(sound, coefficients[:3], coefficients[3:])


class BandBiquad(_Band):
    """Lets the frequencies around one pass, less and less the further away they are.

    Args:
        sample_rate, central_freq, Q: see :class:`AllpassBiquad`.
        noise (bool): True for sounds without pitch, such as drums. Default: False.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707, noise: bool = False):
        super().__init__(sample_rate, central_freq, Q)
        self.noise = check_bool(noise, "noise", "BandBiquad")

    def _design(self, c, alpha):
        a2 = np.exp(-self._w / self.Q)
        a1 = -4 * a2 / (1 + a2) * c
        b0 = np.sqrt(1 - a1**2 / (4 * a2)) * (1 - a2)
        if self.noise:
            b0 = np.sqrt(((1 + a2) ** 2 - a1**2) * (1 - a2) / (1 + a2))
        return b0, 0.0, 0.0, 1.0, a1, a2


class LowpassBiquad(_Band):
    """Lets low frequencies pass.

    Args:
        sample_rate, Q: see :class:`AllpassBiquad`.
        cutoff_freq (float): in Hz.
    """

    _frequency = "cutoff_freq"

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707):
        super().__init__(sample_rate, cutoff_freq, Q)

    def _design(self, c, alpha):
        return (1 - c) / 2, 1 - c, (1 - c) / 2, 1 + alpha, -2 * c, 1 - alpha


class HighpassBiquad(LowpassBiquad):
    """Lets high frequencies pass; for the arguments, see :class:`LowpassBiquad`."""

    def _design(self, c, alpha):
        return (1 + c) / 2, -1 - c, (1 + c) / 2, 1 + alpha, -2 * c, 1 - alpha


class AllpassBiquad(_Band):
    """Changes phases only.

    Args:
        sample_rate (int): samples a second.
        central_freq (float): in Hz.
        Q (float): the quality, in (0, 1]. Default: 0.707.
    """

    def _design(self, c, alpha):
        return 1 - alpha, -2 * c, 1 + alpha, 1 + alpha, -2 * c, 1 - alpha


class BandpassBiquad(_Band):
    """Lets a band of frequencies pass; `const_skirt_gain` makes the gain at its centre `Q`. For the others, see :class:`AllpassBiquad`."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707, const_skirt_gain: bool = False):
        super().__init__(sample_rate, central_freq, Q)
        self.const_skirt_gain = check_bool(const_skirt_gain, "const_skirt_gain", "BandpassBiquad")

    def _design(self, c, alpha):
        top = np.sin(self._w) / 2 if self.const_skirt_gain else alpha
        return top, 0.0, -top, 1 + alpha, -2 * c, 1 - alpha


class BandrejectBiquad(_Band):
    """Takes a band of frequencies away; for the arguments, see :class:`AllpassBiquad`."""

    def _design(self, c, alpha):
        return 1.0, -2 * c, 1.0, 1 + alpha, -2 * c, 1 - alpha


class EqualizerBiquad(_Band, shown="8000, 1000.0, 3.0"):
    """Raises or lowers a band of frequencies.

    Args:
        sample_rate, Q: see :class:`AllpassBiquad`.
        center_freq (float): in Hz.
        gain (float): in dB.
    """

    _frequency = "center_freq"

    def __init__(self, sample_rate: int, center_freq: float, gain: float, Q: float = 0.707):
        super().__init__(sample_rate, center_freq, Q)
        self.gain = check_real(gain, "gain", "EqualizerBiquad")

    def _design(self, c, alpha):
        a = np.exp(self.gain / 40 * np.log(10))
        return 1 + alpha * a, -2 * c, 1 - alpha * a, 1 + alpha / a, -2 * c, 1 - alpha / a


class BassBiquad(_Band, shown="8000, 3.0"):
    """Raises or lowers the low frequencies.

    Args:
        sample_rate, Q: see :class:`AllpassBiquad`.
        gain (float): in dB.
        central_freq (float): in Hz. Default: 100.0.
    """

    _sign = 1

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 100.0, Q: float = 0.707):
        super().__init__(sample_rate, central_freq, Q)
        self.gain = check_real(gain, "gain", type(self).__name__)

    def _design(self, c, alpha):
        a, sign = np.exp(self.gain / 40 * np.log(10)), self._sign
        slope, up, down = 2 * np.sqrt(a) * alpha, (a + 1), sign * (a - 1)
        top = a * (up - down * c + slope), sign * 2 * a * ((a - 1) - sign * up * c), a * (up - down * c - slope)
        return *top, up + down * c + slope, -sign * 2 * ((a - 1) + sign * up * c), up + down * c - slope


class TrebleBiquad(BassBiquad, shown="8000, 3.0"):
    """Raises or lowers the high frequencies; for the arguments, see :class:`BassBiquad`. `central_freq` is 3000 by default."""

    _sign = -1

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 3000, Q: float = 0.707):
        super().__init__(sample_rate, gain, central_freq, Q)


# For each sample rate, the frequency, the slope and the gain of the shelf that compact discs are recorded against.
_DEEMPHASIS = {44100: (5283.0, 0.4845, -9.477), 48000: (5356.0, 0.479, -9.62)}


class DeemphBiquad(TrebleBiquad, shown="44100"):
    """Undoes the emphasis of compact discs, whose `sample_rate` is 44100 or 48000."""

    def __init__(self, sample_rate: int):
        check_value(sample_rate, sample_rate in _DEEMPHASIS, f"be one of {list(_DEEMPHASIS)}", "sample_rate", "DeemphBiquad")
        frequency, slope, gain = _DEEMPHASIS[sample_rate]
        super().__init__(sample_rate, gain, frequency)
        a = 10.0 ** (gain / 40)
        self._alpha = np.sin(self._w) / 2 * np.sqrt((a + 1 / a) * (1 / slope - 1) + 2)


# For each sample rate, the zeros and the poles of the curve that records are cut with.
_RIAA = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


class RiaaBiquad(_Filter):
    """Undoes the curve that records are cut with; `sample_rate` is 44100, 48000, 88200 or 96000.

    Example:
        >>> audio.RiaaBiquad(44100)(np.zeros(4, np.float32)).shape
        (4,)
    """

    def __init__(self, sample_rate: int):
        check_value(sample_rate, sample_rate in _RIAA, f"be one of {list(_RIAA)}", "sample_rate", "RiaaBiquad")
        self.sample_rate = sample_rate

    def _sound(self, sound):
        zeros, poles = _RIAA[self.sample_rate]
        b, a = np.poly(zeros), np.poly(poles)
        turn = np.exp(-2j * np.pi * 1000 / self.sample_rate * np.arange(3))  # the gain at 1000 Hz becomes 1
        return _filtered(sound, b * abs((a * turn).sum() / (b * turn).sum()), a)
