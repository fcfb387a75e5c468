"""``initializer()``, which makes a Tensor, and the classes of initializers under MindSpore's name of this module."""

from __future__ import annotations

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.dtype import DTypeLike
from msjax.common.initializers import (
    _INITIALIZER_ALIAS,
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    InitLike,
    Normal,
    One,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    Zero,
    as_initializer,
    fans as _calculate_fan_in_and_fan_out,  # what libraries import under MindSpore's private names
    gain as _calculate_gain,  # noqa: F401
    sizes_of,
)
from msjax.common.seeds import normal, truncated_normal, uniform_between as _init_random_uniform  # noqa: F401
from msjax.common.tensor import Shape, Tensor, wrap
from msjax.common.without_data import make_without_data
from msjax.core.base.checks import check_one_of

__all__ = [
    "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One", "Orthogonal", "Sparse",
    "TruncatedNormal", "Uniform", "VarianceScaling", "XavierNormal", "XavierUniform", "Zero", "initializer",
]  # fmt: skip


def initializer(init: InitLike, shape: Shape | None = None, dtype: DTypeLike = mstype.float32) -> Tensor:
    """A Tensor made by an initializer.

    Args:
        init: an Initializer, its name ("normal", "ones", ...), a number, or a Tensor of the right shape.
        shape (int, tuple or list): the shape.
        dtype (ms.dtype): the data type.

    Raises:
        TypeError: a wrong type of `init`.
        ValueError: an unknown name, a negative size, or a Tensor of another shape.

    Example:
        >>> import msjax as ms
        >>> from msjax.common.initializer import initializer
        >>> print(initializer("zeros", (2, 2), ms.float32))
        [[0. 0.]
         [0. 0.]]
    """
    sizes = shape.tolist() if isinstance(shape, Tensor) else shape
    if isinstance(init, Tensor):
        expected = init.shape if sizes is None else (sizes,) if isinstance(sizes, int) else tuple(sizes)
        if tuple(init.shape) != expected:
            raise ValueError(f"For 'initializer', the Tensor has shape {init.shape}, but expected is {expected}.")
        return wrap(as_array(init, dtype))
    if sizes is None:
        raise ValueError("For 'initializer', 'shape' is missing.")
    made = wrap(None)
    make_without_data(made, as_initializer(init), sizes_of(sizes), mstype.as_dtype(dtype))
    return made


def _calculate_correct_fan(shape, mode):
    """The fan that a mode names."""
    modes = ("fan_in", "fan_out")
    return _calculate_fan_in_and_fan_out(shape)[modes.index(check_one_of(mode.lower(), modes, "mode"))]


def _assignment(array, value):
    """Fill a numpy array in place; returns it."""
    array[...] = value
    return array


def _register(*aliases):
    """A decorator that gives an Initializer its names: its class's in small letters, and others. Names that exist stay."""

    def register(kind):
        for name in (kind.__name__.lower(), *aliases):
            _INITIALIZER_ALIAS.setdefault(name, kind)
        return kind

    return register


def _init_random_normal(mean, sigma, shape):
    return normal(sigma, shape, mean)


def _init_truncated_normal(a, b, mean, sigma, shape):
    return truncated_normal(sigma, mean, a, b, shape)
