"""Spectra of sounds, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_float, check_value
from msjax.dataset.audio import utils
from msjax.dataset.audio.base import AudioTransform
from msjax.dataset.audio.utils import BorderType, MelType, NormMode, NormType, ScaleType, WindowType
from msjax.dataset.checks import check_data, check_enum, check_real, check_whole

__all__ = [
    "AmplitudeToDB", "Angle", "ComplexNorm", "DBToAmplitude", "LFCC", "MFCC", "Magphase", "MelScale", "MelSpectrogram",
    "SpectralCentroid", "Spectrogram",
]  # fmt: skip


def _window(kind: WindowType, length: int) -> np.ndarray:
    """A periodic window."""
    made = {"bartlett": np.bartlett, "blackman": np.blackman, "hamming": np.hamming, "hann": np.hanning}
    return (np.kaiser(length + 1, 12.0) if kind is WindowType.KAISER else made[kind.value](length + 1))[:-1]


class Spectrogram(AudioTransform):
    """The spectrogram of a sound: (..., time) to (..., frequency, frames).

    Args:
        n_fft (int): points of a Fourier transform. Default: 400.
        win_length (int, optional): the window's length. Default: that of the transform.
        hop_length (int, optional): from one frame to the next. Default: half a window.
        pad (int): zeros before and after the sound. Default: 0.
        window (WindowType): Default: HANN.
        power (float): the exponent of the magnitude; 0 gives complex numbers, real and imaginary parts in the last dimension. Default: 2.
        normalized (bool): True divides by the window's norm. Default: False.
        center (bool): True puts frames around their times. Default: True.
        pad_mode (BorderType): what stands beyond the ends then. Default: REFLECT.
        onesided (bool): True leaves out the mirrored half. Default: True.

    Example:
        >>> audio.Spectrogram(n_fft=16)(np.zeros(64, np.float32)).shape
        (9, 9)
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window: WindowType = WindowType.HANN,
        power: float = 2.0,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ):
        who = type(self).__name__
        self.n_fft = check_whole(n_fft, "n_fft", who)
        self.win_length = self.n_fft if win_length is None else check_whole(win_length, "win_length", who)
        self.hop_length = self.win_length // 2 if hop_length is None else check_whole(hop_length, "hop_length", who)
        check_value(win_length, self.win_length <= self.n_fft, f"not be above 'n_fft', {n_fft}", "win_length", who)
        self.pad = check_whole(pad, "pad", who, low=0)
        self.window = check_enum(window, WindowType, "window", who)
        self.power = check_real(power, "power", who, low=0)
        self.normalized = check_bool(normalized, "normalized", who)
        self.center = check_bool(center, "center", who)
        self.pad_mode = check_enum(pad_mode, BorderType, "pad_mode", who)
        self.onesided = check_bool(onesided, "onesided", who)

    def _sound(self, sound):
        spectrum = self.spectrum(sound)
        if self.power == 0:
            return np.stack([spectrum.real, spectrum.imag], -1)
        return np.abs(spectrum) ** self.power

    def spectrum(self, sound: np.ndarray) -> Any:
        """The complex numbers, of (..., frequency, frames)."""
        ends = [(0, 0)] * (sound.ndim - 1)
        if self.pad:
            sound = np.pad(sound, [*ends, (self.pad, self.pad)])
        if self.center:
            sound = np.pad(sound, [*ends, (self.n_fft // 2, self.n_fft // 2)], mode=self.pad_mode.value)
        fits = sound.shape[-1] >= self.n_fft
        check_data(sound, fits, f"the sound should have n_fft, {self.n_fft}, samples", type(self).__name__)
        window = self._padded_window()
        frames = np.lib.stride_tricks.sliding_window_view(sound, self.n_fft, axis=-1)[..., :: self.hop_length, :] * window
        spectrum = (np.fft.rfft if self.onesided else np.fft.fft)(frames)
        if self.normalized:
            spectrum /= np.sqrt((window**2).sum())
        return np.swapaxes(spectrum, -1, -2)

    def sound_of(self, spectrum: np.ndarray, length: int) -> np.ndarray:
        """The sound of a spectrum, by overlapping frames; cut or filled with zeros to a length, unless that is 0."""
        window = self._padded_window()
        bins = self.n_fft // 2 + 1 if self.onesided else self.n_fft
        fits, should = spectrum.shape[-2] == bins, f"the spectrum should have {bins} frequencies, for n_fft={self.n_fft}"
        check_data(spectrum, fits, should, type(self).__name__)
        spectrum = np.swapaxes(spectrum, -1, -2) * (np.sqrt((window**2).sum()) if self.normalized else 1)
        frames = np.fft.irfft(spectrum, self.n_fft) if self.onesided else np.fft.ifft(spectrum).real
        count = frames.shape[-2]
        sound = np.zeros((*frames.shape[:-2], self.n_fft + self.hop_length * (count - 1)))
        weights = np.zeros(sound.shape[-1])
        for number in range(count):
            place = slice(number * self.hop_length, number * self.hop_length + self.n_fft)
            sound[..., place] += frames[..., number, :] * window
            weights[place] += window**2
        ends = self.n_fft // 2 if self.center else 0
        end = ends + length if length else sound.shape[-1] - ends
        sound, weights = sound[..., ends:end], weights[ends:end]
        sound = np.divide(sound, weights, out=np.zeros_like(sound), where=weights > 1e-11)
        return np.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(0, max(length - sound.shape[-1], 0))])

    def _padded_window(self) -> np.ndarray:
        window = np.zeros(self.n_fft)
        begin = (self.n_fft - self.win_length) // 2
        window[begin : begin + self.win_length] = _window(self.window, self.win_length)
        return window


class SpectralCentroid(AudioTransform):
    """The mean frequency of each frame, in Hz: (..., time) to (..., 1, frames).

    Args:
        sample_rate (int): samples a second.
        n_fft, win_length, hop_length, pad, window: see :class:`Spectrogram`.

    Example:
        >>> audio.SpectralCentroid(8000, n_fft=16)(np.ones(64, np.float32)).shape
        (1, 9)
    """

    def __init__(
        self,
        sample_rate: int,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window: WindowType = WindowType.HANN,
    ):
        self.sample_rate = check_whole(sample_rate, "sample_rate", "SpectralCentroid")
        self._spectrogram = Spectrogram(n_fft, win_length, hop_length, pad, window, power=1.0)

    def _sound(self, sound):
        magnitudes = np.abs(self._spectrogram.spectrum(sound))
        frequencies = np.linspace(0, self.sample_rate // 2, magnitudes.shape[-2])[:, None]
        with np.errstate(invalid="ignore"):
            return (frequencies * magnitudes).sum(-2, keepdims=True) / magnitudes.sum(-2, keepdims=True)


class MelScale(AudioTransform):
    """A spectrogram on a mel scale: (..., frequency, time) to (..., mels, time).

    Args:
        n_mels (int): the number of filters. Default: 128.
        sample_rate (int): samples a second. Default: 16000.
        f_min, f_max (float): the range, in Hz; without `f_max` to half the sample rate. Default: 0.0, None.
        n_stft (int): the number of frequencies in the spectrogram. Default: 201.
        norm (NormType): Default: NONE.
        mel_type (MelType): Default: HTK.

    Example:
        >>> audio.MelScale(n_mels=4, n_stft=9)(np.ones((9, 5), np.float32)).shape
        (4, 5)
    """

    _least = 2

    def __init__(
        self,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_stft: int = 201,
        norm: NormType = NormType.NONE,
        mel_type: MelType = MelType.HTK,
    ):
        top = sample_rate // 2 if f_max is None else f_max
        self.n_stft = n_stft
        self._bank = utils.melscale_fbanks(n_stft, f_min, float(top), n_mels, sample_rate, norm, mel_type).astype(np.float64)

    def _sound(self, sound):
        if sound.shape[-2] != self.n_stft:
            raise RuntimeError(f"MelScale: the spectrogram should have {self.n_stft} frequencies, but is of shape {sound.shape}.")
        return np.einsum("...ft,fm->...mt", sound, self._bank)


class MelSpectrogram(AudioTransform):
    """A spectrogram on a mel scale of a sound: (..., time) to (..., mels, frames).

    Args:
        sample_rate (int): samples a second. Default: 16000.
        n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided: see :class:`Spectrogram`.
        f_min, f_max, n_mels, norm, mel_scale: see :class:`MelScale`.

    Example:
        >>> audio.MelSpectrogram(n_fft=16, n_mels=4)(np.zeros(64, np.float32)).shape
        (4, 9)
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        pad: int = 0,
        n_mels: int = 128,
        window: WindowType = WindowType.HANN,
        power: float = 2.0,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
        norm: NormType = NormType.NONE,
        mel_scale: MelType = MelType.HTK,
    ):
        self._spectrogram = Spectrogram(n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided)
        self._mels = MelScale(n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1 if onesided else n_fft, norm, mel_scale)

    def _sound(self, sound):
        return self._mels._sound(self._spectrogram._sound(sound))


class AmplitudeToDB(AudioTransform):
    """Powers or magnitudes in decibels.

    Args:
        stype (ScaleType): what the input is. Default: POWER.
        ref_value (float): what 0 dB is. Default: 1.0.
        amin (float): the least value. Default: 1e-10.
        top_db (float): what lies further below the largest value is raised to there. Default: 80.0.

    Example:
        >>> audio.AmplitudeToDB()(np.array([[1.0, 100.0]], np.float32))
        array([[ 0., 20.]], dtype=float32)
    """

    def __init__(self, stype: ScaleType = ScaleType.POWER, ref_value: float = 1.0, amin: float = 1e-10, top_db: float = 80.0):
        self.stype = check_enum(stype, ScaleType, "stype", "AmplitudeToDB")
        self.ref_value = check_real(ref_value, "ref_value", "AmplitudeToDB", above=0)
        self.amin = check_real(amin, "amin", "AmplitudeToDB", above=0)
        self.top_db = check_real(top_db, "top_db", "AmplitudeToDB", low=0)

    def _sound(self, sound):
        factor = 10.0 if self.stype is ScaleType.POWER else 20.0
        decibels = factor * (np.log10(np.maximum(sound, self.amin)) - np.log10(max(self.amin, self.ref_value)))
        within = tuple(range(-min(decibels.ndim, 3), 0))
        return np.maximum(decibels, decibels.max(within, keepdims=True) - self.top_db)


class DBToAmplitude(AudioTransform):
    """Decibels as powers or magnitudes.

    Args:
        ref (float): what 0 dB is.
        power (float): 1 for powers, 0.5 for magnitudes.

    Example:
        >>> audio.DBToAmplitude(1.0, 1.0)(np.array([0.0, 20.0], np.float32))
        array([  1., 100.], dtype=float32)
    """

    def __init__(self, ref: float, power: float):
        self.ref = check_real(ref, "ref", "DBToAmplitude")
        self.power = check_real(power, "power", "DBToAmplitude")

    def _sound(self, sound):
        return self.ref * (10.0 ** (0.1 * sound)) ** self.power


class MFCC(AudioTransform):
    """Mel-frequency cepstral coefficients of a sound: (..., time) to (..., coefficients, frames).

    Args:
        sample_rate (int): samples a second. Default: 16000.
        n_mfcc (int): the number of coefficients. Default: 40.
        dct_type (int): 2.
        norm (NormMode): of the cosine transform. Default: ORTHO.
        log_mels (bool): True takes logarithms in the place of decibels. Default: False.
        melkwargs (dict, optional): further arguments of :class:`MelSpectrogram`.

    Example:
        >>> audio.MFCC(n_mfcc=3, melkwargs={"n_fft": 16, "n_mels": 4})(np.ones(64, np.float32)).shape
        (3, 9)
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: NormMode = NormMode.ORTHO,
        log_mels: bool = False,
        melkwargs: dict | None = None,
    ):
        self.n_mfcc = check_whole(n_mfcc, "n_mfcc", "MFCC")
        check_value(dct_type, dct_type == 2, "be 2", "dct_type", "MFCC")
        self.log_mels = check_bool(log_mels, "log_mels", "MFCC")
        arguments = dict(melkwargs or {})
        mels = arguments.get("n_mels", 128)
        check_value(n_mfcc, n_mfcc <= mels, f"not be above the number of mels, {mels}", "n_mfcc", "MFCC")
        self._spectrogram = MelSpectrogram(sample_rate, **arguments)
        self._dct = utils.create_dct(n_mfcc, mels, norm).astype(np.float64)

    def _sound(self, sound):
        return _cepstrum(self._spectrogram._sound(sound), self.log_mels, self._dct)


class LFCC(AudioTransform):
    """Cepstral coefficients of linear filters of a sound: (..., time) to (..., coefficients, frames).

    Args:
        sample_rate, dct_type, norm: as of :class:`MFCC`.
        n_filter (int): the number of filters. Default: 128.
        n_lfcc (int): the number of coefficients. Default: 40.
        f_min, f_max (float): the range, in Hz; without `f_max` to half the sample rate. Default: 0.0, None.
        log_lf (bool): True takes logarithms in the place of decibels. Default: False.
        speckwargs (dict, optional): arguments of :class:`Spectrogram`.

    Example:
        >>> audio.LFCC(n_filter=8, n_lfcc=3, speckwargs={"n_fft": 16})(np.ones(64, np.float32)).shape
        (3, 9)
    """

    def __init__(
        self, sample_rate: int = 16000, n_filter: int = 128, n_lfcc: int = 40, f_min: float = 0.0, f_max: float | None = None,
        dct_type: int = 2, norm: NormMode = NormMode.ORTHO, log_lf: bool = False, speckwargs: dict | None = None,
    ):  # fmt: skip
        check_whole(n_lfcc, "n_lfcc", "LFCC")
        check_value(dct_type, dct_type == 2, "be 2", "dct_type", "LFCC")
        self._log_lf = check_bool(log_lf, "log_lf", "LFCC")
        self._spectrogram = Spectrogram(**(speckwargs or {}))
        top = float(sample_rate // 2 if f_max is None else f_max)
        self._bank = utils.linear_fbanks(self._spectrogram.n_fft // 2 + 1, f_min, top, n_filter, sample_rate).astype(np.float64)
        self._dct = utils.create_dct(n_lfcc, n_filter, norm).astype(np.float64)

    def _sound(self, sound):
        return _cepstrum(np.einsum("...ft,fm->...mt", self._spectrogram._sound(sound), self._bank), self._log_lf, self._dct)


def _cepstrum(bands, logarithms, dct):
    bands = np.log(bands + 1e-6) if logarithms else AmplitudeToDB()._sound(bands)
    return np.einsum("...mt,mc->...ct", bands, dct)


class ComplexNorm(AudioTransform):
    """Magnitudes of complex numbers, whose parts are the last dimension, to the exponent `power`. Default: 1.0.

    Example:
        >>> audio.ComplexNorm()(np.array([[3.0, 4.0]], np.float32))
        array([5.], dtype=float32)
    """

    _least = 2

    def __init__(self, power: float = 1.0):
        self.power = check_real(power, "power", "ComplexNorm", low=0)

    def _sound(self, sound):
        return (sound**2).sum(-1) ** (self.power / 2)


class Angle(AudioTransform):
    """Angles of complex numbers, whose parts are the last dimension, in radians.

    Example:
        >>> audio.Angle()(np.array([[0.0, 1.0]], np.float32))
        array([1.5707964], dtype=float32)
    """

    _least = 2

    def _sound(self, sound):
        return _angle(sound)


class Magphase(ComplexNorm):
    """Magnitudes to the exponent `power`, by default 1.0, and angles, of complex numbers whose parts are the last dimension.

    Example:
        >>> audio.Magphase()(np.array([[3.0, 0.0]], np.float32))
        (array([3.], dtype=float32), array([0.], dtype=float32))
    """

    def __init__(self, power: float = 1.0):
        self.power = check_float(power, "power", "Magphase", low=0)

    def _sound(self, sound):
        return super()._sound(sound), _angle(sound)


def _angle(sound):
    return np.arctan2(sound[..., 1], sound[..., 0])
