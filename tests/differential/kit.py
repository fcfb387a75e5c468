"""What the generated programs use: their values, weights, and how hooks write into the log."""

import jax.tree_util
import numpy as np

import msjax as ms
from msjax import nn, ops  # noqa: F401 - the programs take both from here

LOG = []
# The cells of the network that runs now, by number.
CELLS = []
# What the inputs are multiplied with.
SCALE = 1


def shown(value):
    """A hook's argument, as comparable values: arrays for Tensors, numbers of cells."""
    if isinstance(value, ms.Tensor):
        return value.asnumpy()
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    if isinstance(value, dict):
        return {name: shown(v) for name, v in value.items()}
    if isinstance(value, nn.Cell):
        return next((f"cell {i}" for i, cell in enumerate(CELLS) if cell is value), "another object")
    if isinstance(value, str):
        return "text"
    return value


def note(name, *values):
    LOG.append((name, *map(shown, values)))


def times(value, factor):
    """All floating-point Tensors in a value, multiplied; None and others stay."""
    if isinstance(value, ms.Tensor):
        return value * factor if value.is_floating_point() else value
    if isinstance(value, tuple):
        return tuple(times(v, factor) for v in value)
    if isinstance(value, dict):
        return {name: times(v, factor) for name, v in value.items()}
    return value


def floats(seed):
    return ms.Tensor((SCALE * np.random.RandomState(seed).uniform(-1, 1, (2, 3))).astype("float32"))


def integers(seed):
    return ms.Tensor(np.random.RandomState(seed).randint(-3, 4, (2, 3)).astype("int32"))


def weight(seed, shape, requires_grad=True):
    value = np.random.RandomState(100 + seed).uniform(-1, 1, shape).astype("float32")
    return ms.Parameter(ms.Tensor(value), name=f"w{seed}", requires_grad=requires_grad)


def tensors_in(value):
    return [
        leaf
        for leaf in jax.tree_util.tree_leaves(value, is_leaf=lambda v: isinstance(v, ms.Tensor))
        if isinstance(leaf, ms.Tensor)
    ]
