"""Initializers: how the data of a Parameter is made.

Random ones draw from one numpy generator, which ``ms.set_seed`` seeds.
"""

import math

import numpy as np

from msjax.common import dtype as mstype
from msjax.common.random import numpy_generator
from msjax.common.tensor import Tensor, as_array, wrap
from msjax.errors import describe

_REGISTRY = {}


class Initializer:
    """Base of initializers. A subclass defines ``_array(shape)``, which returns a numpy array or a number.

    Example:
        >>> import msjax as ms
        >>> from msjax.common.initializer import initializer, One
        >>> print(initializer(One(), (2,), ms.float32))
        [1. 1.]
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            _REGISTRY[cls.__name__.lower()] = cls

    def _array(self, shape):
        raise NotImplementedError(f"{type(self).__name__} defines no '_array(shape)'.")

    def make(self, shape, dtype):
        """A jax array of a shape and data type."""
        return as_array(np.broadcast_to(np.asarray(self._array(tuple(shape))), shape), dtype)

    def __call__(self, arr):
        """Fill a numpy array in place, as MindSpore's initializers do."""
        arr[...] = np.asarray(self._array(arr.shape)).astype(arr.dtype)


def initializer(init, shape=None, dtype=mstype.float32) -> Tensor:
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
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if isinstance(init, Tensor):
        shape = init.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        if tuple(init.shape) != shape:
            raise ValueError(f"For 'initializer', the Tensor has shape {init.shape}, but expected is {shape}.")
        return wrap(as_array(init, dtype))
    if shape is None:
        raise ValueError("For 'initializer', 'shape' is missing.")
    shape = (shape,) if isinstance(shape, int) else tuple(int(s) for s in shape)
    if any(s < 0 for s in shape):
        raise ValueError(f"For 'initializer', sizes should not be negative, but the shape is {shape}.")
    return wrap(as_initializer(init).make(shape, dtype))


def as_initializer(init) -> Initializer:
    """An Initializer from one, its name or a number."""
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        made = _REGISTRY.get(init.lower())
        if made is None:
            raise ValueError(f"There is no initializer {init!r}; there are {', '.join(sorted(_REGISTRY))}.")
        return made()
    if isinstance(init, (int, float)) and not isinstance(init, bool):
        return Constant(init)
    raise TypeError(f"An initializer should be an Initializer, its name, a number or a Tensor, but got {describe(init)}.")


class Zero(Initializer):
    """All zeros."""

    def _array(self, shape):
        return 0


class One(Initializer):
    """All ones."""

    def _array(self, shape):
        return 1


_REGISTRY.update(zeros=Zero, ones=One)


class Constant(Initializer):
    """All one value."""

    def __init__(self, value):
        self.value = value

    def _array(self, shape):
        return self.value


class Uniform(Initializer):
    """Uniform in [-scale, scale]."""

    def __init__(self, scale=0.07):
        self.scale = scale

    def _array(self, shape):
        return numpy_generator().uniform(-self.scale, self.scale, shape)


class Normal(Initializer):
    """Normal with a mean and standard deviation `sigma`."""

    def __init__(self, sigma=0.01, mean=0.0):
        self.sigma = sigma
        self.mean = mean

    def _array(self, shape):
        return numpy_generator().normal(self.mean, self.sigma, shape)


class TruncatedNormal(Initializer):
    """Normal with a mean and standard deviation `sigma`, cut off at `a` and `b` standard deviations."""

    def __init__(self, sigma=0.01, mean=0.0, a=-2.0, b=2.0):
        self.sigma = sigma
        self.mean = mean
        self.a = a
        self.b = b

    def _array(self, shape):
        generator = numpy_generator()
        values = generator.normal(size=shape)
        # Draw again what fell outside; a share of 5% at the usual two standard deviations.
        while (outside := (values < self.a) | (values > self.b)).any():
            values[outside] = generator.normal(size=int(outside.sum()))
        return values * self.sigma + self.mean


def fans(shape) -> tuple:
    """(inputs, outputs) that one element of a weight of this shape connects; weights are (out, in, ...)."""
    if len(shape) < 2:
        raise ValueError(f"Fans are defined for weights of two or more axes, but the shape is {shape}.")
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive


def gain(nonlinearity, param=None) -> float:
    """The recommended gain after a nonlinearity."""
    simple = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0)}
    if nonlinearity in simple:
        return simple[nonlinearity]
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"There is no gain for nonlinearity {nonlinearity!r}; there are {', '.join([*simple, 'leaky_relu'])}.")


class XavierUniform(Initializer):
    """Uniform, scaled by the fans (Glorot)."""

    def __init__(self, gain=1):
        self.gain = gain

    def _array(self, shape):
        n_in, n_out = fans(shape)
        limit = self.gain * math.sqrt(6.0 / (n_in + n_out))
        return numpy_generator().uniform(-limit, limit, shape)


class XavierNormal(Initializer):
    """Normal, scaled by the fans (Glorot)."""

    def __init__(self, gain=1):
        self.gain = gain

    def _array(self, shape):
        n_in, n_out = fans(shape)
        return numpy_generator().normal(0, self.gain * math.sqrt(2.0 / (n_in + n_out)), shape)


class _He(Initializer):
    def __init__(self, negative_slope=0, mode="fan_in", nonlinearity="leaky_relu"):
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"'mode' should be 'fan_in' or 'fan_out', but got {mode!r}.")
        self.negative_slope = negative_slope
        self.mode = mode
        self.nonlinearity = nonlinearity

    def _std(self, shape):
        fan = fans(shape)[self.mode == "fan_out"]
        return gain(self.nonlinearity, self.negative_slope) / math.sqrt(fan)


class HeUniform(_He):
    """Uniform, scaled by a fan (Kaiming)."""

    def _array(self, shape):
        limit = math.sqrt(3.0) * self._std(shape)
        return numpy_generator().uniform(-limit, limit, shape)


class HeNormal(_He):
    """Normal, scaled by a fan (Kaiming)."""

    def _array(self, shape):
        return numpy_generator().normal(0, self._std(shape), shape)
