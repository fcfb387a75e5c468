"""Spectra of complex numbers, whose parts are the last dimension: stretched in time, and back to sounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_type, check_value
from msjax.dataset.audio.base import AudioTransform
from msjax.dataset.audio.effects import Resample
from msjax.dataset.audio.spectra import Spectrogram
from msjax.dataset.audio.utils import BorderType, WindowType
from msjax.dataset.checks import check_data, check_real, check_whole
from msjax.dataset.run import row_rng

__all__ = ["GriffinLim", "InverseSpectrogram", "PhaseVocoder", "PitchShift", "TimeStretch"]


def _stretched(spectrum: np.ndarray, rate: float, advance: np.ndarray) -> np.ndarray:
    """A complex spectrum, (..., frequency, time), that goes `rate` times as fast; `advance` is the phase of a step, (frequency, 1)."""
    times = np.arange(0, spectrum.shape[-1], rate)
    part, padded = times % 1, np.pad(spectrum, [(0, 0)] * (spectrum.ndim - 1) + [(0, 2)])
    before, after = padded[..., times.astype(int)], padded[..., times.astype(int) + 1]
    turn = np.angle(after) - np.angle(before) - advance
    turn = turn - 2 * np.pi * np.round(turn / (2 * np.pi)) + advance
    phases = np.cumsum(np.concatenate([np.angle(spectrum[..., :1]), turn[..., :-1]], -1), -1)
    return (part * np.abs(after) + (1 - part) * np.abs(before)) * np.exp(1j * phases)


def _advances(hop_length: int, n_freq: int) -> np.ndarray:
    return np.linspace(0, np.pi * hop_length, n_freq)[:, None]


class _OfComplex(AudioTransform):
    """The base of transforms of (..., frequency, time, 2)."""

    _least = 3
    _of: Callable[[np.ndarray], np.ndarray]

    def _sound(self, sound):
        should = "the input should be of shape (..., frequency, time, 2), real and imaginary parts"
        check_data(sound, sound.shape[-1] == 2, should, type(self).__name__)
        result: Any = self._of(sound[..., 0] + 1j * sound[..., 1])
        return np.stack([result.real, result.imag], -1) if np.iscomplexobj(result) else result


class PhaseVocoder(_OfComplex):
    """Stretches a spectrum in time, without changes of pitch: (..., frequency, time, 2) to (..., frequency, time / rate, 2).

    Args:
        rate (float): how many times as fast it goes.
        phase_advance (numpy.ndarray): by how much the phase of each frequency turns in a step, of shape (frequency, 1).

    Example:
        >>> audio.PhaseVocoder(2.0, np.zeros((3, 1), np.float32))(np.ones((3, 8, 2), np.float32)).shape
        (3, 4, 2)
    """

    def __init__(self, rate: float, phase_advance: np.ndarray):
        self.rate = check_real(rate, "rate", "PhaseVocoder", above=0)
        self.phase_advance = check_type(phase_advance, np.ndarray, "phase_advance", "PhaseVocoder")

    def _of(self, spectrum):
        shape = (spectrum.shape[-2], 1)
        advance = self.phase_advance
        check_data(advance, advance.shape == shape, f"'phase_advance' should be of shape {shape}", "PhaseVocoder")
        return _stretched(spectrum, self.rate, self.phase_advance.astype(np.float64))


class TimeStretch(_OfComplex):
    """Stretches a spectrum in time, without changes of pitch: (..., frequency, time, 2) to (..., frequency, time / rate, 2).

    Args:
        hop_length (int, optional): from one frame to the next. Default: `n_freq` - 1.
        n_freq (int): the number of frequencies. Default: 201.
        fixed_rate (float, optional): how many times as fast it goes. Default: 1.0.

    Example:
        >>> audio.TimeStretch(n_freq=3, fixed_rate=2.0)(np.ones((3, 8, 2), np.float32)).shape
        (3, 4, 2)
    """

    def __init__(self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None):
        self.n_freq = check_whole(n_freq, "n_freq", "TimeStretch")
        self.hop_length = n_freq - 1 if hop_length is None else check_whole(hop_length, "hop_length", "TimeStretch")
        self.fixed_rate = 1.0 if fixed_rate is None else check_real(fixed_rate, "fixed_rate", "TimeStretch", above=0)

    def _of(self, spectrum):
        if spectrum.shape[-2] != self.n_freq:
            raise RuntimeError(f"TimeStretch: the spectrum should have {self.n_freq} frequencies, but has {spectrum.shape[-2]}.")
        return (
            spectrum if self.fixed_rate == 1 else _stretched(spectrum, self.fixed_rate, _advances(self.hop_length, self.n_freq))
        )


class InverseSpectrogram(_OfComplex):
    """The sound of a spectrum: (..., frequency, time, 2) to (..., time).

    Args:
        length (int, optional): the length of the sound. Default: as long as the frames are.
        n_fft, win_length, hop_length, pad, window, normalized, center, pad_mode, onesided: those with which `Spectrogram` made it.

    Example:
        >>> sound = np.sin(np.arange(64))
        >>> spectrum = audio.Spectrogram(n_fft=16, power=0)(sound)
        >>> bool(np.allclose(audio.InverseSpectrogram(64, n_fft=16)(spectrum), sound))
        True
    """

    def __init__(
        self, length: int | None = None, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None, pad: int = 0,
        window: WindowType = WindowType.HANN, normalized: bool = False, center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
    ):  # fmt: skip
        who = "InverseSpectrogram"
        self.length = 0 if length is None else check_whole(length, "length", who, low=0)
        self._form = Spectrogram(
            n_fft, win_length, hop_length, pad, window, normalized=normalized, center=center, pad_mode=pad_mode, onesided=onesided
        )

    def _of(self, spectrum):
        sound = self._form.sound_of(spectrum, self.length + 2 * self._form.pad if self.length else 0)
        pad = self._form.pad
        return sound[..., pad : sound.shape[-1] - pad]


class PitchShift(AudioTransform):
    """Changes the pitch, and not the length: (..., time) to the same shape.

    Args:
        sample_rate (int): samples a second.
        n_steps (int): by how many steps it is higher.
        bins_per_octave (int): the steps of an octave; not 0. Default: 12.
        n_fft (int): points of a Fourier transform. Default: 512.
        win_length (int, optional): the window's length. Default: that of the transform.
        hop_length (int, optional): from one frame to the next. Default: a quarter of the window.
        window (WindowType): Default: HANN.

    Example:
        >>> audio.PitchShift(8000, 4)(np.sin(np.arange(1024))).shape
        (1024,)
    """

    def __init__(
        self, sample_rate: int, n_steps: int, bins_per_octave: int = 12, n_fft: int = 512, win_length: int | None = None,
        hop_length: int | None = None, window: WindowType = WindowType.HANN,
    ):  # fmt: skip
        self.sample_rate = check_whole(sample_rate, "sample_rate", "PitchShift", low=0)
        steps = check_int(n_steps, "n_steps", "PitchShift")
        bins = check_int(bins_per_octave, "bins_per_octave", "PitchShift")
        check_value(bins, bins != 0, "not be 0", "bins_per_octave", "PitchShift")
        hop = (n_fft if win_length is None else win_length) // 4 if hop_length is None else hop_length
        self._form = Spectrogram(n_fft, win_length, hop, window=window, power=0)
        self._rate = 2.0 ** (-steps / bins)

    def _sound(self, sound):
        length, form = sound.shape[-1], self._form
        spectrum = _stretched(form.spectrum(sound), self._rate, _advances(form.hop_length, form.n_fft // 2 + 1))
        stretched = form.sound_of(spectrum, round(length / self._rate))
        shifted = Resample(int(self.sample_rate / self._rate), self.sample_rate)._sound(stretched)[..., :length]
        return np.pad(shifted, [(0, 0)] * (sound.ndim - 1) + [(0, length - shifted.shape[-1])])


class GriffinLim(AudioTransform):
    """A sound with a spectrogram, whose phases are found step by step: (..., frequency, frames) to (..., time).

    Args:
        n_fft (int): points of a Fourier transform. Default: 400.
        n_iter (int): the number of steps. Default: 32.
        win_length, hop_length (int, optional), window_type (WindowType): as of :class:`Spectrogram`.
        power (float): the exponent of the magnitudes. Default: 2.0.
        momentum (float): of the steps. Default: 0.99.
        length (int, optional): the length of the sound. Default: as long as the frames are.
        rand_init (bool): True begins with random phases, False with zeros. Default: True.

    Example:
        >>> audio.GriffinLim(16, n_iter=2)(np.ones((9, 5), np.float32)).shape
        (32,)
    """

    _least = 2

    def __init__(
        self, n_fft: int = 400, n_iter: int = 32, win_length: int | None = None, hop_length: int | None = None,
        window_type: WindowType = WindowType.HANN, power: float = 2.0, momentum: float = 0.99, length: int | None = None,
        rand_init: bool = True,
    ):  # fmt: skip
        self._n_iter = check_whole(n_iter, "n_iter", "GriffinLim")
        self._power = check_real(power, "power", "GriffinLim", above=0)
        self._momentum = check_real(momentum, "momentum", "GriffinLim", low=0)
        self._length = 0 if length is None else check_whole(length, "length", "GriffinLim", low=0)
        self._rand_init = check_bool(rand_init, "rand_init", "GriffinLim")
        self._form = Spectrogram(n_fft, win_length, hop_length, window=window_type, power=0)

    def _sound(self, sound):
        magnitudes, form = sound ** (1 / self._power), self._form
        turns = np.exp(2j * np.pi * row_rng().uniform(size=sound.shape)) if self._rand_init else np.ones(sound.shape, complex)
        before: Any = 0.0
        for _ in range(self._n_iter):
            found = form.spectrum(form.sound_of(magnitudes * turns, 0))
            ahead = found + self._momentum / (1 + self._momentum) * (found - before)
            turns, before = ahead / (np.abs(ahead) + 1e-16), found
        return form.sound_of(magnitudes * turns, self._length)
