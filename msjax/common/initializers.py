"""The classes of initializers: each makes the data of a Parameter from its shape.

Random ones draw by seeds from numpy's global generator, which ``ms.set_seed`` seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from msjax.common.arrays import as_array
from msjax.common.bases import TensorBase
from msjax.common.dtype import DTypeLike
from msjax.common.seeds import normal, truncated_normal, uniform
from msjax.core.base.checks import check_one_of, check_order, check_value, is_int, is_number
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray

# What fills a Parameter: an initializer or its name, data, or one number.
InitLike: TypeAlias = (
    "Initializer | TensorBase | jax.Array | np.ndarray[Any, Any] | np.generic[Any] | complex | Sequence[Any] | str"
)


class Initializer:
    """Base of initializers.

    A subclass defines ``_initialize(arr)``, which fills a numpy array in place, or ``_array(shape)``, which returns an array or
    a number.

    Args:
        kwargs: taken, since subclasses written for MindSpore pass their own on.

    Example:
        >>> import msjax as ms
        >>> from msjax.common.initializer import initializer, One
        >>> print(initializer(One(), (2,), ms.float32).init_data())
        [1. 1.]
    """

    def __init__(self, **kwargs: Any):
        super().__init__()

    def _initialize(self, arr):
        arr[...] = np.asarray(self._array(arr.shape)).astype(arr.dtype)

    def _array(self, shape):
        if type(self)._initialize is Initializer._initialize:
            raise NotImplementedError(f"{type(self).__name__} defines neither '_initialize(arr)' nor '_array(shape)'.")
        arr = np.zeros(shape, np.float32)
        self._initialize(arr)
        return arr

    def make(self, shape: tuple[int, ...], dtype: DTypeLike) -> JaxArray:
        """A jax array of a shape and data type."""
        return as_array(np.broadcast_to(np.asarray(self._array(tuple(shape))), shape), dtype)

    def __call__(self, arr: np.ndarray) -> None:
        """Fill a numpy array in place, as MindSpore's initializers do."""
        self._initialize(arr)


def initial_array(init: InitLike, shape: int | Sequence[int], dtype: DTypeLike) -> JaxArray:
    """A jax array made by an initializer.

    Args:
        init: an Initializer, its name or a number.
        shape (int, tuple or list): the shape.
        dtype (ms.dtype): the data type.

    Raises:
        TypeError: a wrong type of `init`.
        ValueError: an unknown name, or a shape with something other than non-negative ints.
    """
    return as_initializer(init).make(sizes_of(shape), dtype)


def sizes_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple of ints.

    Raises:
        ValueError: something other than non-negative ints.
    """
    sizes: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
    fits = all((is_int(s) or isinstance(s, np.integer)) and s >= 0 for s in sizes)
    check_value(shape, fits, "be an int, or a tuple or list of ints, none negative", "shape", "initializer")
    return tuple(map(int, sizes))


def as_initializer(init: InitLike) -> Initializer:
    """An Initializer from one, its name or a number."""
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        made = _INITIALIZER_ALIAS.get(init.lower())
        if made is None:
            raise ValueError(f"There is no initializer {init!r}; there are {', '.join(sorted(_INITIALIZER_ALIAS))}.")
        return made()
    if is_number(init):
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


class Constant(Initializer):
    """All one value.

    Args:
        value (int or float): the value.
    """

    def __init__(self, value: float):
        self.value = value

    def _array(self, shape):
        return self.value


class Uniform(Initializer):
    """Uniform in [-scale, scale].

    Args:
        scale (float): Default: 0.07.
    """

    def __init__(self, scale: float = 0.07):
        self.scale = scale

    def _array(self, shape):
        return uniform(self.scale, shape)


class Normal(Initializer):
    """Normal with a mean and standard deviation `sigma`.

    Args:
        sigma (float): Default: 0.01.
        mean (float): Default: 0.0.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0):
        self.sigma = sigma
        self.mean = mean

    def _array(self, shape):
        return normal(self.sigma, shape, self.mean)


class TruncatedNormal(Initializer):
    """Normal with a mean and standard deviation `sigma`, within the bounds `a` and `b`.

    Args:
        sigma (float): Default: 0.01.
        mean (float): Default: 0.0.
        a, b (float): the smallest and the largest value. Default: -2.0, 2.0.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0):
        check_order(a, b, ("a", "b"), "TruncatedNormal")
        self.sigma = sigma
        self.mean = mean
        self.a = a
        self.b = b

    def _array(self, shape):
        return truncated_normal(self.sigma, self.mean, self.a, self.b, shape)


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """(inputs, outputs) that one element of a weight of this shape connects; weights are (out, in, ...)."""
    if len(shape) < 2:
        raise ValueError(f"Fans are defined for weights of two or more axes, but the shape is {shape}.")
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive


def gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain after a nonlinearity."""
    simple = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0)}
    if nonlinearity in simple:
        return simple[nonlinearity]
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"There is no gain for nonlinearity {nonlinearity!r}; there are {', '.join([*simple, 'leaky_relu'])}.")


class _Xavier(Initializer):
    def __init__(self, gain: float = 1):
        self.gain = gain

    def _scale(self, shape, variance):
        return self.gain * math.sqrt(variance / sum(fans(shape)))


class XavierUniform(_Xavier):
    """Uniform, scaled by the fans (Glorot).

    Args:
        gain (float): Default: 1.
    """

    def _array(self, shape):
        return uniform(self._scale(shape, 6.0), shape)


class XavierNormal(_Xavier):
    """Normal, scaled by the fans (Glorot); the argument is that of `XavierUniform`."""

    def _array(self, shape):
        return normal(self._scale(shape, 2.0), shape)


class _He(Initializer):
    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"):
        check_one_of(mode, ("fan_in", "fan_out"), "mode", type(self).__name__)
        self.negative_slope = negative_slope
        self.mode = mode
        self.nonlinearity = nonlinearity

    def _std(self, shape):
        fan = fans(shape)[self.mode == "fan_out"]
        return gain(self.nonlinearity, self.negative_slope) / math.sqrt(fan)


class HeUniform(_He):
    """Uniform, scaled by a fan (Kaiming).

    Args:
        negative_slope (float): of the leaky ReLU that follows. Default: 0.
        mode (str): "fan_in" or "fan_out". Default: "fan_in".
        nonlinearity (str): what follows: "leaky_relu", "relu", "tanh", "sigmoid" or "linear". Default: "leaky_relu".
    """

    def _array(self, shape):
        return uniform(math.sqrt(3.0) * self._std(shape), shape)


class HeNormal(_He):
    """Normal, scaled by a fan (Kaiming); the arguments are those of `HeUniform`."""

    def _array(self, shape):
        return normal(self._std(shape), shape)


class VarianceScaling(Initializer):
    """Random values with a standard deviation of sqrt(scale / fan).

    Args:
        scale (float): positive. Default: 1.0.
        mode (str): "fan_in", "fan_out" or "fan_avg" for the mean of both. Default: "fan_in".
        distribution (str): "uniform", "truncated_normal" (at twice its standard deviation) or "untruncated_normal".
            Default: "truncated_normal".
    """

    # The standard deviation of a normal distribution that is cut off at two of its own.
    _TRUNCATED_STD = 0.87962566103423978

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"):
        check_value(scale, scale > 0, "be greater than 0", "scale", "VarianceScaling")
        check_one_of(mode, ("fan_in", "fan_out", "fan_avg"), "mode", "VarianceScaling")
        check_one_of(distribution, ("uniform", "truncated_normal", "untruncated_normal"), "distribution", "VarianceScaling")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution

    def _array(self, shape):
        n_in, n_out = fans(shape)
        std = math.sqrt(self.scale / {"fan_in": n_in, "fan_out": n_out, "fan_avg": (n_in + n_out) / 2}[self.mode])
        if self.distribution == "uniform":
            return uniform(math.sqrt(3.0) * std, shape)
        if self.distribution == "untruncated_normal":
            return normal(std, shape)
        std /= self._TRUNCATED_STD
        return truncated_normal(std, 0.0, -2 * std, 2 * std, shape)


class Orthogonal(Initializer):
    """Orthonormal rows, or columns if there are fewer of those, times a gain.

    Args:
        gain (float): Default: 1.0.
    """

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def _array(self, shape):
        check_value(shape, len(shape) >= 2, "have at least two axes", "the shape", "Orthogonal")
        rows, columns = shape[0], math.prod(shape[1:])
        flat = normal(1.0, (rows, columns))
        q, r = np.linalg.qr(flat.T if rows < columns else flat)
        # The signs of r's diagonal make all orthogonal matrices equally likely.
        q *= np.sign(np.diag(r))
        return self.gain * (q.T if rows < columns else q).reshape(shape)


class Sparse(Initializer):
    """Normal, with a share of each column zero; of two axes.

    Args:
        sparsity (float): the share of zeros.
        sigma (float): Default: 0.01.
    """

    def __init__(self, sparsity: float, sigma: float = 0.01):
        self.sparsity = sparsity
        self.sigma = sigma

    def _array(self, shape):
        check_value(shape, len(shape) == 2, "have two axes", "the shape", "Sparse")
        values = normal(self.sigma, shape)
        zeros = math.ceil(self.sparsity * shape[0])
        for column in values.T:
            column[np.random.permutation(shape[0])[:zeros]] = 0
        return values


class Dirac(Initializer):
    """Convolution weights that copy as many channels as possible.

    Args:
        groups (int): the number of groups of the convolution. Default: 1.
    """

    def __init__(self, groups: int = 1):
        self.groups = groups

    def _array(self, shape):
        check_value(shape, len(shape) in (3, 4, 5), "have three to five axes", "the shape", "Dirac")
        multiple = shape[0] % self.groups == 0
        check_value(shape[0], multiple, f"be a multiple of the {self.groups} groups", "the first axis", "Dirac")
        weight = np.zeros(shape, np.float32)
        middle = tuple(n // 2 for n in shape[2:])
        per_group = shape[0] // self.groups
        weight[:, :, *middle] = np.tile(np.eye(per_group, shape[1]), (self.groups, 1))
        return weight


class Identity(Initializer):
    """Ones on the diagonal, zeros elsewhere; of two axes."""

    def _array(self, shape):
        check_value(shape, len(shape) == 2, "have two axes", "the shape", "Identity")
        return np.eye(*shape)


_INITIALIZER_ALIAS: dict[str, type[Initializer]] = {
    "zero": Zero, "zeros": Zero, "one": One, "ones": One, "normal": Normal, "uniform": Uniform,
    "truncatednormal": TruncatedNormal, "heuniform": HeUniform, "he_uniform": HeUniform, "henormal": HeNormal,
    "he_normal": HeNormal, "xavieruniform": XavierUniform, "xavier_uniform": XavierUniform, "xaviernormal": XavierNormal,
    "xavier_normal": XavierNormal, "variancescaling": VarianceScaling, "orthogonal": Orthogonal, "sparse": Sparse, "dirac": Dirac,
    "identity": Identity,
}  # fmt: skip
