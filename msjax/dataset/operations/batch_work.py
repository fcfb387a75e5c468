"""What makes batches of rows, and of maps right before them, in one go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from msjax.dataset.operations.map import RowChain, RowWork
from msjax.dataset.operations.shared import is_image_transform
from msjax.dataset.transforms.base import OF_BATCHES
from msjax.dataset.values import is_pil, is_text
from msjax.dataset.vision.pixels import Pixels, tight
from msjax.dataset.vision.values import HWC2CHW, Normalize, normalize_to_channels_in_front

# Values of a batch of which the results of one transform stay in the cache for the next one, in bytes.
_CACHE = 2**18


class BatchWork:
    """Batches of the rows of maps; it goes to the workers.

    Transforms at the end of a map that do the same to many values as to one get them stacked: calls cost more than small arrays.
    Where values are not alike, or a transform refuses them, they are transformed row by row, and errors name the row. `finish` makes a batch of
    rows, with its number; `stacks` says that it stacks the values of each column.
    """

    def __init__(self, chain: RowChain, names: list[str], finish: Callable[[Any, list[str], int], tuple[Any, ...]], stacks: bool):
        self.chain, self.names, self.finish = chain, names, finish
        self.stops: list[int | None] = _stops(chain.works) if stacks else [None] * len(chain.works)
        self.together: list[tuple[RowWork, int, int, list[Any]]] = [
            (work, stop, work.layout.inputs[0], _steps(work.operations[stop:]))
            for work, stop in zip(chain.works, self.stops)
            if stop is not None
        ]

    def __call__(self, key: tuple[Any, ...], group: tuple[list[Any], int]) -> tuple[Any, ...]:
        numbered, batch = group
        rows = []
        for number, row in numbered:
            for work, way, stop in zip(self.chain.works, self.chain.ways, self.stops):
                at = (*key, 0, *way)
                row = work(at, number, row) if stop is None else work.begin(at, number, row, stop)
            rows.append(row)
        done = {}
        for work, stop, column, steps in self.together:
            values = _through(steps, [row[column] for row in rows])
            if values is not None:
                done[column] = values
                continue
            for at, ((number, _), row) in enumerate(zip(numbered, rows)):
                row = [tight(value) if i == column else value for i, value in enumerate(row)]
                rows[at] = work(key, number, row, stop)
        rest = [i for i in range(len(self.names)) if i not in done]
        made = iter(())
        if rest:
            made = iter(self.finish([[row[i] for i in rest] for row in rows], [self.names[i] for i in rest], batch))
        return tuple(done[i] if i in done else next(made) for i in range(len(self.names)))


def _stops(works):
    """For each map how many of its operations are called row by row; None where all are, and their results are arrays."""
    stops: list[int | None] = [None] * len(works)
    touched = set()
    for at in reversed(range(len(works))):
        layout, operations = works[at].layout, works[at].operations
        if not layout.in_place:
            break  # before it, columns stand elsewhere
        if len(layout.inputs) == 1 and layout.inputs[0] not in touched:
            stop = len(operations)
            while stop and type(operations[stop - 1]) in OF_BATCHES:
                stop -= 1
            if stop < len(operations) or is_image_transform(operations[-1]):
                stops[at] = stop
        touched.update(layout.inputs)
    return stops


def _steps(operations):
    """Functions of stacked values."""
    steps, before = [], None
    for operation in operations:
        if type(operation) is HWC2CHW and type(before) is Normalize and before.is_hwc:
            steps[-1] = partial(normalize_to_channels_in_front, before)
        else:
            steps.append(partial(OF_BATCHES[type(operation)], operation))
        before = operation
    return steps


def _through(steps, values):
    """The stacked results of values; None if they are not alike, or a transform refuses them."""
    values = _stacked(values)
    if values is None:
        return None
    some = len(values) if len(steps) < 2 else max(1, _CACHE * len(values) // values.nbytes)
    try:
        parts = [_in_turn(steps, values[at : at + some]) for at in range(0, len(values), some)]
    except (RuntimeError, TypeError, ValueError):
        return None
    return np.ascontiguousarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)


def _in_turn(steps, values):
    for step in steps:
        values = step(values)
    return values


def _stacked(values: list[Any]):
    values = [np.array(v) if is_pil(v) else v for v in values]
    first: Any = values[0]
    kind = type(first)
    if kind is Pixels:
        same = all(type(v) is kind and v.shape == first.shape for v in values)
        return np.stack([v.pixels() for v in values])[..., None].view(np.uint8)[..., :3] if same else None
    if kind is not np.ndarray or is_text(first) or not first.size:
        return None
    same = all(type(v) is kind and v.shape == first.shape and v.dtype == first.dtype for v in values)
    return np.array(values) if same else None
