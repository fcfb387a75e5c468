"""Sounds that are distorted, or mixed with themselves a moment before, and the pitch of a sound."""

from __future__ import annotations

import numpy as np

from msjax.core.base.checks import check_bool
from msjax.dataset.audio.base import AudioTransform
from msjax.dataset.audio.utils import Interpolation, Modulation
from msjax.dataset.checks import check_enum, check_real, check_whole

__all__ = ["DetectPitchFrequency", "Flanger", "Overdrive", "Phaser"]


class Overdrive(AudioTransform):
    """Distorts a sound as an amplifier does that is driven too hard.

    Args:
        gain (float): in dB, from 0 to 100. Default: 20.0.
        color (float): how much there is of even harmonics, from 0 to 100. Default: 20.0.

    Example:
        >>> audio.Overdrive()(np.zeros(3, np.float32)).round(3)
        array([0.075, 0.074, 0.074], dtype=float32)
    """

    def __init__(self, gain: float = 20.0, color: float = 20.0):
        self._gain = check_real(gain, "gain", "Overdrive", 0, None, 100)
        self._color = check_real(color, "color", "Overdrive", 0, None, 100)

    def _sound(self, sound):
        from scipy.signal import lfilter

        driven = np.clip(sound * 10.0 ** (self._gain / 20) + self._color / 200, -1.0, 1.0)
        return np.clip(sound * 0.5 + lfilter([1, -1], [1, -0.995], driven - driven**3 / 3) * 0.75, -1.0, 1.0)


def _wave(kind: Modulation, size: int, low: float, high: float, turn: float) -> np.ndarray:
    """A period of a wave from `low` to `high`, which begins at a part of the period."""
    t = (np.arange(size) + int(turn * size + 0.5)) % size / size
    up = (np.sin(2 * np.pi * t) + 1) / 2 if kind is Modulation.SINUSOIDAL else np.abs((2 * t + 1.5) % 2 - 1)
    return up * (high - low) + low


class Phaser(AudioTransform):
    """Adds a sound to itself of a moment before, and so on, after a delay that varies.

    Args:
        sample_rate (int): samples a second.
        gain_in, gain_out (float): factors of the input and of the output. Default: 0.4, 0.74.
        delay_ms (float): the longest delay, in ms, from 0 to 5. Default: 3.0.
        decay (float): the factor of what is fed back, from 0 to 0.99. Default: 0.4.
        mod_speed (float): periods of the delay a second, from 0.1 to 2. Default: 0.5.
        sinusoidal (bool): False varies it in a triangle. Default: True.

    Example:
        >>> audio.Phaser(8000)(np.zeros(4, np.float32))
        array([0., 0., 0., 0.], dtype=float32)
    """

    def __init__(
        self, sample_rate: int, gain_in: float = 0.4, gain_out: float = 0.74, delay_ms: float = 3.0, decay: float = 0.4,
        mod_speed: float = 0.5, sinusoidal: bool = True,
    ):  # fmt: skip
        rate = check_whole(sample_rate, "sample_rate", "Phaser")
        self._gain_in = check_real(gain_in, "gain_in", "Phaser", 0, None, 1)
        self._gain_out = check_real(gain_out, "gain_out", "Phaser", 0, None, 1e9)
        self._decay = check_real(decay, "decay", "Phaser", 0, None, 0.99)
        self._length = int(check_real(delay_ms, "delay_ms", "Phaser", 0, None, 5) * 0.001 * rate + 0.5)
        kind = Modulation.SINUSOIDAL if check_bool(sinusoidal, "sinusoidal", "Phaser") else Modulation.TRIANGULAR
        size = int(rate / check_real(mod_speed, "mod_speed", "Phaser", 0.1, None, 2) + 0.5)
        self._delays = (_wave(kind, size, 1.0, self._length, 0.25) + 0.5).astype(int)

    def _sound(self, sound):
        length, delays = self._length, self._delays
        if not length:
            return np.clip(sound * self._gain_in * self._gain_out, -1.0, 1.0)
        kept, result = np.zeros((length, *sound.shape[:-1])), np.empty_like(sound)
        for i in range(sound.shape[-1]):
            value = sound[..., i] * self._gain_in + kept[(i + delays[i % len(delays)]) % length]
            kept[(i + 1) % length] = value * self._decay
            result[..., i] = value
        return np.clip(result * self._gain_out, -1.0, 1.0)


class Flanger(AudioTransform):
    """Adds a sound to itself after a short delay that varies, of (..., channel, time).

    Args:
        sample_rate (int): samples a second.
        delay (float): the shortest delay, in ms, from 0 to 30. Default: 0.0.
        depth (float): by how much it varies, in ms, from 0 to 10. Default: 2.0.
        regen (float): what is fed back, in percent, from -95 to 95. Default: 0.0.
        width (float): what is added, in percent, from 0 to 100. Default: 71.0.
        speed (float): periods of the delay a second, from 0.1 to 10. Default: 0.5.
        phase (float): by how much of a period each channel is ahead of the one before, in percent, from 0 to 100. Default: 25.0.
        modulation (Modulation): Default: SINUSOIDAL.
        interpolation (Interpolation): Default: LINEAR.

    Example:
        >>> audio.Flanger(8000)(np.zeros((2, 4), np.float32)).shape
        (2, 4)
    """

    _least = 2

    def __init__(
        self, sample_rate: int, delay: float = 0.0, depth: float = 2.0, regen: float = 0.0, width: float = 71.0, speed: float = 0.5,
        phase: float = 25.0, modulation: Modulation = Modulation.SINUSOIDAL,
        interpolation: Interpolation = Interpolation.LINEAR,
    ):  # fmt: skip
        rate = check_whole(sample_rate, "sample_rate", "Flanger")
        delay = check_real(delay, "delay", "Flanger", 0, None, 30) / 1000
        depth = check_real(depth, "depth", "Flanger", 0, None, 10) / 1000
        self._back = check_real(regen, "regen", "Flanger", -95, None, 95) / 100
        width = check_real(width, "width", "Flanger", 0, None, 100) / 100
        size = int(rate / check_real(speed, "speed", "Flanger", 0.1, None, 10))
        self._phase = check_real(phase, "phase", "Flanger", 0, None, 100) / 100
        kind = check_enum(modulation, Modulation, "modulation", "Flanger")
        self._interpolation = check_enum(interpolation, Interpolation, "interpolation", "Flanger")
        # Together what passes and what is added are as loud as the input.
        self._passes, self._added = 1 / (1 + width), width / (1 + width) * (1 - abs(self._back))
        self._length = int((delay + depth) * rate + 0.5) + 2
        self._delays = _wave(kind, size, np.floor(delay * rate + 0.5), self._length - 2.0, 0.75)

    def _sound(self, sound):
        channels, length = sound.shape[-2], self._length
        rows, ahead = np.arange(channels), (np.arange(channels) * len(self._delays) * self._phase + 0.5).astype(int)
        kept, delayed = np.zeros((length, *sound.shape[:-1])), np.zeros(sound.shape[:-1])
        result = np.empty_like(sound)
        for i in range(sound.shape[-1]):
            now = (-1 - i) % length
            kept[now] = sound[..., i] + delayed * self._back
            part, whole = np.modf(self._delays[(i + ahead) % len(self._delays)])
            before = [
                np.moveaxis(np.moveaxis(kept, -1, 1)[(now + whole.astype(int) + n) % length, rows], 0, -1) for n in (0, 1, 2)
            ]
            first, second = before[1] - before[0], before[2] - before[0]
            if self._interpolation is Interpolation.LINEAR:
                delayed = before[0] + first * part
            else:
                delayed = before[0] + ((second * 0.5 - first) * part + first * 2 - second * 0.5) * part
            result[..., i] = sound[..., i] * self._passes + delayed * self._added
        return np.clip(result, -1.0, 1.0)


class DetectPitchFrequency(AudioTransform):
    """The pitch of a sound in each frame, in Hz, by how alike it is to itself later: (..., time) to (..., frames).

    Args:
        sample_rate (int): samples a second.
        frame_time (float): the length of a frame, in s. Default: 0.01.
        win_length (int): the median is taken of so many frames. Default: 30.
        freq_low, freq_high (int): the range, in Hz. Default: 85, 3400.

    Example:
        >>> sound = np.sin(np.arange(1600) * 2 * np.pi * 400 / 8000)
        >>> audio.DetectPitchFrequency(8000, win_length=3)(sound).round()[:2].tolist()
        [400.0, 400.0]
    """

    _kept = ()

    def __init__(
        self, sample_rate: int, frame_time: float = 0.01, win_length: int = 30, freq_low: int = 85, freq_high: int = 3400
    ):
        who = "DetectPitchFrequency"
        self._sample_rate = check_whole(sample_rate, "sample_rate", who)
        self._win_length = check_whole(win_length, "win_length", who)
        self._frame = int(np.ceil(sample_rate * check_real(frame_time, "frame_time", who, above=0)))
        self._longest = int(np.ceil(sample_rate / check_real(freq_low, "freq_low", who, above=0)))
        self._shortest = int(np.ceil(sample_rate / check_real(freq_high, "freq_high", who, above=0)))

    def _sound(self, sound):
        frames = -(-sound.shape[-1] // self._frame)
        ends = [(0, 0)] * (sound.ndim - 1)
        padded = np.pad(sound, [*ends, (0, self._longest + frames * self._frame - sound.shape[-1])])

        def at(lag):
            return padded[..., lag : lag + frames * self._frame].reshape(*sound.shape[:-1], frames, self._frame)

        first, alike = at(0), []
        for lag in range(1, self._longest + 1):
            later = at(lag)
            power = (1e-9 + np.linalg.norm(first, axis=-1)) ** 2 * (1e-9 + np.linalg.norm(later, axis=-1)) ** 2
            alike.append((first * later).sum(-1) / power)
        alike = np.stack(alike, -1)[..., self._shortest :]
        half = alike[..., : max(self._longest // 2 - self._shortest, 1)]
        # Twice the period is as alike: the shorter one is taken if it is nearly so.
        shorter = half.max(-1) > 0.99 * alike.max(-1)
        lags = np.where(shorter, half.argmax(-1), alike.argmax(-1)) + self._shortest + 1
        before = (self._win_length - 1) // 2
        lags = np.concatenate([np.repeat(lags[..., :1], before, -1), lags], -1)
        windows = np.sort(np.lib.stride_tricks.sliding_window_view(lags, self._win_length, axis=-1), -1)
        return self._sample_rate / (1e-9 + windows[..., before])
