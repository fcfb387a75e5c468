"""Philox 4x32 with ten rounds, the numbers that MindSpore's initializers make of it, and the seeds of its operators."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_WORD, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = 10
_BLOCK = 1 << 14  # counters at a time, so that what is computed stays in the cache
_FOR_THREADS = 8  # blocks from which on threads are worth their while
_LEAST = float(np.float32(1e-7))
_FULL_TURN = 2 * float(np.float32(3.1415926))  # the constant that MindSpore's numbers fit
_OF_SEEDS = 0x3EC8F720, 0x02461E29  # the key under which two seeds become one


def philox(counters: list[np.ndarray], key: tuple[int, int]) -> list[np.ndarray]:
    """Four words for each counter."""
    a, b, c, d = counters
    for number in range(_ROUNDS):
        first, second = (np.uint64((key[i] + number * _STEPS[i]) % 2**32) for i in (0, 1))
        low, high = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (high >> _SHIFT) ^ b ^ first, high & _WORD, (low >> _SHIFT) ^ d ^ second, low & _WORD
    return [a, b, c, d]


def merged_seed(seed: int, seed2: int) -> int:
    """The seed of 64 bits that an operator with two seeds starts from."""
    words = [np.array([(s >> shift) % 2**32], np.uint64) for s in (seed, seed2) for shift in (0, 32)]
    low, high, *_ = philox(words, _OF_SEEDS)
    return int(high[0]) << 32 | int(low[0])


def _filled(seed: int, count: int, make: Callable[..., np.ndarray]) -> np.ndarray:
    """Float32 numbers that `make` makes of each counter's four words."""
    low, high = seed % 2**32, seed >> 32
    made = np.empty((-(-count // 4), 4), np.float32)

    def fill(at):
        counters = np.arange(at, min(at + _BLOCK, len(made)), dtype=np.uint64)
        rest = [np.full_like(counters, word) for word in (low, high)]
        made[at : at + _BLOCK] = make(*philox([counters & _WORD, counters >> _SHIFT, *rest], (low, high)))

    blocks = range(0, len(made), _BLOCK)
    if len(blocks) < _FOR_THREADS:
        for at in blocks:
            fill(at)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, blocks))
    return made.reshape(-1)[:count]


def _unit(word: np.ndarray) -> np.ndarray:
    return word / 2.0**32


def _mantissa(word: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) whose 23 binary digits are the lowest of the word."""
    return (word & np.uint64(0x7FFFFF)) / 2.0**23


def uniform(seed: int, count: int, low: float, high: float) -> np.ndarray:
    """Float32 numbers, uniform in [low, high)."""
    start, end = float(np.float32(low)), float(np.float32(high))
    return _filled(seed, count, lambda *words: np.stack([_unit(w) * (end - start) + start for w in words], 1))


def normal(seed: int, count: int, mean: float, sigma: float) -> np.ndarray:
    """Float32 numbers of a normal distribution, two of each pair of words."""
    start, scale = float(np.float32(mean)), float(np.float32(sigma))

    def make(*words):
        made = []
        for first, second in (words[:2], words[2:]):
            length = np.sqrt(-2 * np.log(np.maximum(_mantissa(first), _LEAST))) * scale
            angle = _FULL_TURN * _mantissa(second)
            made += [np.cos(angle) * length + start, np.sin(angle) * length + start]
        return np.stack(made, 1)

    return _filled(seed, count, make)


def truncated_normal(seed: int, count: int, mean: float, sigma: float, low: float, high: float) -> np.ndarray:
    """Float32 numbers of a normal distribution in [low, high], by the inverse of the distribution."""
    from scipy.special import ndtr, ndtri

    # The upper tail is mirrored, since probabilities near one have few digits.
    sign = -1 if (low + high) / 2 > mean else 1
    first, last = ndtr(sign * (low - mean) / sigma), ndtr(sign * (high - mean) / sigma)

    def make(*words):
        return np.stack([sign * ndtri(first + _unit(w) * (last - first)) * sigma + mean for w in words], 1)

    return np.clip(_filled(seed, count, make), np.float32(low), np.float32(high))
