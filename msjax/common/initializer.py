"""Tensors that are made without data: ``initializer()``, with the classes of initializers under MindSpore's name of this module; those of zeros, or
of unknown shape."""

from __future__ import annotations

from typing import Any

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.dtype import DTypeLike, Type
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
    initial_array,
    sizes_of,
)
from msjax.common.seeds import normal, truncated_normal, uniform_between as _init_random_uniform  # noqa: F401
from msjax.common.tensor import Shape, Tensor, of_numpy, wrap
from msjax.core.base.checks import check_one_of, is_int

__all__ = [
    "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One", "Orthogonal", "Sparse",
    "TruncatedNormal", "Uniform", "VarianceScaling", "XavierNormal", "XavierUniform", "Zero", "initializer",
]  # fmt: skip

# How MindSpore shows the shape of a Tensor of which not even the number of axes is known.
_ANY_SHAPE = (-2,)


class OfUnknownShape(Tensor):
    """A Tensor that stands for others, as `Cell.set_inputs` takes it: sizes of -1 are not known, and of shape (-2,) nothing is. It has no value."""

    _sizes: tuple[int, ...]
    _type: Type
    _node = None

    @property
    def _value(self) -> Any:
        raise ValueError(f"{self} has no value: {'its shape is' if self._sizes == _ANY_SHAPE else 'sizes of -1 are'} not known.")

    @property
    def shape(self) -> tuple[int, ...]:
        return self._sizes

    @property
    def dtype(self) -> Type:
        return self._type

    @property
    def size(self) -> int:
        return 0

    def __str__(self) -> str:
        return f"Tensor(shape={[*self._sizes]}, dtype={self._type}, value={chr(10) if self.ndim > 1 else ''})"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


OfUnknownShape.__name__ = OfUnknownShape.__qualname__ = Tensor.__name__


def make_without_data(tensor: Tensor, init: InitLike | None, shape: Shape | None, dtype: Type) -> None:
    """Give a new Tensor, which has no value yet, the data that `init` makes, by default zeros; or make it one of unknown shape, where there is no
    `init`, and sizes are None or -1, or all of the shape is None. Errors are those of `initial_array`."""
    sizes: Any = _ANY_SHAPE if shape is None else shape if isinstance(shape, (tuple, list)) else (shape,)
    unknown = [size is None or (is_int(size) and size == -1) for size in sizes]
    if init is None and (shape is None or any(unknown)):
        tensor.__class__ = OfUnknownShape
        known = sizes if shape is None else sizes_of([0 if no else size for size, no in zip(sizes, unknown)])
        own = tuple([-1 if no else size for size, no in zip(known, unknown)])
        tensor.__dict__.update(_sizes=own, _type=mstype.from_np(mstype.to_jax(dtype)))
        return
    tensor._value, tensor._node = initial_array("zeros" if init is None else init, sizes, dtype), None
    of_numpy(tensor)


Tensor._make_without_data = make_without_data


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
