"""Transforms of the loudness, the form and the rate of sounds, and masks of spectrograms."""

from __future__ import annotations

import numpy as np

from msjax.core.base.checks import check_bool, check_value
from msjax.dataset.audio.base import AudioTransform
from msjax.dataset.audio.utils import BorderType, FadeShape, GainType, ResampleMethod
from msjax.dataset.checks import check_data, check_enum, check_real, check_whole
from msjax.dataset.run import row_rng

__all__ = [
    "ComputeDeltas", "Contrast", "DCShift", "Fade", "FrequencyMasking", "Gain", "MaskAlongAxis", "MaskAlongAxisIID", "MuLawDecoding", "MuLawEncoding", "Resample",
    "SlidingWindowCmn", "TimeMasking", "Vol",
]  # fmt: skip


class Gain(AudioTransform):
    """Makes a sound louder by `gain_db` decibels. Default: 1.0.

    Example:
        >>> audio.Gain(20.0)(np.array([0.5], np.float32))
        array([5.], dtype=float32)
    """

    def __init__(self, gain_db: float = 1.0):
        self.gain_db = check_real(gain_db, "gain_db", "Gain")

    def _sound(self, sound):
        return sound * 10.0 ** (self.gain_db / 20)


class Vol(AudioTransform):
    """Changes the volume, and cuts at -1 and 1.

    Args:
        gain (float): how much, positive unless in decibels.
        gain_type (GainType): what it is. Default: AMPLITUDE.

    Example:
        >>> audio.Vol(2.0)(np.array([0.25, 0.75], np.float32))
        array([0.5, 1. ], dtype=float32)
    """

    def __init__(self, gain: float, gain_type: GainType = GainType.AMPLITUDE):
        self.gain_type = check_enum(gain_type, GainType, "gain_type", "Vol")
        self.gain = check_real(gain, "gain", "Vol")
        fits = gain_type is GainType.DB or gain > 0 or (gain == 0 and gain_type is not GainType.POWER)
        check_value(gain, fits, "be positive", "gain", "Vol")

    def _sound(self, sound):
        gain = {"amplitude": lambda g: g, "power": np.sqrt, "db": lambda g: 10.0 ** (g / 20)}[self.gain_type.value](self.gain)
        return np.clip(sound * gain, -1.0, 1.0)


class Contrast(AudioTransform):
    """Makes a sound louder by bending it; `enhancement_amount` is from 0 to 100. Default: 75.0.

    Example:
        >>> audio.Contrast()(np.array([0.0, 1.0], np.float32))
        array([0., 1.], dtype=float32)
    """

    def __init__(self, enhancement_amount: float = 75.0):
        self.enhancement_amount = check_real(enhancement_amount, "enhancement_amount", "Contrast", low=0, high=100)

    def _sound(self, sound):
        angle = sound * (np.pi / 2)
        return np.sin(angle + self.enhancement_amount / 750.0 * np.sin(angle * 4))


class DCShift(AudioTransform):
    """Shifts a sound up or down, and cuts at -1 and 1.

    Args:
        shift (float): from -2 to 2.
        limiter_gain (float, optional): what bends the peaks in the place of cutting them, from 0.02 to 0.05, say.

    Example:
        >>> audio.DCShift(0.5)(np.array([0.25, 0.75], np.float32))
        array([0.75, 1.  ], dtype=float32)
    """

    def __init__(self, shift: float, limiter_gain: float | None = None):
        self.shift = check_real(shift, "shift", "DCShift", low=-2.0, high=2.0)
        self.limiter_gain = None if limiter_gain is None else check_real(limiter_gain, "limiter_gain", "DCShift")

    def _sound(self, sound):
        if self.limiter_gain is None or self.shift == 0:
            return np.clip(sound + self.shift, -1.0, 1.0)
        side = 1.0 if self.shift > 0 else -1.0
        mirrored = sound * side
        threshold = 1.0 - (abs(self.shift) - self.limiter_gain)
        bent = (mirrored - threshold) * self.limiter_gain / (1.0 - threshold) + threshold + abs(self.shift)
        shifted = np.clip(mirrored + abs(self.shift), -1.0, 1.0)
        return np.where(mirrored > threshold, np.minimum(bent, threshold), shifted) * side


class Fade(AudioTransform):
    """Lets a sound swell at its begin, and fade at its end.

    Args:
        fade_in_len, fade_out_len (int): so many samples. Default: 0.
        fade_shape (FadeShape): Default: LINEAR.

    Example:
        >>> audio.Fade(3, 2)(np.ones(5, np.float32))
        array([0. , 0.5, 1. , 1. , 0. ], dtype=float32)
    """

    def __init__(self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: FadeShape = FadeShape.LINEAR):
        self.fade_in_len = check_whole(fade_in_len, "fade_in_len", "Fade", low=0)
        self.fade_out_len = check_whole(fade_out_len, "fade_out_len", "Fade", low=0)
        self.fade_shape = check_enum(fade_shape, FadeShape, "fade_shape", "Fade")

    def _sound(self, sound):
        longest = max(self.fade_in_len, self.fade_out_len)
        check_data(sound, longest <= sound.shape[-1], f"the sound should have {longest} samples, which are to fade", "Fade")
        sound = sound.copy()
        if self.fade_in_len:
            sound[..., : self.fade_in_len] *= self._curve(np.linspace(0, 1, self.fade_in_len))
        if self.fade_out_len:
            sound[..., -self.fade_out_len :] *= self._curve(np.linspace(0, 1, self.fade_out_len)[::-1])
        return sound

    def _curve(self, t):
        shapes = {
            FadeShape.LINEAR: lambda: t,
            FadeShape.EXPONENTIAL: lambda: 2.0 ** (t - 1) * t,
            FadeShape.LOGARITHMIC: lambda: np.log10(0.1 + t) + 1,
            FadeShape.QUARTER_SINE: lambda: np.sin(t * np.pi / 2),
            FadeShape.HALF_SINE: lambda: np.sin(t * np.pi - np.pi / 2) / 2 + 0.5,
        }
        return shapes[self.fade_shape]()


class MuLawEncoding(AudioTransform):
    """A sound from -1 to 1 as int32 of so many steps. Default: 256.

    Example:
        >>> audio.MuLawEncoding()(np.array([-1.0, 0.0, 1.0], np.float32))
        array([  0, 128, 255], dtype=int32)
    """

    def __init__(self, quantization_channels: int = 256):
        self.quantization_channels = check_whole(quantization_channels, "quantization_channels", type(self).__name__)

    def _sound(self, sound):
        mu = self.quantization_channels - 1.0
        bent = np.sign(sound) * np.log1p(mu * np.abs(sound)) / np.log1p(mu)
        return ((bent + 1) / 2 * mu + 0.5).astype(np.int32)


class MuLawDecoding(MuLawEncoding):
    """The sound that :class:`MuLawEncoding` has encoded.

    Example:
        >>> audio.MuLawDecoding()(np.array([0, 255], np.int32))
        array([-1.,  1.], dtype=float32)
    """

    def _sound(self, sound):
        mu = self.quantization_channels - 1.0
        bent = sound / mu * 2 - 1.0
        return np.sign(bent) * np.expm1(np.abs(bent) * np.log1p(mu)) / mu


class _Masking(AudioTransform):
    """A mask along one axis of a spectrogram, (..., frequency, time)."""

    _least = 2
    _axis = -1

    def __init__(self, random, longest, start, value):
        who = type(self).__name__
        self.iid_masks = check_bool(random, "iid_masks", who)
        self._longest = check_whole(longest, "mask_param", who, low=0)
        self.mask_start = check_whole(start, "mask_start", who, low=0)
        self.mask_value = check_real(value, "mask_value", who)

    def _sound(self, sound):
        size = sound.shape[self._axis]
        fits = self._longest <= size
        check_data(sound, fits, f"the axis should be as long as the mask, {self._longest}", type(self).__name__)
        sound = np.moveaxis(sound.copy(), self._axis, -1)
        if not self.iid_masks:
            sound[..., self.mask_start : self.mask_start + self._longest] = self.mask_value
        else:
            rows = sound.reshape(-1, *sound.shape[-2:])
            for row in rows:
                width = row_rng().uniform() * self._longest
                begin = int(row_rng().uniform() * (size - width))
                row[..., begin : begin + int(width)] = self.mask_value
            sound = rows.reshape(sound.shape)
        return np.moveaxis(sound, -1, self._axis)


class FrequencyMasking(_Masking):
    """Masks frequencies of a spectrogram.

    Args:
        iid_masks (bool): True masks a random range in each channel. Default: False.
        freq_mask_param (int): the mask's length, or the longest random one. Default: 0.
        mask_start (int): where it begins, if not random. Default: 0.
        mask_value (float): what is put there. Default: 0.0.

    Example:
        >>> audio.FrequencyMasking(freq_mask_param=1)(np.ones((2, 3), np.float32))
        array([[0., 0., 0.],
               [1., 1., 1.]], dtype=float32)
    """

    _axis = -2

    def __init__(self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0):
        super().__init__(iid_masks, freq_mask_param, mask_start, mask_value)


class TimeMasking(_Masking):
    """Masks times of a spectrogram; for the arguments, see :class:`FrequencyMasking`.

    Example:
        >>> audio.TimeMasking(time_mask_param=2)(np.ones((2, 3), np.float32))
        array([[0., 0., 1.],
               [0., 0., 1.]], dtype=float32)
    """

    def __init__(self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0):
        super().__init__(iid_masks, time_mask_param, mask_start, mask_value)


class MaskAlongAxis(_Masking):
    """Masks a range of frequencies or of times of a spectrogram.

    Args:
        mask_start (int): where it begins.
        mask_width (int): how long it is, at least 1.
        mask_value (float): what is put there.
        axis (int): 1 for frequencies, 2 for times.

    Example:
        >>> audio.MaskAlongAxis(0, 2, 5.0, 2)(np.ones((1, 1, 3), np.float32))
        array([[[5., 5., 1.]]], dtype=float32)
    """

    def __init__(self, mask_start: int, mask_width: int, mask_value: float, axis: int):
        super().__init__(False, check_whole(mask_width, "mask_width", "MaskAlongAxis"), mask_start, mask_value)
        self._axis = check_whole(axis, "axis", "MaskAlongAxis", 1, 2) - 3


class MaskAlongAxisIID(_Masking):
    """Masks a random range of frequencies or of times in each channel of a spectrogram.

    Args:
        mask_param (int): how long it is at most.
        mask_value (float): what is put there.
        axis (int): 1 for frequencies, 2 for times.

    Example:
        >>> audio.MaskAlongAxisIID(0, 5.0, 1)(np.ones((1, 1, 3), np.float32))
        array([[[1., 1., 1.]]], dtype=float32)
    """

    def __init__(self, mask_param: int, mask_value: float, axis: int):
        super().__init__(True, mask_param, 0, mask_value)
        self._axis = check_whole(axis, "axis", "MaskAlongAxisIID", 1, 2) - 3


class ComputeDeltas(AudioTransform):
    """How a spectrogram changes in time.

    Args:
        win_length (int): over so many frames, 3 or more. Default: 5.
        pad_mode (BorderType): what stands beyond the ends. Default: EDGE.

    Example:
        >>> audio.ComputeDeltas(3)(np.array([[0.0, 1.0, 2.0]], np.float32))
        array([[0.5, 1. , 0.5]], dtype=float32)
    """

    _least = 2

    def __init__(self, win_length: int = 5, pad_mode: BorderType = BorderType.EDGE):
        self.win_length = check_whole(win_length, "win_length", "ComputeDeltas", low=3)
        self.pad_mode = check_enum(pad_mode, BorderType, "pad_mode", "ComputeDeltas")

    def _sound(self, sound):
        n = (self.win_length - 1) // 2
        padded = np.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(n, n)], mode=self.pad_mode.value)
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * n + 1, axis=-1)
        return windows @ np.arange(-n, n + 1.0) / (n * (n + 1) * (2 * n + 1) / 3)


class SlidingWindowCmn(AudioTransform):
    """Takes the mean of a window of frames away: (..., time, coefficients).

    Args:
        cmn_window (int): the window. Default: 600.
        min_cmn_window (int): the least window at the begin, if it isn't centered. Default: 100.
        center (bool): True puts the window around the frame. Default: False.
        norm_vars (bool): True divides by the standard deviation. Default: False.

    Example:
        >>> audio.SlidingWindowCmn(4, 2)(np.array([[[1.0], [3.0]]], np.float32)).ravel()
        array([-1.,  1.], dtype=float32)
    """

    _least = 2

    def __init__(self, cmn_window: int = 600, min_cmn_window: int = 100, center: bool = False, norm_vars: bool = False):
        self.cmn_window = check_whole(cmn_window, "cmn_window", "SlidingWindowCmn")
        self.min_cmn_window = check_whole(min_cmn_window, "min_cmn_window", "SlidingWindowCmn")
        self.center = check_bool(center, "center", "SlidingWindowCmn")
        self.norm_vars = check_bool(norm_vars, "norm_vars", "SlidingWindowCmn")

    def _sound(self, sound):
        frames = sound.shape[-2]
        time = np.arange(frames)
        begin = time - self.cmn_window // 2 if self.center else time - self.cmn_window
        end = begin + self.cmn_window if self.center else time + 1
        # A window that hangs over an end is moved inside.
        end = np.where(begin < 0, end - begin, end)
        begin = np.maximum(begin, 0)
        if not self.center:
            end = np.where(end > time, np.maximum(time + 1, self.min_cmn_window), end)
        over = np.maximum(end - frames, 0)
        begin, end = np.maximum(begin - over, 0), end - over
        count = (end - begin)[:, None]

        def means(values):
            sums = np.concatenate([np.zeros_like(values[..., :1, :]), np.cumsum(values, -2)], -2)
            return (np.take(sums, end, -2) - np.take(sums, begin, -2)) / count

        mean = means(sound)
        result = sound - mean
        if self.norm_vars:
            variance = means(sound**2) - mean**2
            result = np.where(count == 1, 0.0, result / np.sqrt(np.where(count == 1, 1.0, variance)))
        return result


class Resample(AudioTransform):
    """Changes the sample rate.

    Args:
        orig_freq, new_freq (float): the rates before and after, in Hz. Default: 16000.
        resample_method (ResampleMethod): Default: SINC_INTERPOLATION.
        lowpass_filter_width (int): zeros of the filter on each side. Default: 6.
        rolloff (float): where the filter begins to cut, as a part of the highest frequency, in (0, 1]. Default: 0.99.
        beta (float, optional): of Kaiser's window. Default: 14.769656459379492.

    Example:
        >>> audio.Resample(8000, 4000)(np.zeros(10, np.float32)).shape
        (5,)
    """

    def __init__(
        self,
        orig_freq: float = 16000,
        new_freq: float = 16000,
        resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION,
        lowpass_filter_width: int = 6,
        rolloff: float = 0.99,
        beta: float | None = None,
    ):
        self.orig_freq = check_real(orig_freq, "orig_freq", "Resample", above=0)
        self.new_freq = check_real(new_freq, "new_freq", "Resample", above=0)
        self.resample_method = check_enum(resample_method, ResampleMethod, "resample_method", "Resample")
        self.lowpass_filter_width = check_whole(lowpass_filter_width, "lowpass_filter_width", "Resample")
        self.rolloff = check_real(rolloff, "rolloff", "Resample", above=0, high=1)
        self.beta = 14.769656459379492 if beta is None else check_real(beta, "beta", "Resample")

    def _sound(self, sound):
        if self.orig_freq == self.new_freq:
            return sound
        common = np.gcd(int(self.orig_freq), int(self.new_freq))
        old, new = int(self.orig_freq) // common, int(self.new_freq) // common
        base = min(old, new) * self.rolloff
        width = int(np.ceil(self.lowpass_filter_width * old / base))
        places = np.arange(-width, width + old) / old
        times = np.clip((-np.arange(new)[:, None] / new + places) * base, -self.lowpass_filter_width, self.lowpass_filter_width)
        if self.resample_method is ResampleMethod.SINC_INTERPOLATION:
            window = np.cos(times * np.pi / self.lowpass_filter_width / 2) ** 2
        else:
            window = np.i0(self.beta * np.sqrt(1 - (times / self.lowpass_filter_width) ** 2)) / np.i0(self.beta)
        kernel = np.sinc(times) * window * base / old
        padded = np.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(width, width + old)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[1], axis=-1)[..., ::old, :]
        result = (windows @ kernel.T).reshape(*sound.shape[:-1], -1)
        return result[..., : int(np.ceil(new * sound.shape[-1] / old))]
