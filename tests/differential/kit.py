"""What the generated programs use: their values, weights, and how hooks write into the log."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops

LOG = []
# The cells of the network that runs now, by number.
CELLS = []
# The handles of the hooks that are registered, by number.
HANDLES = {}
# What the inputs are multiplied with: the number of the stage, counted from 1.
SCALE = 1


class Failed(Exception):
    """What hooks and `construct` raise."""


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
    if isinstance(value, nnx.Module):
        return next((name for name, module in _modules() if module is value), "another object")
    if isinstance(value, jax.Array):
        return np.asarray(value)
    if isinstance(value, str):
        return "text"
    return value


def _modules():
    """(name, nnx module) of all in the cells."""
    for i, cell in enumerate(CELLS):
        for name, module in vars(cell).items():
            if isinstance(module, Module | nnx.Linear):
                yield f"module {i} {name}", module
                yield f"inner module {i} {name}", getattr(module, "inner", None)


def note(name, *values):
    LOG.append((name, *map(shown, values)))


def times(value, factor):
    """All floating-point Tensors in a value, multiplied; None and others stay."""
    if isinstance(value, ms.Tensor):
        return value * factor if value.is_floating_point() else value
    if isinstance(value, jax.Array | np.ndarray):
        return value * factor
    if isinstance(value, tuple):
        return tuple(times(v, factor) for v in value)
    if isinstance(value, dict):
        return {name: times(v, factor) for name, v in value.items()}
    return value


def cut(value):
    """A constant in the place of the first Tensor in a value; gradients become zeros."""
    if isinstance(value, ms.Tensor):
        return ops.zeros_like(value) if value.is_floating_point() else value
    if isinstance(value, jax.Array | np.ndarray):
        return jnp.zeros_like(value)
    if isinstance(value, tuple) and value:
        return (cut(value[0]), *value[1:])
    if isinstance(value, dict):
        return {**value, **{name: cut(value[name]) for name in list(value)[:1]}}
    return value


CONSTANT = ms.Tensor([[0.5, -0.25, 1.0]], ms.float32)


class Printed:
    """In the place of stdout: what is printed becomes a part of the log, with its numbers rounded."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        *lines, self.text = (self.text + text).split("\n")
        for line in lines:
            words = [
                [float(w)] if re.fullmatch(r"[-+.\de]*\d[-+.\de]*", w) else w
                for w in re.findall(r"[-+.\de]*\d[-+.\de]*|\S", line)
            ]
            LOG.append(("print", [np.float64(w[0]) if isinstance(w, list) else w for w in words]))

    def flush(self):
        """Nothing waits."""


def floats(seed):
    return ms.Tensor((SCALE * np.random.RandomState(seed).uniform(-1, 1, (2, 3))).astype("float32"))


def integers(seed):
    return ms.Tensor(np.random.RandomState(seed).randint(-3, 4, (2, 3)).astype("int32"))


def weight(seed, shape, requires_grad=True):
    value = np.random.RandomState(100 + seed).uniform(-1, 1, shape).astype("float32")
    return ms.Parameter(ms.Tensor(value), name=f"w{seed}", requires_grad=requires_grad)


class Module(nnx.Module):
    """An nnx module with one in it."""

    def __init__(self, seed):
        self.inner = _linear(seed)

    def __call__(self, x):
        return jnp.tanh(self.inner(x)) + x


def _linear(seed):
    value = jnp.asarray(np.random.RandomState(200 + seed).uniform(-1, 1, (3, 3)), "float32")
    return nnx.Linear(3, 3, kernel_init=lambda *_: value, rngs=nnx.Rngs(0))


def module(seed, nested):
    return Module(seed) if nested else _linear(seed)


def hook_module(module, kind, hook, path, **options):
    """Put a hook on an nnx module; its handle."""
    return getattr(hooks, f"register_{kind}_hook")(module, hook, path, **options)


def tensors_in(value):
    return [leaf for leaf in jax.tree.leaves(value, is_leaf=lambda v: isinstance(v, ms.Tensor)) if isinstance(leaf, ms.Tensor)]
