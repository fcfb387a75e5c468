"""What other libraries computed, in few bytes: for each case some elements of each result, and its sum.

An element is three bytes, the upper ones of its float32. It is left out where MindSpore and PyTorch differ.
"""

from __future__ import annotations

import pathlib
import zlib

import numpy as np

FILE = pathlib.Path(__file__).parents[1] / "data" / "kernels.npz"
# Results with more elements are recorded by so many of them and by their weighted sum.
SAMPLES = 6
LEFT_OUT = 0x7FFFFF
# What became of a case: both libraries agree, one of them alone computes it, both refuse it, nothing to compare.
BOTH, TORCH_ONLY, MINDSPORE_ONLY, REFUSED, NOTHING = range(5)


def summary(array: np.ndarray) -> np.ndarray:
    """All elements of a small result; some of a large one, and its sum with weights."""
    flat = np.asarray(array).astype(np.float64).ravel()
    if flat.size <= SAMPLES:
        return flat
    with np.errstate(all="ignore"):
        total = (flat * np.cos(np.arange(flat.size) + 1.0)).sum()
    return np.append(flat[np.random.RandomState(flat.size).permutation(flat.size)[:SAMPLES]], total)


def digest(shapes: list[tuple[int, ...]]) -> int:
    """16 bits that say which shapes the outputs have."""
    return zlib.crc32(repr([tuple(int(n) for n in shape) for shape in shapes]).encode()) & 0xFFFF


def encode(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        bits = np.asarray(values, np.float64).astype(np.float32).view(np.uint32)
    codes = np.where(np.isfinite(values), (bits.astype(np.uint64) + 0x80) >> 8, bits >> 8).astype(np.uint32)
    return np.where(np.isnan(values), 0x7FC000, codes).astype(np.uint32)


def decode(codes: np.ndarray) -> np.ndarray:
    return (codes.astype(np.uint32) << 8).view(np.float32).astype(np.float64)


def save(recorded: dict[str, list[tuple[int, int, np.ndarray]]], path: pathlib.Path = FILE) -> None:
    """Write {row's key: [(state, digest, codes) of each case]}."""
    keys, states, digests, counts, codes = [], [], [], [], []
    for key, found in recorded.items():
        keys.append(key)
        for state, shapes, values in found:
            states.append(state), digests.append(shapes), counts.append(len(values)), codes.append(values)
    flat = np.concatenate(codes) if codes else np.zeros(0, np.uint32)
    planes = {f"plane{i}": (flat >> (8 * i) & 0xFF).astype(np.uint8) for i in range(3)}
    np.savez_compressed(
        path, keys=np.array(keys), states=np.array(states, np.uint8), digests=np.array(digests, np.uint16),
        counts=np.array(counts, np.uint16), **planes,
    )  # fmt: skip


def load(path: pathlib.Path = FILE) -> dict[str, list[tuple[int, int, np.ndarray]]]:
    """What `save` wrote."""
    with np.load(path) as file:
        data = {name: file[name] for name in file.files}
    flat = sum(data[f"plane{i}"].astype(np.uint32) << (8 * i) for i in range(3))
    ends = np.cumsum(data["counts"])
    pieces = np.split(flat, ends[:-1])
    per_row = len(data["states"]) // len(data["keys"])
    found = list(zip(data["states"].tolist(), data["digests"].tolist(), pieces))
    return {str(key): found[i * per_row : (i + 1) * per_row] for i, key in enumerate(data["keys"])}
