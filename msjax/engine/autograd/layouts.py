"""How the elements of a view lie in the memory of its root: strides, as numpy has them, though jax stores each array for itself and in order.

They tell which reshapes are views, and whether several elements of a view are one in memory.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided


def each(steps: Iterable[Any], arrays: Iterable[Any]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Each step with its operands, of those of all."""
    arrays = iter(arrays)
    return [(step, tuple(itertools.islice(arrays, step.count))) for step in steps]


def type_of(root: Any) -> np.dtype[Any]:
    """The type of an array that stands for a root's memory."""
    # The strides of what shows real parts depend on it. Types that are not numpy's own have none.
    return root._value.dtype if root._value.dtype.kind == "c" else np.dtype(f"V{root._value.dtype.itemsize}")


def memory(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array without memory: only its strides are looked at."""
    return as_strided(np.zeros(1, dtype), shape, [step * dtype.itemsize for step in contiguous_strides(shape)], writeable=False)


def walked(x: Any, steps: Iterable[Any]) -> Any:
    """What steps make of an array; None if a reshape among them would copy."""
    for step, operands in steps:
        if step.rule.layout is None:
            try:
                x = np.reshape(x, step.shape, copy=False)
            except ValueError:
                return None
        else:
            x = step.rule.layout(x, *operands, *step.static)
            x = x if step.output is None else x[step.output]
    return x


@functools.lru_cache(maxsize=4096)
def laid(shape: tuple[int, ...], dtype: np.dtype[Any], steps: Any) -> tuple[Any, Any] | None:
    """(shape, strides) of a view, wherever its slices begin; None if it is none."""
    x = walked(memory(shape, dtype), [(step, (None,) * step.count) for step in steps])
    return None if x is None else (x.shape, x.strides)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one to the next along each axis of what lies in order."""
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * max(n, 1))
    return tuple(reversed(strides)) if len(shape) else ()


def overlaps(root: Any, steps: Any) -> bool:
    """Whether several elements of a view are one in memory."""
    found = laid(root.shape, type_of(root), steps)
    return found is not None and any(stride == 0 and n > 1 for n, stride in zip(*found))
